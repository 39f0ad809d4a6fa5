//! What every suite is built from: projects, browsers, users, what runs leave behind, and the real server behind a real
//! MCP client or a bare wire.

pub mod acts;
pub mod browser;
pub mod leftovers;
pub mod machine;
pub mod program;
pub mod project;
pub mod schema;
pub mod server;
pub mod user;
pub mod wire;
