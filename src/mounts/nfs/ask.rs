//! MOUNT and the portmapper of a target, one call to a connection unless one is kept for more of them.

use std::cell::RefCell;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::base::hash::mix;
use crate::base::name::Shown;
use crate::base::{Name, Time};
use crate::storage::Handle;
use crate::wire::mount3::{self, MountProc, MountStatus};
use crate::wire::portmap;
use crate::wire::rpc::{self, Credential, RpcError};

use super::connection::{lacks, open_stream};
use super::{AttachError, Url};

/// How long MOUNT and the portmapper may take to answer.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer of MOUNT or the portmapper that is read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// AUTH_NONE, which servers that take any flavor list, and AUTH_SYS.
const FLAVORS: [u32; 2] = [0, 1];

/// Why an export that takes these flavors alone cannot be used (RFC 2623: 390003 to 390005 are krb5, krb5i and krb5p).
fn other_flavors(accepted: &[u32]) -> String {
    let name = |flavor: &u32| match flavor {
        390_003 => "krb5".into(),
        390_004 => "krb5i".into(),
        390_005 => "krb5p".into(),
        other => other.to_string(),
    };
    let names: Vec<String> = accepted.iter().take(5).map(name).collect();
    format!(
        "the export takes sec={} and not sys, which is all that is spoken here; mount it on this host",
        names.join(":")
    )
}

/// An export, and the names that lead from it to what a URL names. With a name comes the error of a MOUNT that said more of
/// it than that no export is called so: a directory may be denied because another file system is mounted on it, and what LOOKUP
/// finds is the one beneath.
pub(super) struct Mounted {
    pub export: Handle,
    pub below: Below,
}

/// Names from an export down; see [`Mounted`].
pub(super) type Below = Vec<(Name, Option<AttachError>)>;

/// A connection for more than one call. Each connection of root takes one of some hundred ports, and keeps it for a minute after its end.
#[derive(Debug, Default)]
pub(super) enum Kept {
    /// Not made yet, or ended by the server.
    #[default]
    Ended,
    /// To this address.
    To(SocketAddr, TcpStream),
    /// Each call is to have its own: nothing more is asked, or the server was silent to a second one.
    Never,
}

/// Asks a target's MOUNT server and portmapper.
pub(super) struct Asker<'a> {
    pub label: &'a str,
    /// Its address; the port does not matter.
    pub address: SocketAddr,
    pub credential: &'a Credential,
    pub privileged: bool,
    /// What its calls are sent on, where that is to be kept.
    pub kept: RefCell<Kept>,
}

impl Asker<'_> {
    /// The target's address at a port, with the interface of a link-local one.
    pub fn at(&self, port: u16) -> SocketAddr {
        let mut address = self.address;
        address.set_port(port);
        address
    }

    /// The port of MOUNT, as the portmapper says.
    pub fn mount_port(&self) -> Result<u16, AttachError> {
        self.port(mount3::PROGRAM, mount3::VERSION, "MOUNT", "mountport")
    }

    /// A program's port, as the portmapper says.
    pub fn port(
        &self,
        program: u32,
        version: u32,
        what: &'static str,
        argument: &'static str,
    ) -> Result<u16, AttachError> {
        let mut arguments = Vec::new();
        portmap::encode_getport(program, version, &mut arguments);
        let (record, at) = self.ask(
            self.at(portmap::PORT),
            "the portmapper",
            (portmap::PROGRAM, portmap::VERSION, portmap::GETPORT),
            &arguments,
        )?;
        match portmap::decode_port(&record, at) {
            Ok(Some(port)) => Ok(port),
            Ok(None) => Err(AttachError::NoPort { target: self.label.into(), what, argument }),
            Err(_) => Err(self.malformed("the portmapper")),
        }
    }

    /// Mounts the path of `url`, or the nearest directory above it that is exported; the names below it are to be looked up.
    pub fn mount(&self, port: u16, url: &Url) -> Result<Mounted, AttachError> {
        let failed = |path: &[u8], status: String| AttachError::Mount {
            target: self.label.into(),
            path: Shown(path).to_string(),
            status,
        };
        let names = url.names()?;
        let path = &url.path[..];
        let (mut first_refusal, mut denied) = (None, Vec::new());
        for exported in (0..=names.len()).rev() {
            let mut export: Vec<u8> = names[..exported].iter().flat_map(|n| [b"/", n.as_bytes()].concat()).collect();
            if export.is_empty() {
                export.push(b'/');
            }
            let mut arguments = Vec::new();
            mount3::encode_path(&export, &mut arguments);
            let (record, at) = self.ask(
                self.at(port),
                "MOUNT",
                (mount3::PROGRAM, mount3::VERSION, MountProc::Mnt as u32),
                &arguments,
            )?;
            match mount3::decode_mounted(&record, at) {
                Ok(Ok(mounted)) => {
                    let accepted = &mounted.flavors;
                    if !accepted.is_empty() && !accepted.iter().any(|flavor| FLAVORS.contains(flavor)) {
                        return Err(failed(&export, other_flavors(accepted)));
                    }
                    denied.reverse();
                    let below = names[exported..].iter().cloned().zip(denied).collect();
                    return Ok(Mounted { export: mounted.root, below });
                }
                Ok(Err(status)) => {
                    use MountStatus::{Inval, NameTooLong, NoEnt, NotDir};
                    let is_no_export = matches!(status, NoEnt | NotDir | Inval | NameTooLong);
                    denied.push((!is_no_export).then(|| failed(&export, status.to_string())));
                    first_refusal.get_or_insert(status);
                }
                Err(_) => return Err(self.malformed("MOUNT")),
            }
        }
        let status = first_refusal.map_or_else(String::new, |s| s.to_string());
        Err(failed(path, status))
    }

    fn malformed(&self, what: &'static str) -> AttachError {
        AttachError::Rpc { target: self.label.into(), what, error: RpcError::Malformed }
    }

    /// One call on a connection of its own; returns the record and where the results begin.
    fn ask(
        &self,
        to: SocketAddr,
        what: &'static str,
        (program, version, procedure): (u32, u32, u32),
        arguments: &[u8],
    ) -> Result<(Vec<u8>, usize), AttachError> {
        let unreachable = |error: Error| {
            let error = match (lacks(&error), error.kind()) {
                (Some(status), _) => Error::other(status),
                // A socket's time limit comes as EAGAIN.
                (_, ErrorKind::WouldBlock) => Error::other(format!("no answer within {} s", ASK_TIMEOUT.as_secs())),
                (_, ErrorKind::UnexpectedEof) => Error::other("it closed the connection without an answer"),
                (_, ErrorKind::InvalidData) => Error::other("its answer is no RPC record, or too long"),
                _ => error,
            };
            AttachError::Connect { target: self.label.into(), what, error }
        };
        let xid = mix(u64::from(to.port()) ^ u64::from(Time::now().nanos)) as u32;
        let mut request = Vec::new();
        let start = rpc::begin_call(&mut request, xid, program, version, procedure, Some(self.credential));
        request.extend_from_slice(arguments);
        rpc::end_record(&mut request, start, 0);
        let exchange = |stream: TcpStream| -> std::io::Result<_> {
            stream.set_write_timeout(Some(ASK_TIMEOUT))?;
            (&stream).write_all(&request)?;
            let mut replies = Until { stream, end: Instant::now() + ASK_TIMEOUT };
            loop {
                let record = answer(&mut replies)?;
                let parsed = rpc::parse_reply(&record);
                // What answers another call, sent ahead of ours from this port, is none of ours.
                if !matches!(parsed, Ok((answered, _)) if answered != xid) {
                    return Ok((replies.stream, (record, parsed)));
                }
            }
        };
        let (record, parsed) = self.sent(to, exchange).map_err(unreachable)?;
        match parsed {
            Ok((_, Ok(at))) => Ok((record, at)),
            Ok((_, Err(error))) => Err(AttachError::Rpc { target: self.label.into(), what, error }),
            Err(_) => Err(self.malformed(what)),
        }
    }

    /// What `exchange` gives with the connection that is kept, or else a new one.
    fn sent<T>(
        &self,
        to: SocketAddr,
        exchange: impl Fn(TcpStream) -> std::io::Result<(TcpStream, T)>,
    ) -> std::io::Result<T> {
        let mut keeps = true;
        let kept = match self.kept.take() {
            Kept::To(address, stream) if address == to => {
                let exchanged = exchange(stream);
                keeps = !exchanged.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
                exchanged.ok()
            }
            Kept::Never => {
                keeps = false;
                None
            }
            _ => None,
        };
        if !keeps {
            self.kept.replace(Kept::Never);
        }
        let (stream, answer) = kept.map_or_else(|| exchange(open_stream(to, self.privileged, None)?), Ok)?;
        if keeps {
            self.kept.replace(Kept::To(to, stream));
        }
        Ok(answer)
    }
}

/// A stream that is read until a moment, however little comes at a time.
struct Until {
    stream: TcpStream,
    end: Instant,
}

impl Read for Until {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buf)
    }
}

/// One record, of one fragment or several (RFC 5531 section 11). An empty one that is not the last says nothing and could go on for ever.
fn answer(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut record = Vec::new();
    loop {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark)?;
        let mark = u32::from_be_bytes(mark);
        let (len, is_last) = ((mark & 0x7fff_ffff) as usize, mark >> 31 == 1);
        if record.len() + len > ANSWER_BYTES_MAX || len == 0 && !is_last {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let got = stream.by_ref().take(len as u64).read_to_end(&mut record)?;
        if got < len {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if is_last {
            return Ok(record);
        }
    }
}
