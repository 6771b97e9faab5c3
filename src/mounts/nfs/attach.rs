//! From a URL to mounts: portmap, MOUNT and limits.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::base::name::Shown;
use crate::base::{Proc, Status, reason};
use crate::storage::{Attr, Call, Extras, Kind, Limits, Mount, Node, Op, Shape};
use crate::wire::nfs3;
use crate::wire::rpc::{Credential, RpcError};

use super::ask::{Asker, Below, Kept, Mounted};
use super::proof::{Handles, Usage, attr_of, prove_same};
use super::url::{GIDS_MAX, Host, Url, UrlError};
use super::{NfsMount, Patience, Setup};

/// Lanes for each target and calls in each window, at least. 50,000 IOPS pay for 15,000 small-file procedures a second; at
/// 1 ms 15 of them are in flight, and 64 hold the ceiling while the target queues.
const SHAPE: Shape = Shape { lanes: 16, window: 4 };
/// Small-file procedures a second that a target's ceiling pays for: 3 for 10 IOPS.
const SMALL_CALLS_PER_S: f64 = 15_000.0;
/// The most lanes for each target: threads cost memory and switches, and 256 calls in flight reach the ceiling up to 8 ms.
const LANES_MAX: usize = 64;

/// Why a volume could not be attached. Each message names the target.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum AttachError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("{target}: cannot reach {what}: {}", reason(error))]
    Connect { target: String, what: &'static str, error: std::io::Error },
    #[error("{target}: {what} answers: {error}")]
    Rpc { target: String, what: &'static str, error: RpcError },
    #[error("{target}: the portmapper knows no {what} over TCP; give its port with {argument}=")]
    NoPort { target: String, what: &'static str, argument: &'static str },
    #[error("{target}: MOUNT is not at its port {port}; give its port with mountport=")]
    NoMount { target: String, port: u16 },
    #[error("{target}: MOUNT of {path}: {status}")]
    Mount { target: String, path: String, status: String },
    #[error("{target}: {path}: {proc}: {status}")]
    Call { target: String, path: String, proc: Proc, status: Status },
    #[error("{target}: {path} is not a directory")]
    NotADirectory { target: String, path: String },
    #[error("{other} does not serve the same file system as {first}: {why}")]
    Different { first: String, other: String, why: String },
    #[error("{other} still shows a name that was removed through {first}")]
    Remembers { first: String, other: String },
}

/// Attaches every target of `url`, one mount each, and proves that they serve the same file system, by what the job does there.
pub fn attach(url: &Url, usage: Usage) -> Result<Vec<Arc<NfsMount>>, AttachError> {
    // Before anybody is asked.
    url.names()?;
    let credential = credential(url);
    let mut mounts = Vec::with_capacity(url.hosts.len());
    for (index, host) in url.hosts.iter().enumerate() {
        mounts.push(attach_target(url, host, index, &credential)?);
    }
    let shared = prove_same(&mounts, usage)?;
    Ok(joined(mounts, shared))
}

/// The mounts of a volume, whose targets give what is in it handles of this sort.
pub(super) fn joined(mut mounts: Vec<NfsMount>, below: Handles) -> Vec<Arc<NfsMount>> {
    let handles: Vec<Node> = mounts.iter().map(|m| m.root.clone()).collect();
    let differ = handles.windows(2).any(|pair| pair[0] != pair[1]);
    // Targets may give the export one handle and what is in it others of their own.
    if below == Handles::Own || differ {
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
    mounts.into_iter().map(Arc::new).collect()
}

impl Url {
    /// The groups of its identity.
    pub fn groups(&self) -> Vec<u32> {
        let Credential { gid, gids, .. } = credential(self);
        [gid].into_iter().chain(gids).collect()
    }

    /// How many groups this process is in, where that is its identity and more than the GIDS_MAX that a server is told.
    pub fn groups_untold(&self) -> Option<usize> {
        let groups = if is_own(self) && self.gids.is_none() { rustix::process::getgroups().ok()? } else { Vec::new() };
        Some(groups.len()).filter(|groups| *groups > GIDS_MAX)
    }
}

/// Is the identity the process's?
fn is_own(url: &Url) -> bool {
    url.uid.is_none() && url.gid.is_none()
}

/// The URL's identity, or the process's.
fn credential(url: &Url) -> Credential {
    let gids = || -> Vec<u32> {
        let groups = rustix::process::getgroups().unwrap_or_default();
        groups.into_iter().map(rustix::process::Gid::as_raw).take(GIDS_MAX).collect()
    };
    Credential {
        uid: url.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw()),
        gid: url.gid.unwrap_or_else(|| rustix::process::getegid().as_raw()),
        gids: url.gids.clone().unwrap_or_else(|| if is_own(url) { gids() } else { Vec::new() }),
        machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

fn attach_target(url: &Url, host: &Host, index: usize, credential: &Credential) -> Result<NfsMount, AttachError> {
    at_first(&url.addresses(host)?, |address| attach_at(url, host, address, index, credential))
}

/// What the first of a host's addresses gives at which something answers; with none, why the first is not reached.
fn at_first<T>(
    addresses: &[SocketAddr],
    mut attach: impl FnMut(SocketAddr) -> Result<T, AttachError>,
) -> Result<T, AttachError> {
    let mut unreached = None;
    for address in addresses {
        match attach(*address) {
            Err(error @ AttachError::Connect { .. }) => unreached.get_or_insert(error),
            attached => return attached,
        };
    }
    Err(unreached.expect("a host's name that resolves has an address"))
}

fn attach_at(
    url: &Url,
    host: &Host,
    address: SocketAddr,
    index: usize,
    credential: &Credential,
) -> Result<NfsMount, AttachError> {
    let label = host.to_string();
    let asker = Asker {
        label: &label,
        address,
        credential,
        privileged: rustix::process::geteuid().is_root(),
        kept: RefCell::new(Kept::Never),
    };
    let nfs_port = match host.port.or(url.nfsport) {
        Some(port) => port,
        None => asker.port(nfs3::PROGRAM, nfs3::VERSION, "NFSv3", "nfsport")?,
    };
    let (mount_port, Mounted { export, below }) = match (url.mountport, host.port) {
        (Some(port), _) => (port, asker.mount(port, url)?),
        (None, None) => {
            let port = asker.mount_port()?;
            (port, asker.mount(port, url)?)
        }
        // Simulators and NAT have all programs at one port; Linux and most others have MOUNT at a port of its own.
        (None, Some(port)) => match asker.mount(port, url) {
            Err(AttachError::Rpc { error: RpcError::ProgUnavail, .. }) => {
                let port = asker.mount_port().map_err(|_| AttachError::NoMount { target: label.clone(), port })?;
                (port, asker.mount(port, url)?)
            }
            mounted => (port, mounted?),
        },
    };
    let setup = Setup {
        label: label.clone(),
        index,
        address: asker.at(nfs_port),
        mount_at: asker.at(mount_port),
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
    mount.target_mut().limits =
        limits(&mount, most).map_err(|(proc, status)| call_error(&label, &url.path, proc, status))?;
    enter(&mut mount, below, &url.path)?;
    let answer_us = [Proc::FsInfo, Proc::PathConf, Proc::GetAttr].map(|proc| mount.ledger.latency_us(proc, 0.0));
    let target = mount.target_mut();
    target.idle_answer = Duration::from_micros(answer_us.into_iter().flatten().min().unwrap_or(0));
    target.limits.shape = shape(target.idle_answer);
    Ok(mount)
}

/// Goes from an export to the directory below it that a URL names by `path`, and gives that its attributes.
pub(super) fn enter(mount: &mut NfsMount, below: Below, path: &[u8]) -> Result<Attr, AttachError> {
    let label = mount.label();
    for (name, denied) in below {
        let mut calls = [Call::lookup(&mount.root, &name)];
        mount.perform(&mut calls);
        let found = calls[0].found().map_err(|status| call_error(&label, path, Proc::Lookup, status))?;
        mount.root = found.node;
        if let Some(denied) = denied
            && attr_of(mount, &mount.root).is_ok_and(|attr| attr.kind == Kind::Dir)
        {
            return Err(denied);
        }
    }
    match attr_of(mount, &mount.root) {
        Ok(attr) if attr.kind == Kind::Dir => Ok(attr),
        Ok(_) => Err(AttachError::NotADirectory { target: label, path: Shown(path).to_string() }),
        Err(status) => Err(call_error(&label, path, Proc::GetAttr, status)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_attached_at_the_first_address_that_answers() {
        let silent = |port: u16| AttachError::Connect {
            target: "nas".into(),
            what: "MOUNT",
            error: std::io::Error::other(format!("port {port}")),
        };
        let addresses: [SocketAddr; 3] = [1, 2, 3].map(|port| ([127, 0, 0, 1], port).into());
        let first_from = |answers: u16| {
            at_first(&addresses, |at| if at.port() >= answers { Ok(at.port()) } else { Err(silent(at.port())) })
        };
        assert_eq!((first_from(1).unwrap(), first_from(2).unwrap()), (1, 2));
        assert!(first_from(4).unwrap_err().to_string().ends_with("port 1"));
        // What answers and refuses is not passed over.
        let refused = |_| Err::<(), _>(AttachError::NotADirectory { target: "nas".into(), path: "/e".into() });
        assert!(matches!(at_first(&addresses, refused), Err(AttachError::NotADirectory { .. })));
    }

    #[test]
    fn farther_targets_get_more_lanes() {
        let lanes = [0, 1, 2, 5, 50].map(|ms| shape(Duration::from_millis(ms)).lanes);
        assert_eq!(lanes, [16, 16, 16, 38, 64]);
    }
}
