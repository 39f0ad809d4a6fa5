//! Acts on processes, and lives of processes that are hard to end.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit, setsid, test_kill_process};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The calls of Landlock, which have the same numbers everywhere.
const LANDLOCK: [i64; 3] = [444, 445, 446];

pub(crate) fn run(act: &str, arguments: &[&str]) -> Option<io::Result<String>> {
    let argument = arguments.first().copied().unwrap_or_default();
    Some(match act {
        "say" => Ok(argument.to_owned()),
        "exit" => std::process::exit(argument.parse().unwrap()),
        "die" => std::process::abort(),
        "signal" => test_kill_process(pid(argument)).map_err(io::Error::from).map(|()| String::new()),
        "limit" => limit(pid(argument)),
        "lower-own-limit" => {
            let lower = Rlimit { current: Some(64), maximum: Some(64) };
            setrlimit(Resource::Nofile, lower).map_err(io::Error::from).map(|()| String::new())
        }
        "signal-own-child" => signal_own_child(),
        "environ" => fs::read(format!("/proc/{argument}/environ")).map(|_| String::new()),
        "descriptor" => fs::read_link(format!("/proc/self/fd/{argument}")).map(|_| String::new()),
        "status" => status(argument),
        "limits" => Ok(limits()),
        "environment" => Ok(environment()),
        "session" => Ok((rustix::process::getsid(None).ok() == Some(rustix::process::getpid())).to_string()),
        "stdin" => {
            let mut all = Vec::new();
            io::stdin().read_to_end(&mut all).and_then(|length| {
                Ok(format!("{length} bytes of {}", fs::read_link("/proc/self/fd/0")?.display()))
            })
        }
        "no-landlock" => Err(without(&LANDLOCK, arguments)),
        "no-seccomp" => Err(without(&[nix::libc::SYS_seccomp], arguments)),
        "sleep" => Ok(sleep()),
        "flood" => flood(argument.parse().unwrap(), arguments[1]),
        "leave-daemon" => spawn("daemon-parent", arguments, Stdio::null()).and_then(|mut child| {
            child.wait()?;
            Ok(String::new())
        }),
        "hold-output" => spawn("daemon", arguments, Stdio::inherit()).map(|_| String::new()),
        "daemon-parent" => setsid().map_err(io::Error::from).and_then(|_| {
            spawn("daemon", arguments, Stdio::null())?;
            Ok(String::new())
        }),
        "daemon" => setsid().map_err(io::Error::from).map(|_| sleep()),
        "stubborn-family" => stubborn_family(arguments),
        "stubborn" => ignore_signals().map(|()| sleep()),
        "polite" => spawn("daemon-parent", arguments, Stdio::null()).map(|_| {
            println!("polite");
            sleep()
        }),
        _ => return None,
    })
}

/// Gives a process the limit that it has already: an act without harm.
fn limit(process: Pid) -> io::Result<String> {
    let own = getrlimit(Resource::Nofile);
    prlimit(Some(process), Resource::Nofile, own).map_err(io::Error::from).map(|_| String::new())
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.parse().unwrap()).unwrap()
}

/// Starts this program again; the arguments go with it, so that all of a family bear the mark of their test.
fn spawn(act: &str, arguments: &[&str], output: Stdio) -> io::Result<std::process::Child> {
    Command::new(std::env::current_exe()?)
        .arg(act)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .spawn()
}

fn signal_own_child() -> io::Result<String> {
    let mut child = spawn("sleep", &[], Stdio::null())?;
    child.kill()?;
    child.wait()?;
    Ok(String::new())
}

fn sleep() -> String {
    std::thread::sleep(Duration::from_mins(10));
    String::new()
}

/// Gives one field of the kernel's own account of this process.
fn status(field: &str) -> io::Result<String> {
    let all = fs::read_to_string("/proc/self/status")?;
    let line = all.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap_or("none");
    Ok(line.trim().to_owned())
}

fn limits() -> String {
    let show = |resource| {
        let limit = getrlimit(resource);
        format!("{:?}/{:?}", limit.current, limit.maximum)
    };
    [Resource::Nofile, Resource::Fsize, Resource::Data].map(show).join(" ")
}

fn environment() -> String {
    std::env::vars().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Blocked signals wait for ever, which is as good as ignored.
fn ignore_signals() -> io::Result<()> {
    let mut mask = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        mask.add(signal);
    }
    Ok(mask.thread_block()?)
}

fn stubborn_family(arguments: &[&str]) -> io::Result<String> {
    ignore_signals()?;
    spawn("daemon-parent", arguments, Stdio::null())?;
    spawn("stubborn", arguments, Stdio::inherit())?;
    println!("stubborn");
    Ok(sleep())
}

/// Writes that much, then a file, and stays.
fn flood(bytes: usize, file: &str) -> io::Result<String> {
    let block = [b'x'; 8192];
    let mut stdout = io::stdout().lock();
    for _ in 0..bytes / block.len() {
        stdout.write_all(&block)?;
    }
    stdout.write_all(b"the end")?;
    stdout.flush()?;
    fs::write(file, "done")?;
    Ok(sleep())
}

/// Becomes another program for which some system calls do not exist.
fn without(calls: &[i64], arguments: &[&str]) -> io::Error {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let rules = calls.iter().map(|&call| (call, Vec::new())).collect();
    let errno = SeccompAction::Errno(nix::libc::ENOSYS.cast_unsigned());
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    Command::new(arguments[0]).args(&arguments[1..]).exec()
}
