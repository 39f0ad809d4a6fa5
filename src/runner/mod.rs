//! The one place that spawns.

pub mod confined;
pub mod descendants;
pub mod orders;
pub mod supervise;
pub mod supervision;
pub mod tail;
