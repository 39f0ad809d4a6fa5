//! Acts on sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use rustix::net::{
    AddressFamily, Protocol, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, ipproto, listen,
    sendto, socket, socketpair,
};

const FAST_OPEN: SendFlags = SendFlags::from_bits_retain(0x2000_0000);
const MPTCP: u32 = 262;

pub(crate) fn run(act: &str, arguments: &[&str]) -> Option<io::Result<String>> {
    let argument = arguments.first().copied().unwrap_or_default();
    let port = || SocketAddrV4::new(Ipv4Addr::LOCALHOST, argument.parse().unwrap());
    let done = match act {
        "tcp-connect" => TcpStream::connect(port()).map(drop),
        "tcp-bind" => TcpListener::bind("127.0.0.1:0").map(drop),
        "tcp-listen-unbound" => make(AddressFamily::INET, SocketType::STREAM, None)
            .and_then(|socket| listen(&socket, 1).map_err(io::Error::from)),
        "tcp-fast-open" => make(AddressFamily::INET, SocketType::STREAM, None)
            .and_then(|socket| Ok(sendto(&socket, b"hello", FAST_OPEN, &port())?))
            .map(drop),
        "mptcp-connect" => {
            make(AddressFamily::INET, SocketType::STREAM, Some(Protocol::from_raw(raw(MPTCP))))
                .and_then(|socket| Ok(connect(&socket, &port())?))
        }
        "udp-send" => {
            UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"hello", port())).map(drop)
        }
        "raw" => make(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).map(drop),
        "packet" => make(AddressFamily::PACKET, SocketType::RAW, None).map(drop),
        "old-packet" => make(AddressFamily::INET, SocketType::from_raw(10), None).map(drop),
        "family" => {
            make(AddressFamily::from_raw(argument.parse().unwrap()), SocketType::SEQPACKET, None).map(drop)
        }
        "netlink" => make(AddressFamily::NETLINK, SocketType::RAW, None).map(drop),
        "unix-stream" => UnixStream::connect(argument).map(drop),
        "unix-abstract" => SocketAddr::from_abstract_name(argument)
            .and_then(|name| UnixStream::connect_addr(&name))
            .map(drop),
        "unix-datagram" => {
            UnixDatagram::unbound().and_then(|socket| socket.send_to(b"hello", argument)).map(drop)
        }
        "unix-pair" => pair(SocketType::STREAM).map(drop),
        "unix-pair-seqpacket" => pair(SocketType::SEQPACKET).map(drop),
        "unix-pair-datagram" => turned_pair(SocketType::DGRAM, argument),
        "unix-pair-raw" => turned_pair(SocketType::RAW, argument),
        "io-uring" => io_uring::IoUring::new(2).map(drop),
        _ => return None,
    };
    Some(done.map(|()| String::new()))
}

fn raw(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn make(
    family: AddressFamily,
    kind: SocketType,
    protocol: Option<Protocol>,
) -> io::Result<rustix::fd::OwnedFd> {
    Ok(socket(family, kind, protocol)?)
}

fn pair(kind: SocketType) -> io::Result<(rustix::fd::OwnedFd, rustix::fd::OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None)?)
}

/// Sends on one end of a pair, not to its other end but to a path.
fn turned_pair(kind: SocketType, path: &str) -> io::Result<()> {
    let (socket, _other) = pair(kind)?;
    sendto(&socket, b"hello", SendFlags::empty(), &SocketAddrUnix::new(path)?)?;
    Ok(())
}
