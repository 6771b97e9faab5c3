//! MOUNT version 3 (RFC 1813 appendix I): the root handle of an export, both sides.

use thiserror::Error;

use crate::storage::Handle;

use super::xdr::{Malformed, Reader, put_opaque, put_u32};

/// The program's number.
pub const PROGRAM: u32 = nfs3_types::mount::PROGRAM;
/// The version spoken here.
pub const VERSION: u32 = nfs3_types::mount::VERSION;
/// The longest path (MNTPATHLEN).
pub const PATH_MAX: usize = 1024;
/// Export lists and mount lists of more entries than this are malformed.
const LIST_MAX: usize = 65_536;

/// MOUNT's procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the RFC's names
pub enum MountProc {
    Null = 0,
    Mnt = 1,
    Dump = 2,
    Umnt = 3,
    UmntAll = 4,
    Export = 5,
}

impl MountProc {
    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<MountProc> {
        use MountProc::*;
        [Null, Mnt, Dump, Umnt, UmntAll, Export].get(number as usize).copied()
    }
}

/// mountstat3, other than MNT3_OK: why a path is not mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum MountStatus {
    #[error("Operation not permitted")]
    Perm,
    #[error("No such file or directory")]
    NoEnt,
    #[error("Input/output error")]
    Io,
    #[error("Permission denied (not exported to this host, or an unprivileged source port)")]
    Access,
    #[error("Not a directory")]
    NotDir,
    #[error("Invalid argument")]
    Inval,
    #[error("File name too long")]
    NameTooLong,
    #[error("Operation not supported")]
    NotSupp,
    #[error("Server fault")]
    ServerFault,
    #[error("MOUNT status {0}")]
    Other(u32),
}

const STATUSES: [(MountStatus, u32); 9] = [
    (MountStatus::Perm, 1),
    (MountStatus::NoEnt, 2),
    (MountStatus::Io, 5),
    (MountStatus::Access, 13),
    (MountStatus::NotDir, 20),
    (MountStatus::Inval, 22),
    (MountStatus::NameTooLong, 63),
    (MountStatus::NotSupp, 10004),
    (MountStatus::ServerFault, 10006),
];

impl MountStatus {
    fn from_number(number: u32) -> MountStatus {
        STATUSES.iter().find(|(_, n)| *n == number).map_or(MountStatus::Other(number), |(s, _)| *s)
    }

    fn number(self) -> u32 {
        match self {
            MountStatus::Other(number) => number,
            _ => STATUSES.iter().find(|(s, _)| *s == self).map_or(10006, |(_, n)| *n),
        }
    }
}

/// What MNT gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// The handle of the path.
    pub root: Handle,
    /// The authentication flavours accepted there: 0 AUTH_NONE, 1 AUTH_SYS.
    pub flavors: Vec<u32>,
}

/// One export of EXPORT's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its path.
    pub dir: Vec<u8>,
    /// Whom it is for; empty: everybody.
    pub groups: Vec<Vec<u8>>,
}

/// One entry of DUMP's list: a host, and the path that it has mounted.
pub type MountedBy = (Vec<u8>, Vec<u8>);

/// Appends the argument of MNT and UMNT.
pub fn encode_path(path: &[u8], out: &mut Vec<u8>) {
    put_opaque(out, path);
}

/// Reads the argument of MNT and UMNT.
pub fn decode_path(record: &[u8], at: usize) -> Result<&[u8], Malformed> {
    Reader::new(record, at).opaque()
}

/// Appends MNT's result.
pub fn encode_mounted(result: &Result<Mounted, MountStatus>, out: &mut Vec<u8>) {
    match result {
        Ok(mounted) => {
            put_u32(out, 0);
            put_opaque(out, mounted.root.as_bytes());
            put_u32(out, super::xdr::len_u32(mounted.flavors.len()));
            mounted.flavors.iter().for_each(|flavor| put_u32(out, *flavor));
        }
        Err(status) => put_u32(out, status.number()),
    }
}

/// Reads MNT's result.
pub fn decode_mounted(record: &[u8], at: usize) -> Result<Result<Mounted, MountStatus>, Malformed> {
    let mut reader = Reader::new(record, at);
    match reader.u32()? {
        0 => {}
        number => return Ok(Err(MountStatus::from_number(number))),
    }
    let root = Handle::new(reader.opaque()?).ok_or(Malformed)?;
    let flavors = (0..reader.array_len(4)?).map(|_| reader.u32()).collect::<Result<_, _>>()?;
    Ok(Ok(Mounted { root, flavors }))
}

/// Appends EXPORT's result.
pub fn encode_exports(exports: &[Export], out: &mut Vec<u8>) {
    for export in exports {
        put_u32(out, 1);
        put_opaque(out, &export.dir);
        for group in &export.groups {
            put_u32(out, 1);
            put_opaque(out, group);
        }
        put_u32(out, 0);
    }
    put_u32(out, 0);
}

/// Reads EXPORT's result.
pub fn decode_exports(record: &[u8], at: usize) -> Result<Vec<Export>, Malformed> {
    let mut reader = Reader::new(record, at);
    read_list(&mut reader, |reader| {
        let dir = reader.opaque()?.to_vec();
        Ok(Export { dir, groups: read_list(reader, |reader| Ok(reader.opaque()?.to_vec()))? })
    })
}

/// Appends DUMP's result: which hosts have mounted which paths.
pub fn encode_mounts(mounts: &[MountedBy], out: &mut Vec<u8>) {
    for (host, path) in mounts {
        put_u32(out, 1);
        put_opaque(out, host);
        put_opaque(out, path);
    }
    put_u32(out, 0);
}

/// Reads DUMP's result.
pub fn decode_mounts(record: &[u8], at: usize) -> Result<Vec<MountedBy>, Malformed> {
    read_list(&mut Reader::new(record, at), |reader| Ok((reader.opaque()?.to_vec(), reader.opaque()?.to_vec())))
}

fn read_list<T>(
    reader: &mut Reader<'_>,
    item: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut list = Vec::new();
    while reader.bool()? {
        if list.len() == LIST_MAX {
            return Err(Malformed);
        }
        list.push(item(reader)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_round_trip(
            root in prop::collection::vec(any::<u8>(), 0..=64),
            flavors in prop::collection::vec(any::<u32>(), 0..9),
            dirs in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..3)), 0..5),
        ) {
            let mut out = vec![0; 8];
            let mounted = Ok(Mounted { root: Handle::new(&root).unwrap(), flavors });
            encode_mounted(&mounted, &mut out);
            prop_assert_eq!(decode_mounted(&out, 8), Ok(mounted));
            let exports: Vec<_> = dirs.iter().cloned().map(|(dir, groups)| Export { dir, groups }).collect();
            let mut out = Vec::new();
            encode_exports(&exports, &mut out);
            prop_assert_eq!(decode_exports(&out, 0), Ok(exports));
            let mounts: Vec<_> = dirs.into_iter().map(|(dir, _)| (dir.clone(), dir)).collect();
            let mut out = Vec::new();
            encode_mounts(&mounts, &mut out);
            prop_assert_eq!(decode_mounts(&out, 0), Ok(mounts));
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..9) {
            let _ = (decode_mounted(&bytes, at), decode_exports(&bytes, at), decode_mounts(&bytes, at), decode_path(&bytes, at));
        }
    }

    #[test]
    fn a_flavour_count_beyond_the_record_is_malformed() {
        let mut out = Vec::new();
        encode_mounted(&Ok(Mounted { root: Handle::new(b"x").unwrap(), flavors: vec![] }), &mut out);
        let len = out.len();
        out[len - 4..].copy_from_slice(&[0xff; 4]);
        assert_eq!(decode_mounted(&out, 0), Err(Malformed));
        assert_eq!(decode_mounted(&[0, 0, 0, 99], 0), Ok(Err(MountStatus::Other(99))));
    }
}
