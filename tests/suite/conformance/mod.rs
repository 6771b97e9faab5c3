//! The promises of `Mount`, one function each, over every mount and wrapper. A new mount is a line in `samples`.
//!
//! What a sample cannot do for a reason of its own (devices without root) its `Can` says, and the promise's function
//! then asserts how it refuses.

mod beyond;
mod data;
mod names;
mod whole;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parfs::base::Time;
use parfs::base::price::Ceiling;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::sim::{Config, Server};
use parfs::storage::{AttrChange, Ledger, Mount, Node, SetTime, Spread, Tapped, Volume, Want};
use rustix::fs::{XattrFlags, lsetxattr, setxattr};

use super::ask::Ask;

/// What differs between samples for good reasons.
#[derive(Clone, Copy)]
struct Can {
    /// Give files to other owners.
    chown: bool,
    /// Make device nodes.
    devices: bool,
    /// Count subdirectories in a directory's nlink (btrfs and others do not).
    dir_nlink: bool,
    /// How often `issued` counts a call: a volume of two views of one mount sums that mount twice.
    issued_times: u64,
    /// A page too small for its first entry is refused.
    handles: bool,
    /// Keep `user.` attributes (a file system without them may be beneath).
    user_xattrs: bool,
    /// Keep `security.` attributes on symlinks: root's right.
    symlink_xattrs: bool,
    /// Keep ACLs and say by them what the mode is.
    acls: bool,
    /// COMMIT vouches for every WRITE: with several targets only for those through the same one.
    one_verifier: bool,
}

struct Sample {
    name: &'static str,
    mount: Arc<dyn Mount>,
    can: Can,
    /// What the mount needs while it is used: a directory, a server.
    _guard: Option<Box<dyn Any>>,
}

const ALL: Can = Can {
    chown: true,
    devices: true,
    dir_nlink: true,
    issued_times: 1,
    handles: true,
    user_xattrs: true,
    symlink_xattrs: true,
    acls: false,
    one_verifier: true,
};

/// A LocalMount on a new directory; what its process and file system can do is tried out beside it.
fn local(name: &'static str, descriptors_max: Option<usize>) -> Sample {
    let guard = tempfile::tempdir().unwrap();
    let tried = tempfile::tempdir_in(guard.path()).unwrap();
    std::fs::create_dir(tried.path().join("d")).unwrap();
    std::os::unix::fs::symlink("d", tried.path().join("l")).unwrap();
    let (zero, rw) = (rustix::fs::makedev(1, 5), rustix::fs::Mode::RUSR);
    let device = rustix::fs::FileType::CharacterDevice;
    let can = Can {
        chown: std::os::unix::fs::chown(tried.path().join("d"), Some(12345), Some(54321)).is_ok(),
        devices: rustix::fs::mknodat(rustix::fs::CWD, tried.path().join("c"), device, rw, zero).is_ok(),
        dir_nlink: std::os::unix::fs::MetadataExt::nlink(&tried.path().metadata().unwrap()) == 3,
        issued_times: 1,
        handles: false,
        user_xattrs: setxattr(tried.path(), "user.tried", b"", XattrFlags::empty()).is_ok(),
        symlink_xattrs: lsetxattr(tried.path().join("l"), "security.tried", b"", XattrFlags::empty()).is_ok(),
        acls: setxattr(tried.path(), "system.posix_acl_access", beyond::ACL_RWXR_X, XattrFlags::empty()).is_ok(),
        one_verifier: true,
    };
    drop(tried);
    let mount = match descriptors_max {
        None => LocalMount::open(guard.path()),
        Some(max) => LocalMount::open_with(guard.path(), max),
    };
    Sample { name, mount: Arc::new(mount.unwrap()), can, _guard: Some(Box::new(guard)) }
}

/// The direct NFSv3 client on a simulated server of `served`: what the client, the codec and the server make of a mount.
fn direct(name: &'static str, served: Arc<dyn Mount>, targets: usize, can: Can, guard: Option<Box<dyn Any>>) -> Sample {
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let server = Server::start(served, Config { targets, ceiling, squash: true, ..Config::default() }).unwrap();
    let mounts = attach(&Url::parse(&server.url()).unwrap(), Usage::Writes).unwrap();
    let views = mounts.into_iter().map(|m| m as Arc<dyn Mount>).collect();
    let mount = Arc::new(Volume::new(views, Spread::RoundRobin));
    Sample { name, mount, can, _guard: Some(Box::new((server, guard))) }
}

/// Every mount and wrapper that must keep the promises, each empty.
fn samples() -> Vec<Sample> {
    let memory = |name, mount, can| Sample { name, mount, can, _guard: None };
    let one = Arc::new(MemoryMount::new());
    let views: Vec<Arc<dyn Mount>> = vec![one.clone(), one];
    let ledger = Arc::new(Ledger::default());
    vec![
        memory("memory", Arc::new(MemoryMount::new()), ALL),
        memory("tapped", Arc::new(Tapped::new(Arc::new(MemoryMount::new()), vec![ledger])), ALL),
        memory("volume", Arc::new(Volume::new(views, Spread::RoundRobin)), Can { issued_times: 2, ..ALL }),
        local("local", None),
        {
            let Sample { mount, can, _guard, .. } = local("", None);
            let tapped: Arc<dyn Mount> = Arc::new(Tapped::new(mount, vec![Arc::new(Ledger::default())]));
            let mount = Arc::new(Volume::new(vec![tapped], Spread::First));
            Sample { name: "volume of a tapped local", mount, can, _guard }
        },
        local("local, one descriptor", Some(1)),
        direct("direct", Arc::new(MemoryMount::new()), 1, ALL, None),
        direct("direct, 3 targets", Arc::new(MemoryMount::new()), 3, Can { one_verifier: false, ..ALL }, None),
        {
            let Sample { mount, can, _guard, .. } = local("", None);
            direct("direct, a directory", mount, 2, Can { one_verifier: false, ..can }, _guard)
        },
    ]
}

fn each(promise: impl Fn(&dyn Mount, &Node, Can)) {
    for sample in samples() {
        println!("{}", sample.name); // shown when a promise fails
        promise(&*sample.mount, &sample.mount.root(), sample.can);
    }
}

const AT: Time = Time { secs: 1_000_000_000, nanos: 123_456_789 };
const LATER: Time = Time { secs: 2_000_000_001, nanos: 1 };

/// Moves an object's times into the past, so that any update shows.
fn age(mount: &dyn Mount, node: &Node) {
    let change = AttrChange { atime: SetTime::At(AT), mtime: SetTime::At(AT), ..AttrChange::default() };
    mount.set_attr(node, change).unwrap();
}

fn names(mount: &dyn Mount, dir: &Node) -> BTreeSet<String> {
    mount.list(dir, Want::Names, 4096).unwrap().iter().map(|entry| entry.name.to_string()).collect()
}
