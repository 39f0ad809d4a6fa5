//! What is allowed.

pub mod confinement;
