//! Several targets of one export: what proves that they are one, and what is not handed on from one that is silent.

use std::fs;
use std::sync::Arc;

use parfs::base::{Name, Proc, Status};
use parfs::jobs::extract::Options;
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{AttachError, Url, Usage, attach};
use parfs::storage::{AttrChange, Call, How, Mount, Node, Op, Spread, Stable, Volume, Want};
use parfs::wire::mount3::MountStatus;

use crate::ask::Ask;
use crate::cli_support::Bench;
use crate::scripted::{Act, Scripted, name};
use crate::tars::{Tar, crew, extract, seekable, volume};
use crate::tree::{assert_same, dump};

#[test]
fn two_servers_of_different_data_are_not_one_volume() {
    let (one, two) = (Scripted::start(|_, _| Act::Send), Scripted::start(|_, _| Act::Send));
    let times = || [&one, &two].map(|server| server.memory.get_attr(&server.memory.root()).unwrap().mtime);
    // Neither gets the other's time.
    two.memory.file(&two.memory.root(), "new", b"");
    let before = times();
    for usage in [Usage::Writes, Usage::Reads] {
        let error = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap(), usage).unwrap_err();
        assert!(matches!(error, AttachError::Different { .. }), "{error}");
        assert_eq!(times(), before);
    }
}

/// What is not found there is of another file system; what cannot be looked up may be of any.
#[test]
fn a_look_that_fails_is_told_as_what_it_is() {
    let memory = Arc::new(MemoryMount::new());
    for status in [Status::Io, Status::Access, Status::Stale] {
        let first = Scripted::serving(memory.clone(), 0, |_, _| Act::Send);
        let fails = move |proc, _| if proc == Proc::Lookup { Act::Fail(status) } else { Act::Send };
        let other = Scripted::serving(memory.clone(), 0, fails);
        let url = Url::parse(&format!("nfs://{},{}/", first.host(), other.host())).unwrap();
        let error = attach(&url, Usage::Writes).unwrap_err();
        let AttachError::Call { target, proc: Proc::Lookup, status: told, .. } = &error else { panic!("{error}") };
        assert_eq!((target, *told), (&other.host().to_string(), status));
        assert_eq!(dump(&*memory).len(), dump(&MemoryMount::new()).len(), "no name is left");
    }
}

/// Another run may read the same at the same time, and a copy is compared by its times.
#[test]
fn who_only_reads_is_shown_one_server_without_a_trace() {
    let memory = Arc::new(MemoryMount::new());
    let servers = [1, 2].map(|skew| Scripted::serving(memory.clone(), skew, |_, _| Act::Send));
    let url = Url::parse(&format!("nfs://{},{}/", servers[0].host(), servers[1].host())).unwrap();
    let carried_out = |proc| servers.iter().map(|server| server.carried_out(proc)).sum::<u64>();
    let changes = || [Proc::Create, Proc::Remove, Proc::SetAttr].map(carried_out);
    attach(&url, Usage::Reads).unwrap();
    assert_eq!(changes(), [0; 3]);
    attach(&url, Usage::Writes).unwrap();
    assert_eq!(changes(), [1; 3]);
}

/// What a run replaces through one would be taken for what it was through the other. Who measures has to see each of them.
#[test]
fn a_target_that_still_shows_what_another_removed_is_no_second_one() {
    let memory = Arc::new(MemoryMount::new());
    let (one, two) = (Scripted::serving(memory.clone(), 0, |_, _| Act::Send), Scripted::remembering(memory.clone()));
    let url = Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap();
    assert_eq!(attach(&url, Usage::Reads).unwrap().len(), 2);
    let error = attach(&url, Usage::Writes).unwrap_err();
    assert_eq!(error.to_string(), format!("{} still shows a name that was removed through {}", two.host(), one.host()));
    assert_eq!(attach(&url, Usage::Measures).unwrap().len(), 2);
    assert_eq!(dump(&*memory).len(), dump(&MemoryMount::new()).len(), "no name is left");
}

/// One may not have heard yet of what was changed through another.
#[test]
fn the_proof_gives_the_newest_time_back() {
    let memory = Arc::new(MemoryMount::new());
    let (one, two) = (Scripted::remembering(memory.clone()), Scripted::serving(memory.clone(), 0, |_, _| Act::Send));
    let url = Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap();
    attach(&url, Usage::Reads).unwrap();
    memory.create(&memory.root(), "new", How::Guarded, AttrChange::default()).unwrap();
    let time = || memory.get_attr(&memory.root()).unwrap().mtime;
    let before = time();
    attach(&url, Usage::Measures).unwrap();
    assert_eq!(time(), before);
}

/// A hard link to a file that the run had replaced through the first became one to the older file, with status 0.
#[test]
fn of_hosts_that_remember_names_the_first_is_used_alone() {
    let memory = Arc::new(MemoryMount::new());
    let (one, two) = (Scripted::serving(memory.clone(), 0, |_, _| Act::Send), Scripted::remembering(memory.clone()));
    let names = || (0..40).map(|i| i.to_string());
    let extract = |what: &str| {
        let tar = names()
            .fold(Tar::default().dir("t/"), |tar, name| tar.file(&format!("t/{name}"), format!("{what} {name}")));
        let tar = names().fold(tar, |tar, name| tar.link(&format!("t/l{name}"), &format!("t/{name}")));
        let bench = Bench::new();
        fs::write(bench.path("a.tar"), tar.bytes()).unwrap();
        bench.run(&format!("xf a.tar -C nfs://{},{}/?timeo=200", one.host(), two.host()))
    };
    let told = format!("{} is used alone", one.host());
    extract("old").ended(0, &told);
    let there = two.patient_mount();
    let dir = there.lookup(&there.root(), "t").unwrap().node;
    names().for_each(|name| drop(there.lookup(&dir, name).unwrap()));
    extract("new").ended(0, &told);
    assert_eq!(two.carried_out(Proc::Create), 0);
    let of = |name: &str| memory.content(&memory.lookup(&dir, name).unwrap().node).unwrap();
    names().for_each(|name| assert_eq!(of(&format!("l{name}")), format!("new {name}").as_bytes()));
}

/// Others write to the file system all the time, and in this directory nothing can be made: a read-only export, or another user's.
#[test]
fn one_server_in_use_is_one_server() {
    let memory = Arc::new(MemoryMount::with_capacity(1 << 30, 10_000));
    let mut calls = [Call::mkdir(&memory.root(), &Name::new(b"dir").unwrap(), AttrChange::default())];
    memory.perform(&mut calls);
    let dir = calls[0].found().unwrap().node;
    let servers = [1, 2].map(|skew| {
        let (used, dir) = (memory.clone(), dir.clone());
        Scripted::serving(memory.clone(), skew, move |proc, n| {
            if proc == Proc::FsStat {
                let name = Name::new(format!("{skew} {n}").as_bytes()).unwrap();
                used.perform(&mut [Call::create(&dir, &name, How::Guarded, AttrChange::default())]);
            }
            if proc == Proc::Create { Act::Fail(Status::RoFs) } else { Act::Send }
        })
    });
    let url = Url::parse(&format!("nfs://{},{}/", servers[0].host(), servers[1].host())).unwrap();
    for usage in [Usage::Reads, Usage::Writes] {
        attach(&url, usage).unwrap();
    }
    let mut calls = [Call::read_dir(&dir, Default::default(), Want::Names, 8192)];
    memory.perform(&mut calls);
    assert!(calls[0].take_page().unwrap().entries.len() > 4, "it was in use");
    // It may be searched, and a name in it made, but not be listed.
    let dropbox = [1, 2].map(|skew| {
        let unlisted = |proc, _| if proc == Proc::ReadDir { Act::Fail(Status::Access) } else { Act::Send };
        Scripted::serving(memory.clone(), skew, unlisted)
    });
    attach(&Url::parse(&format!("nfs://{},{}/", dropbox[0].host(), dropbox[1].host())).unwrap(), Usage::Reads).unwrap();
}

/// Targets whose handles differ are one volume all the same: what one made is looked up at the other.
#[test]
fn a_handle_good_at_one_target_only_is_looked_up_at_the_other() {
    let memory = Arc::new(MemoryMount::new());
    let one = Scripted::serving(memory.clone(), 1, |_, _| Act::Send);
    let two = Scripted::serving(memory, 2, |_, _| Act::Send);
    let mounts = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap(), Usage::Writes).unwrap();
    let root = mounts[0].root();
    let dir = Name::new(b"dir").unwrap();
    let mut calls = [Call::mkdir(&root, &dir, AttrChange::default())];
    mounts[0].perform(&mut calls);
    let dir = calls[0].found().unwrap().node;
    let mut calls = [Call::create(&dir, &name(0), How::Guarded, AttrChange::default())];
    mounts[0].perform(&mut calls);
    let file = calls[0].found().unwrap().node;
    let before = two.carried_out(Proc::Lookup);
    let mut calls = [Call::write(&file, 0, b"through the other", Stable::FileSync)];
    mounts[1].perform(&mut calls);
    assert_eq!(calls[0].written().unwrap().count, 17);
    assert_eq!(two.carried_out(Proc::Lookup) - before, 2, "the directory and the file, once each");
    mounts[1].perform(&mut [Call::commit(&file, 0, 0)]);
    assert_eq!(two.carried_out(Proc::Lookup) - before, 2);
    let mut calls = [Call::read(&file, 0, 100, Vec::new())];
    mounts[0].perform(&mut calls);
    let Op::Read { buf, .. } = &calls[0].op else { panic!() };
    assert_eq!(buf, b"through the other");
}

/// A target that falls silent may wake later: what it was sent goes to the other, but nothing that could then destroy.
#[test]
fn a_silent_targets_removals_are_not_handed_on() {
    removals_stay(true);
    removals_stay(false);
}

fn removals_stay(by_away: bool) {
    let memory = Arc::new(MemoryMount::new());
    let silent = |proc| matches!(proc, Proc::Remove | Proc::Create | Proc::Null);
    // Attach makes and removes one file through the first target.
    let one = Scripted::serving(memory.clone(), 0, move |proc, n| {
        if silent(proc) && (n > 0 || proc == Proc::Null) { Act::Drop } else { Act::Send }
    });
    let two = Scripted::serving(memory, 0, |_, _| Act::Send);
    // Silence is noticed by `away`, or by `retrans` first.
    let patience = if by_away { "retrans=50&away=1" } else { "retrans=2&away=60" };
    let url = format!("nfs://{},{}/?timeo=2&{patience}", one.host(), two.host());
    let mounts = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap();
    let volume = Volume::new(mounts.into_iter().map(|m| m as Arc<dyn Mount>).collect(), Spread::First);
    let root = volume.root();
    let empty = AttrChange { size: Some(0), ..AttrChange::default() };
    let mut calls = [
        Call::create(&root, &name(1), How::Guarded, AttrChange::default()),
        Call::remove(&root, &name(2)),
        Call::create(&root, &name(3), How::Unchecked, empty),
    ];
    volume.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()), "made by the first, found by the second");
    // What the first may do yet would empty what was written through the second.
    assert_eq!([calls[1].status(), calls[2].status()], [Err(Status::NoReply); 2]);
    assert_eq!(volume.gone().len(), 1);
    assert_eq!((two.carried_out(Proc::Create), two.carried_out(Proc::Remove)), (1, 0));
}

/// Servers take the second they started in for a verifier: two targets may have the same and not each other's data.
#[test]
fn a_commit_at_another_target_does_not_vouch_for_a_write() {
    let memory = Arc::new(MemoryMount::new());
    let one = Scripted::serving(memory.clone(), 0, |_, _| Act::Send);
    let two = Scripted::serving(memory, 0, |_, _| Act::Send);
    let mounts = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap(), Usage::Writes).unwrap();
    let mut calls = [Call::create(&mounts[0].root(), &name(0), How::Guarded, AttrChange::default())];
    mounts[0].perform(&mut calls);
    let file = calls[0].found().unwrap().node;
    let mut calls = [Call::write(&file, 0, b"data", Stable::Unstable)];
    mounts[0].perform(&mut calls);
    let written = calls[0].written().unwrap().verifier;
    let [here, there] = [0, 1].map(|i: usize| {
        let mut calls = [Call::commit(&file, 0, 0)];
        mounts[i].perform(&mut calls);
        calls[0].verifier().unwrap()
    });
    assert_eq!(here, written);
    assert_ne!(there, written);
}

/// The export has one handle everywhere, and what is in it one of each target's own: what one means another takes for something else.
#[test]
fn a_shared_root_does_not_vouch_for_what_is_in_it() {
    let memory = Arc::new(MemoryMount::new());
    let servers = [1, 2].map(|skew| Scripted::serving(memory.clone(), skew, |_, _| Act::Send));
    servers.iter().for_each(|server| server.share_root());
    let url = format!("nfs://{},{}/", servers[0].host(), servers[1].host());
    let attached = || {
        let mounts = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap();
        Volume::new(mounts.into_iter().map(|mount| mount as Arc<dyn Mount>).collect(), Spread::RoundRobin)
    };
    let mut tar = Tar::default();
    for d in 0..8 {
        tar = (0..8).fold(tar.dir(&format!("d{d}/")), |tar, f| tar.file(&format!("d{d}/f{f}"), format!("{d} {f}")));
    }
    let plain = Arc::new(MemoryMount::new());
    let options = Options { mode_mask: 0, ..Options::default() };
    extract(&volume(&plain), seekable(tar.bytes()), &options, &crew(4, 2)).clean();
    extract(&attached(), seekable(tar.bytes()), &options, &crew(4, 2)).clean();
    let [mut expected, mut made] = [dump(&*plain), dump(&*memory)];
    // The destination has the time of its last member.
    assert!(expected.remove("").is_some() && made.remove("").is_some());
    assert_same(&expected, &made, "through two targets");
    assert!(matches!(attached().root(), Node::Chain(_)));
    // Where nothing can be made, what is there tells.
    let readers = [1, 2].map(|skew| {
        let refuses = |proc, _| if proc == Proc::Create { Act::Fail(Status::RoFs) } else { Act::Send };
        Scripted::serving(memory.clone(), skew, refuses)
    });
    readers.iter().for_each(|server| server.share_root());
    let url = format!("nfs://{},{}/", readers[0].host(), readers[1].host());
    let mounts = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap();
    assert!(matches!(mounts[0].root(), Node::Chain(_)));
}

/// A directory that MOUNT denies may have another file system on it, which is not for us: what LOOKUP finds is beneath.
#[test]
fn what_mount_denies_is_not_entered_from_above() {
    let server = Scripted::start(|_, _| Act::Send);
    let root = server.memory.root();
    let mut calls = [
        Call::mkdir(&root, &Name::new(b"data").unwrap(), AttrChange::default()),
        Call::create(&root, &name(1), How::Guarded, AttrChange::default()),
    ];
    server.memory.perform(&mut calls);
    let at =
        |path: &str| attach(&Url::parse(&format!("nfs://{}{path}", server.host())).unwrap(), Usage::Writes).map(drop);
    at("/data").unwrap();
    for (status, told) in [(MountStatus::Access, "Permission denied"), (MountStatus::ServerFault, "Server fault")] {
        server.answer_mount("/data", status);
        for path in ["/data", "/data/sub"] {
            let error = at(path).unwrap_err();
            assert!(matches!(&error, AttachError::Mount { path, .. } if path == "/data"), "{error}");
            assert!(error.to_string().contains(told), "{error}");
        }
    }
    // Some servers deny what is no directory.
    server.answer_mount("/file-1", MountStatus::Access);
    assert!(matches!(at("/file-1"), Err(AttachError::NotADirectory { .. })));
    assert!(matches!(at("/nothing"), Err(AttachError::Call { status: Status::NoEnt, .. })));
    for (flavors, told) in [(&[390_003, 390_005][..], "sec=krb5:krb5p and not sys"), (&[3], "sec=3 and not sys")] {
        server.take(flavors);
        let error = at("/").unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    for flavors in [&[390_003, 1][..], &[0], &[]] {
        server.take(flavors);
        at("/").unwrap();
    }
}
