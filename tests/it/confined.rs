//! A small world with something to steal, and the helper `confine` driven in it.
//!
//! In: a plan and an act of the program of attacks. Out: what the helper reported and what the act came to. Every suite runs
//! as root and as an ordinary user if it can, else as the one user there is.

#![expect(clippy::disallowed_methods, reason = "tests start the binary and look at the world from outside")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use playwright_warden::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};
use playwright_warden::sandbox::confine::{ConfineOrder, ConfineReport, Refusal};
use playwright_warden::sandbox::invocation::Invocation;
use playwright_warden::sandbox::{Enforcement, Plan, ProcessLimits};
use tempfile::TempDir;

/// The binary under test.
pub(crate) const WARDEN: &str = env!("CARGO_BIN_EXE_playwright-warden");
const NOBODY: u32 = 65534;

/// Who runs the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The one who runs the tests.
    Own,
    /// `nobody`; only root can become that.
    Ordinary,
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// All users that a test shall run as.
pub(crate) fn users() -> Vec<User> {
    if is_root() { vec![User::Own, User::Ordinary] } else { vec![User::Own] }
}

/// Finds the program of attacks beside the tests.
pub(crate) fn attack() -> PathBuf {
    let tests = fs::canonicalize(std::env::current_exe().unwrap()).unwrap();
    let attack = tests.parent().unwrap().parent().unwrap().join("examples/attack");
    assert!(
        attack.is_file(),
        "`cargo test` builds {}, `cargo test --test it` does not: `cargo build --example attack`",
        attack.display()
    );
    attack
}

/// Directories of one test, owned by the user who runs in it.
pub(crate) struct World {
    root: TempDir,
    pub(crate) user: User,
}

impl World {
    /// Makes `project` (with `spec.ts`), `run` and `outside` (with `secret`).
    pub(crate) fn new(user: User) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let world = Self { root, user };
        for directory in ["project", "run", "outside"] {
            fs::create_dir(world.path(directory)).unwrap();
        }
        fs::write(world.path("project/spec.ts"), "test").unwrap();
        fs::write(world.path("outside/secret"), "secret").unwrap();
        for path in ["", "project", "run", "outside", "project/spec.ts", "outside/secret"] {
            world.hand_over(path);
        }
        world
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(relative)
    }

    pub(crate) fn text(&self, relative: &str) -> String {
        self.path(relative).to_str().unwrap().to_owned()
    }

    /// Makes the world's user the owner.
    pub(crate) fn hand_over(&self, relative: &str) {
        if self.user == User::Ordinary {
            chown(self.path(relative), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// A plan under which everything is enforced that this version can enforce.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            mode: SandboxMode::Require,
            read: vec!["/usr".into(), "/proc".into(), "/no/such/directory".into(), attack()],
            write: vec![self.path("run"), "/dev/null".into()],
            project: ProjectAccess::ReadOnly,
            outputs: vec![],
            protect: vec![".git".into()],
            network: Network::None,
            unix_sockets: UnixSockets::Deny,
            limits: ProcessLimits::default(),
        }
    }

    /// The same plan without any protection: the control.
    pub(crate) fn off(&self) -> Plan {
        Plan { mode: SandboxMode::Off, ..self.plan() }
    }

    /// A command as the world's user, in the project.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            User::Own => Command::new(program),
            User::Ordinary => {
                let mut command = Command::new("setpriv");
                let nobody = NOBODY.to_string();
                command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.current_dir(self.path("project"));
        command
    }

    /// Does one act under a plan.
    pub(crate) fn act(&self, plan: &Plan, act: &[&str]) -> Outcome {
        confine(self.command(WARDEN.as_ref()).arg("confine"), plan, Some(invocation(act)))
    }

    /// Does one act under a plan on a system that lacks something: `no-landlock`, `no-seccomp`.
    pub(crate) fn act_on(&self, lack: &str, plan: &Plan, act: &[&str]) -> Outcome {
        confine(self.command(&attack()).args([lack, WARDEN, "confine"]), plan, Some(invocation(act)))
    }

    /// Asks what holds under a plan, and runs nothing.
    pub(crate) fn probe(&self, plan: &Plan) -> Outcome {
        confine(self.command(WARDEN.as_ref()).arg("confine"), plan, None)
    }

    /// Proves a denial: the act comes to `expected` under the plan, and to `control` without protection.
    pub(crate) fn assert_denied(&self, plan: &Plan, act: &[&str], expected: &str, control: &str) {
        let inside = self.act(plan, act).output;
        assert_eq!(inside, expected, "{act:?} inside, as {:?}", self.user);
        let outside = self.act(&self.off(), act).output;
        assert_eq!(outside, control, "{act:?} outside, as {:?}: the control", self.user);
    }

    /// Proves that an act is possible under a plan.
    pub(crate) fn assert_allowed(&self, plan: &Plan, act: &[&str]) {
        let inside = self.act(plan, act);
        assert_eq!(inside.output, "ok", "{act:?} inside, as {:?}: {}", self.user, inside.errors);
    }
}

/// Gives the helper its order, and reads what comes.
pub(crate) fn confine(command: &mut Command, plan: &Plan, invocation: Option<Invocation>) -> Outcome {
    let order = ConfineOrder { plan: plan.clone(), invocation };
    let (line, rest, errors, code) = feed(command, &serde_json::to_vec(&order).unwrap());
    let report = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no report in `{line}`: {errors}"));
    Outcome { report, output: rest.trim_end().to_owned(), errors, code }
}

/// What came of one run of the helper.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: ConfineReport,
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) code: Option<i32>,
}

impl Outcome {
    pub(crate) fn enforcement(self) -> Enforcement {
        match self.report {
            ConfineReport::Enforced(enforcement) => enforcement,
            ConfineReport::Refused(refusal) => panic!("refused: {refusal:?}"),
        }
    }

    pub(crate) fn refusal(self) -> Refusal {
        assert_eq!(self.output, "", "nothing runs after a refusal");
        match self.report {
            ConfineReport::Refused(refusal) => refusal,
            ConfineReport::Enforced(enforcement) => panic!("not refused: {enforcement:?}"),
        }
    }
}

/// One act of the program of attacks, with one variable.
pub(crate) fn invocation(act: &[&str]) -> Invocation {
    Invocation {
        program: attack(),
        argv: act.iter().map(OsString::from).collect(),
        env: BTreeMap::from([("GIVEN".into(), "value".into())]),
        cwd: "/".into(),
    }
}

/// Feeds a command its input; gives the first line of its output, the rest, its errors and its exit status.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> (String, String, String, Option<i32>) {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let (line, rest) = stdout.split_once('\n').unwrap_or((&stdout, ""));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (line.to_owned(), rest.to_owned(), errors, output.status.code())
}
