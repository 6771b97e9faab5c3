//! What is to be done with an object, from its attributes on both sides alone.

use crate::base::Time;
use crate::storage::{Attr, AttrChange, Kind, SetTime};

use super::{Compare, Existing, Options};

/// By what objects are compared.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    pub options: &'a Options,
    /// The target's times are what NFSv3 carries of them.
    pub nfs_times: bool,
}

impl By<'_> {
    /// May the target's time be what is left of the source's?
    pub fn keeps_time(self, source: &Attr, target: &Attr) -> bool {
        source.mtime.may_be_kept_as(target.mtime, self.nfs_times)
    }
}

/// What is to be done with an object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Equal,
    /// These attributes are to be set.
    Attributes(AttrChange),
    /// A file's bytes are to be made equal.
    Content,
    /// A file's bytes are to be compared first.
    CompareBytes,
    /// A symlink's text is to be compared first.
    CompareText,
    /// Something else is in its place.
    Replace,
    /// The options say to leave what is there.
    Keep,
}

/// Compares an object with what is at its place.
pub(super) fn verdict(by: By<'_>, source: &Attr, target: &Attr) -> Verdict {
    if by.options.existing == Existing::Keep {
        return Verdict::Keep;
    }
    if source.kind != target.kind {
        return Verdict::Replace;
    }
    if is_itself(source, target) {
        return Verdict::Equal;
    }
    let same_time = by.keeps_time(source, target);
    match source.kind {
        Kind::File => {
            if is_kept(by, source, target) {
                return Verdict::Keep;
            }
            let same_size = source.size == target.size;
            match by.options.compare {
                Compare::SizeAndTime if same_size && same_time => rest(by, source, target),
                Compare::Size if same_size => rest(by, source, target),
                Compare::Bytes if same_size => Verdict::CompareBytes,
                _ => Verdict::Content,
            }
        }
        Kind::Symlink if source.size != target.size => Verdict::Replace,
        // Trees whose times are all set to one have links to another version of equal length.
        Kind::Symlink => Verdict::CompareText,
        Kind::Char | Kind::Block if source.rdev != target.rdev => Verdict::Replace,
        _ => rest(by, source, target),
    }
}

/// The very same object, by a mount or a link: making it equal would empty it before it is read.
fn is_itself(source: &Attr, target: &Attr) -> bool {
    let identity = |attr: &Attr| (attr.fsid, attr.fileid, attr.size, attr.mtime, attr.ctime);
    identity(source) == identity(target)
}

/// The verdict on an object that was begun before in this run. What that left of a file may have the file's size, and its time as well, for
/// both were written in one tick of a kernel's clock (4 ms at 250 Hz): it is never taken for a copy.
pub(super) fn verdict_again(by: By<'_>, source: &Attr, target: &Attr) -> Verdict {
    match verdict(by, source, target) {
        Verdict::Equal | Verdict::Attributes(_) if source.kind == Kind::File && !is_itself(source, target) => {
            Verdict::Content
        }
        verdict => verdict,
    }
}

/// The options say to leave what is there, if it is not the same.
pub(super) fn is_kept(by: By<'_>, source: &Attr, target: &Attr) -> bool {
    let newer = || target.mtime > source.mtime && !by.keeps_time(source, target);
    match by.options.existing {
        Existing::Replace => false,
        Existing::UnlessNewer => source.kind == Kind::File && target.kind == Kind::File && newer(),
        Existing::Keep => true,
    }
}

/// The verdict on an object whose content is equal.
pub(super) fn rest(by: By<'_>, source: &Attr, target: &Attr) -> Verdict {
    let change = change(by, source, target);
    match change {
        change if change.is_empty() => Verdict::Equal,
        _ if has_more_names(by.options, source, target) => Verdict::Replace,
        change => Verdict::Attributes(change),
    }
}

/// The target has names that the source does not have, and they would change with it; or, where what is newer is kept, names that may be
/// kept as they are.
pub(super) fn has_more_names(options: &Options, source: &Attr, target: &Attr) -> bool {
    let known = match options.existing {
        Existing::UnlessNewer => 1,
        _ if options.preserve.hard_links => source.nlink.max(1),
        _ => u32::MAX,
    };
    target.nlink > known && source.kind != Kind::Dir
}

/// User and group that a copy is to get. Nobody has the number -1, which a server may say all the same: to chown(2) it leaves the owner as
/// it is. What takes the place of a file that `stood` there gets that one's where they are not carried; a user can give nothing away, and
/// its groups are given by other words (`groups`).
pub(super) fn owner(options: &Options, source: &Attr, stood: Option<&Attr>) -> (Option<u32>, Option<u32>) {
    let keep = &options.preserve;
    let stood = stood.filter(|_| options.user.is_none());
    let of = |keeps: bool, id: u32, was: Option<u32>| {
        let id = if keeps { Some(id) } else { was };
        id.filter(|id| *id != u32::MAX)
    };
    (of(keep.uid, source.uid, stood.map(|was| was.uid)), of(keep.gid, source.gid, stood.map(|was| was.gid)))
}

/// The attributes in which the target differs.
pub(super) fn change(by: By<'_>, source: &Attr, target: &Attr) -> AttrChange {
    let keep = &by.options.preserve;
    let (uid, gid) = owner(by.options, source, None);
    let (uid, gid) = (uid.filter(|uid| *uid != target.uid), gid.filter(|gid| *gid != target.gid));
    let wanted = owned(source, source.mode, (uid.unwrap_or(target.uid), gid.unwrap_or(target.gid)));
    // Giving a file away clears its set-id bits.
    let cleared = (uid.is_some() || gid.is_some()) && wanted & SET_ID != 0;
    let mode_differs = keep.mode && source.kind != Kind::Symlink && (wanted != target.mode || cleared);
    let time_differs = keep.times && !by.keeps_time(source, target);
    AttrChange {
        mode: mode_differs.then_some(wanted),
        uid,
        gid,
        size: None,
        atime: if time_differs { SetTime::At(source.atime) } else { SetTime::Keep },
        mtime: if time_differs { SetTime::At(source.mtime) } else { SetTime::Keep },
        masked: None,
    }
}

/// The set-id bits of a mode.
pub(super) const SET_ID: u32 = 0o6000;

/// `mode` for a copy that belongs to `uid` and `gid`: who runs a file gets no rights of others than the source's owner and group.
/// A directory's bits give none.
pub(super) fn owned(source: &Attr, mode: u32, (uid, gid): (u32, u32)) -> u32 {
    let not_his = if uid != source.uid { 0o4000 } else { 0 } | if gid != source.gid { 0o2000 } else { 0 };
    if source.kind == Kind::Dir { mode } else { mode & !not_his }
}

/// Is what takes the place of the file that `stood` there to have a mode, an owner or a group that is known of that file alone?
pub(super) fn keeps_of_old(options: &Options, source: &Attr, stood: &Attr) -> bool {
    let keep = &options.preserve;
    let keeps_owner = match &options.user {
        None => !(keep.uid && keep.gid),
        // A server may refuse the source's, and that would be known only when what stood there is gone.
        Some(user) => user.groups.contains(&stood.gid) && !(user.carried && source.gid == stood.gid),
    };
    !keep.mode || keeps_owner
}

/// What a new object is made with. Set-id bits come when all else is done.
pub(super) fn make(options: &Options, source: &Attr, stood: Option<&Attr>) -> AttrChange {
    let (uid, gid) = owner(options, source, stood);
    AttrChange {
        mode: (source.kind != Kind::Symlink)
            .then(|| mode(options, source, stood) & !(if source.kind == Kind::Dir { 0 } else { SET_ID })),
        uid,
        gid,
        masked: if stood.is_some() { None } else { masked(options, source) },
        ..AttrChange::default()
    }
}

/// Does a new object get just the mode that is worked out for it? With ACLs carried as well: what the directory's gives it is taken away again,
/// and would leave its bits.
pub(super) fn is_exact(options: &Options) -> bool {
    options.preserve.mode || options.preserve.acls
}

/// What the umask takes off a new object's mode, where that is not to be kept: then it is as the directory's ACL, or the server, has it.
pub(super) fn masked(options: &Options, source: &Attr) -> Option<u32> {
    (!is_exact(options) && source.kind != Kind::Symlink).then_some(source.mode & 0o777 & options.umask)
}

/// The mode that an object is to have in the end. The set-id bits of a file that `stood` there go as if it had been written into: not
/// for root.
pub(super) fn mode(options: &Options, source: &Attr, stood: Option<&Attr>) -> u32 {
    match stood {
        _ if options.preserve.mode => source.mode,
        Some(stood) if options.user.is_none() => stood.mode,
        Some(stood) => stood.mode & !SET_ID,
        None => source.mode & 0o777 & !options.umask,
    }
}

/// The times that an object is to have in the end.
pub(super) fn times(options: &Options, source: &Attr) -> AttrChange {
    if !options.preserve.times {
        return AttrChange::default();
    }
    AttrChange { atime: SetTime::At(source.atime), mtime: SetTime::At(source.mtime), ..AttrChange::default() }
}

/// The time of a file that is no copy of this one.
pub(super) fn time_of_no_copy(source: &Attr) -> Time {
    let times = [0, 1].map(|secs| Time { secs, nanos: 0 });
    if source.mtime.may_be_kept_as(times[0], true) { times[1] } else { times[0] }
}

/// What differs in two objects of one kind beside their content, in one word; for a comparison.
pub(super) fn difference(by: By<'_>, source: &Attr, target: &Attr) -> Option<&'static str> {
    let change = change(by, source, target);
    match change {
        _ if matches!(source.kind, Kind::Char | Kind::Block) && source.rdev != target.rdev => Some("device number"),
        AttrChange { mode: Some(_), .. } => Some("mode"),
        AttrChange { uid: Some(_), .. } => Some("owner"),
        AttrChange { gid: Some(_), .. } => Some("group"),
        AttrChange { mtime: SetTime::At(_), .. } => Some("time"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is a file of its own.
    fn file(size: u64, secs: i64) -> Attr {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let fileid = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let time = Time { secs, nanos: 5 };
        Attr {
            kind: Kind::File,
            mode: 0o644,
            nlink: 1,
            uid: 1,
            gid: 1,
            size,
            used: size,
            rdev: (0, 0),
            fsid: 1,
            fileid,
            atime: time,
            mtime: time,
            ctime: time,
        }
    }

    fn by(options: &Options) -> By<'_> {
        By { options, nfs_times: false }
    }

    /// A time before 1970 is another one than 1970 wherever both can be told.
    #[test]
    fn times_that_nfs_does_not_carry() {
        let options = Options::default();
        let (source, target) = (file(1, -1), Attr { mtime: Time::default(), ..file(1, 0) });
        assert_eq!(verdict(by(&options), &source, &target), Verdict::Content);
        assert_eq!(verdict(By { options: &options, nfs_times: true }, &source, &target), Verdict::Equal);
    }

    #[test]
    fn files_by_size_and_time() {
        let with = |compare, existing| Options { compare, existing, ..Options::default() };
        let quick = with(Compare::SizeAndTime, Existing::Replace);
        assert_eq!(verdict(by(&quick), &file(1, 1), &file(1, 1)), Verdict::Equal);
        assert_eq!(verdict(by(&quick), &file(1, 1), &file(2, 1)), Verdict::Content);
        assert_eq!(verdict(by(&quick), &file(1, 1), &file(1, 2)), Verdict::Content);
        let size = with(Compare::Size, Existing::Replace);
        assert!(matches!(verdict(by(&size), &file(1, 1), &file(1, 2)), Verdict::Attributes(c) if c.mode.is_none()));
        assert_eq!(
            verdict(by(&with(Compare::Bytes, Existing::Replace)), &file(1, 1), &file(1, 1)),
            Verdict::CompareBytes
        );
        assert_eq!(verdict(by(&with(Compare::Never, Existing::Replace)), &file(1, 1), &file(1, 1)), Verdict::Content);
        let newer = with(Compare::SizeAndTime, Existing::UnlessNewer);
        assert_eq!(verdict(by(&newer), &file(1, 1), &file(2, 2)), Verdict::Keep);
        assert_eq!(verdict(by(&newer), &file(1, 2), &file(2, 1)), Verdict::Content);
        assert_eq!(verdict(by(&with(Compare::Never, Existing::Keep)), &file(1, 1), &file(2, 2)), Verdict::Keep);
    }

    #[test]
    fn a_file_given_away_gets_its_set_id_bits_again() {
        let options = Options::default();
        let source = Attr { mode: 0o4755, ..file(1, 1) };
        let target = Attr { uid: 9, fileid: 0, ..source };
        assert!(matches!(
            verdict(by(&options), &source, &target),
            Verdict::Attributes(AttrChange { uid: Some(1), gid: None, mode: Some(0o4755), .. })
        ));
    }

    #[test]
    fn what_has_other_names_is_not_changed_under_them() {
        let options = Options::default();
        let source = file(1, 1);
        let target = Attr { nlink: 2, fileid: 0, ..source };
        assert_eq!(verdict(by(&options), &source, &target), Verdict::Equal);
        let changed = Attr { mode: 0, ..target };
        assert_eq!(verdict(by(&options), &source, &changed), Verdict::Replace);
        // As many names; one of them may be of a file that is kept.
        let source = Attr { nlink: 2, ..source };
        assert!(matches!(verdict(by(&options), &source, &changed), Verdict::Attributes(_)));
        let newer = Options { existing: Existing::UnlessNewer, ..Options::default() };
        assert_eq!(verdict(by(&newer), &source, &changed), Verdict::Replace);
        assert_eq!(verdict(by(&newer), &source, &target), Verdict::Equal);
    }

    #[test]
    fn a_file_is_never_copied_onto_itself() {
        let options = Options { compare: Compare::Never, ..Options::default() };
        let same = file(1, 1);
        assert_eq!(verdict(by(&options), &same, &same), Verdict::Equal);
    }

    #[test]
    fn what_was_begun_before_is_no_copy_by_its_size_and_time() {
        let options = Options::default();
        let source = file(1, 1);
        let left = Attr { fileid: 0, ..source };
        assert_eq!(verdict(by(&options), &source, &left), Verdict::Equal);
        assert_eq!(verdict_again(by(&options), &source, &left), Verdict::Content);
        assert_eq!(verdict_again(by(&options), &source, &Attr { mode: 0, ..left }), Verdict::Content);
        assert_eq!(verdict_again(by(&options), &source, &source), Verdict::Equal);
    }

    #[test]
    fn another_kind_is_replaced() {
        let options = Options::default();
        let fifo = Attr { kind: Kind::Fifo, ..file(0, 1) };
        assert_eq!(verdict(by(&options), &file(0, 1), &fifo), Verdict::Replace);
        let device = |minor| Attr { kind: Kind::Char, rdev: (1, minor), ..file(0, 1) };
        assert_eq!(verdict(by(&options), &device(1), &device(2)), Verdict::Replace);
        assert_eq!(verdict(by(&options), &device(1), &device(1)), Verdict::Equal);
    }
}
