//! What answers Prometheus: HTTP/1.0's GET of one path, one reader after the other. Nobody can hold the run up: a request has a size and a
//! time that it may take.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes of a request at most.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// For one reader.
const TAKES_MAX: Duration = Duration::from_secs(2);
/// How often it is looked whether the run has ended.
const LOOK: Duration = Duration::from_millis(100);
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Where metrics are read.
pub struct Endpoint {
    listener: TcpListener,
}

impl Endpoint {
    /// Listens on `address`: `HOST:PORT`, or a port of the loopback address.
    pub fn bind(address: &str) -> io::Result<Endpoint> {
        let addresses: Vec<SocketAddr> = match address.parse::<u16>() {
            Ok(port) => vec![SocketAddr::from(([127, 0, 0, 1], port))],
            Err(_) => address.to_socket_addrs()?.collect(),
        };
        let listener = TcpListener::bind(&addresses[..])?;
        // Whoever asked may be gone when it is accepted.
        listener.set_nonblocking(true)?;
        Ok(Endpoint { listener })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is `over`.
    pub fn serve(&self, over: &AtomicBool, text: impl Fn() -> String) {
        while !over.load(Ordering::Relaxed) {
            let mut waited = [PollFd::new(&self.listener, PollFlags::IN)];
            // An error is looked at again after the same time.
            if poll(&mut waited, Some(&LOOK_EVERY)).is_ok_and(|ready| ready > 0)
                && let Ok((stream, _)) = self.listener.accept()
            {
                // A reader that went away is no matter of the run's.
                let _gone = answer(stream, over, &text);
            }
        }
    }
}

fn answer(mut stream: TcpStream, over: &AtomicBool, text: &impl Fn() -> String) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let until = Instant::now() + TAKES_MAX;
    let left = || until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    let (mut request, mut some) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        stream.set_read_timeout(Some(left().ok_or(io::ErrorKind::TimedOut)?.min(LOOK)))?;
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(read) => request.extend_from_slice(&some[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !over.load(Ordering::Relaxed) => {}
            Err(error) => return Err(error),
        }
    }
    stream.set_write_timeout(Some(left().ok_or(io::ErrorKind::TimedOut)?))?;
    let (status, kind, body) = respond(&request, text);
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    if !request.starts_with(b"HEAD ") {
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// Status, type and text of the answer.
fn respond(request: &[u8], text: &impl Fn() -> String) -> (&'static str, &'static str, String) {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
    match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", PLAIN, "metrics are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", PLAIN, "GET /metrics\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_is_answered() {
        let text = || "a 1\n".to_string();
        let status = |request: &str| respond(request.as_bytes(), &text).0;
        assert_eq!(respond(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", &text).2, "a 1\n");
        assert_eq!(status("HEAD /metrics?a=b HTTP/1.1\r\n\r\n"), "200 OK");
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "404 Not Found");
        for bad in ["POST /metrics HTTP/1.1\r\n\r\n", "", "\0\0\0", "GET"] {
            assert_ne!(status(bad), "200 OK", "{bad:?}");
        }
        assert!(Endpoint::bind("127.0.0.1").is_err() && Endpoint::bind("nonsense").is_err());
    }

    #[test]
    fn readers_come_and_go_until_it_is_over() {
        let endpoint = Endpoint::bind("0").unwrap();
        let (address, over) = (endpoint.address().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| endpoint.serve(&over, || "b 2\n".into()));
            drop(TcpStream::connect(address).unwrap());
            for _ in 0..2 {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("\r\n\r\nb 2\n"), "{answer}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
