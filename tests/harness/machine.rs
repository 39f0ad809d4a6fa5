//! A machine whose `/etc` a test decides on: a copy of this one's, seen only by the servers that are started on it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::harness::{
    namespace::Namespace,
    server::Setup,
    user::{NOBODY, User},
};

/// A machine; its root is root, or who runs the tests, and its user has a home, a policy of his own perhaps, and work.
pub struct Machine {
    _root: TempDir,
    path: PathBuf,
}

impl Machine {
    /// A machine without a policy, on which the user has these directories in `work`.
    pub fn with_work(directories: &[&str]) -> Self {
        let root = tempfile::Builder::new().prefix("warden-machine-").tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = root.path().canonicalize().unwrap();
        // Files that only root can read are left out where the tests are not root.
        Command::new("cp").args(["-a", "/etc"]).arg(&path).output().unwrap();
        let machine = Self { _root: root, path };
        let passwd = fs::read_to_string("/etc/passwd").unwrap();
        let (id, home) = (users_id(), machine.home());
        let others = passwd.lines().filter(|line| line.split(':').nth(2) != Some(&id.to_string()));
        let user = format!("tester:x:{id}:{id}:the tests' user:{}:/bin/sh", home.display());
        fs::write(machine.etc("passwd"), others.chain([user.as_str()]).collect::<Vec<_>>().join("\n") + "\n")
            .unwrap();
        fs::remove_dir_all(machine.etc("playwright-warden")).ok();
        for directory in directories.iter().map(|name| machine.work(name)).chain([home]) {
            fs::create_dir_all(&directory).unwrap();
            give_to_user(&directory);
        }
        machine
    }

    /// A file of the system's policy, with the `version` that every policy starts with.
    pub fn policy(self, name: &str, text: &str) -> Self {
        self.write(&self.etc("playwright-warden").join(name), text);
        self
    }

    /// The policy in the user's own home.
    pub fn users_policy(self, text: &str) -> Self {
        self.users_file(".config/playwright-warden/policy.toml", text);
        self
    }

    /// A policy file of the user, by its name in his home.
    pub fn users_file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.home().join(name);
        self.write(&file, text);
        for path in file.ancestors().take_while(|path| *path != self.home()) {
            give_to_user(path);
        }
        file
    }

    /// A path in its `/etc`, as it is seen from outside.
    pub fn etc(&self, name: &str) -> PathBuf {
        self.path.join("etc").join(name)
    }

    /// The user's home, which his entry in the user database names.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// A directory in the user's work.
    pub fn work(&self, name: &str) -> PathBuf {
        self.path.join("work").join(name)
    }

    /// A server of the user that is launched in a directory of his work.
    pub fn launched_in(&self, directory: &str) -> Setup {
        let mount = format!("mount --bind '{}' /etc", self.etc("").display());
        let namespace = Namespace::prepared_by(&mount).with_root_by_name();
        let user = if rustix::process::geteuid().is_root() { User::Ordinary } else { User::Same };
        Setup::in_directory(&self.work(directory)).user(user).namespace(namespace)
    }

    fn write(&self, file: &Path, text: &str) {
        let directory = file.parent().unwrap();
        fs::create_dir_all(directory).unwrap();
        fs::write(
            file,
            format!("version = 1\n{}\n", text.replace("{work}", self.work("").to_str().unwrap())),
        )
        .unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

/// Gives a file to the user; where the tests are not root, he is its root too.
pub fn give_to_user(path: &Path) {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(users_id()), None).unwrap();
    }
}

/// The user, as his machine counts.
fn users_id() -> u32 {
    if rustix::process::geteuid().is_root() { NOBODY } else { 0 }
}
