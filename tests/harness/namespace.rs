//! A world in which something is mounted otherwise, for one program and its children.

use std::process::Command;

/// Mounts that are made before the program starts, which nobody else sees.
#[derive(Clone, Debug)]
pub struct Namespace {
    script: String,
    ordinary: Ordinary,
}

/// What an ordinary user who may mount is for the program.
#[derive(Clone, Copy, Debug)]
enum Ordinary {
    /// Himself again.
    Himself,
    /// Root by name, to whom belongs what is his, without any of root's rights.
    RootByName,
}

impl Namespace {
    /// A world that this shell script prepares; it may mount.
    pub fn prepared_by(script: &str) -> Self {
        Self { script: format!("set -eu\n{script}\n"), ordinary: Ordinary::Himself }
    }

    /// The same, where an ordinary user stays root by name: what he made is root's.
    pub fn with_root_by_name(mut self) -> Self {
        self.ordinary = Ordinary::RootByName;
        self
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
            match self.ordinary {
                Ordinary::Himself => {
                    format!("exec unshare --user --map-user={user} --map-group={group} -- \"$@\"")
                }
                Ordinary::RootByName => {
                    "exec setpriv --bounding-set -all --inh-caps -all -- \"$@\"".to_owned()
                }
            }
        };
        let script = format!("{}{again}", self.script);
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", &script, "sh"]);
        command.arg(program.get_program()).args(program.get_args());
        command
    }
}
