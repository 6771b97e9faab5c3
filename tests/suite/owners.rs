//! Owners, groups and set-id bits: what servers leave out or take away, and what was there before a call whose answer was lost.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parfs::archive::write::{self, Format};
use parfs::archive::{Member, MemberKind};
use parfs::base::{Name, Proc, Status, Time};
use parfs::jobs::copy;
use parfs::jobs::extract::{Existing, Options, Owner};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, How, Kind, Limits, Mount, Node, Op, SetTime, Special, Spread, Tally, Volume};

use crate::ask::Ask;
use crate::copies;
use crate::remove_odd::{Odd, pass};
use crate::scripted::{Act, Scripted};
use crate::tars::{crew, extract, pipe, volume};
use crate::tree::{content, dump, node_at};

const OURS: (u32, u32) = (1000, 100);
const THEIRS: (u32, u32) = (7, 8);
const MTIME: Time = Time { secs: 1_500_000_000, nanos: 0 };

/// An object of each kind that is no directory, one of them with set-id bits, below a directory.
fn members() -> Vec<(&'static str, MemberKind, u32)> {
    vec![
        ("d", MemberKind::Dir, 0o2750),
        ("d/file", MemberKind::File, 0o4711),
        ("d/empty", MemberKind::File, 0o640),
        ("d/link", MemberKind::Symlink, 0o777),
        ("d/fifo", MemberKind::Fifo, 0o2610),
    ]
}

fn archive() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, kind, mode) in members() {
        let data: &[u8] = if path == "d/file" { b"data" } else { b"" };
        let link = if kind == MemberKind::Symlink { b"to".to_vec() } else { Vec::new() };
        let size = data.len() as u64;
        let (uid, gid) = OURS;
        let path = path.into();
        let member = Member { path, kind, mode, uid, gid, link, size, stored: size, mtime: MTIME, ..Member::default() };
        write::header(&member, Format::Pax, false, &mut bytes).unwrap();
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len() + write::padding(size), 0);
    }
    let end = write::end(bytes.len() as u64, 512);
    [bytes, end].concat()
}

fn options(existing: Existing) -> Options {
    Options { mode_mask: 0, owner: Owner::FromArchive { numeric: true }, existing, ..Options::default() }
}

/// The same objects as they are in the archive, but of these owners, and of these modes.
fn there(owner: (u32, u32), mode: impl Fn(u32) -> u32) -> Arc<MemoryMount> {
    let mount = Arc::new(MemoryMount::new());
    let dir = mount.dir(&mount.root(), "d");
    mount.file(&dir, "file", b"data");
    mount.file(&dir, "empty", b"");
    mount.symlink(&dir, "link", b"to").unwrap();
    mount.mknod(&dir, "fifo", Special::Fifo, AttrChange::default()).unwrap();
    for (path, kind, bits) in members().into_iter().rev() {
        let node = node_at(&*mount, &path.split('/').collect::<Vec<_>>());
        let (uid, gid) = (Some(owner.0), Some(owner.1));
        mount.set_attr(&node, AttrChange { uid, gid, ..AttrChange::default() }).unwrap();
        let mode = (kind != MemberKind::Symlink).then(|| mode(bits));
        mount.set_attr(&node, AttrChange { mode, mtime: SetTime::At(MTIME), ..AttrChange::default() }).unwrap();
    }
    mount
}

fn assert_ours(mount: &MemoryMount, context: &str) {
    let tree = dump(mount);
    for (path, kind, mode) in members() {
        let is = &tree[path];
        assert_eq!((is.uid, is.gid), OURS, "{context}: {path}");
        if kind != MemberKind::Symlink {
            assert_eq!(is.mode, mode, "{context}: {path}");
        }
    }
}

/// A server that carries out something else than it was asked for.
fn other(mount: &Arc<MemoryMount>, asked: fn(&dyn Mount, &mut Call<'_>)) -> Volume {
    let odd = Odd::new(mount, move |mount, call| {
        asked(mount, call);
        pass(mount, call);
    });
    volume(&odd)
}

/// Linux's server and nfs-ganesha take set-id bits off the mode that comes with an owner.
#[test]
fn set_id_bits_are_set_after_the_owner() {
    let linux = |mount: &Arc<MemoryMount>| {
        other(mount, |mount, call| {
            if let Op::SetAttr { node, change, .. } = &mut call.op
                && change.gives_away()
                && mount.get_attr(node).unwrap().kind != Kind::Dir
            {
                change.mode = change.mode.map(|mode| mode & 0o1777);
            }
        })
    };
    let mount = there(THEIRS, |mode| mode);
    extract(&linux(&mount), pipe(archive()), &options(Existing::Overwrite), &crew(2, 2)).clean();
    assert_ours(&mount, "extracted over");

    let (from, to) = (there(OURS, |mode| mode), there(THEIRS, |mode| mode));
    copies::run(&volume(&from), &linux(&to), &copies::sync(), &copies::crew(2, 2)).clean();
    assert_ours(&to, "copied over");
}

/// Makes objects without the owners that are asked for, and says nothing of it.
#[test]
fn an_owner_that_a_server_left_out_is_set() {
    let deaf = |mount: &Arc<MemoryMount>| {
        other(mount, |_, call| {
            if let Op::Create { change, .. }
            | Op::MkDir { change, .. }
            | Op::Symlink { change, .. }
            | Op::MkNod { change, .. } = &mut call.op
            {
                (change.uid, change.gid) = (None, None);
            }
        })
    };
    let mount = Arc::new(MemoryMount::new());
    extract(&deaf(&mount), pipe(archive()), &options(Existing::Replace), &crew(2, 2)).clean();
    assert_ours(&mount, "extracted");
    for atomic in [false, true] {
        let (from, to) = (there(OURS, |mode| mode), Arc::new(MemoryMount::new()));
        let options = copy::Options { atomic, ..copies::sync() };
        copies::run(&volume(&from), &deaf(&to), &options, &copies::crew(2, 2)).clean();
        assert_ours(&to, "copied");
    }
}

/// As a default ACL does: RFC 1813 lets the server choose.
#[test]
fn a_mode_that_a_server_did_not_give_is_set() {
    let strict = |mount: &Arc<MemoryMount>| {
        other(mount, |_, call| {
            if let Op::Create { change, .. } | Op::MkDir { change, .. } | Op::MkNod { change, .. } = &mut call.op {
                change.mode = change.mode.map(|mode| mode & 0o700);
            }
        })
    };
    let mount = Arc::new(MemoryMount::new());
    let options = Options { mtime: false, ..options(Existing::Replace) };
    extract(&strict(&mount), pipe(archive()), &options, &crew(2, 2)).clean();
    assert_ours(&mount, "extracted");
    for (atomic, times) in [(false, true), (true, true), (false, false)] {
        let (from, to) = (there(OURS, |mode| mode), Arc::new(MemoryMount::new()));
        let preserve = copy::Preserve { times, ..copies::sync().preserve };
        let options = copy::Options { atomic, preserve, ..copies::sync() };
        copies::run(&volume(&from), &strict(&to), &options, &copies::crew(2, 2)).clean();
        assert_ours(&to, "copied");
    }
}

/// RFC 1813 does not make a server tell the attributes of what it made.
#[test]
fn what_was_made_is_looked_at_where_the_server_does_not_tell() {
    let server = Scripted::start(|proc, _| match proc {
        Proc::Create | Proc::MkDir => Act::Bare,
        _ => Act::Send,
    });
    let mount = server.mount();
    let asked = server.carried_out(Proc::GetAttr);
    let change = AttrChange { mode: Some(0o600), uid: Some(7), gid: Some(8), ..AttrChange::default() };
    let made = [
        mount.create(&mount.root(), "file", How::Guarded, change).unwrap(),
        mount.mkdir(&mount.root(), "dir", change).unwrap(),
    ];
    for found in made {
        let is = found.attr.unwrap();
        assert_eq!((is.mode, is.uid, is.gid), (0o600, 7, 8));
    }
    assert_eq!(server.carried_out(Proc::GetAttr) - asked, 2);
}

/// The object is there, and whoever asks another target for it is to know that.
#[test]
fn what_was_made_and_cannot_be_looked_at_may_have_been_made() {
    let made = AtomicBool::new(false);
    let server = Scripted::start(move |proc, _| match proc {
        Proc::Create => {
            made.store(true, Ordering::Relaxed);
            Act::Bare
        }
        Proc::GetAttr if made.load(Ordering::Relaxed) => Act::Fail(Status::Io),
        _ => Act::Send,
    });
    let (mount, name) = (server.mount(), Name::new(b"file").unwrap());
    let change = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    let root = mount.root();
    let mut calls = [Call::create(&root, &name, How::Guarded, change)];
    mount.perform(&mut calls);
    assert_eq!((calls[0].status(), calls[0].repeated), (Err(Status::Io), true));
}

/// A server that breaks the connection at the first answer of a kind: what is asked again finds what was there before.
fn breaks_at(mount: Arc<MemoryMount>, at: Proc) -> (Arc<Scripted>, Volume, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(false));
    let seen = broken.clone();
    let server = Scripted::serving(mount, 0, move |proc, number| {
        if proc == at && number == 0 {
            seen.store(true, Ordering::Relaxed);
            return Act::Reset;
        }
        Act::Send
    });
    let volume = Volume::new(vec![server.mount() as _], Spread::default());
    (server, volume, broken)
}

/// Loses its first answer for each name; what it made then is the caller's, with a mode of its own.
struct Forgetful {
    mount: Arc<MemoryMount>,
    lost: Mutex<HashSet<Vec<u8>>>,
    makes_as: Option<(u32, u32)>,
}

impl Mount for Forgetful {
    fn root(&self) -> Node {
        self.mount.root()
    }
    fn limits(&self) -> Limits {
        self.mount.limits()
    }
    fn makes_as(&self) -> Option<(u32, u32)> {
        self.makes_as
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls {
            let mut is_lost = false;
            if let Op::Create { name, change, .. } | Op::Symlink { name, change, .. } | Op::MkNod { name, change, .. } =
                &mut call.op
                && self.lost.lock().unwrap().insert(name.as_bytes().to_vec())
            {
                *change = AttrChange { mode: change.mode.map(|_| 0o777), ..AttrChange::default() };
                is_lost = true;
            }
            self.mount.perform(std::slice::from_mut(call));
            if is_lost {
                call.repeated = true;
                call.fail(Status::Exist);
            }
        }
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        "forgetful".into()
    }
}

/// What a run made itself, and does not know of, is not left empty without a word.
#[test]
fn what_was_made_before_a_lost_answer_is_completed_or_told() {
    for existing in [Existing::Keep, Existing::Skip, Existing::KeepNewer, Existing::Replace, Existing::Overwrite] {
        for makes_as in [None, Some((0, 0))] {
            let mount = Arc::new(MemoryMount::new());
            let forgetful = Arc::new(Forgetful { mount: mount.clone(), lost: Mutex::default(), makes_as });
            let ran = extract(&volume(&forgetful), pipe(archive()), &options(existing), &crew(1, 1));
            let context = format!("{existing:?} {makes_as:?}");
            if makes_as.is_some() || matches!(existing, Existing::Replace | Existing::Overwrite) {
                ran.clean();
                assert_ours(&mount, &context);
                assert_eq!(content(&*mount, "d/file"), b"data", "{context}");
            } else {
                assert_eq!(ran.failures.len(), 4, "{context}: {:?}", ran.failures);
                assert!(ran.failures.iter().all(|why| why.contains("an answer was lost")), "{:?}", ran.failures);
            }
        }
    }
}

/// A server that leaves owners out and does not let them be given is asked a few times, and each object is told.
#[test]
fn an_owner_that_is_refused_is_told_of_each_object() {
    let asked = Arc::new(AtomicU64::new(0));
    let squashing = |mount: &Arc<MemoryMount>| {
        let asked = asked.clone();
        volume(&Odd::new(mount, move |mount, call| {
            match &mut call.op {
                Op::Create { change, .. } => (change.uid, change.gid) = (None, None),
                Op::SetAttr { change, .. } if change.gives_away() => {
                    asked.fetch_add(1, Ordering::Relaxed);
                    return call.fail(Status::Perm);
                }
                _ => {}
            }
            pass(mount, call);
        }))
    };
    let from = Arc::new(MemoryMount::new());
    for i in 0..100 {
        let node = mount_file(&from, i);
        from.set_attr(&node, AttrChange { uid: Some(OURS.0), ..AttrChange::default() }).unwrap();
    }
    let to = Arc::new(MemoryMount::new());
    let ran = copies::run(&volume(&from), &squashing(&to), &copies::sync(), &copies::crew(1, 1));
    assert_eq!(ran.failures.len(), 100);
    assert!(ran.failures.iter().all(|why| why.contains("its owner cannot be set")), "{:?}", ran.failures);
    assert!(asked.swap(0, Ordering::Relaxed) < 100);

    let members = (0..100).map(|i| {
        let path = format!("f{i}").into_bytes();
        Member { path, kind: MemberKind::File, mode: 0o644, uid: OURS.0, mtime: MTIME, ..Member::default() }
    });
    let to = Arc::new(MemoryMount::new());
    let bytes = members.fold(Vec::new(), |mut bytes, member| {
        write::header(&member, Format::Pax, false, &mut bytes).unwrap();
        bytes
    });
    let end = write::end(bytes.len() as u64, 512);
    let archive = [bytes, end].concat();
    let ran = extract(&squashing(&to), pipe(archive.clone()), &options(Existing::Replace), &crew(1, 1));
    // Told as extracted, and counted so.
    assert_eq!((ran.failures.len(), ran.summary.files, ran.summary.members), (100, 100, 100));
    assert!(ran.failures.iter().all(|why| why.contains("its owner cannot be set")), "{:?}", ran.failures);
    assert!(asked.load(Ordering::Relaxed) < 100);
    assert!(dump(&*to).values().filter(|object| object.kind == Kind::File).all(|object| object.mtime == MTIME));

    // A kernel's client makes the file, and then may not give it away: that is not tried, nor undone, for each.
    for uid in [OURS.0, 0] {
        let (to, made) = (Arc::new(MemoryMount::new()), Arc::new(AtomicU64::new(0)));
        let (counted, caller) = (made.clone(), uid);
        let kernel = Odd::new(&to, move |mount, call| {
            let Op::Create { change, .. } = &mut call.op else { return pass(mount, call) };
            let asked = std::mem::replace(change, AttrChange { uid: Some(caller), gid: None, ..*change });
            counted.fetch_add(1, Ordering::Relaxed);
            pass(mount, call);
            if asked.uid.is_some_and(|uid| uid != caller) {
                call.fail(Status::Perm);
            }
            let Op::Create { change, .. } = &mut call.op else { return };
            *change = asked;
        });
        let ran = extract(&volume(&kernel), pipe(archive.clone()), &options(Existing::Replace), &crew(1, 1));
        let (refused, calls) = if uid == OURS.0 { (0, 100) } else { (100, 102) };
        assert_eq!((ran.failures.len(), made.load(Ordering::Relaxed)), (refused, calls), "{:?}", ran.failures);
        assert_eq!(dump(&*to).len(), 101);
    }
}

/// Whose everything is that a server squashes.
const ANONYMOUS: (u32, u32) = (65534, 65534);

/// A server that takes some ids for the anonymous user's, in all that gives them, and says OK.
fn squashing(mount: &Arc<MemoryMount>, is_squashed: fn(u32) -> bool) -> Volume {
    volume(&Odd::new(mount, move |mount, call| {
        let (Op::Create { change, .. }
        | Op::MkDir { change, .. }
        | Op::Symlink { change, .. }
        | Op::MkNod { change, .. }
        | Op::SetAttr { change, .. }) = &mut call.op
        else {
            return pass(mount, call);
        };
        let asked = *change;
        let given = |id: Option<u32>, anonymous| id.map(|id| if is_squashed(id) { anonymous } else { id });
        (change.uid, change.gid) = (given(asked.uid, ANONYMOUS.0), given(asked.gid, ANONYMOUS.1));
        pass(mount, call);
        if let Op::Create { change, .. }
        | Op::MkDir { change, .. }
        | Op::Symlink { change, .. }
        | Op::MkNod { change, .. }
        | Op::SetAttr { change, .. } = &mut call.op
        {
            *change = asked;
        }
    }))
}

/// nfs-ganesha, where it squashes root: root's ids become the anonymous user's, and it says OK.
#[test]
fn an_owner_that_a_server_says_it_gave_and_did_not_is_told() {
    let squashing = |mount: &Arc<MemoryMount>| squashing(mount, |_| true);
    let assert_told = |to: &MemoryMount, failures: &[String], context: &str| {
        assert_eq!(failures.len(), members().len(), "{context}: {failures:?}");
        assert!(failures.iter().all(|why| why.contains("its owner cannot be set")), "{context}: {failures:?}");
        let tree = dump(to);
        for (path, kind, mode) in members() {
            let is = &tree[path];
            assert_eq!((is.uid, is.gid), ANONYMOUS, "{context}: {path}");
            assert_eq!(is.mtime, MTIME, "{context}: {path}");
            // As cp does; GNU tar gives a file of another owner its set-id bits.
            let kept = if kind == MemberKind::Dir { 0o7777 } else { 0o1777 };
            if kind != MemberKind::Symlink {
                assert_eq!(is.mode, mode & kept, "{context}: {path}");
            }
        }
    };
    for existing in [Existing::Replace, Existing::Overwrite] {
        let mount = Arc::new(MemoryMount::new());
        for _ in 0..2 {
            let ran = extract(&squashing(&mount), pipe(archive()), &options(existing), &crew(2, 2));
            assert_told(&mount, &ran.failures, "extracted");
        }
    }
    for atomic in [false, true] {
        let from = there(OURS, |mode| mode);
        for (to, context) in [
            (Arc::new(MemoryMount::new()), "copied"),
            (there(ANONYMOUS, |_| 0o777), "given attributes"),
            (there(THEIRS, |mode| mode), "copied over"),
        ] {
            if context == "copied over" {
                for path in ["file", "empty"] {
                    let node = node_at(&*to, &["d", path]);
                    to.write(&node, 0, b"other", parfs::storage::Stable::FileSync).unwrap();
                }
            }
            let options = copy::Options { atomic, ..copies::sync() };
            for _ in 0..2 {
                let ran = copies::run(&volume(&from), &squashing(&to), &options, &copies::crew(2, 2));
                assert_told(&to, &ran.failures, &format!("{context}, {atomic}"));
            }
        }
    }
}

/// A server may map one id and take the others, and leave owners out of what makes an object: that one says nothing of the others.
#[test]
fn an_owner_that_is_left_out_without_a_word_is_no_other_s() {
    const MAPPED: u32 = 5;
    let owner = |i: usize| if i == 0 { MAPPED } else { OURS.0 };
    let server = |mount: &Arc<MemoryMount>| {
        volume(&Odd::new(mount, |mount, call| {
            let (Op::Create { change, .. } | Op::SetAttr { change, .. }) = &mut call.op else {
                return pass(mount, call);
            };
            let asked = *change;
            if asked.uid == Some(MAPPED) || matches!(call.op, Op::Create { .. }) {
                let (Op::Create { change, .. } | Op::SetAttr { change, .. }) = &mut call.op else { return };
                change.uid = Some(ANONYMOUS.0);
            }
            pass(mount, call);
            let (Op::Create { change, .. } | Op::SetAttr { change, .. }) = &mut call.op else { return };
            *change = asked;
        }))
    };
    let assert_one = |to: &MemoryMount, failures: &[String], context: &str| {
        assert_eq!(failures.len(), 1, "{context}: {failures:?}");
        assert!(
            failures[0].contains("f0: ") && failures[0].contains("its owner cannot be set"),
            "{context}: {failures:?}"
        );
        let tree = dump(to);
        for i in 0..9 {
            let (is, mapped) = (&tree[&format!("f{i}")], i == 0);
            // A copy has its group.
            let kept = if context == "copied" { 0o2755 } else { 0o755 };
            let (uid, mode) = if mapped { (ANONYMOUS.0, kept) } else { (OURS.0, 0o6755) };
            assert_eq!((is.uid, is.mode), (uid, mode), "{context}: f{i}");
        }
    };
    let (from, mut bytes) = (Arc::new(MemoryMount::new()), Vec::new());
    for i in 0..9 {
        let node = mount_file(&from, i);
        let change = AttrChange { uid: Some(owner(i)), gid: Some(0), ..AttrChange::default() };
        from.set_attr(&node, change).unwrap();
        from.set_attr(&node, AttrChange { mode: Some(0o6755), ..AttrChange::default() }).unwrap();
        let path = format!("f{i}").into_bytes();
        let (kind, uid) = (MemberKind::File, owner(i));
        let member = Member { path, kind, mode: 0o6755, uid, mtime: MTIME, ..Member::default() };
        write::header(&member, Format::Pax, false, &mut bytes).unwrap();
    }
    let archive = [bytes.clone(), write::end(bytes.len() as u64, 512)].concat();
    for (lanes, window) in [(1, 1), (2, 8)] {
        let to = Arc::new(MemoryMount::new());
        let crew = crew(lanes, window);
        let ran = extract(&server(&to), pipe(archive.clone()), &options(Existing::Replace), &crew);
        assert_one(&to, &ran.failures, "extracted");
        let to = Arc::new(MemoryMount::new());
        let ran = copies::run(&volume(&from), &server(&to), &copies::sync(), &copies::crew(lanes, window));
        assert_one(&to, &ran.failures, "copied");
    }
}

/// A server may say that a file is user -1's: to chown(2) that leaves the owner as it is, and is no failure.
#[test]
fn an_owner_of_the_number_that_nobody_has_is_left() {
    let stored = Arc::new(MemoryMount::new());
    let node = mount_file(&stored, 0);
    stored.set_attr(&node, AttrChange { mode: Some(0o6755), ..AttrChange::default() }).unwrap();
    let from = Odd::new(&stored, |mount, call| {
        pass(mount, call);
        if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
            page.entries.iter_mut().filter_map(|entry| entry.attr.as_mut()).for_each(|attr| attr.uid = u32::MAX);
        }
    });
    let stored_as = Arc::new(MemoryMount::new());
    // chown(2), and a server that takes it for what it is.
    let to = Odd::new(&stored_as, |mount, call| {
        if let Op::Create { change, .. } | Op::SetAttr { change, .. } = &mut call.op
            && change.uid == Some(u32::MAX)
        {
            return call.fail(Status::Inval);
        }
        pass(mount, call);
    });
    for _ in 0..2 {
        copies::run(&volume(&from), &volume(&to), &copies::sync(), &copies::crew(1, 1)).clean();
        let is = &dump(&*stored_as)["f0"];
        // Another's than the source's, as far as is known.
        assert_eq!((is.uid, is.mode), (0, 0o2755));
    }
}

fn mount_file(mount: &Arc<MemoryMount>, i: usize) -> Node {
    mount.file(&mount.root(), format!("f{i}"), b"data")
}

const MAKES: [Proc; 4] = [Proc::Create, Proc::MkDir, Proc::Symlink, Proc::MkNod];

/// An owner that was refused is no attribute that was set.
#[test]
fn what_got_nothing_but_a_refusal_is_not_counted_as_changed() {
    let (from, to) = (there(OURS, |mode| mode), there(THEIRS, |mode| mode & 0o777));
    let other_mode = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    to.set_attr(&node_at(&*to, &["d", "empty"]), other_mode).unwrap();
    let refusing = Odd::new(&to, |mount, call| match &call.op {
        Op::SetAttr { change, .. } if change.gives_away() => call.fail(Status::Perm),
        _ => pass(mount, call),
    });
    let ran = copies::run(&volume(&from), &volume(&refusing), &copy::Options::default(), &copies::crew(1, 1));
    let refused = ran.failures.iter().filter(|text| text.contains("its owner cannot be set")).count();
    assert_eq!((refused, ran.failures.len()), (5, 5), "{:?}", ran.failures);
    // The root's time, and the one other mode.
    assert_eq!(
        (&ran.deeds[..], ran.summary.attributes),
        (&["Attributes ", "Attributes d/empty"].map(String::from)[..], 2)
    );
}

#[test]
fn what_was_there_before_a_lost_answer_gets_its_owner() {
    for at in MAKES {
        let mount = there(THEIRS, |mode| mode);
        let (_server, volume, broken) = breaks_at(mount.clone(), at);
        extract(&volume, pipe(archive()), &options(Existing::Replace), &crew(1, 1)).clean();
        assert!(broken.load(Ordering::Relaxed), "{at}");
        assert_ours(&mount, &at.to_string());
    }
}

/// Other names and owners are what taking it for one's own would harm.
#[test]
fn what_was_there_before_a_lost_answer_is_kept() {
    let untouched = |mount: Arc<MemoryMount>, context: &str| {
        let before = dump(&*mount);
        for existing in [Existing::Keep, Existing::Skip, Existing::KeepNewer] {
            for at in MAKES {
                let (_server, volume, broken) = breaks_at(mount.clone(), at);
                extract(&volume, pipe(archive()), &options(existing), &crew(1, 1));
                assert!(broken.load(Ordering::Relaxed), "{at}");
                crate::tree::assert_same(&before, &dump(&*mount), &format!("{context} {existing:?} {at}"));
            }
        }
    };
    untouched(there(THEIRS, |mode| mode), "of another");
    let mount = there(OURS, |mode| mode);
    let dir = node_at(&*mount, &["d"]);
    for name in members().iter().filter_map(|(path, ..)| path.strip_prefix("d/")) {
        mount.link(&node_at(&*mount, &["d", name]), &dir, format!("other-{name}")).unwrap();
    }
    let time = AttrChange { mtime: SetTime::At(MTIME), ..AttrChange::default() };
    mount.set_attr(&dir, time).unwrap();
    untouched(mount, "of another name");
}
