//! Attributes, times and handles between `storage` and XDR.

use nfs3_types::nfs3::{
    Nfs3Option, fattr3, ftype3, nfstime3, post_op_attr, sattr3, set_atime, set_mtime, specdata3, wcc_attr, wcc_data,
};

use crate::base::{Status, Time};
use crate::storage::{Attr, AttrChange, Handle, Kind, SetTime};

use super::super::xdr::{Malformed, Reader, put_fixed, put_opaque};

/// The permission bits; some servers send the type's bits too.
const MODE_BITS: u32 = 0o7777;

fn time_from(time: nfstime3) -> Time {
    Time { secs: i64::from(time.seconds), nanos: time.nseconds.min(999_999_999) }
}

fn time_to(time: Time) -> nfstime3 {
    let time = time.on_the_wire();
    nfstime3 { seconds: u32::try_from(time.secs).unwrap_or(u32::MAX), nseconds: time.nanos }
}

fn attr_from(fattr: &fattr3) -> Attr {
    let kind = match fattr.type_ {
        ftype3::NF3REG => Kind::File,
        ftype3::NF3DIR => Kind::Dir,
        ftype3::NF3BLK => Kind::Block,
        ftype3::NF3CHR => Kind::Char,
        ftype3::NF3LNK => Kind::Symlink,
        ftype3::NF3SOCK => Kind::Socket,
        ftype3::NF3FIFO => Kind::Fifo,
    };
    Attr {
        kind,
        mode: fattr.mode & MODE_BITS,
        nlink: fattr.nlink,
        uid: fattr.uid,
        gid: fattr.gid,
        size: fattr.size,
        used: fattr.used,
        rdev: (fattr.rdev.specdata1, fattr.rdev.specdata2),
        fsid: fattr.fsid,
        fileid: fattr.fileid,
        atime: time_from(fattr.atime),
        mtime: time_from(fattr.mtime),
        ctime: time_from(fattr.ctime),
    }
}

fn attr_to(attr: &Attr) -> fattr3 {
    let type_ = match attr.kind {
        Kind::File => ftype3::NF3REG,
        Kind::Dir => ftype3::NF3DIR,
        Kind::Block => ftype3::NF3BLK,
        Kind::Char => ftype3::NF3CHR,
        Kind::Symlink => ftype3::NF3LNK,
        Kind::Socket => ftype3::NF3SOCK,
        Kind::Fifo => ftype3::NF3FIFO,
    };
    fattr3 {
        type_,
        mode: attr.mode & MODE_BITS,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size,
        used: attr.used,
        rdev: specdata3 { specdata1: attr.rdev.0, specdata2: attr.rdev.1 },
        fsid: attr.fsid,
        fileid: attr.fileid,
        atime: time_to(attr.atime),
        mtime: time_to(attr.mtime),
        ctime: time_to(attr.ctime),
    }
}

/// Reads fattr3.
pub fn read_attr(reader: &mut Reader<'_>) -> Result<Attr, Malformed> {
    reader.fixed::<fattr3>().map(|fattr| attr_from(&fattr))
}

/// Appends fattr3.
pub fn put_attr(out: &mut Vec<u8>, attr: &Attr) {
    put_fixed(out, &attr_to(attr));
}

/// Reads post_op_attr.
pub fn read_post_op(reader: &mut Reader<'_>) -> Result<Option<Attr>, Malformed> {
    Ok(match reader.fixed::<post_op_attr>()? {
        Nfs3Option::Some(fattr) => Some(attr_from(&fattr)),
        Nfs3Option::None => None,
    })
}

/// Appends post_op_attr.
pub fn put_post_op(out: &mut Vec<u8>, attr: Option<&Attr>) {
    put_fixed(out, &attr.map_or(Nfs3Option::None, |attr| Nfs3Option::Some(attr_to(attr))));
}

/// Reads wcc_data; only what is after the operation is of use.
pub fn read_wcc(reader: &mut Reader<'_>) -> Result<Option<Attr>, Malformed> {
    let _before: Nfs3Option<wcc_attr> = reader.fixed()?;
    read_post_op(reader)
}

/// Appends wcc_data without the part before the operation, which no mount knows.
pub fn put_wcc(out: &mut Vec<u8>, after: Option<&Attr>) {
    let after = after.map_or(Nfs3Option::None, |attr| Nfs3Option::Some(attr_to(attr)));
    put_fixed(out, &wcc_data { before: Nfs3Option::None, after });
}

fn option<T: nfs3_types::xdr_codec::Pack + nfs3_types::xdr_codec::Unpack>(value: Option<T>) -> Nfs3Option<T> {
    value.map_or(Nfs3Option::None, Nfs3Option::Some)
}

fn option_from<T: nfs3_types::xdr_codec::Pack + nfs3_types::xdr_codec::Unpack>(value: Nfs3Option<T>) -> Option<T> {
    match value {
        Nfs3Option::Some(value) => Some(value),
        Nfs3Option::None => None,
    }
}

/// Appends sattr3.
pub fn put_change(out: &mut Vec<u8>, change: &AttrChange) {
    let sattr = sattr3 {
        mode: option(change.mode.map(|mode| mode & MODE_BITS)),
        uid: option(change.uid),
        gid: option(change.gid),
        size: option(change.size),
        atime: match change.atime {
            SetTime::Keep => set_atime::DONT_CHANGE,
            SetTime::Now => set_atime::SET_TO_SERVER_TIME,
            SetTime::At(time) => set_atime::SET_TO_CLIENT_TIME(time_to(time)),
        },
        mtime: match change.mtime {
            SetTime::Keep => set_mtime::DONT_CHANGE,
            SetTime::Now => set_mtime::SET_TO_SERVER_TIME,
            SetTime::At(time) => set_mtime::SET_TO_CLIENT_TIME(time_to(time)),
        },
    };
    put_fixed(out, &sattr);
}

/// Reads sattr3.
pub fn read_change(reader: &mut Reader<'_>) -> Result<AttrChange, Malformed> {
    let sattr: sattr3 = reader.fixed()?;
    Ok(AttrChange {
        mode: option_from(sattr.mode).map(|mode| mode & MODE_BITS),
        uid: option_from(sattr.uid),
        gid: option_from(sattr.gid),
        size: option_from(sattr.size),
        atime: match sattr.atime {
            set_atime::DONT_CHANGE => SetTime::Keep,
            set_atime::SET_TO_SERVER_TIME => SetTime::Now,
            set_atime::SET_TO_CLIENT_TIME(time) => SetTime::At(time_from(time)),
        },
        mtime: match sattr.mtime {
            set_mtime::DONT_CHANGE => SetTime::Keep,
            set_mtime::SET_TO_SERVER_TIME => SetTime::Now,
            set_mtime::SET_TO_CLIENT_TIME(time) => SetTime::At(time_from(time)),
        },
        masked: None,
    })
}

/// Reads sattrguard3: the ctime that the object must have.
pub fn read_guard(reader: &mut Reader<'_>) -> Result<Option<Time>, Malformed> {
    reader.fixed::<Nfs3Option<nfstime3>>().map(|guard| option_from(guard).map(time_from))
}

/// Reads nfs_fh3; a handle that is too long is an inner BADHANDLE, as its bytes were still followed.
pub fn read_handle(reader: &mut Reader<'_>) -> Result<Result<Handle, Status>, Malformed> {
    reader.opaque().map(|bytes| Handle::new(bytes).ok_or(Status::BadHandle))
}

/// Reads post_op_fh3.
pub fn read_post_op_handle(reader: &mut Reader<'_>) -> Result<Option<Handle>, Malformed> {
    if !reader.bool()? {
        return Ok(None);
    }
    read_handle(reader)?.map(Some).map_err(|_| Malformed)
}

/// Appends nfs_fh3.
pub fn put_handle(out: &mut Vec<u8>, handle: &Handle) {
    put_opaque(out, handle.as_bytes());
}
