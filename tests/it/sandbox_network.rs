//! What keeps a run from the network, and from sockets in the file system.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use playwright_warden::policy::confinement::{Network, SandboxMode, UnixSockets};
use playwright_warden::sandbox::{Enforcer, Feature, Level, Plan};

use crate::confined::{User, World, is_root, users};

/// Listeners of every kind that a run could talk to.
struct Site {
    tcp: TcpListener,
    udp: UdpSocket,
    _stream: UnixListener,
    _datagram: UnixDatagram,
    _abstract: UnixListener,
    name: String,
}

impl Site {
    fn new(world: &World) -> Self {
        let stream = UnixListener::bind(world.path("outside/stream")).unwrap();
        let datagram = UnixDatagram::bind(world.path("outside/datagram")).unwrap();
        world.hand_over("outside/stream");
        world.hand_over("outside/datagram");
        let name = world.text("abstract");
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _stream: stream,
            _datagram: datagram,
            _abstract: UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
            name,
        }
    }

    fn tcp_port(&self) -> String {
        self.tcp.local_addr().unwrap().port().to_string()
    }

    fn udp_port(&self) -> String {
        self.udp.local_addr().unwrap().port().to_string()
    }
}

/// What making a raw socket comes to without protection.
fn raw_control(world: &World) -> &'static str {
    if is_root() && world.user == User::Own { "ok" } else { "EPERM" }
}

#[test]
fn network_none_leaves_no_transport() {
    for user in users() {
        let world = World::new(user);
        let site = Site::new(&world);
        let plan = world.plan();
        let (tcp, udp) = (site.tcp_port(), site.udp_port());
        let rows: [&[&str]; 6] = [
            &["tcp-connect", &tcp],
            &["tcp-bind"],
            &["tcp-listen-unbound"],
            &["tcp-fast-open", &tcp],
            &["mptcp-connect", &tcp],
            &["udp-send", &udp],
        ];
        for act in rows {
            world.assert_denied(&plan, act, "EAFNOSUPPORT", "ok");
        }
        world.assert_denied(&plan, &["raw"], "EAFNOSUPPORT", raw_control(&world));
        world.assert_denied(&plan, &["packet"], "EAFNOSUPPORT", raw_control(&world));
    }
}

#[test]
fn network_open_leaves_tcp_and_udp_free_and_no_raw_sockets() {
    for user in users() {
        let world = World::new(user);
        let site = Site::new(&world);
        let plan = Plan { network: Network::Open, ..world.plan() };
        let (tcp, udp) = (site.tcp_port(), site.udp_port());
        let rows: [&[&str]; 7] = [
            &["tcp-connect", &tcp],
            &["tcp-bind"],
            &["tcp-listen-unbound"],
            &["tcp-fast-open", &tcp],
            &["mptcp-connect", &tcp],
            &["udp-send", &udp],
            &["netlink"],
        ];
        for act in rows {
            world.assert_allowed(&plan, act);
        }
        world.assert_denied(&plan, &["raw"], "EAFNOSUPPORT", raw_control(&world));
        world.assert_denied(&plan, &["packet"], "EAFNOSUPPORT", raw_control(&world));
        world.assert_denied(&plan, &["old-packet"], "EAFNOSUPPORT", raw_control(&world));
    }
}

#[test]
fn unix_sockets_are_denied_but_for_connected_pairs() {
    for user in users() {
        let world = World::new(user);
        let site = Site::new(&world);
        let plan = Plan { network: Network::Open, ..world.plan() };
        let (stream, datagram) = (world.text("outside/stream"), world.text("outside/datagram"));
        let rows: [&[&str]; 5] = [
            &["unix-stream", &stream],
            &["unix-datagram", &datagram],
            &["unix-abstract", &site.name],
            // The kernel would let a pair of datagram sockets be turned on a path.
            &["unix-pair-datagram", &datagram],
            &["unix-pair-raw", &datagram],
        ];
        for act in rows {
            world.assert_denied(&plan, act, "EAFNOSUPPORT", "ok");
        }
        world.assert_allowed(&plan, &["unix-pair"]);
        world.assert_allowed(&plan, &["unix-pair-seqpacket"]);
    }
}

#[test]
fn allowed_unix_sockets_are_path_sockets_and_never_abstract_ones() {
    for user in users() {
        let world = World::new(user);
        let site = Site::new(&world);
        let plan =
            Plan { unix_sockets: UnixSockets::Allow, write: vec![world.path("outside")], ..world.plan() };
        world.assert_allowed(&plan, &["unix-stream", &world.text("outside/stream")]);
        world.assert_allowed(&plan, &["unix-datagram", &world.text("outside/datagram")]);
        world.assert_denied(&plan, &["unix-abstract", &site.name], "EPERM", "ok");
        world.assert_denied(&plan, &["tcp-connect", &site.tcp_port()], "EAFNOSUPPORT", "ok");
    }
}

#[test]
fn io_uring_is_no_way_round_the_socket_filter() {
    for user in users() {
        let world = World::new(user);
        world.assert_denied(&world.plan(), &["io-uring"], "ENOSYS", "ok");
    }
}

#[test]
fn each_lock_on_tcp_holds_by_itself() {
    for user in users() {
        let world = World::new(user);
        let site = Site::new(&world);
        let tcp = site.tcp_port();
        let plan = Plan { mode: SandboxMode::BestEffort, ..world.plan() };

        let by_landlock = world.act_on("no-seccomp", &plan, &["tcp-connect", &tcp]);
        assert_eq!(by_landlock.output, "EACCES");
        assert_eq!(world.act_on("no-seccomp", &plan, &["tcp-bind"]).output, "EACCES");
        // Landlock alone has gaps, so it is not told as a boundary.
        assert_eq!(world.act_on("no-seccomp", &plan, &["tcp-listen-unbound"]).output, "ok");
        let found = by_landlock.enforcement();
        assert_eq!(found.missing, [Feature::UnixSockets, Feature::Tcp, Feature::Udp]);
        assert_eq!(found.level, Level::Partial);

        let by_seccomp = world.act_on("no-landlock", &plan, &["tcp-connect", &tcp]);
        assert_eq!(by_seccomp.output, "EAFNOSUPPORT");
        let found = by_seccomp.enforcement().enforced;
        assert_eq!(
            found,
            [Feature::UnixSockets, Feature::Tcp, Feature::Udp].map(|feature| (feature, Enforcer::Seccomp))
        );
    }
}

#[test]
fn without_seccomp_a_required_plan_is_refused() {
    for user in users() {
        let world = World::new(user);
        let refusal = world.act_on("no-seccomp", &world.plan(), &["say", "hello"]).refusal();
        assert_eq!(refusal.missing, [Feature::UnixSockets, Feature::Tcp, Feature::Udp]);
        assert_eq!(refusal.keys, ["sandbox.unix_sockets", "sandbox.network"]);
        let no_filter_needed =
            Plan { network: Network::Open, unix_sockets: UnixSockets::Allow, ..world.plan() };
        assert_eq!(world.act_on("no-seccomp", &no_filter_needed, &["say", "hello"]).output, "hello");
    }
}
