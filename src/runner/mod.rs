//! The one place that spawns: from a grant to a run, and to its end.

pub mod command;
pub mod confined;
pub mod descendants;
pub mod handle;
pub mod orders;
pub mod probe;
pub mod reporter;
pub mod spec;
pub mod supervise;
pub mod supervision;
pub mod tail;
pub mod tracker;
