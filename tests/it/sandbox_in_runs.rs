//! What holds inside real Playwright tests that a real server runs: each attack fails there, and succeeds without the sandbox.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::{UnixDatagram, UnixListener},
    },
    path::Path,
};

use serde_json::json;

use crate::harness::{
    acts::{Act, Actor},
    project::{Project, open_to_all},
    server::Setup,
    user::User,
};

/// The strictest policy of this version.
const STRICT: &str = "[sandbox]\nmode = \"require\"\nproject = \"read-only\"\nnetwork = \"none\"";
/// No protection at all: the control.
const OFF: &str = "[sandbox]\nmode = \"off\"";

/// What lies beside a project and is nothing to its tests.
struct Outside {
    tcp: TcpListener,
    udp: UdpSocket,
    _stream: UnixListener,
    _datagram: UnixDatagram,
    directory: String,
}

impl Outside {
    fn of(project: &Project) -> Self {
        let directory = project.parent().join("outside");
        fs::create_dir(&directory).unwrap();
        open_to_all(&directory);
        let stream = UnixListener::bind(directory.join("stream")).unwrap();
        let datagram = UnixDatagram::bind(directory.join("datagram")).unwrap();
        for name in ["secret", "owned"] {
            fs::write(directory.join(name), name).unwrap();
        }
        for name in ["stream", "datagram", "owned"] {
            // A socket needs to be written, by whoever connects to it.
            fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o666)).unwrap();
        }
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _stream: stream,
            _datagram: datagram,
            directory: directory.to_str().unwrap().to_owned(),
        }
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    fn tcp_port(&self) -> String {
        self.tcp.local_addr().unwrap().port().to_string()
    }

    fn udp_port(&self) -> String {
        self.udp.local_addr().unwrap().port().to_string()
    }
}

#[test]
fn files_outside_the_scopes_and_the_project_stay_as_they_are() {
    for &user in User::all() {
        let actor = Actor::new();
        let outside = Outside::of(actor.project());
        let at = |name: &str| outside.at(name);
        symlink(at("secret"), actor.project().at("link")).unwrap();
        let rows: &[(Act<'_>, &str, &str)] = &[
            (&["read", &at("secret")], "EACCES", "ok"),
            (&["read", "link"], "EACCES", "ok"),
            (&["list", &at("")], "EACCES", "ok"),
            (&["write", &at("owned")], "EACCES", "ok"),
            (&["write", &at("new")], "EACCES", "ok"),
            (&["mkdir", &at("directory")], "EACCES", "ok"),
            (&["rename", &at("owned"), &at("renamed")], "EACCES", "ok"),
            (
                &["execute", "/bin/sh", "-c", &format!("cat {} > /dev/null 2>&1 || echo no", at("secret"))],
                "no",
                "",
            ),
            (&["write", "new"], "EACCES", "ok"),
            (&["write", "tests/new.spec.ts"], "EACCES", "ok"),
            (&["write", "node_modules/new"], "EACCES", "ok"),
            (&["attack", "io-uring"], "ENOSYS", "ok"),
        ];
        actor.assert_denied(user, [STRICT, OFF], rows);
    }
}

#[test]
fn no_socket_of_any_kind_leads_out() {
    for &user in User::all() {
        let actor = Actor::new();
        let outside = Outside::of(actor.project());
        let (tcp, udp) = (outside.tcp_port(), outside.udp_port());
        let (stream, datagram) = (outside.at("stream"), outside.at("datagram"));
        let rows: &[(Act<'_>, &str, &str)] = &[
            (&["connect-tcp", &tcp], "EAFNOSUPPORT", "ok"),
            (&["listen-tcp"], "EAFNOSUPPORT", "ok"),
            (&["send-udp", &udp], "EAFNOSUPPORT", "ok"),
            (&["connect-unix", &stream], "EAFNOSUPPORT", "ok"),
            (&["attack", "tcp-connect", &tcp], "EAFNOSUPPORT", "ok"),
            (&["attack", "tcp-fast-open", &tcp], "EAFNOSUPPORT", "ok"),
            (&["attack", "mptcp-connect", &tcp], "EAFNOSUPPORT", "ok"),
            (&["attack", "udp-send", &udp], "EAFNOSUPPORT", "ok"),
            (&["attack", "unix-datagram", &datagram], "EAFNOSUPPORT", "ok"),
            (&["attack", "unix-pair-datagram", &datagram], "EAFNOSUPPORT", "ok"),
        ];
        actor.assert_denied(user, [STRICT, OFF], rows);
    }
}

#[test]
fn the_server_is_neither_signalled_nor_read() {
    for &user in User::all() {
        let actor = Actor::new();
        let act = |sandbox: &str| {
            let policy = format!("[env]\nwithhold = [\"HUSH\"]\n{sandbox}");
            let setup = Setup::in_directory(actor.project().path()).policy(&policy).user(user);
            let server = setup.variable("HUSH", "withheld-value").variable("SAID", "passed on").start();
            let pid = server.pid().to_string();
            let acts: &[Act<'_>] = &[
                &["signal", &pid],
                &["environ", &pid, "withheld-value"],
                &["variable", "HUSH"],
                &["variable", "SAID"],
                &["environ", "self", "withheld-value"],
            ];
            actor.act_with(&server, acts).outcomes
        };
        assert_eq!(act(STRICT), ["EPERM", "EACCES", "none", "passed on", "not found"], "as {user:?}");
        assert_eq!(act(OFF), ["ok", "found", "none", "passed on", "not found"], "as {user:?}: the control");
    }
}

#[test]
fn the_default_policy_leaves_the_project_and_the_network_and_closes_the_rest() {
    for &user in User::all() {
        let actor = Actor::new();
        let outside = Outside::of(actor.project());
        let (tcp, udp) = (outside.tcp_port(), outside.udp_port());
        let rows: &[(Act<'_>, &str, &str)] = &[
            (&["read", &outside.at("secret")], "EACCES", "ok"),
            (&["write", &outside.at("new")], "EACCES", "ok"),
            (&["connect-unix", &outside.at("stream")], "EAFNOSUPPORT", "ok"),
            (&["write", "new"], "ok", "ok"),
            (&["execute", "./attack", "say", "hello"], "hello", "hello"),
            (&["connect-tcp", &tcp], "ok", "ok"),
            (&["listen-tcp"], "ok", "ok"),
            (&["send-udp", &udp], "ok", "ok"),
        ];
        actor.assert_denied(user, ["", OFF], rows);
    }
}

#[test]
fn under_outputs_the_listed_directories_are_written_and_nothing_else() {
    for &user in User::all() {
        let actor = Actor::within(Project::new().file("coverage-here/keep", "").file("src/page.ts", ""));
        let outside = Outside::of(actor.project());
        symlink(&outside.directory, actor.project().at("linked")).unwrap();
        let policy = "[sandbox]\nmode = \"require\"\nproject = \"outputs\"\n\
                      outputs = [\"test-results\", \"playwright-report\", \"coverage-here\", \"linked\", \"missing\"]";
        let rows: &[(Act<'_>, &str, &str)] = &[
            (&["write", "src/new"], "EACCES", "ok"),
            (&["write", "new"], "EACCES", "ok"),
            (&["write", "node_modules/new"], "EACCES", "ok"),
            (&["write", "linked/new"], "EACCES", "ok"),
            (&["read", "linked/secret"], "EACCES", "ok"),
            (&["mkdir", "missing"], "EACCES", "ok"),
            (&["write", "test-results/new"], "ok", "ok"),
            (&["write", "playwright-report/new"], "ok", "ok"),
            (&["mkdir", "coverage-here/deep/deeper"], "ok", "ok"),
            (&["write", "coverage-here/deep/deeper/new"], "ok", "ok"),
        ];
        actor.assert_denied(user, [policy, OFF], rows);
    }
}

#[test]
fn under_outputs_snapshots_are_written_when_the_call_updates_them() {
    for &user in User::all() {
        let snapshot = "tests/a.spec.ts-snapshots/text-linux.txt";
        let project = Project::new().file(snapshot, "old").spec(
            "tests/a.spec.ts",
            "test('looks the same', () => { expect('new').toMatchSnapshot('text.txt'); });",
        );
        fs::set_permissions(project.at(snapshot), fs::Permissions::from_mode(0o666)).unwrap();
        let policy = "[sandbox]\nmode = \"require\"\nproject = \"outputs\"";
        let server = Setup::in_directory(project.path()).policy(policy).user(user).start();
        server.run_all().assert_counts(0, 1);
        assert_eq!(fs::read_to_string(project.at(snapshot)).unwrap(), "old");
        server.run(json!({ "updateSnapshots": "all" })).assert_counts(1, 0);
        assert_eq!(fs::read_to_string(project.at(snapshot)).unwrap(), "new");
    }
}

#[test]
fn more_places_are_opened_by_name_and_no_further() {
    for &user in User::all() {
        let actor = Actor::new();
        let outside = Outside::of(actor.project());
        for name in ["shared", "drop", "other"] {
            let directory = Path::new(&outside.directory).join(name);
            fs::create_dir(&directory).unwrap();
            open_to_all(&directory);
            fs::write(directory.join("file"), "file").unwrap();
        }
        let at = |name: &str| outside.at(name);
        let policy = format!(
            "[sandbox]\nmode = \"require\"\nproject = \"read-only\"\nread = [{:?}, {:?}]\nwrite = [{:?}]",
            at("shared"),
            at("secret"),
            at("drop")
        );
        let closed = "[sandbox]\nmode = \"require\"\nproject = \"read-only\"";
        let rows: &[(Act<'_>, &str, &str)] = &[
            (&["read", &at("shared/file")], "EACCES", "ok"),
            (&["read", &at("secret")], "EACCES", "ok"),
            (&["read", &at("drop/file")], "EACCES", "ok"),
            (&["write", &at("drop/new")], "EACCES", "ok"),
            (&["write", &at("shared/new")], "EACCES", "EACCES"),
            (&["read", &at("other/file")], "EACCES", "EACCES"),
            (&["write", &at("other/new")], "EACCES", "EACCES"),
            (&["list", &at("")], "EACCES", "EACCES"),
        ];
        actor.assert_denied(user, [closed, &policy], rows);
    }
}

#[test]
fn home_and_temporary_files_are_the_runs_own() {
    for &user in User::all() {
        let actor = Actor::new();
        let outside = Outside::of(actor.project());
        fs::create_dir(outside.at("tmp")).unwrap();
        open_to_all(outside.at("tmp").as_ref());
        let act = |sandbox: &str| {
            let setup = Setup::in_directory(actor.project().path()).policy(sandbox).user(user);
            let setup = setup.variable("HOME", &outside.directory).variable("TMPDIR", &outside.at("tmp"));
            let server = setup.start();
            let acts: &[Act<'_>] = &[&["home"], &["tmpdir"], &["read", &outside.at("secret")]];
            let outcomes = actor.act_with(&server, acts);
            let run = outcomes.reply.text_at("/runId").to_owned();
            (outcomes.outcomes, server.state().canonicalize().unwrap().join("runs").join(run))
        };
        let shared_cache = || {
            let entries = fs::read_dir(outside.at("tmp")).unwrap().flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().contains("transform-cache")).count()
        };

        let (confined, run) = act("");
        let own = [run.join("home"), run.join("tmp")].map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(confined, [own[0].as_str(), &own[1], "EACCES"], "as {user:?}");
        assert_eq!(shared_cache(), 0, "as {user:?}");
        assert!(!run.exists(), "a run leaves nothing behind when its server ends");

        let (control, _) = act(OFF);
        assert_eq!(
            control,
            [outside.directory.as_str(), &outside.at("tmp"), "ok"],
            "as {user:?}: the control"
        );
        assert_eq!(shared_cache(), 1, "the control: unconfined runs share Playwright's cache");
    }
}

#[test]
fn a_project_has_a_transform_cache_of_its_own_that_later_runs_find() {
    for &user in User::all() {
        let (first, second) = (Actor::new(), Actor::new());
        let place = "PLAYWRIGHT_TRANSFORM_CACHE_DIR";
        let policy = format!("[dirs]\nallow = [{:?}, {:?}]", first.project().path(), second.project().path());
        let server = Setup::in_directory(first.project().path()).policy(&policy).user(user).start();
        let acts: &[Act<'_>] = &[&["variable", place], &["variable", "PWTEST_CACHE_DIR"]];
        let cache = first.act_with(&server, acts).outcomes;
        assert!(
            cache[0].starts_with(server.state().canonicalize().unwrap().join("transform").to_str().unwrap())
        );
        assert_eq!(cache[0], cache[1]);
        assert!(fs::read_dir(&cache[0]).unwrap().count() > 0, "sources are cached there");
        assert_eq!(first.act_with(&server, acts).outcomes, cache);

        fs::write(
            second.project().at("acts.json"),
            json!([["variable", place], ["list", &cache[0]]]).to_string(),
        )
        .unwrap();
        let reply = server.run(json!({ "workingDirectory": second.project().path() }));
        reply.assert_counts(1, 0);
        let outcomes = Path::new(reply.text_at("/resultsFile")).with_file_name("out").join("outcomes.json");
        let outcomes: Vec<String> = serde_json::from_slice(&fs::read(outcomes).unwrap()).unwrap();
        assert_ne!(outcomes[0], cache[0]);
        assert_eq!(outcomes[1], "EACCES", "another project's cache is out of reach");
    }
}
