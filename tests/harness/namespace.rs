//! A world in which something is mounted otherwise, for one program and its children.

use std::process::Command;

/// Mounts that are made before the program starts, which nobody else sees.
#[derive(Clone, Debug)]
pub struct Namespace {
    script: String,
}

impl Namespace {
    /// A world that this shell script prepares; it may mount.
    pub fn prepared_by(script: &str) -> Self {
        Self { script: format!("set -eu\n{script}\n") }
    }

    /// The same program with the same arguments, in this world.
    pub fn around(&self, program: &Command) -> Command {
        let mut command = Command::new("unshare");
        let user = rustix::process::geteuid();
        // An ordinary user may mount where he is root; the program runs as himself again.
        let again = if user.is_root() {
            "exec \"$@\"".to_owned()
        } else {
            command.args(["--user", "--map-root-user"]);
            let (user, group) = (user.as_raw(), rustix::process::getegid().as_raw());
            format!("exec unshare --user --map-user={user} --map-group={group} -- \"$@\"")
        };
        let script = format!("{}{again}", self.script);
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", &script, "sh"]);
        command.arg(program.get_program()).args(program.get_args());
        command
    }
}
