//! What every suite is built from: projects, browsers, users, what runs leave behind, and the real server behind a real
//! MCP client or a bare wire.

pub mod acts;
pub mod audit_log;
pub mod browser;
pub mod journal;
pub mod leftovers;
pub mod machine;
pub mod namespace;
pub mod program;
pub mod project;
pub mod schema;
pub mod server;
pub mod user;
pub mod wire;
