//! What every suite is built from: projects, browsers, users, and the real server behind a real MCP client.

pub mod browser;
pub mod project;
pub mod server;
pub mod user;
