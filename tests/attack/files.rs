//! Acts on files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) fn run(act: &str, arguments: &[&str]) -> Option<io::Result<String>> {
    let path = arguments.first().copied().unwrap_or_default();
    let other = arguments.get(1).copied().unwrap_or_default();
    let done = match act {
        "read" => fs::read(path).map(drop),
        "list" => fs::read_dir(path).map(drop),
        "write" => OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .and_then(|mut file| file.write_all(b"written")),
        "truncate" => nix::unistd::truncate(path, 0).map_err(io::Error::from),
        "hardlink" => fs::hard_link(path, other),
        "read-through-symlink" => {
            std::os::unix::fs::symlink(path, other).and_then(|()| fs::read(other)).map(drop)
        }
        "rename" => fs::rename(path, other),
        "unlink" => fs::remove_file(path),
        "mkdir" => fs::create_dir(path),
        "copy-and-execute" => fs::copy(path, other).and_then(|_| execute(Path::new(other))),
        "execute" => execute(Path::new(path)),
        _ => return None,
    };
    Some(done.map(|()| String::new()))
}

fn execute(program: &Path) -> io::Result<()> {
    Command::new(program).args(["say", "hello"]).stdin(Stdio::null()).output().map(drop)
}
