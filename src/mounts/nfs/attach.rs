//! From a URL to mounts: portmap, MOUNT and limits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::base::hash::mix;
use crate::base::name::Shown;
use crate::base::{Name, Proc, Status, Time, reason};
use crate::storage::{Call, Extras, Handle, Kind, Limits, Mount, Node, Op, Shape};
use crate::wire::mount3::{self, MountProc, MountStatus};
use crate::wire::rpc::{self, Credential};
use crate::wire::{nfs3, portmap};

use super::connection::open_stream;
use super::proof::{Handles, Usage, attr_of, prove_same};
use super::url::{Host, Url, UrlError};
use super::{NfsMount, Patience, Setup};

/// Lanes for each target and calls in each window, at least. 50,000 IOPS pay for 15,000 small-file procedures a second; at
/// 1 ms 15 of them are in flight, and 64 hold the ceiling while the target queues.
const SHAPE: Shape = Shape { lanes: 16, window: 4 };
/// Small-file procedures a second that a target's ceiling pays for: 3 for 10 IOPS.
const SMALL_CALLS_PER_S: f64 = 15_000.0;
/// The most lanes for each target: threads cost memory and switches, and 256 calls in flight reach the ceiling up to 8 ms.
const LANES_MAX: usize = 64;
/// How long MOUNT and the portmapper may take to answer.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer of MOUNT or the portmapper that is read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Why a volume could not be attached. Each message names the target.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum AttachError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("{target}: cannot reach {what}: {}", reason(error))]
    Connect { target: String, what: &'static str, error: std::io::Error },
    #[error("{target}: {what} answers: {error}")]
    Rpc { target: String, what: &'static str, error: String },
    #[error("{target}: the portmapper knows no {what} over TCP; give its port with {argument}=")]
    NoPort { target: String, what: &'static str, argument: &'static str },
    #[error("{target}: MOUNT of {path}: {status}")]
    Mount { target: String, path: String, status: String },
    #[error("{target}: {path}: {proc}: {status}")]
    Call { target: String, path: String, proc: Proc, status: Status },
    #[error("{target}: {path} is not a directory")]
    NotADirectory { target: String, path: String },
    #[error("{other} does not serve the same file system as {first}: {why}")]
    Different { first: String, other: String, why: String },
}

/// Attaches every target of `url`, one mount each, and proves that they serve the same file system, by what the job does there.
pub fn attach(url: &Url, usage: Usage) -> Result<Vec<Arc<NfsMount>>, AttachError> {
    let credential = credential(url);
    let mut mounts = Vec::with_capacity(url.hosts.len());
    for (index, host) in url.hosts.iter().enumerate() {
        mounts.push(attach_target(url, host, index, &credential)?);
    }
    let handles: Vec<Node> = mounts.iter().map(|m| m.root.clone()).collect();
    let differ = handles.windows(2).any(|pair| pair[0] != pair[1]);
    // Targets may give the export one handle and what is in it others of their own.
    if prove_same(&mounts, usage)? == Handles::Own || differ {
        let root = Node::root_chain(mounts.len());
        if let Node::Chain(chain) = &root {
            for (slot, handle) in chain.handles.iter().zip(&handles) {
                if let Node::Handle(handle) = handle {
                    let _ = slot.set(*handle); // the chain is new
                }
            }
        }
        mounts.iter_mut().for_each(|m| m.root = root.clone());
    }
    Ok(mounts.into_iter().map(Arc::new).collect())
}

impl Url {
    /// The groups of its identity.
    pub fn groups(&self) -> Vec<u32> {
        let Credential { gid, gids, .. } = credential(self);
        // AUTH_SYS takes so many (RFC 5531 8.2).
        [gid].into_iter().chain(gids.into_iter().take(16)).collect()
    }
}

/// The URL's identity, or the process's.
fn credential(url: &Url) -> Credential {
    let gids = || -> Vec<u32> {
        let groups = rustix::process::getgroups().unwrap_or_default();
        groups.into_iter().map(rustix::process::Gid::as_raw).take(16).collect()
    };
    let own = url.uid.is_none() && url.gid.is_none();
    Credential {
        uid: url.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw()),
        gid: url.gid.unwrap_or_else(|| rustix::process::getegid().as_raw()),
        gids: url.gids.clone().unwrap_or_else(|| if own { gids() } else { Vec::new() }),
        machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

fn attach_target(url: &Url, host: &Host, index: usize, credential: &Credential) -> Result<NfsMount, AttachError> {
    let (address, nfs_port) = url.address(host)?;
    let label = host.to_string();
    let asker = Asker { label: &label, credential, privileged: rustix::process::geteuid().is_root() };
    let mount_port = url.mountport.or(nfs_port.filter(|_| host.port.is_some()));
    let nfs_port = match nfs_port {
        Some(port) => port,
        None => asker.port(address, nfs3::PROGRAM, nfs3::VERSION, "NFSv3", "nfsport")?,
    };
    let mount_port = match mount_port {
        Some(port) => port,
        None => asker.port(address, mount3::PROGRAM, mount3::VERSION, "MOUNT", "mountport")?,
    };
    let Mounted { export, below } = asker.mount(with_port(address, mount_port), &url.path)?;
    let setup = Setup {
        label: label.clone(),
        index,
        address: with_port(address, nfs_port),
        privileged: asker.privileged,
        credential: credential.clone(),
        connections: url.nconnect,
        patience: Patience { reply_timeout: url.reply_timeout, retrans: url.retrans, away_max: url.away_max },
    };
    let most = Limits {
        read_max: url.rsize,
        write_max: url.wsize,
        list_max: url.rsize,
        name_max: 255,
        size_max: u64::MAX,
        shape: SHAPE,
        extras: Extras::default(),
        dirs_locked: false,
    };
    let mut mount = NfsMount::new(setup, Node::Handle(export), most);
    mount.limits = limits(&mount, most).map_err(|(proc, status)| call_error(&label, &url.path, proc, status))?;
    for (name, denied) in below {
        let mut calls = [Call::lookup(&mount.root, &name)];
        mount.perform(&mut calls);
        let found = calls[0].found().map_err(|status| call_error(&label, &url.path, Proc::Lookup, status))?;
        mount.root = found.node;
        if let Some(denied) = denied
            && attr_of(&mount, &mount.root).is_ok_and(|attr| attr.kind == Kind::Dir)
        {
            return Err(denied);
        }
    }
    let mut calls = [Call::get_attr(&mount.root)];
    mount.perform(&mut calls);
    match calls[0].attr() {
        Ok(attr) if attr.kind == Kind::Dir => {
            let answer_us =
                [Proc::FsInfo, Proc::PathConf, Proc::GetAttr].map(|proc| mount.ledger.latency_us(proc, 0.0));
            mount.idle_answer = Duration::from_micros(answer_us.into_iter().flatten().min().unwrap_or(0));
            mount.limits.shape = shape(mount.idle_answer);
            Ok(mount)
        }
        Ok(_) => Err(AttachError::NotADirectory { target: label, path: Shown(&url.path).to_string() }),
        Err(status) => Err(call_error(&label, &url.path, Proc::GetAttr, status)),
    }
}

fn call_error(target: &str, path: &[u8], proc: Proc, status: Status) -> AttachError {
    AttachError::Call { target: target.into(), path: Shown(path).to_string(), proc, status }
}

/// How parallel a target is to be driven that answers in `answer`: twice the calls in flight that its ceiling takes.
pub fn shape(answer: Duration) -> Shape {
    let in_flight = 2.0 * SMALL_CALLS_PER_S * answer.as_secs_f64();
    let lanes = (in_flight / SHAPE.window as f64).ceil() as usize;
    Shape { lanes: lanes.clamp(SHAPE.lanes, LANES_MAX), ..SHAPE }
}

/// FSINFO's and PATHCONF's limits, none above `most`.
fn limits(mount: &NfsMount, most: Limits) -> Result<Limits, (Proc, Status)> {
    let mut calls = [Call::fs_info(&mount.root), Call::path_conf(&mount.root)];
    mount.perform(&mut calls);
    let [Call { op: Op::FsInfo { out: info, .. }, .. }, Call { op: Op::PathConf { out: name_max, .. }, .. }] = calls
    else {
        return Err((Proc::FsInfo, Status::Protocol));
    };
    let info = info.map_err(|status| (Proc::FsInfo, status))?;
    // RFC 1813 3.3.19: rtmax and wtmax are the server's word; 0 would be nonsense, and less than 512 of no use.
    let at_least = |server: u32, most: u32| server.clamp(512, most.max(512));
    Ok(Limits {
        read_max: at_least(info.read_max, most.read_max),
        write_max: at_least(info.write_max, most.write_max),
        // dtpref is only a preference; the Linux client asks for up to a megabyte, and servers answer with less.
        list_max: most.list_max.min(at_least(info.read_max, most.read_max)),
        name_max: name_max.unwrap_or(255).min(255),
        size_max: info.size_max,
        shape: SHAPE,
        extras: Extras::default(),
        dirs_locked: false,
    })
}

/// An export, and the names that lead from it to what a URL names. With a name comes the error of a MOUNT that was denied there: a
/// directory may be denied because another file system is mounted on it, and what LOOKUP finds is the one beneath.
struct Mounted {
    export: Handle,
    below: Vec<(Name, Option<AttachError>)>,
}

/// The address at another port, with the interface of a link-local one.
fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// Asks a target's MOUNT server and portmapper, one call to a connection.
struct Asker<'a> {
    label: &'a str,
    credential: &'a Credential,
    privileged: bool,
}

impl Asker<'_> {
    fn port(
        &self,
        host: SocketAddr,
        program: u32,
        version: u32,
        what: &'static str,
        argument: &'static str,
    ) -> Result<u16, AttachError> {
        let mut arguments = Vec::new();
        portmap::encode_getport(program, version, &mut arguments);
        let to = with_port(host, portmap::PORT);
        let (record, at) =
            self.ask(to, "the portmapper", (portmap::PROGRAM, portmap::VERSION, portmap::GETPORT), &arguments)?;
        match portmap::decode_port(&record, at) {
            Ok(Some(port)) => Ok(port),
            Ok(None) => Err(AttachError::NoPort { target: self.label.into(), what, argument }),
            Err(_) => Err(self.malformed("the portmapper")),
        }
    }

    /// Mounts `path`, or the nearest directory above it that is exported; the names below it are to be looked up.
    fn mount(&self, to: SocketAddr, path: &[u8]) -> Result<Mounted, AttachError> {
        let failed = |path: &[u8], status: String| AttachError::Mount {
            target: self.label.into(),
            path: Shown(path).to_string(),
            status,
        };
        let parts = path.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".");
        let names: Result<Vec<Name>, _> = parts.map(Name::new).collect();
        let names = names.map_err(|e| failed(path, e.to_string()))?;
        let (mut first_refusal, mut denied) = (None, Vec::new());
        for exported in (0..=names.len()).rev() {
            let mut export: Vec<u8> = names[..exported].iter().flat_map(|n| [b"/", n.as_bytes()].concat()).collect();
            if export.is_empty() {
                export.push(b'/');
            }
            let mut arguments = Vec::new();
            mount3::encode_path(&export, &mut arguments);
            let (record, at) =
                self.ask(to, "MOUNT", (mount3::PROGRAM, mount3::VERSION, MountProc::Mnt as u32), &arguments)?;
            match mount3::decode_mounted(&record, at) {
                Ok(Ok(mounted)) => {
                    denied.reverse();
                    let below = names[exported..].iter().cloned().zip(denied).collect();
                    return Ok(Mounted { export: mounted.root, below });
                }
                Ok(Err(status)) => {
                    let is_denied = matches!(status, MountStatus::Access | MountStatus::Perm);
                    denied.push(is_denied.then(|| failed(&export, status.to_string())));
                    first_refusal.get_or_insert(status);
                }
                Err(_) => return Err(self.malformed("MOUNT")),
            }
        }
        let status = first_refusal.map_or_else(String::new, |s| s.to_string());
        Err(failed(path, status))
    }

    fn malformed(&self, what: &'static str) -> AttachError {
        AttachError::Rpc { target: self.label.into(), what, error: Status::Protocol.to_string() }
    }

    /// One call on a connection of its own; returns the record and where the results begin.
    fn ask(
        &self,
        to: SocketAddr,
        what: &'static str,
        (program, version, procedure): (u32, u32, u32),
        arguments: &[u8],
    ) -> Result<(Vec<u8>, usize), AttachError> {
        let unreachable = |error: std::io::Error| {
            // A socket's time limit comes as EAGAIN.
            let silent = error.kind() == std::io::ErrorKind::WouldBlock;
            let late = || std::io::Error::other(format!("no answer within {} s", ASK_TIMEOUT.as_secs()));
            AttachError::Connect { target: self.label.into(), what, error: if silent { late() } else { error } }
        };
        let xid = mix(u64::from(to.port()) ^ u64::from(Time::now().nanos)) as u32;
        let mut request = Vec::new();
        let start = rpc::begin_call(&mut request, xid, program, version, procedure, Some(self.credential));
        request.extend_from_slice(arguments);
        rpc::end_record(&mut request, start, 0);
        let exchange = || {
            let mut stream = open_stream(to, self.privileged, None)?;
            stream.set_write_timeout(Some(ASK_TIMEOUT))?;
            stream.write_all(&request)?;
            answer(&mut Until { stream, end: Instant::now() + ASK_TIMEOUT })
        };
        let record = exchange().map_err(unreachable)?;
        match rpc::parse_reply(&record) {
            Ok((answered, Ok(at))) if answered == xid => Ok((record, at)),
            Ok((_, Err(error))) => Err(AttachError::Rpc { target: self.label.into(), what, error: error.to_string() }),
            _ => Err(self.malformed(what)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn farther_targets_get_more_lanes() {
        let lanes = [0, 1, 2, 5, 50].map(|ms| shape(Duration::from_millis(ms)).lanes);
        assert_eq!(lanes, [16, 16, 16, 38, 64]);
    }
}
