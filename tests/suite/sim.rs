//! The simulator seen over its sockets: every procedure, its books, faults, and what hostile clients send.
#![allow(clippy::unwrap_used)] // a helper of a test fails it by panicking

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parfs::base::price::Ceiling;
use parfs::base::{Name, Proc, Status, Time};
use parfs::mounts::MemoryMount;
use parfs::mounts::local::LocalMount;
use parfs::sim::{Config, Server};
use parfs::storage::*;
use parfs::wire::mount3::{self, MountStatus};
use parfs::wire::rpc::{self, RpcError};
use parfs::wire::{nfs3, portmap};

use super::raw::{Raw, handle_of};

/// Without ceiling or latency.
fn free() -> Config {
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    Config { ceiling, ..Config::default() }
}

fn memory(config: Config) -> (Server, Arc<MemoryMount>) {
    let mount = Arc::new(MemoryMount::new());
    (Server::start(mount.clone(), config).unwrap(), mount)
}

fn with_faults(faults: &[&str]) -> Config {
    Config { faults: faults.iter().map(|text| text.parse().unwrap()).collect(), ..free() }
}

fn client(server: &Server) -> (Raw, Node) {
    mounted(Raw::connect(server.addresses()[0]))
}

fn mounted(mut raw: Raw) -> (Raw, Node) {
    let root = raw.mount("/").unwrap();
    (raw, root)
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn node(call: &Call<'_>) -> Node {
    call.found().unwrap().node
}

fn attr(raw: &mut Raw, node: &Node) -> Result<Attr, Status> {
    let Op::GetAttr { out, .. } = raw.call(Call::get_attr(node)).op else { panic!() };
    out
}

fn names(raw: &mut Raw, dir: &Node, want: Want, bytes_max: u32) -> Vec<String> {
    let (mut names, mut from) = (Vec::new(), Cookie::default());
    loop {
        let Op::ReadDir { out: Ok(page), .. } = raw.call(Call::read_dir(dir, from, want, bytes_max)).op else {
            panic!()
        };
        names.extend(page.entries.iter().map(|entry| entry.name.to_string()));
        from = page.next;
        if page.end {
            names.sort();
            return names;
        }
    }
}

/// A life with every procedure; the books at the end are what was asked.
fn every_procedure(server: &Server) {
    let (mut raw, root) = client(server);
    let mode = AttrChange { mode: Some(0o640), ..AttrChange::default() };
    let dir = node(&raw.call(Call::mkdir(&root, &name("dir"), AttrChange { mode: Some(0o750), ..mode })));
    let made = raw.call(Call::create(&dir, &name("a"), How::Guarded, mode)).found().unwrap();
    assert_eq!(made.attr.map_or(0o640, |attr| attr.mode), 0o640);
    let file = made.node;
    assert_eq!(raw.call(Call::create(&dir, &name("a"), How::Guarded, mode)).status(), Err(Status::Exist));
    let data: Vec<u8> = (0..100_001_u32).map(|i| (i * 7) as u8).collect();
    let Op::Write { out: Ok(written), .. } = raw.call(Call::write(&file, 5, &data, Stable::Unstable)).op else {
        panic!()
    };
    assert_eq!(written.count as usize, data.len());
    let Op::Commit { out: Ok(verifier), .. } = raw.call(Call::commit(&file, 0, 0)).op else { panic!() };
    assert_eq!(verifier, written.verifier);
    let Op::Read { buf, out, .. } = raw.call(Call::read(&file, 5, 200_000, Vec::new())).op else { panic!() };
    assert!(buf == data && out == Ok(true));
    let time = Time { secs: 1_000_000_000, nanos: 7 };
    let change = AttrChange { mtime: SetTime::At(time), ..AttrChange::default() };
    assert_eq!(raw.call(Call::set_attr(&file, change)).status(), Ok(()));
    let found = attr(&mut raw, &file).unwrap();
    assert_eq!((found.kind, found.size, found.mode, found.mtime), (Kind::File, 100_006, 0o640, time));
    assert_eq!(attr(&mut raw, &dir).unwrap().mode, 0o750);
    assert_eq!(handle_of(&node(&raw.call(Call::lookup(&dir, &name("a"))))), handle_of(&file));
    let Op::Access { out, .. } = raw.call(Call::access(&file, 1)).op else { panic!() };
    assert_eq!(out, Ok(1));
    let link = node(&raw.call(Call::symlink(&dir, &name("s"), b"to\xff", AttrChange::default())));
    let Op::ReadLink { out, .. } = raw.call(Call::read_link(&link)).op else { panic!() };
    assert_eq!(out, Ok(b"to\xff".to_vec()));
    assert_eq!(raw.call(Call::mknod(&dir, &name("p"), Special::Fifo, mode)).status(), Ok(()));
    assert_eq!(raw.call(Call::link(&file, &dir, &name("b"))).status(), Ok(()));
    assert_eq!(raw.call(Call::rename(&dir, &name("b"), &root, &name("c"))).status(), Ok(()));
    assert_eq!(names(&mut raw, &dir, Want::Names, 4096), ["a", "p", "s"]);
    assert_eq!(names(&mut raw, &root, Want::Attributes, 4096), ["c", "dir"]);
    let Op::FsInfo { out: Ok(limits), .. } = raw.call(Call::fs_info(&root)).op else { panic!() };
    assert!(limits.read_max >= 1 << 16 && limits.write_max >= 1 << 16);
    assert_eq!(raw.call(Call::fs_stat(&root)).status(), Ok(()));
    let Op::PathConf { out, .. } = raw.call(Call::path_conf(&root)).op else { panic!() };
    assert_eq!(out, Ok(255));
    assert_eq!(raw.call(Call::rmdir(&root, &name("dir"))).status(), Err(Status::NotEmpty));
    for entry in ["a", "p", "s"] {
        assert_eq!(raw.call(Call::remove(&dir, &name(entry))).status(), Ok(()));
    }
    assert_eq!(raw.call(Call::rmdir(&root, &name("dir"))).status(), Ok(()));
    assert!(matches!(attr(&mut raw, &dir), Err(Status::Stale | Status::NoEnt)));
    assert_eq!(raw.call(Call::default()).status(), Ok(()));
    let served = server.served()[0];
    for proc in Proc::ALL.into_iter().filter(|proc| proc.is_nfs3()) {
        assert!(served.get(proc).calls > 0, "{proc}");
    }
    assert_eq!((served.get(Proc::Create).calls, served.get(Proc::Create).failed), (2, 1));
    assert_eq!(served.get(Proc::Write).bytes, 100_001);
}

#[test]
fn every_procedure_of_memory() {
    every_procedure(&memory(free()).0);
}

#[test]
fn every_procedure_of_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
    every_procedure(&Server::start(mount, Config { squash: true, ..free() }).unwrap());
}

#[test]
fn handles_of_a_directory_follow_renames_on_every_target() {
    let dir = tempfile::tempdir().unwrap();
    let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
    let server = Server::start(mount, Config { squash: true, targets: 2, ..free() }).unwrap();
    let (mut raw, root) = client(&server);
    let a = node(&raw.call(Call::mkdir(&root, &name("a"), AttrChange::default())));
    let file = node(&raw.call(Call::create(&a, &name("f"), How::Guarded, AttrChange::default())));
    raw.call(Call::rename(&root, &name("a"), &root, &name("b")));
    let mut other = Raw::connect(server.addresses()[1]);
    assert_eq!(handle_of(&other.mount("/").unwrap()), handle_of(&root));
    assert_eq!(other.call(Call::write(&file, 0, b"x", Stable::FileSync)).status(), Ok(()));
    assert_eq!(std::fs::read(dir.path().join("b/f")).unwrap(), b"x");
    assert_eq!(server.served().iter().map(|tally| tally.calls()).collect::<Vec<_>>(), [3, 1]);
}

/// What comes behind a call in one piece is about what that left.
#[test]
fn handles_are_of_their_objects_within_a_window() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config { squash: true, ..free() };
    let local = Server::start(Arc::new(LocalMount::open(dir.path()).unwrap()), config()).unwrap();
    for server in [&local, &memory(config()).0] {
        let (mut raw, root) = client(server);
        let make = |raw: &mut Raw, text| {
            node(&raw.call(Call::create(&root, &name(text), How::Guarded, AttrChange::default())))
        };
        let (old, file, one) = (
            node(&raw.call(Call::mkdir(&root, &name("d"), AttrChange::default()))),
            make(&mut raw, "w"),
            make(&mut raw, "a"),
        );
        let [d, e, w, w2, x] = ["d", "e", "w", "w2", "x"].map(name);
        let moved = raw.statuses(&[
            Call::rename(&root, &d, &root, &e),
            Call::mkdir(&root, &d, AttrChange::default()),
            Call::create(&old, &x, How::Guarded, AttrChange::default()),
            Call::rename(&root, &w, &root, &w2),
            Call::get_attr(&file),
            Call::write(&file, 0, b"data", Stable::FileSync),
        ]);
        assert_eq!(moved, [0; 6]);
        assert_eq!(names(&mut raw, &old, Want::Names, 4096), ["x"]);
        let new = node(&raw.call(Call::lookup(&root, &d)));
        assert!(names(&mut raw, &new, Want::Names, 4096).is_empty());
        // Another object of its name is not what was removed.
        let anew = raw.statuses(&[
            Call::remove(&root, &w2),
            Call::create(&root, &w2, How::Guarded, AttrChange::default()),
            Call::get_attr(&file),
            Call::write(&file, 0, b"lost", Stable::FileSync),
        ]);
        assert_eq!(anew, [0, 0, Status::Stale.to_nfs(), Status::Stale.to_nfs()]);
        // RFC 1813 3.3.14: a RENAME of one name of a file onto another does nothing.
        let (a, b) = (name("a"), name("b"));
        raw.call(Call::link(&one, &root, &b));
        let other = node(&raw.call(Call::lookup(&root, &b)));
        let renamed = raw.statuses(&[Call::rename(&root, &a, &root, &b), Call::get_attr(&one), Call::get_attr(&other)]);
        assert_eq!(renamed, [0; 3]);
    }
}

#[test]
fn new_objects_belong_to_the_caller_and_a_guard_is_kept() {
    let (server, _) = memory(free());
    let (mut raw, root) = client(&server);
    for (text, how) in [("g", How::Guarded), ("u", How::Unchecked), ("x", How::Exclusive(9))] {
        let made = node(&raw.call(Call::create(&root, &name(text), how, AttrChange::default())));
        let found = attr(&mut raw, &made).unwrap();
        assert_eq!((found.uid, found.gid), (1000, 1001), "{text}");
    }
    let owner = AttrChange { uid: Some(7), ..AttrChange::default() };
    let dir = node(&raw.call(Call::mkdir(&root, &name("d"), owner)));
    let found = attr(&mut raw, &dir).unwrap();
    assert_eq!((found.uid, found.gid), (7, 1001));
    assert_eq!(server.served()[0].get(Proc::SetAttr).calls, 0);

    // SETATTR's guard: the last words of its arguments.
    for (ctime, status) in [(found.ctime, 0), (Time { secs: 5, nanos: 5 }, Status::NotSync.to_nfs())] {
        let mut args = Vec::new();
        let call = Call::set_attr(&dir, AttrChange { mode: Some(0o700), ..AttrChange::default() });
        nfs3::encode_args(&call, &handle_of, &mut args).unwrap();
        args.truncate(args.len() - 4);
        for word in [1, u32::try_from(ctime.secs).unwrap(), ctime.nanos] {
            args.extend_from_slice(&word.to_be_bytes());
        }
        let results = raw.ask(nfs3::PROGRAM, nfs3::VERSION, 2, &args).unwrap();
        assert_eq!(results[..4], status.to_be_bytes());
    }
}

#[test]
fn mount_and_portmap_are_answered_on_the_same_port() {
    let (server, _) = memory(Config { targets: 2, ..free() });
    let (mut raw, root) = client(&server);
    let dir = node(&raw.call(Call::mkdir(&root, &name("dir"), AttrChange::default())));
    raw.call(Call::create(&dir, &name("file"), How::Guarded, AttrChange::default()));
    assert_eq!(handle_of(&raw.mount("//dir/.").unwrap()), handle_of(&dir));
    assert_eq!(raw.mount("/none").unwrap_err(), MountStatus::NoEnt);
    assert_eq!(raw.mount("/dir/file").unwrap_err(), MountStatus::NotDir);
    assert_eq!(raw.mount("/dir/..").unwrap_err(), MountStatus::Access);
    let dump = |raw: &mut Raw| mount3::decode_mounts(&raw.ask(mount3::PROGRAM, 3, 2, &[]).unwrap(), 0).unwrap();
    assert_eq!(dump(&mut raw).len(), 2);
    let mut path = Vec::new();
    mount3::encode_path(b"/", &mut path);
    raw.ask(mount3::PROGRAM, 3, 3, &path).unwrap();
    assert_eq!(dump(&mut raw), [(b"127.0.0.1".to_vec(), b"//dir/.".to_vec())]);
    raw.ask(mount3::PROGRAM, 3, 4, &[]).unwrap();
    assert_eq!(dump(&mut raw), []);
    let exports = mount3::decode_exports(&raw.ask(mount3::PROGRAM, 3, 5, &[]).unwrap(), 0).unwrap();
    assert_eq!(exports[0].dir, b"/");

    let mut second = Raw::connect(server.addresses()[1]);
    for (program, version, known) in [(nfs3::PROGRAM, 3, true), (mount3::PROGRAM, 3, true), (nfs3::PROGRAM, 4, false)] {
        let mut args = Vec::new();
        portmap::encode_getport(program, version, &mut args);
        let results = second.ask(portmap::PROGRAM, 2, portmap::GETPORT, &args).unwrap();
        let port = known.then_some(server.addresses()[1].port());
        assert_eq!(portmap::decode_port(&results, 0), Ok(port));
    }
    let all = portmap::decode_mappings(&second.ask(portmap::PROGRAM, 2, portmap::DUMP, &[]).unwrap(), 0).unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(second.ask(nfs3::PROGRAM, 4, 0, &[]), Err(RpcError::ProgMismatch { low: 3, high: 3 }));
    assert_eq!(second.ask(100_021, 4, 0, &[]), Err(RpcError::ProgUnavail));
    assert_eq!(second.ask(nfs3::PROGRAM, 3, 22, &[]), Err(RpcError::ProcUnavail));
    assert_eq!(second.ask(nfs3::PROGRAM, 3, 1, &[1]), Err(RpcError::GarbageArgs));
}

#[test]
fn dots_are_looked_up_as_far_as_they_are_known() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
    let server = Server::start(mount, free()).unwrap();
    let (mut raw, root) = client(&server);
    let a = node(&raw.call(Call::lookup(&root, &name("a"))));
    let b = node(&raw.call(Call::lookup(&a, &name("b"))));
    std::fs::write(dir.path().join("file"), "").unwrap();
    let file = node(&raw.call(Call::lookup(&root, &name("file"))));
    let mut ask = |dir: &Node, dots: &[u8]| {
        let mut args = Vec::new();
        for opaque in [handle_of(dir).unwrap().as_bytes(), dots] {
            parfs::wire::xdr::put_opaque(&mut args, opaque);
        }
        raw.ask(nfs3::PROGRAM, 3, 3, &args).unwrap()
    };
    for dots in [&b"."[..], b".."] {
        assert_eq!(ask(&file, dots)[..4], 20u32.to_be_bytes(), "NFS3ERR_NOTDIR");
    }
    let mut dots = |dir: &Node, dots: &[u8]| {
        let results = ask(dir, dots);
        assert_eq!(results[..4], [0; 4]);
        Node::Handle(Handle::new(parfs::wire::xdr::Reader::new(&results, 4).opaque().unwrap()).unwrap())
    };
    assert_eq!([dots(&b, b"."), dots(&b, b".."), dots(&a, b".."), dots(&root, b"..")], [b, a, root.clone(), root]);
    assert_eq!(server.served()[0].get(Proc::Lookup).calls, 9);
}

#[test]
fn a_duplicate_is_answered_alike_also_from_a_new_connection_of_the_same_port() {
    let (server, _) = memory(free());
    let (mut raw, root) = mounted(Raw::connect_to_return(server.addresses()[0]));
    raw.call(Call::create(&root, &name("f"), How::Guarded, AttrChange::default()));
    let remove = || Call::remove(&root, &name("f"));
    assert_eq!(raw.call_as(77, remove()).unwrap().status(), Ok(()));
    assert_eq!(raw.call_as(77, remove()).unwrap().status(), Ok(()));
    assert_eq!(raw.call_as(77, Call::remove(&root, &name("g"))).unwrap().status(), Err(Status::NoEnt));
    let port = raw.reset();
    let mut again = Raw::connect_from(port, server.addresses()[0]).unwrap();
    assert_eq!(again.call_as(77, remove()).unwrap().status(), Ok(()));
    assert_eq!(again.call_as(78, remove()).unwrap().status(), Err(Status::NoEnt));
    let mut other = Raw::connect(server.addresses()[0]);
    assert_eq!(other.call_as(77, remove()).unwrap().status(), Err(Status::NoEnt));
    // The same request twice in one piece: carried out once.
    let create = Call::create(&root, &name("twice"), How::Guarded, AttrChange::default());
    let record = other.record(99, &create);
    other.send_bytes(&[record.clone(), record].concat()).unwrap();
    assert_eq!(other.receive().unwrap(), other.receive().unwrap());
    assert_eq!(server.replayed(), [3]);
    let served = server.served()[0];
    assert_eq!((served.get(Proc::Remove).calls, served.get(Proc::Create).calls), (4, 2));

    let (server, _) = memory(Config { replay_max: 0, ..free() });
    let (mut raw, root) = client(&server);
    let make = || Call::mkdir(&root, &name("d"), AttrChange::default());
    assert_eq!(raw.call_as(5, make()).unwrap().status(), Ok(()));
    assert_eq!(raw.call_as(5, make()).unwrap().status(), Err(Status::Exist));
    assert_eq!(server.replayed(), [0]);
}

#[test]
fn lost_replies_are_replayed_and_counted() {
    let (server, _) = memory(with_faults(&["lost-reply:proc=CREATE,every=2"]));
    let (mut raw, root) = mounted(Raw::connect_to_return(server.addresses()[0]));
    let create = |text: &str| Call::create(&root, &name(text), How::Guarded, AttrChange::default());
    assert_eq!(raw.call_as(1, create("a")).unwrap().status(), Ok(()));
    raw.send(2, &create("b")).unwrap();
    // The reply that comes is the next call's; then the same request again, from the same port.
    assert_eq!(raw.call_as(3, Call::get_attr(&root)).unwrap().status(), Ok(()));
    let mut again = Raw::connect_from(raw.reset(), server.addresses()[0]).unwrap();
    assert_eq!(again.call_as(2, create("b")).unwrap().status(), Ok(()));
    let target = &server.report().targets[0];
    assert_eq!((target.procedures["CREATE"].calls, target.replayed, target.lost_replies), (2, 1, 1));
    assert_eq!(server.report().faults["lost-reply:proc=CREATE,every=2"], 1);
}

#[test]
fn resets_come_with_or_without_the_work_done() {
    for (fault, done) in [("reset:proc=MKDIR", true), ("reset-before:proc=MKDIR", false)] {
        let (server, mount) = memory(with_faults(&[fault]));
        let (mut raw, root) = client(&server);
        let end = raw.call_as(1, Call::mkdir(&root, &name("d"), AttrChange::default())).unwrap_err();
        assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset, "{fault}");
        let mut calls = [Call::lookup(&mount.root(), &name("d"))];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status().is_ok(), done, "{fault}");
        let target = &server.report().targets[0];
        assert_eq!((target.dropped, target.lost_replies), (u64::from(!done), u64::from(done)));
        assert_eq!(client(&server).0.call(Call::default()).status(), Ok(()));
    }
}

#[test]
fn split_late_double_and_busy_replies() {
    let (server, _) =
        memory(with_faults(&["split", "duplicate:proc=ACCESS", "jukebox:proc=WRITE,nth=1", "delay:nth=2,ms=2"]));
    let (mut raw, root) = client(&server);
    let file = node(&raw.call(Call::create(&root, &name("f"), How::Guarded, AttrChange::default())));
    let data = vec![9; 70_001];
    let write = || Call::write(&file, 0, &data, Stable::FileSync);
    assert_eq!(raw.call(write()).status(), Err(Status::Jukebox));
    assert_eq!(raw.call(write()).status(), Ok(()));
    let Op::Read { buf, .. } = raw.call(Call::read(&file, 0, 1 << 20, Vec::new())).op else { panic!() };
    assert!(buf == data);
    raw.send(500, &Call::access(&root, 1)).unwrap();
    assert_eq!(raw.receive().unwrap(), raw.receive().unwrap());
    let report = server.report();
    assert_eq!(report.faults["split"], 5);
    assert_eq!(report.faults["delay:nth=2,ms=2"], 1);
    assert_eq!((report.targets[0].procedures["WRITE"].calls, report.targets[0].procedures["WRITE"].failed), (2, 1));
    assert!(report.targets[0].procedures["WRITE"].p99_us >= 1_900);
}

#[test]
fn a_restart_loses_what_was_not_committed_and_shows_it() {
    let mount = Arc::new(MemoryMount::new());
    let owner = mount.clone();
    let config = Config {
        on_restart: Some(Arc::new(move || owner.restart())),
        targets: 2,
        faults: vec!["restart:proc=COMMIT,nth=1".parse().unwrap()],
        ..free()
    };
    let server = Server::start(mount, config).unwrap();
    let (mut raw, root) = client(&server);
    let mut second = Raw::connect(server.addresses()[1]);
    assert_eq!(second.call(Call::default()).status(), Ok(()));
    let file = node(&raw.call(Call::create(&root, &name("f"), How::Guarded, AttrChange::default())));
    let Op::Write { out: Ok(written), .. } = raw.call(Call::write(&file, 0, b"data", Stable::Unstable)).op else {
        panic!()
    };
    assert!(raw.call_as(900, Call::commit(&file, 0, 0)).is_err());
    // All connections are cut, this one perhaps a moment later.
    assert!((900..1_000_000).any(|xid| second.call_as(xid, Call::default()).is_err()));
    let (mut raw, _) = client(&server);
    assert_eq!(attr(&mut raw, &file).unwrap().size, 0);
    let Op::Commit { out: Ok(verifier), .. } = raw.call(Call::commit(&file, 0, 0)).op else { panic!() };
    assert_ne!(verifier, written.verifier);
}

#[test]
fn a_target_that_is_gone_stays_gone_and_the_others_serve_on() {
    let (server, _) = memory(Config { targets: 3, ..with_faults(&["gone:target=2,nth=2"]) });
    let addresses = server.addresses();
    assert_eq!(server.url(), format!("nfs://{},{},{}/", addresses[0], addresses[1], addresses[2]));
    let mut raw = Raw::connect(addresses[1]);
    assert_eq!(raw.call(Call::default()).status(), Ok(()));
    assert!(raw.call_as(9, Call::default()).is_err());
    server.stop_target(2);
    server.stop_target(99);
    let deadline = Instant::now() + Duration::from_secs(60);
    for gone in [addresses[1], addresses[2]] {
        // The listener's thread closes it in its own time.
        while TcpStream::connect(gone).is_ok_and(|mut stream| stream.read(&mut [0]).is_ok_and(|count| count > 0)) {
            assert!(Instant::now() < deadline);
        }
    }
    assert_eq!(client(&server).0.call(Call::default()).status(), Ok(()));
    let listening: Vec<bool> = server.report().targets.iter().map(|target| target.listening).collect();
    assert_eq!(listening, [true, false, false]);
    let mut raw = Raw::connect(addresses[0]);
    server.stop();
    assert!(raw.call_as(1, Call::default()).is_err());
    assert!(TcpStream::connect(addresses[0]).is_err());
}

#[test]
fn a_target_gives_no_more_than_its_ceiling() {
    let ceiling = Ceiling { iops: 2000.0, bytes_per_s: 1e9, latency: Duration::from_millis(2) };
    let (server, _) = memory(Config { ceiling, ..Config::default() });
    let (mut raw, root) = client(&server);
    let start = Instant::now();
    let records: Vec<u8> = (1000..1050).flat_map(|xid| raw.record(xid, &Call::lookup(&root, &name("none")))).collect();
    raw.send_bytes(&records).unwrap();
    for xid in 1000..1050 {
        assert_eq!(rpc::parse_reply(&raw.receive().unwrap()).unwrap().0, xid);
    }
    // 50 LOOKUPs at 2 IOPS each, and the latency: a lower bound, which a slow machine only exceeds.
    assert!(start.elapsed() >= Duration::from_millis(51));
    let target = &server.report().targets[0];
    assert_eq!((target.calls, target.iops), (50, 100));
    assert!(target.procedures["LOOKUP"].p99_us >= 2_900);
    // Also where all requests came at once.
    assert!(target.iops_per_s <= 2000.0, "{}", target.iops_per_s);
    assert!(serde_json::to_string(&server.report()).unwrap().contains("\"LOOKUP\""));
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_for_ever() {
    let (server, _) = memory(free());
    let (mut raw, root) = client(&server);
    let file = node(&raw.call(Call::create(&root, &name("f"), How::Guarded, AttrChange::default())));
    let data = vec![1; 1 << 20];
    raw.call(Call::write(&file, 0, &data, Stable::FileSync));
    let reads: Vec<u8> = (0..200).flat_map(|xid| raw.record(xid, &Call::read(&file, 0, 1 << 20, Vec::new()))).collect();
    raw.send_bytes(&reads).unwrap();
    let mut sum = 0;
    for _ in 0..200 {
        sum += raw.receive().unwrap().len() >> 20;
    }
    assert_eq!(sum, 200);
    // Ending with replies that nobody takes must not hang.
    raw.send_bytes(&reads).unwrap();
    server.stop();
}

#[test]
fn hostile_clients_are_closed_or_told_and_the_server_lives() {
    let (server, _) = memory(Config { connections_max: 3, ..free() });
    let (mut raw, root) = client(&server);
    let good = raw.record(1, &Call::mkdir(&root, &name("x"), AttrChange::default()));
    let seed = 42_u64;
    let random = |n: u64| parfs::base::hash::mix(seed ^ n);
    for round in 0..200_u64 {
        let mut spoilt = good.clone();
        for i in 0..1 + round % 5 {
            let at = (random(round * 10 + i) as usize) % spoilt.len();
            spoilt[at] = random(round * 1000 + i) as u8;
        }
        let mut raw = Raw::connect(server.addresses()[0]);
        let _ = raw.send_bytes(&spoilt);
        let _ = raw.stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = raw.stream.read_to_end(&mut rest);
        assert!(rest.len() < 4096, "seed {seed} round {round}");
    }
    // A record that is too long, one that is no call, and too many connections: closed without an answer.
    for bytes in [&[0xff; 8][..], &[0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1], &[0x80, 0, 0, 0]] {
        let mut raw = Raw::connect(server.addresses()[0]);
        let _ = raw.send_bytes(bytes);
        assert!(raw.receive().is_err());
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut held = Vec::new();
    while held.len() < 2 {
        assert!(Instant::now() < deadline);
        let mut one = Raw::connect(server.addresses()[0]);
        if one.call_as(1, Call::default()).is_ok() {
            held.push(one);
        }
    }
    assert!(Raw::connect(server.addresses()[0]).call_as(1, Call::default()).is_err());
    assert_eq!(raw.call(Call::default()).status(), Ok(()));
}
