//! Untrusted text made printable.
