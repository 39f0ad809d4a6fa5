//! What is allowed.

pub mod confinement;
pub mod request;
