//! What every suite is built from: projects, browsers, users, processes, and the real server behind a real MCP client.

pub mod browser;
pub mod processes;
pub mod program;
pub mod project;
pub mod server;
pub mod user;
