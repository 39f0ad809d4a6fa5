//! What a run left behind.
