//! Results of the 22 procedures, written by the server from the call that carries them.

use nfs3_types::nfs3::{
    FSF3_CANSETTIME, FSF3_HOMOGENEOUS, FSF3_LINK, FSF3_SYMLINK, FSINFO3resok, FSSTAT3resok, Nfs3Option, PATHCONF3resok,
    nfstime3,
};

use crate::base::{Proc, Status};
use crate::storage::Space;
use crate::storage::{Attr, Call, DotDot, Found, Handle, Limits, Node, Op, Page, Want};

use super::super::xdr::{len_u32, padding, put_fixed, put_opaque, put_u32, put_u64};
use super::attr::{put_attr, put_handle, put_post_op, put_wcc};

/// What stands after READDIR's and READDIRPLUS's entries: "no more" and "end of directory".
const TAIL_BYTES: usize = 8;
/// What stands before them: absent attributes and the cookie verifier.
const HEAD_BYTES: usize = 12;

/// Appends the results of a call that has been performed. READ's payload is not appended but returned: it is to be sent
/// after `out`, padded with zeros to a multiple of 4. Attributes are sent where the call's outcome has them.
pub fn encode_results<'c>(call: &'c Call<'_>, handle: &dyn Fn(&Node) -> Handle, out: &mut Vec<u8>) -> Option<&'c [u8]> {
    if let Err(status) = call.status() {
        encode_failure(call.proc(), status, out);
        return None;
    }
    if !matches!(call.op, Op::Null { .. }) {
        put_u32(out, 0);
    }
    match &call.op {
        Op::Read { buf, attr, out: Ok(eof), .. } => {
            put_post_op(out, attr.as_ref());
            let count = len_u32(buf.len());
            [count, u32::from(*eof), count].into_iter().for_each(|word| put_u32(out, word));
            return Some(buf);
        }
        Op::ReadDir { want, bytes_max, out: Ok(page), .. } => {
            let start = out.len();
            if !put_page(out, page, *want, *bytes_max, handle) {
                out.truncate(start - 4);
                encode_failure(call.proc(), Status::TooSmall, out);
            }
        }
        op => put_ok(out, op, handle),
    }
    None
}

/// Results other than READ's and the listings'; nothing is written for an outcome that is an error, which
/// `encode_results` has dealt with.
fn put_ok(out: &mut Vec<u8>, op: &Op<'_>, handle: &dyn Fn(&Node) -> Handle) {
    match op {
        Op::GetAttr { out: Ok(attr), .. } => put_attr(out, attr),
        Op::SetAttr { out: Ok(attr), .. } => put_wcc(out, attr.as_ref()),
        Op::Lookup { out: Ok(found), .. } => put_found(out, found, handle),
        Op::Access { out: Ok(granted), .. } => {
            put_post_op(out, None);
            put_u32(out, *granted);
        }
        Op::ReadLink { out: Ok(target), .. } => {
            put_post_op(out, None);
            put_opaque(out, target);
        }
        Op::Write { out: Ok(written), .. } => {
            put_wcc(out, None);
            put_u32(out, written.count);
            put_u32(out, written.stable as u32);
            put_u64(out, written.verifier);
        }
        Op::Create { out: Ok(found), .. }
        | Op::MkDir { out: Ok(found), .. }
        | Op::Symlink { out: Ok(found), .. }
        | Op::MkNod { out: Ok(found), .. } => {
            put_u32(out, 1);
            put_handle(out, &handle(&found.node));
            put_post_op(out, found.attr.as_ref());
            put_wcc(out, None);
        }
        Op::Remove { .. } | Op::RmDir { .. } => put_wcc(out, None),
        Op::Rename { .. } => {
            put_wcc(out, None);
            put_wcc(out, None);
        }
        Op::Link { out: Ok(attr), .. } => {
            put_post_op(out, attr.as_ref());
            put_wcc(out, None);
        }
        Op::FsStat { out: Ok(space), .. } => put_space(out, space),
        Op::FsInfo { out: Ok(limits), .. } => put_limits(out, limits),
        Op::PathConf { out: Ok(name_max), .. } => put_path_conf(out, *name_max),
        Op::Commit { out: Ok(verifier), .. } => {
            put_wcc(out, None);
            put_u64(out, *verifier);
        }
        _ => {}
    }
}

/// Appends LOOKUP3resok without the status.
fn put_found(out: &mut Vec<u8>, found: &Found, handle: &dyn Fn(&Node) -> Handle) {
    put_handle(out, &handle(&found.node));
    put_post_op(out, found.attr.as_ref());
    put_post_op(out, None);
}

/// Appends the whole results of a LOOKUP that found this object: for `.` and `..`, which are no `Call`.
pub fn encode_lookup(handle: &Handle, attr: Option<&Attr>, out: &mut Vec<u8>) {
    put_u32(out, 0);
    put_handle(out, handle);
    put_post_op(out, attr);
    put_post_op(out, None);
}

/// Appends the whole results of a failed procedure: the status, and the absent attributes that its `resfail` has.
pub fn encode_failure(procedure: Proc, status: Status, out: &mut Vec<u8>) {
    put_u32(out, status.to_nfs());
    match procedure {
        Proc::Null | Proc::GetAttr => {}
        // A server reads no such procedure.
        Proc::Seek
        | Proc::Copy
        | Proc::IoAdvise
        | Proc::ListXattrs
        | Proc::GetXattr
        | Proc::SetXattr
        | Proc::RemoveXattr => {}
        Proc::Lookup
        | Proc::Access
        | Proc::ReadLink
        | Proc::Read
        | Proc::ReadDir
        | Proc::ReadDirPlus
        | Proc::FsStat
        | Proc::FsInfo
        | Proc::PathConf => put_post_op(out, None),
        Proc::SetAttr
        | Proc::Write
        | Proc::Create
        | Proc::MkDir
        | Proc::Symlink
        | Proc::MkNod
        | Proc::Remove
        | Proc::RmDir
        | Proc::Commit => put_wcc(out, None),
        Proc::Rename => {
            put_wcc(out, None);
            put_wcc(out, None);
        }
        Proc::Link => {
            put_post_op(out, None);
            put_wcc(out, None);
        }
    }
}

/// Appends as many entries as fit into `bytes_max`; false when there are some and not even one fits.
fn put_page(out: &mut Vec<u8>, page: &Page, want: Want, bytes_max: u32, handle: &dyn Fn(&Node) -> Handle) -> bool {
    let limit = out.len() + (bytes_max as usize).max(HEAD_BYTES + TAIL_BYTES);
    put_post_op(out, None);
    put_u64(out, page.next.verifier);
    let put_names = |out: &mut Vec<u8>, fileid: u64, name: &[u8], position: u64| {
        put_u32(out, 1);
        put_u64(out, fileid);
        put_opaque(out, name);
        put_u64(out, position);
    };
    if let Some(DotDot { fileid, position }) = page.above {
        let start = out.len();
        put_names(out, fileid, b"..", position);
        if want != Want::Names {
            put_post_op(out, None);
            put_u32(out, 0);
        }
        if out.len() + TAIL_BYTES > limit {
            out.truncate(start);
        }
    }
    let mut sent = 0;
    for entry in &page.entries {
        let start = out.len();
        put_names(out, entry.fileid, entry.name.as_bytes(), entry.position);
        if want != Want::Names {
            put_post_op(out, entry.attr.as_ref());
            put_u32(out, u32::from(entry.node.is_some()));
            if let Some(node) = &entry.node {
                put_handle(out, &handle(node));
            }
        }
        if out.len() + TAIL_BYTES > limit {
            out.truncate(start);
            break;
        }
        sent += 1;
    }
    put_u32(out, 0);
    put_u32(out, u32::from(page.end && sent == page.entries.len()));
    sent > 0 || page.entries.is_empty()
}

fn put_space(out: &mut Vec<u8>, space: &Space) {
    put_fixed(
        out,
        &FSSTAT3resok {
            obj_attributes: Nfs3Option::None,
            tbytes: space.total_bytes,
            fbytes: space.free_bytes,
            abytes: space.available_bytes,
            tfiles: space.total_files,
            ffiles: space.free_files,
            afiles: space.available_files,
            invarsec: 0,
        },
    );
}

fn put_limits(out: &mut Vec<u8>, limits: &Limits) {
    put_fixed(
        out,
        &FSINFO3resok {
            obj_attributes: Nfs3Option::None,
            rtmax: limits.read_max,
            rtpref: limits.read_max,
            rtmult: 4096,
            wtmax: limits.write_max,
            wtpref: limits.write_max,
            wtmult: 4096,
            dtpref: limits.list_max,
            maxfilesize: limits.size_max,
            time_delta: nfstime3 { seconds: 0, nseconds: 1 },
            properties: FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME,
        },
    );
}

fn put_path_conf(out: &mut Vec<u8>, name_max: u32) {
    put_fixed(
        out,
        &PATHCONF3resok {
            obj_attributes: Nfs3Option::None,
            linkmax: 32_000,
            name_max,
            no_trunc: true,
            chown_restricted: true,
            case_insensitive: false,
            case_preserving: true,
        },
    );
}

/// Bytes on the wire of an opaque of `len` bytes.
pub fn opaque_bytes(len: usize) -> usize {
    4 + len + padding(len)
}
