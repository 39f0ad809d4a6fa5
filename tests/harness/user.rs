//! As whom the server runs: the tests' own user, and an ordinary one.

use std::{path::Path, process::Command};

/// A user of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Same,
    /// One without any privilege.
    Ordinary,
}

/// The ordinary user that root becomes: `nobody`.
pub const NOBODY: u32 = 65534;

impl User {
    /// Those that the tests can be: root is also tried as an ordinary user, who is only tried as himself.
    pub fn all() -> &'static [Self] {
        if rustix::process::geteuid().is_root() { &[Self::Same, Self::Ordinary] } else { &[Self::Same] }
    }

    /// A command that is run by this user.
    pub fn command(self, program: &Path) -> Command {
        match self {
            Self::Same => Command::new(program),
            Self::Ordinary => {
                let mut command = Command::new("setpriv");
                let nobody = NOBODY.to_string();
                command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--"]).arg(program);
                command
            }
        }
    }
}
