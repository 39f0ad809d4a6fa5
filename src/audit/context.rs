//! What all records of a server say alike: who it runs for, and under which policy.
//!
//! In: a policy; this process, as the kernel and the user database know it. Out: a [`Context`].

use rustix::process::{geteuid, getppid};
use serde_json::{Map, Value, json};

use crate::{policy::Policy, text::visible::visible};

/// `loginuid` of a process that nobody logged in for.
const NO_LOGIN: u32 = u32::MAX;

/// What all records of a server say alike.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who it runs for.
    pub who: Value,
    /// The hash of its policy.
    pub policy: String,
    /// The layers that the policy was made of, as `--check-policy` tells them.
    pub layers: Value,
}

impl Context {
    /// The context of this process under a policy.
    pub fn of(policy: &Policy) -> Self {
        Self { who: who(), policy: policy.hash(), layers: json!(policy.layers()) }
    }
}

/// This process: its user, the login that it descends from, its parent, its host.
///
/// The parent and the login are looked up once: later the parent may be gone.
fn who() -> Value {
    let uid = geteuid().as_raw();
    let mut who = Map::new();
    who.insert("uid".to_owned(), uid.into());
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten();
    if let Some(user) = user {
        who.insert("user".to_owned(), user.name.into());
    }
    let login = of_proc("self", "loginuid").and_then(|text| text.parse().ok());
    if let Some(login) = login.filter(|login: &u32| *login != NO_LOGIN) {
        who.insert("loginuid".to_owned(), login.into());
    }
    who.insert("pid".to_owned(), std::process::id().into());
    if let Some(parent) = getppid() {
        let pid = parent.as_raw_nonzero().get();
        let name = of_proc(&pid.to_string(), "comm").unwrap_or_default();
        who.insert("parent".to_owned(), json!({ "pid": pid, "name": visible(&name) }));
    }
    let host = rustix::system::uname();
    who.insert("host".to_owned(), host.nodename().to_string_lossy().into());
    Value::Object(who)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's own account of a process, a few bytes of no project"
)]
fn of_proc(process: &str, name: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{process}/{name}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
}
