//! Results of the 22 procedures, read by the client into the call that asked for them.

use nfs3_types::nfs3::{FSINFO3resok, FSSTAT3resok, PATHCONF3resok};

use crate::base::{Name, Status};
use crate::storage::Space;
use crate::storage::{
    Attr, Call, Cookie, DotDot, Entry, Extras, Found, Handle, Limits, Node, Op, Out, Page, Shape, Stable, Want, Written,
};

use super::super::record::Received;
use super::super::xdr::{Malformed, Reader, padding};
use super::attr::{read_attr, read_handle, read_post_op, read_post_op_handle, read_wcc};

/// What is left to do after the results were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decoded {
    /// Nothing: the call has its outcome.
    Done,
    /// CREATE, MKDIR, SYMLINK or MKNOD was carried out, but the server gave no handle (RFC 1813 allows it). The call is
    /// still pending: LOOKUP its name and put what was found in its place.
    NeedsLookup,
}

/// Makes a node of a handle, and of the directory and name it was found by, where there are any.
pub type MakeNode<'n> = dyn Fn(Option<(&Node, &Name)>, Handle) -> Node + 'n;

/// Reads the results at offset `at` of `record` into the call's outcome; what is malformed is `Status::Protocol`.
///
/// For READ the record's buffer becomes the call's `buf`, cut to what was asked for; a payload that lies apart does so as it is.
/// FSINFO's `name_max` is the usual 255 (PATHCONF tells it) and its shape is serial: both are the caller's to fill in.
pub fn decode_results(call: &mut Call<'_>, record: impl Into<Received>, at: usize, node: &MakeNode<'_>) -> Decoded {
    let received = record.into();
    if let Op::Read { count, buf, attr, out, .. } = &mut call.op
        && let Ok((now, len, eof)) = payload_apart(&received, at, *count)
    {
        *buf = received.tail;
        buf.truncate(len);
        (*attr, *out) = (now, Ok(eof));
        return Decoded::Done;
    }
    let record = received.joined();
    let mut reader = Reader::new(&record, at);
    let status = if matches!(call.op, Op::Null { .. }) { Ok(0) } else { reader.u32() };
    match status {
        Ok(0) => {}
        Ok(number) => {
            call.fail(Status::from_nfs(number));
            return Decoded::Done;
        }
        Err(Malformed) => {
            call.fail(Status::Protocol);
            return Decoded::Done;
        }
    }
    let decoded = if let Op::Read { count, buf, attr, out, .. } = &mut call.op {
        read_payload(&mut reader, *count).map(|(now, start, len, eof)| {
            *buf = record;
            buf.copy_within(start..start + len, 0);
            buf.truncate(len);
            (*attr, *out) = (now, Ok(eof));
            Decoded::Done
        })
    } else {
        fill(&mut call.op, &mut reader, node)
    };
    decoded.unwrap_or_else(|Malformed| {
        call.fail(Status::Protocol);
        Decoded::Done
    })
}

/// READ3resok: the attributes, where the payload begins, how many of its bytes count, and whether the file ends there.
fn read_payload(reader: &mut Reader<'_>, asked: u32) -> Result<(Option<Attr>, usize, usize, bool), Malformed> {
    let attr = read_post_op(reader)?;
    let (count, eof) = (reader.u32()?, reader.bool()?);
    let start = reader.at() + 4;
    let data = reader.opaque()?;
    let (len, eof) = within(asked, data.len(), count, eof)?;
    Ok((attr, start, len, eof))
}

/// The same of a record whose tail is that payload and nothing else; any other is malformed.
fn payload_apart(received: &Received, at: usize, asked: u32) -> Result<(Option<Attr>, usize, bool), Malformed> {
    let mut reader = Reader::new(&received.head, at);
    if reader.u32()? != 0 {
        return Err(Malformed);
    }
    let attr = read_post_op(&mut reader)?;
    let (count, eof, len) = (reader.u32()?, reader.bool()?, reader.u32()? as usize);
    if received.tail.is_empty() || reader.at() != received.head.len() || len + padding(len) != received.tail.len() {
        return Err(Malformed);
    }
    let (len, eof) = within(asked, len, count, eof)?;
    Ok((attr, len, eof))
}

/// How many of the `given` bytes count, and whether the file ends there. Never more than was asked for: some servers return more at the
/// end of a file.
fn within(asked: u32, given: usize, count: u32, eof: bool) -> Result<(usize, bool), Malformed> {
    let len = given.min(count as usize);
    // A server that gives nothing and does not say that the file ends would be asked for the same bytes for ever.
    if len == 0 && asked > 0 && !eof {
        return Err(Malformed);
    }
    // What was cut off is to be asked for again, so the end is not reached by this call.
    Ok((len.min(asked as usize), eof && len <= asked as usize))
}

fn fill(op: &mut Op<'_>, reader: &mut Reader<'_>, node: &MakeNode<'_>) -> Result<Decoded, Malformed> {
    match op {
        Op::Null { out } => *out = Ok(()),
        Op::GetAttr { out, .. } => *out = Ok(read_attr(reader)?),
        Op::SetAttr { out, .. } => *out = Ok(read_wcc(reader)?),
        Op::Lookup { dir, name, out } => {
            let handle = read_handle(reader)?.map_err(|_| Malformed)?;
            *out = Ok(Found { node: node(Some((dir, name)), handle), attr: read_post_op(reader)? });
        }
        Op::Access { out, .. } => {
            let _attr = read_post_op(reader)?;
            *out = Ok(reader.u32()?);
        }
        Op::ReadLink { out, .. } => {
            let _attr = read_post_op(reader)?;
            let text = reader.opaque()?;
            // No system has such a link, and what is copied or stored of it would be another.
            if text.is_empty() || text.contains(&0) {
                return Err(Malformed);
            }
            *out = Ok(text.to_vec());
        }
        Op::Read { .. } | Op::Beyond(_) => return Err(Malformed), // taken by read_payload; never sent
        Op::Write { data, out, .. } => *out = Ok(written(reader, data.len())?),
        Op::Create { dir, name, out, .. }
        | Op::MkDir { dir, name, out, .. }
        | Op::Symlink { dir, name, out, .. }
        | Op::MkNod { dir, name, out, .. } => return made(reader, (dir, name), out, node),
        Op::Remove { out, .. } | Op::RmDir { out, .. } | Op::Rename { out, .. } => *out = Ok(()),
        Op::Link { out, .. } => *out = Ok(read_post_op(reader)?),
        Op::ReadDir { dir, from, want, out, .. } => *out = Ok(page(reader, dir, *from, *want, node)?),
        Op::FsStat { out, .. } => *out = Ok(space(reader)?),
        Op::FsInfo { out, .. } => *out = Ok(limits(reader)?),
        Op::PathConf { out, .. } => *out = Ok(reader.fixed::<PATHCONF3resok>()?.name_max),
        Op::Commit { out, .. } => {
            let _attr = read_wcc(reader)?;
            *out = Ok(reader.u64()?);
        }
    }
    Ok(Decoded::Done)
}

fn written(reader: &mut Reader<'_>, asked: usize) -> Result<Written, Malformed> {
    let _attr = read_wcc(reader)?;
    let count = reader.u32()?;
    let stable = match reader.u32()? {
        0 => Stable::Unstable,
        1 => Stable::DataSync,
        2 => Stable::FileSync,
        _ => return Err(Malformed),
    };
    // A count of 0 would have its caller write the same bytes for ever, a larger one would skip some.
    if count as usize > asked || (count == 0 && asked > 0) {
        return Err(Malformed);
    }
    Ok(Written { count, stable, verifier: reader.u64()? })
}

fn made(
    reader: &mut Reader<'_>,
    (dir, name): (&Node, &Name),
    out: &mut Out<Found>,
    node: &MakeNode<'_>,
) -> Result<Decoded, Malformed> {
    let Some(handle) = read_post_op_handle(reader)? else { return Ok(Decoded::NeedsLookup) };
    let attr: Option<Attr> = read_post_op(reader)?;
    *out = Ok(Found { node: node(Some((dir, name)), handle), attr });
    Ok(Decoded::Done)
}

/// READDIR3resok and READDIRPLUS3resok. `.` is left out, and `..` no entry; a name that is none (a slash in it, say) spoils the page,
/// because leaving it out would hide an object from a copy or a removal.
fn page(reader: &mut Reader<'_>, dir: &Node, from: Cookie, want: Want, node: &MakeNode<'_>) -> Result<Page, Malformed> {
    let _attr = read_post_op(reader)?;
    let mut page = Page { next: Cookie { verifier: reader.u64()?, ..from }, ..Page::default() };
    while reader.bool()? {
        let (fileid, name, position) = (reader.u64()?, reader.opaque()?, reader.u64()?);
        let (attr, handle) = match want {
            Want::Names => (None, None),
            Want::Types | Want::Attributes => (read_post_op(reader)?, read_post_op_handle(reader)?),
        };
        page.next.position = position;
        if name == b".." {
            page.above = Some(DotDot { fileid, position });
        } else if name != b"." {
            let name = Name::new(name).map_err(|_| Malformed)?;
            let node = handle.map(|handle| node(Some((dir, &name)), handle));
            page.entries.push(Entry { name, fileid, position, node, attr, kind: attr.map(|a| a.kind) });
        }
    }
    page.end = reader.bool()?;
    // A page that is neither the end nor a step forward would be asked for again for ever.
    if !page.end && page.next.position == from.position { Err(Malformed) } else { Ok(page) }
}

fn space(reader: &mut Reader<'_>) -> Result<Space, Malformed> {
    let stat: FSSTAT3resok = reader.fixed()?;
    Ok(Space {
        total_bytes: stat.tbytes,
        free_bytes: stat.fbytes,
        available_bytes: stat.abytes,
        total_files: stat.tfiles,
        free_files: stat.ffiles,
        available_files: stat.afiles,
    })
}

fn limits(reader: &mut Reader<'_>) -> Result<Limits, Malformed> {
    let info: FSINFO3resok = reader.fixed()?;
    // Of a server that names no most Linux's client takes what it prefers.
    let most = |max, preferred| if max == 0 { preferred } else { max };
    Ok(Limits {
        read_max: most(info.rtmax, info.rtpref),
        write_max: most(info.wtmax, info.wtpref),
        list_max: info.dtpref,
        name_max: 255,
        // Nor does a 0 mean that no file may have a byte.
        size_max: if info.maxfilesize == 0 { u64::MAX } else { info.maxfilesize },
        shape: Shape::SERIAL,
        extras: Extras::default(),
        dirs_locked: false,
    })
}
