//! Arguments of the 22 procedures: written by the client, read by the server.

use crate::base::{BadName, Name, Proc, Status, Time};
use crate::storage::{AttrChange, Call, Cookie, Handle, How, Node, Op, Special, Stable, Want};

use super::super::xdr::{Malformed, Reader, len_u32, put_opaque, put_u32, put_u64};
use super::attr::{put_change, put_handle, read_change, read_guard, read_handle};

/// The longest name that is served: what PATHCONF tells.
const NAME_BYTES_MAX: usize = 255;

const UNCHECKED: u32 = 0;
const GUARDED: u32 = 1;
const EXCLUSIVE: u32 = 2;
const NF3BLK: u32 = 3;
const NF3CHR: u32 = 4;
const NF3SOCK: u32 = 6;
const NF3FIFO: u32 = 7;

/// Writes arguments; `handle` gives the nodes' handles on the target asked.
struct Writer<'o, 'h> {
    out: &'o mut Vec<u8>,
    handle: &'h dyn Fn(&Node) -> Result<Handle, Status>,
}

impl Writer<'_, '_> {
    fn node(&mut self, node: &Node) -> Result<(), Status> {
        put_handle(self.out, &(self.handle)(node)?);
        Ok(())
    }

    fn entry(&mut self, dir: &Node, name: &Name) -> Result<(), Status> {
        self.node(dir)?;
        put_opaque(self.out, name.as_bytes());
        Ok(())
    }

    fn u32(&mut self, value: u32) {
        put_u32(self.out, value);
    }

    fn u64(&mut self, value: u64) {
        put_u64(self.out, value);
    }

    fn special(&mut self, special: Special, change: &AttrChange) {
        let (kind, device) = match special {
            Special::Char(major, minor) => (NF3CHR, Some((major, minor))),
            Special::Block(major, minor) => (NF3BLK, Some((major, minor))),
            Special::Socket => (NF3SOCK, None),
            Special::Fifo => (NF3FIFO, None),
        };
        self.u32(kind);
        put_change(self.out, change);
        if let Some((major, minor)) = device {
            self.u32(major);
            self.u32(minor);
        }
    }

    /// What follows the name of an object to be made.
    fn made(&mut self, op: &Op<'_>) {
        match op {
            Op::Create { how, change, .. } => self.how(*how, change),
            Op::MkDir { change, .. } => put_change(self.out, change),
            Op::Symlink { target, change, .. } => {
                put_change(self.out, change);
                put_opaque(self.out, target);
            }
            Op::MkNod { special, change, .. } => self.special(*special, change),
            _ => {}
        }
    }

    fn how(&mut self, how: How, change: &AttrChange) {
        match how {
            How::Unchecked => self.u32(UNCHECKED),
            How::Guarded => self.u32(GUARDED),
            How::Exclusive(verifier) => {
                self.u32(EXCLUSIVE);
                return self.u64(verifier);
            }
        }
        put_change(self.out, change);
    }
}

/// Appends the arguments of the call's procedure. WRITE's data is not appended but returned: it is to be sent after `out`,
/// padded with zeros to a multiple of 4. An error is one that `handle` gave, or
/// `NotSupp` for what NFSv3 has no procedure for; `out` is then half written.
pub fn encode_args<'c>(
    call: &'c Call<'_>,
    handle: &dyn Fn(&Node) -> Result<Handle, Status>,
    out: &mut Vec<u8>,
) -> Result<Option<&'c [u8]>, Status> {
    let mut to = Writer { out, handle };
    match &call.op {
        Op::Null { .. } => {}
        Op::GetAttr { node, .. }
        | Op::ReadLink { node, .. }
        | Op::FsStat { node, .. }
        | Op::FsInfo { node, .. }
        | Op::PathConf { node, .. } => to.node(node)?,
        Op::SetAttr { node, change, .. } => {
            to.node(node)?;
            put_change(to.out, change);
            to.u32(0); // no guard
        }
        Op::Lookup { dir, name, .. } | Op::Remove { dir, name, .. } | Op::RmDir { dir, name, .. } => {
            to.entry(dir, name)?;
        }
        Op::Access { node, want, .. } => {
            to.node(node)?;
            to.u32(*want);
        }
        Op::Read { node, offset, count, .. } | Op::Commit { node, offset, count, .. } => {
            to.node(node)?;
            to.u64(*offset);
            to.u32(*count);
        }
        Op::Write { node, offset, data, stable, .. } => {
            to.node(node)?;
            to.u64(*offset);
            let count = len_u32(data.len());
            [count, *stable as u32, count].into_iter().for_each(|word| to.u32(word));
            return Ok(Some(data));
        }
        Op::Create { dir, name, .. }
        | Op::MkDir { dir, name, .. }
        | Op::Symlink { dir, name, .. }
        | Op::MkNod { dir, name, .. } => {
            to.entry(dir, name)?;
            to.made(&call.op);
        }
        Op::Rename { from_dir, from, to_dir, to: name, .. } => {
            to.entry(from_dir, from)?;
            to.entry(to_dir, name)?;
        }
        Op::Link { node, dir, name, .. } => {
            to.node(node)?;
            to.entry(dir, name)?;
        }
        Op::ReadDir { dir, from, want, bytes_max, .. } => {
            to.node(dir)?;
            to.u64(from.position);
            to.u64(from.verifier);
            to.u32(*bytes_max);
            if *want != Want::Names {
                to.u32(*bytes_max); // dircount, then maxcount
            }
        }
        Op::Beyond(_) => return Err(Status::NotSupp),
    }
    Ok(None)
}

/// What a client asks for.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a call is what it nearly always is
pub enum Asked<'r> {
    /// A call as every mount knows it.
    Call(Call<'r>),
    /// LOOKUP of `.` in this directory, which RFC 1813 3.3.3 allows and `Name` does not.
    LookupDot(Node),
    /// LOOKUP of `..` in this directory.
    LookupDotDot(Node),
}

/// A request as read by the server.
#[derive(Debug)]
pub struct Request<'r> {
    /// What is asked for.
    pub asked: Asked<'r>,
    /// SETATTR's guard: the ctime that the object must have, else the answer is NOT_SYNC (RFC 1813 3.3.2).
    pub guard: Option<Time>,
}

/// Why arguments make no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgsError {
    /// They are not what the RFC says: GARBAGE_ARGS.
    Garbage,
    /// They are understood and fail with this status.
    Status(Status),
}

impl From<Malformed> for ArgsError {
    fn from(_: Malformed) -> ArgsError {
        ArgsError::Garbage
    }
}

/// Reads arguments; `node` gives the nodes of handles.
struct Arguments<'r, 'n> {
    reader: Reader<'r>,
    node: &'n dyn Fn(Handle) -> Result<Node, Status>,
    /// The first status found wrong. It is told at the end, when the rest was readable.
    wrong: Option<Status>,
}

impl<'r> Arguments<'r, '_> {
    fn node(&mut self) -> Result<Node, ArgsError> {
        let node = read_handle(&mut self.reader)?.and_then(|handle| (self.node)(handle));
        Ok(node.unwrap_or_else(|status| {
            self.wrong.get_or_insert(status);
            nowhere()
        }))
    }

    /// A directory and a name as it came.
    fn raw_entry(&mut self) -> Result<(Node, &'r [u8]), ArgsError> {
        Ok((self.node()?, self.reader.opaque()?))
    }

    /// A directory and a name in it; `dots` is the status for `.` and `..`.
    fn entry(&mut self, dots: Status) -> Result<(Node, Name), ArgsError> {
        let (dir, name) = self.raw_entry()?;
        Ok((dir, self.name(name, dots)))
    }

    fn name(&mut self, bytes: &[u8], dots: Status) -> Name {
        let name = Name::new(bytes)
            .and_then(|name| if bytes.len() > NAME_BYTES_MAX { Err(BadName::TooLong) } else { Ok(name) });
        name.unwrap_or_else(|error| {
            self.wrong.get_or_insert(match error {
                BadName::TooLong => Status::NameTooLong,
                BadName::Dot | BadName::DotDot => dots,
                BadName::Empty | BadName::Slash | BadName::Nul => Status::Inval,
            });
            Name::new(b"-").expect("a valid name")
        })
    }

    fn lookup(&mut self) -> Result<Asked<'r>, ArgsError> {
        let (dir, name) = self.raw_entry()?;
        Ok(match name {
            b"." => Asked::LookupDot(dir),
            b".." => Asked::LookupDotDot(dir),
            _ => Asked::Call(Call::lookup(&dir, &self.name(name, Status::Inval))),
        })
    }

    fn write(&mut self) -> Result<Call<'r>, ArgsError> {
        let (node, offset, count) = (self.node()?, self.reader.u64()?, self.reader.u32()?);
        let stable = match self.reader.u32()? {
            0 => Stable::Unstable,
            1 => Stable::DataSync,
            2 => Stable::FileSync,
            _ => return Err(ArgsError::Garbage),
        };
        let data = self.reader.opaque()?;
        if data.len() != count as usize {
            return Err(ArgsError::Garbage);
        }
        Ok(Call::write(&node, offset, data, stable))
    }

    fn create(&mut self) -> Result<Call<'r>, ArgsError> {
        let (dir, name) = self.entry(Status::Exist)?;
        let (how, change) = match self.reader.u32()? {
            UNCHECKED => (How::Unchecked, read_change(&mut self.reader)?),
            GUARDED => (How::Guarded, read_change(&mut self.reader)?),
            EXCLUSIVE => (How::Exclusive(self.reader.u64()?), AttrChange::default()),
            _ => return Err(ArgsError::Garbage),
        };
        Ok(Call::create(&dir, &name, how, change))
    }

    fn mknod(&mut self) -> Result<Call<'r>, ArgsError> {
        let (dir, name) = self.entry(Status::Exist)?;
        let kind = self.reader.u32()?;
        if !matches!(kind, NF3CHR | NF3BLK | NF3SOCK | NF3FIFO) {
            // RFC 1813 3.3.11: a type that MKNOD does not make is BADTYPE; the union's arm for it is void.
            return Err(ArgsError::Status(self.wrong.unwrap_or(Status::BadType)));
        }
        let change = read_change(&mut self.reader)?;
        let special = match kind {
            NF3CHR => Special::Char(self.reader.u32()?, self.reader.u32()?),
            NF3BLK => Special::Block(self.reader.u32()?, self.reader.u32()?),
            NF3SOCK => Special::Socket,
            _ => Special::Fifo,
        };
        Ok(Call::mknod(&dir, &name, special, change))
    }

    fn read_dir(&mut self, want: Want) -> Result<Call<'r>, ArgsError> {
        let dir = self.node()?;
        let from = Cookie { position: self.reader.u64()?, verifier: self.reader.u64()?, ..Cookie::default() };
        let mut bytes_max = self.reader.u32()?;
        if want != Want::Names {
            bytes_max = self.reader.u32()?;
        }
        Ok(Call::read_dir(&dir, from, want, bytes_max))
    }

    fn call(&mut self, procedure: Proc) -> Result<Call<'r>, ArgsError> {
        Ok(match procedure {
            Proc::Null | Proc::Lookup => Call::default(),
            Proc::GetAttr => Call::get_attr(&self.node()?),
            Proc::SetAttr => Call::set_attr(&self.node()?, read_change(&mut self.reader)?),
            Proc::Access => Call::access(&self.node()?, self.reader.u32()?),
            Proc::ReadLink => Call::read_link(&self.node()?),
            Proc::Read => Call::read(&self.node()?, self.reader.u64()?, self.reader.u32()?, Vec::new()),
            Proc::Write => self.write()?,
            Proc::Create => self.create()?,
            Proc::MkDir => {
                let (dir, name) = self.entry(Status::Exist)?;
                Call::mkdir(&dir, &name, read_change(&mut self.reader)?)
            }
            Proc::Symlink => {
                let (dir, name) = self.entry(Status::Exist)?;
                let change = read_change(&mut self.reader)?;
                Call::symlink(&dir, &name, self.reader.opaque()?, change)
            }
            Proc::MkNod => self.mknod()?,
            Proc::Remove => {
                let (dir, name) = self.entry(Status::Inval)?;
                Call::remove(&dir, &name)
            }
            Proc::RmDir => {
                // RFC 1813 3.3.13: "." is INVAL and ".." is EXIST; other servers say INVAL or NOTEMPTY for the latter.
                let (dir, name) = self.entry(Status::Inval)?;
                Call::rmdir(&dir, &name)
            }
            Proc::Rename => {
                let (from_dir, from) = self.entry(Status::Inval)?;
                let (to_dir, to) = self.entry(Status::Inval)?;
                Call::rename(&from_dir, &from, &to_dir, &to)
            }
            Proc::Link => {
                let node = self.node()?;
                let (dir, name) = self.entry(Status::Exist)?;
                Call::link(&node, &dir, &name)
            }
            Proc::ReadDir => self.read_dir(Want::Names)?,
            Proc::ReadDirPlus => self.read_dir(Want::Attributes)?,
            Proc::FsStat => Call::fs_stat(&self.node()?),
            Proc::FsInfo => Call::fs_info(&self.node()?),
            Proc::PathConf => Call::path_conf(&self.node()?),
            Proc::Commit => Call::commit(&self.node()?, self.reader.u64()?, self.reader.u32()?),
            procedure => {
                debug_assert!(!procedure.is_nfs3());
                return Err(ArgsError::Garbage);
            }
        })
    }
}

/// Stands for a node that could not be had; a request that holds it is answered with a status and not performed.
fn nowhere() -> Node {
    Node::Handle(Handle::new(b"").expect("an empty handle is short enough"))
}

/// Reads the arguments of `procedure` from offset `at` of `record`; `node` gives the nodes of handles, or BADHANDLE or STALE.
pub fn decode_args<'r>(
    procedure: Proc,
    record: &'r [u8],
    at: usize,
    node: &dyn Fn(Handle) -> Result<Node, Status>,
) -> Result<Request<'r>, ArgsError> {
    let mut arguments = Arguments { reader: Reader::new(record, at), node, wrong: None };
    let asked = match procedure {
        Proc::Lookup => arguments.lookup()?,
        _ => Asked::Call(arguments.call(procedure)?),
    };
    let guard = if procedure == Proc::SetAttr { read_guard(&mut arguments.reader)? } else { None };
    match arguments.wrong {
        None => Ok(Request { asked, guard }),
        Some(status) => Err(ArgsError::Status(status)),
    }
}
