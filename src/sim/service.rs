//! What the targets of one server share: the mount and its handles, the faults, and the MOUNT program.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::base::{BadName, Name, Status};
use crate::storage::{Call, Kind, Limits, Mount, Node};
use crate::wire::mount3::{self, Export, MountProc, MountStatus, Mounted, MountedBy};
use crate::wire::rpc::{CallHead, RpcError};

use super::faults::Faults;
use super::handles::Handles;

/// Mounts that DUMP tells of; further ones are not remembered.
const MOUNTS_MAX: usize = 1024;
/// AUTH_SYS's number.
const AUTH_SYS: u32 = 1;

pub(super) struct Service {
    pub mount: Arc<dyn Mount>,
    pub limits: Limits,
    pub handles: Handles,
    pub faults: Faults,
    /// New objects belong to whom the mount gives them, not to the caller.
    pub squash: bool,
    /// Read while requests are carried out, written by a restart.
    pub running: RwLock<()>,
    /// Host and path, as DUMP tells them.
    mounted: Mutex<Vec<MountedBy>>,
}

impl Service {
    pub(super) fn new(mount: Arc<dyn Mount>, faults: Faults, handles_max: usize, squash: bool) -> Service {
        let (limits, handles) = (mount.limits(), Handles::new(mount.root(), handles_max));
        Service { mount, limits, handles, faults, squash, running: RwLock::default(), mounted: Mutex::default() }
    }

    /// Answers a call of the MOUNT program.
    pub(super) fn mount(
        &self,
        peer: SocketAddr,
        head: &CallHead,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let host = peer.ip().to_string().into_bytes();
        let path = || mount3::decode_path(record, head.args).map_err(|_| RpcError::GarbageArgs);
        let mut mounted = self.mounted.lock().unwrap_or_else(PoisonError::into_inner);
        match MountProc::from_number(head.procedure).ok_or(RpcError::ProcUnavail)? {
            MountProc::Null => {}
            MountProc::Mnt => {
                let path = path()?;
                let result = self.root_of(path);
                let entry = (host, path.to_vec());
                if result.is_ok() && mounted.len() < MOUNTS_MAX && !mounted.contains(&entry) {
                    mounted.push(entry);
                }
                mount3::encode_mounted(&result, out);
            }
            MountProc::Dump => mount3::encode_mounts(&mounted, out),
            MountProc::Umnt => {
                let entry = (host, path()?.to_vec());
                mounted.retain(|known| *known != entry);
            }
            MountProc::UmntAll => mounted.retain(|(known, _)| *known != host),
            MountProc::Export => mount3::encode_exports(&[Export { dir: b"/".to_vec(), groups: Vec::new() }], out),
        }
        Ok(())
    }

    /// MNT: any directory there is may be mounted.
    fn root_of(&self, path: &[u8]) -> Result<Mounted, MountStatus> {
        if path.len() > mount3::PATH_MAX {
            return Err(MountStatus::NameTooLong);
        }
        let mut node = self.mount.root();
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".") {
            let name = Name::new(part).map_err(|error| match error {
                BadName::TooLong => MountStatus::NameTooLong,
                BadName::DotDot => MountStatus::Access,
                _ => MountStatus::Inval,
            })?;
            node = self.child(&node, &name).map_err(mount_status)?;
        }
        if self.attr(&node).map_err(mount_status)?.kind != Kind::Dir {
            return Err(MountStatus::NotDir);
        }
        Ok(Mounted { root: self.handles.handle(&node), flavors: vec![AUTH_SYS] })
    }

    fn child(&self, dir: &Node, name: &Name) -> Result<Node, Status> {
        let mut calls = [Call::lookup(dir, name)];
        self.mount.perform(&mut calls);
        let [call] = &mut calls;
        self.handles.settle(call);
        call.found().map(|found| found.node)
    }
}

fn mount_status(status: Status) -> MountStatus {
    match status {
        Status::Perm => MountStatus::Perm,
        Status::NoEnt => MountStatus::NoEnt,
        Status::Access => MountStatus::Access,
        Status::NotDir => MountStatus::NotDir,
        Status::Inval => MountStatus::Inval,
        Status::NameTooLong => MountStatus::NameTooLong,
        Status::NotSupp => MountStatus::NotSupp,
        Status::Io => MountStatus::Io,
        _ => MountStatus::ServerFault,
    }
}
