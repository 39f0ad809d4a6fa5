//! Paths that only containment can make.
