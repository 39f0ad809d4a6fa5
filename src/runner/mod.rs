//! The one place that spawns.
