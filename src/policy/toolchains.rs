//! The toolchains in a home: what every run may read there, and what no run should be able to write.
//!
//! In: nothing. Out: paths beneath a home. Reading them is planned by `sandbox`, a policy that lets a run write them is
//! told by `review`.

/// Where Playwright keeps its browsers, beneath a home.
pub const BROWSERS: &str = ".cache/ms-playwright";

/// Toolchains in a home, which web servers are started with; the parts that hold programs, not credentials.
pub const TOOLCHAINS: &[&str] = &[
    ".nvm/versions",
    ".volta/bin",
    ".volta/tools",
    ".fnm",
    ".local/share/fnm",
    ".asdf",
    ".local/share/mise",
    ".bun/bin",
    ".bun/install/global",
    ".deno/bin",
    ".local/share/pnpm",
    ".pyenv",
    ".rustup/toolchains",
    ".cargo/bin",
    ".sdkman/candidates",
    ".local/bin",
    BROWSERS,
];
