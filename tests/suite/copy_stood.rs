//! What takes the place of a file, rather than being written into it, is as that was in all that is not carried.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parfs::base::price::Ceiling;
use parfs::base::{PriceList, Status};
use parfs::jobs::copy::{Compare, Existing, Options, Preserve, User};
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::sim::{Config, Server};
use parfs::storage::{AttrChange, Beyond, Call, Mount, Op};

use crate::ask::{Ask, mode};
use crate::copies::{Ran, asked, assert_asked, crew, run, volume};
use crate::nasty::{acl, past, put, set, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{content, node_at};

const SIZES: [usize; 2] = [3, 3 << 20];
const ACL_NAME: &str = "system.posix_acl_access";
const ACL: &[u8] = ACL_NAME.as_bytes();

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

/// Ways that files are not written into: by -u, --size-only and --atomic, and where they have other names.
fn ways() -> [(Options, bool); 4] {
    let plain = || Options { range_bytes: 1 << 20, ..Options::default() };
    [
        (Options { existing: Existing::UnlessNewer, ..plain() }, false),
        (Options { compare: Compare::Size, ..plain() }, false),
        (Options { atomic: true, ..plain() }, false),
        (plain(), true),
    ]
}

/// A file of these attributes.
fn planted(mount: &MemoryMount, data: &[u8], bits: u32, owner: (u32, u32), n: i64) {
    let node = mount.file(&mount.root(), "f", b"");
    put(mount, &node, 0, data);
    set(mount, &node, AttrChange { uid: Some(owner.0), gid: Some(owner.1), ..AttrChange::default() });
    set(mount, &node, mode(bits));
    set_time(mount, &node, past(n));
}

/// A source and a target, whose file is the older one.
fn sides(size: usize, bits: u32, linked: bool) -> (Arc<MemoryMount>, Arc<MemoryMount>) {
    let (from, to) = (memory(), memory());
    planted(&from, &vec![7; size], 0o644, (1, 2), 9);
    planted(&to, b"was", bits, (7, 8), 1);
    if size == 3 {
        put(&*to, &node_at(&*to, &["f"]), 3, b"more");
        set_time(&*to, &node_at(&*to, &["f"]), past(1));
    }
    if linked {
        to.link(&node_at(&*to, &["f"]), &to.root(), "other").unwrap();
    }
    (from, to)
}

/// Served to root, whom it believes.
fn served(mount: &Arc<MemoryMount>) -> (Server, Arc<dyn Mount>) {
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let server = Server::start(mount.clone(), Config { targets: 1, ceiling, ..Config::default() }).unwrap();
    let view = attach(&Url::parse(&format!("{}?uid=0", server.url())).unwrap(), Usage::Writes).unwrap().remove(0);
    (server, view)
}

fn keeping(options: &Options, keeps: (bool, bool)) -> Options {
    let preserve = Preserve { mode: keeps.0, acls: keeps.0, uid: keeps.1, gid: keeps.1, ..Preserve::ALL };
    Options { preserve, ..options.clone() }
}

fn is(mount: &MemoryMount) -> (u32, (u32, u32)) {
    let mut calls = [Call::get_attr(&node_at(mount, &["f"]))];
    mount.perform(&mut calls);
    let attr = calls[0].attr().unwrap();
    (attr.mode, (attr.uid, attr.gid))
}

#[test]
fn a_file_that_is_replaced_keeps_the_mode_and_owner_that_are_not_carried() {
    for ((options, linked), size) in ways().into_iter().flat_map(|way| SIZES.map(|size| (way.clone(), size))) {
        for (keeps, bits, want) in [
            ((false, false), 0o600, (0o600, (7, 8))),
            ((false, false), 0o6711, (0o6711, (7, 8))),
            ((true, false), 0o600, (0o644, (7, 8))),
            ((false, true), 0o600, (0o600, (1, 2))),
            ((false, true), 0o4700, (0o700, (1, 2))),
        ] {
            let context = format!("{options:?} {linked} {size} {keeps:?} {bits:o}");
            let (from, to) = sides(size, bits, linked);
            run(&volume(vec![from.clone()]), &volume(vec![to.clone()]), &keeping(&options, keeps), &crew(2, 3)).clean();
            assert_eq!((is(&to), content(&*to, "f").len()), (want, size), "{context}");
            // Over the wire it is so, and costs what carrying all does; set-id bits are one more change of the mode that is due. Where that is
            // not renamed, REMOVE goes before CREATE, which costs the same.
            let whole = |options: &Options, keeps| {
                let (from, to) = sides(size, bits, linked);
                let (_server, view) = served(&to);
                let (_, tally, ran) = asked(&(from as Arc<dyn Mount>), &view, &keeping(options, keeps), (1, 1));
                ran.clean();
                (tally, is(&to))
            };
            let (tally, over_nfs) = whole(&options, keeps);
            assert_eq!(over_nfs, want, "{context}");
            assert_asked(whole(&Options { atomic: true, ..options.clone() }, (true, true)).0, tally, &context);
            let [plain, is] = [whole(&options, (true, true)).0, tally].map(|tally| tally.price(&PriceList::oci()));
            assert_eq!(plain, is, "{context}");
        }
    }
}

/// Killed at any call: what it was like is known until the other is complete.
#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner_through_runs_that_are_killed() {
    for size in SIZES {
        for k in 0..30 {
            let (from, to) = sides(size, 0o6711, true);
            let killed = killed_at(&to, k);
            let options = Options { range_bytes: 1 << 20, ..keeping(&Options::default(), (false, false)) };
            run(&volume(vec![from.clone()]), &volume(vec![killed]), &options, &crew(1, 1));
            run(&volume(vec![from]), &volume(vec![to.clone()]), &options, &crew(1, 1)).clean();
            assert_eq!((is(&to), content(&*to, "f").len()), ((0o6711, (7, 8)), size), "killed at call {k}");
        }
    }
}

/// The group of the file is given to what takes its place, where the user cannot give it the source's: it is no member of that, or the server
/// refuses it.
#[test]
fn a_user_s_file_that_is_replaced_keeps_its_group_through_runs_that_are_killed() {
    let preserve = Preserve { uid: false, gid: false, ..Preserve::ALL };
    for groups in [&[0, 8][..], &[0, 2, 8]] {
        let user = Some(User { uid: 0, groups: groups.into(), carried: true });
        let options = Options { user, preserve, range_bytes: 1 << 20, ..Options::default() };
        for (size, k) in SIZES.into_iter().flat_map(|size| (0..30).map(move |k| (size, k))) {
            let (from, to) = sides(size, 0o664, true);
            set(&*to, &node_at(&*to, &["f"]), AttrChange { uid: Some(0), ..AttrChange::default() });
            let strict = refusing(&to, 2);
            run(&volume(vec![from.clone()]), &volume(vec![killed_at(&strict, k)]), &options, &crew(1, 1));
            run(&volume(vec![from]), &volume(vec![strict]), &options, &crew(1, 1)).clean();
            let context = format!("{groups:?}, killed at call {k}");
            assert_eq!((is(&to), content(&*to, "f").len()), ((0o644, (0, 8)), size), "{context}");
        }
    }
}

/// The first window knows of no group yet that it is refused.
#[test]
fn files_that_are_replaced_keep_their_group_where_the_server_refuses_the_source_s() {
    let user = Some(User { uid: 0, groups: [0, 2, 8].into(), carried: true });
    let preserve = Preserve { uid: false, gid: false, ..Preserve::ALL };
    let options = Options { user, preserve, atomic: true, ..Options::default() };
    let (from, to) = (memory(), memory());
    let names: Vec<String> = (0..9).map(|i| format!("f{i}")).collect();
    for (mount, gid, data) in [(&from, 2, &b"new"[..]), (&to, 8, b"was there")] {
        for name in &names {
            let node = mount.file(&mount.root(), name, data);
            set(&**mount, &node, AttrChange { gid: Some(gid), ..AttrChange::default() });
        }
    }
    run(&volume(vec![from]), &volume(vec![refusing(&to, 2)]), &options, &crew(1, 3)).clean();
    for name in &names {
        let mut calls = [Call::get_attr(&node_at(&*to, &[name]))];
        to.perform(&mut calls);
        assert_eq!((calls[0].attr().unwrap().gid, content(&*to, name)), (8, b"new".to_vec()), "{name}");
    }
}

/// Whoever gives something this group is no member of it, by the server's word.
fn refusing(to: &Arc<MemoryMount>, group: u32) -> Arc<Odd> {
    Odd::new(to, move |mount, call| match &call.op {
        Op::SetAttr { change, .. } if change.gid == Some(group) => call.fail(Status::Perm),
        _ => pass(mount, call),
    })
}

/// The mount until so many calls were made; no later one gets there.
fn killed_at(to: &Arc<impl Mount + 'static>, calls: u32) -> Arc<Odd> {
    let left = AtomicU32::new(calls);
    Odd::new(to, move |mount, call| match left.load(Ordering::SeqCst) {
        0 => call.fail(Status::Io),
        more => {
            left.store(more - 1, Ordering::SeqCst);
            pass(mount, call);
        }
    })
}

/// What is written into loses its set-id bits, unless root writes; and it stays its owner's, which a user's new file cannot.
#[test]
fn a_user_keeps_the_groups_that_it_may_give_and_opens_nothing_to_others() {
    let user = |uid, carried| Some(User { uid, groups: [0, 2, 8].into(), carried });
    let preserve = Preserve { mode: false, acls: false, uid: false, gid: false, ..Preserve::ALL };
    // What is made in memory is made by user and group 0.
    for (user, stood, want, kept) in [
        (None, (7, 8, 0o4775), (7, 8, 0o4775), true),
        (user(0, false), (0, 8, 0o2775), (0, 8, 0o775), true),
        (user(0, false), (7, 8, 0o4664), (0, 8, 0o664), false),
        (user(0, false), (0, 9, 0o664), (0, 0, 0o644), false),
        // Who is in group 9 is one of the others now.
        (user(0, false), (0, 9, 0o604), (0, 0, 0o600), false),
        // The source's, which cp gives the file that it writes into.
        (user(0, true), (0, 8, 0o660), (0, 2, 0o660), true),
    ] {
        for size in SIZES {
            let (from, to) = sides(size, stood.2, false);
            set(&*to, &node_at(&*to, &["f"]), AttrChange { uid: Some(stood.0), gid: Some(stood.1), ..mode(stood.2) });
            let options = Options { atomic: true, user: user.clone(), preserve, ..Options::default() };
            let ran = run(&volume(vec![from]), &volume(vec![to.clone()]), &options, &crew(1, 1));
            assert_eq!(
                (is(&to), &ran.failures),
                ((want.2, (want.0, want.1)), &Vec::new()),
                "{user:?} {stood:?} {size}"
            );
            let told = ran.summary.warnings.iter().any(|text| text.contains("belonged to another user or group"));
            assert_eq!(told, !kept, "{user:?} {stood:?} {:?}", ran.summary.warnings);
        }
    }
    // The source's mode, too, is for the group that the file had.
    let (from, to) = sides(3, 0o600, false);
    set(&*to, &node_at(&*to, &["f"]), AttrChange { uid: Some(0), gid: Some(8), ..AttrChange::default() });
    let user = Some(User { uid: 0, groups: [0, 8].into(), carried: true });
    let options = Options {
        atomic: true,
        user,
        preserve: Preserve { uid: false, gid: false, ..Preserve::ALL },
        ..Options::default()
    };
    run(&volume(vec![from]), &volume(vec![to.clone()]), &options, &crew(1, 1)).clean();
    assert_eq!(is(&to), (0o644, (0, 8)));
}

/// The mode that is kept is an ACL's mask: without the ACL it would be the group's.
#[test]
fn a_file_that_is_replaced_keeps_its_acl_with_its_mode() {
    for ((options, linked), size) in ways().into_iter().flat_map(|way| SIZES.map(|size| (way.clone(), size))) {
        let (from, to) = sides(size, 0o660, linked);
        let value = acl(0o660);
        give(&to, &value);
        let was = is(&to);
        // Before there is a byte in it.
        let odd = Odd::new(&to, |mount, call| {
            if let Op::Write { node, .. } = &call.op {
                let mut calls = [Call::get_xattr(node, ACL)];
                mount.perform(&mut calls);
                let [call] = calls;
                assert!(call.into_xattr().is_ok(), "written into without its ACL");
            }
            pass(mount, call);
        });
        run(&volume(vec![from]), &volume(vec![odd]), &keeping(&options, (false, false)), &crew(2, 3)).clean();
        assert_eq!((acl_of(&to), is(&to), content(&*to, "f").len()), (Ok(value), was, size));
    }
}

/// How often it was said that ACLs are lost, of what failed in nothing.
fn warned(ran: Ran) -> usize {
    assert_eq!((&ran.failures, &ran.summary.stopped), (&Vec::new(), &None));
    ran.summary.warnings.iter().filter(|text| text.starts_with("some files that were replaced had ACLs")).count()
}

fn give(mount: &MemoryMount, value: &[u8]) {
    let node = node_at(mount, &["f"]);
    let mut calls = [Call::set_xattr(&node, ACL, value)];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()));
}

fn acl_of(mount: &MemoryMount) -> Result<Vec<u8>, Status> {
    let node = node_at(mount, &["f"]);
    let mut calls = [Call::get_xattr(&node, ACL)];
    mount.perform(&mut calls);
    let [call] = calls;
    call.into_xattr()
}

/// The group's entry of that ACL is r-x, its mask rw-: of a file that has no ACL the group may read.
#[test]
fn where_an_acl_is_not_kept_the_group_gets_no_more_than_it_had() {
    for ((options, linked), size) in ways().into_iter().flat_map(|way| SIZES.map(|size| (way.clone(), size))) {
        for (acls, status, bits) in
            [(true, Status::Pending, 0o640), (false, Status::Perm, 0o640), (false, Status::NoSpc, 0o640)]
        {
            let (from, to) = sides(size, 0o660, linked);
            give(&to, &acl(0o660));
            let odd = Odd::new(&to, move |mount, call| match &mut call.op {
                Op::Beyond(Beyond::SetXattr { out, .. }) => *out = Err(status),
                _ => pass(mount, call),
            });
            let mut options = keeping(&options, (false, false));
            options.preserve.acls = acls;
            let ran = run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(2, 3));
            let context = format!("{options:?} {linked} {size} {status:?} {:?}", ran.summary.warnings);
            assert_eq!(
                (&ran.failures, is(&to), content(&*to, "f").len()),
                (&Vec::new(), (bits, (7, 8)), size),
                "{context}"
            );
            assert_eq!((acl_of(&to).is_err(), ran.summary.warnings.len()), (true, usize::from(!acls)), "{context}");
        }
    }
}

/// It may be an ACL that lets nobody else do anything.
#[test]
fn where_an_acl_cannot_be_read_the_group_gets_nothing() {
    let (from, to) = sides(3, 0o664, false);
    let odd = Odd::new(&to, |mount, call| match &mut call.op {
        Op::Beyond(Beyond::GetXattr { out, .. }) => *out = Err(Status::Io),
        _ => pass(mount, call),
    });
    let options = Options { atomic: true, ..keeping(&Options::default(), (false, false)) };
    assert_eq!(warned(run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, 1))), 1);
    assert_eq!(is(&to), (0o600, (7, 8)));
}

/// Without the ACL the user whom it denies would be one of the others.
#[test]
fn where_an_acl_is_not_kept_whom_it_denies_is_denied() {
    let mut denying = acl(0o664);
    denying[14] = 0; // the bits of the user that is named
    let (from, to) = sides(3, 0o664, false);
    give(&to, &denying);
    let odd = Odd::new(&to, |mount, call| match &mut call.op {
        Op::Beyond(Beyond::SetXattr { out, .. }) => *out = Err(Status::NoSpc),
        _ => pass(mount, call),
    });
    let options = Options { atomic: true, ..keeping(&Options::default(), (false, false)) };
    assert_eq!(warned(run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, 1))), 1);
    assert_eq!((is(&to), acl_of(&to).is_err()), ((0o600, (7, 8)), true));
}

/// The bits that all have who are not the owner are there from the start: no call is due for them.
#[test]
fn a_mode_that_says_the_same_of_group_and_others_costs_no_call() {
    let asked = |bits| {
        let (from, to) = sides(3, bits, false);
        let (_server, view) = served(&to);
        let preserve = Preserve { times: false, ..keeping(&Options::default(), (false, false)).preserve };
        let options = Options { atomic: true, preserve, ..Options::default() };
        let (_, tally, ran) = asked(&(from as Arc<dyn Mount>), &view, &options, (1, 1));
        ran.clean();
        assert_eq!(is(&to), (bits, (7, 8)));
        tally
    };
    assert_asked(asked(0o600), asked(0o644), "0644");
    assert_asked(asked(0o755), asked(0o666), "0666");
}

/// A large file that changes while it is read is begun anew.
#[test]
fn a_file_that_is_begun_anew_keeps_the_mode_of_the_one_whose_place_it_took() {
    for bits in [0o664, 0o640, 0o4750] {
        let (from, to) = sides(SIZES[1], bits, true);
        let (source, is_touched) = (from.clone(), AtomicBool::new(false));
        let odd = Odd::new(&from, move |mount, call| {
            let reads = matches!(call.op, Op::Read { .. });
            pass(mount, call);
            if reads && !is_touched.swap(true, Ordering::SeqCst) {
                put(&*source, &node_at(&*source, &["f"]), 0, b"changed");
            }
        });
        let options = Options { range_bytes: 1 << 20, ..keeping(&Options::default(), (false, false)) };
        let ran = run(&volume(vec![odd]), &volume(vec![to.clone()]), &options, &crew(1, 1));
        assert_eq!((ran.summary.read_again, is(&to)), (1, (bits, (7, 8))), "{bits:o} {:?}", ran.failures);
        assert!(content(&*to, "f").starts_with(b"changed"));
    }
}

/// The directory's ACL is taken off at the end, or the source's takes its place, and its mask are the group's bits until then.
#[test]
fn what_cannot_have_its_acl_stays_shut() {
    let from = memory();
    planted(&from, b"secret", 0o660, (1, 2), 9);
    give(&from, &acl(0o660));
    let dir = tempfile::tempdir().unwrap();
    let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| match &mut call.op {
        Op::Beyond(Beyond::SetXattr { out, .. }) => *out = Err(Status::NoSpc),
        _ => pass(mount, call),
    });
    let preserve = Preserve { mode: false, uid: false, gid: false, ..Preserve::ALL };
    let options = Options { preserve, umask: 0o022, ..Options::default() };
    let ran = run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, 1));
    assert_eq!(ran.failures.len(), 1, "{ran:?}");
    let made = std::fs::metadata(dir.path().join("f")).unwrap();
    assert_eq!(made.permissions().mode() & 0o7777, 0o600);
}

/// As by cp and rsync: the mode is the source's, whose group's bits are its ACL's mask. It is told, and the next run has nothing to do.
#[test]
fn where_the_source_s_acl_cannot_be_set_its_mode_is_and_that_is_told() {
    for (keeps_mode, bits, modes) in
        [(true, 0o660, "; the group may do there what an ACL's mask lets it"), (false, 0o600, "")]
    {
        let (from, dir) = (memory(), tempfile::tempdir().unwrap());
        planted(&from, b"new", 0o660, (1, 2), 9);
        give(&from, &acl(0o660));
        let preserve = Preserve { mode: keeps_mode, uid: false, gid: false, ..Preserve::ALL };
        let options = Options { preserve, ..Options::default() };
        let to = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), |mount, call| match &mut call.op {
            Op::Beyond(Beyond::SetXattr { name: ACL, out, .. }) => *out = Err(Status::NotSupp),
            _ => pass(mount, call),
        });
        let (from, to) = (volume(vec![from]), volume(vec![to]));
        let ran = run(&from, &to, &options, &crew(2, 3));
        let told = format!("some ACLs cannot be set at the destination: {}{modes}", Status::NotSupp);
        assert_eq!((&ran.summary.warnings, &ran.failures), (&vec![told], &Vec::new()));
        assert_eq!(std::fs::metadata(dir.path().join("f")).unwrap().permissions().mode() & 0o7777, bits);
        assert_eq!(run(&from, &to, &options, &crew(2, 3)).deeds, Vec::<String>::new());
    }
}

/// Of what was there before it has the set-id bits alone: the other ones of that mode would be the mask of the ACL.
#[test]
fn what_takes_a_set_id_file_s_place_with_the_sources_acl_keeps_both() {
    for size in SIZES {
        let (from, dir) = (memory(), tempfile::tempdir().unwrap());
        planted(&from, &vec![7; size], 0o660, (1, 2), 9);
        give(&from, &acl(0o660));
        let file = dir.path().join("f");
        std::fs::write(&file, "was").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o6755)).unwrap();
        let preserve = Preserve { mode: false, uid: false, gid: false, ..Preserve::ALL };
        let options = Options { atomic: true, preserve, range_bytes: 1 << 20, ..Options::default() };
        let to = Arc::new(LocalMount::open(dir.path()).unwrap());
        run(&volume(vec![from]), &volume(vec![to]), &options, &crew(1, 1)).clean();
        let mut value = [0; 200];
        let len = rustix::fs::getxattr(&file, ACL_NAME, &mut value[..]).unwrap();
        let is = std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777;
        assert_eq!((is, &value[..len]), (0o6660, &acl(0o660)[..]), "{size}");
    }
}

#[test]
fn whom_a_directorys_acl_lets_in_reads_nothing_of_what_is_written_below_it() {
    for (keeps_mode, own) in [(true, None), (false, None), (true, Some(acl(0o660))), (false, Some(acl(0o660)))] {
        let from = memory();
        let bits = if own.is_some() { 0o660 } else { 0o640 };
        planted(&from, b"secret", bits, (1, 2), 9);
        own.iter().for_each(|own| give(&from, own));
        let dir = tempfile::tempdir().unwrap();
        let default = "system.posix_acl_default";
        rustix::fs::setxattr(dir.path(), default, &acl(0o770), rustix::fs::XattrFlags::empty()).unwrap();
        let written = Arc::new(AtomicU32::new(0));
        let count = written.clone();
        let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| {
            if let Op::Write { node, .. } = &call.op {
                let mut calls = [Call::get_attr(node)];
                mount.perform(&mut calls);
                assert_eq!(calls[0].attr().unwrap().mode & 0o7777, 0o600, "while it is written");
                count.fetch_add(1, Ordering::SeqCst);
            }
            pass(mount, call);
        });
        let preserve = Preserve { mode: keeps_mode, uid: false, gid: false, ..Preserve::ALL };
        let options = Options { preserve, umask: 0o026, ..Options::default() };
        run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, 1)).clean();
        let made = std::fs::metadata(dir.path().join("f")).unwrap();
        assert_eq!(
            (made.permissions().mode() & 0o7777, written.load(Ordering::SeqCst)),
            (bits, 1),
            "{keeps_mode} {own:?}"
        );
        let mut value = [0; 200];
        let len = rustix::fs::getxattr(dir.path().join("f"), ACL_NAME, &mut value[..]).ok();
        assert_eq!(len.map(|len| value[..len].to_vec()), own, "{keeps_mode}");
    }
}
