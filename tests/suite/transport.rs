//! The direct client's transport against a server whose every reply a script decides: late, lost, twice, in pieces,
//! out of order, absurd.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parfs::base::price::Ceiling;
use parfs::base::{Name, PriceList, Proc, Status};
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{AttachError, NfsMount, Url, Usage, attach};
use parfs::storage::{AttrChange, Call, How, Mount, Node, Op, Stable, Throttle};
use parfs::wire::nfs3;

use crate::ask::Ask;
use crate::cli_support::{Bench, NAMES, Sim, assert_sample};
use crate::scripted::{Act, Scripted, name};
use crate::tree::{dump, node_at};

/// Creates four files in one window.
fn create_four(mount: &NfsMount) -> Vec<Result<(), Status>> {
    let root = mount.root();
    let change = AttrChange { mode: Some(0o644), ..AttrChange::default() };
    let mut calls: Vec<Call<'_>> = (0..4).map(|i| Call::create(&root, &name(i), How::Guarded, change)).collect();
    mount.perform(&mut calls);
    calls.iter().map(Call::status).collect()
}

#[test]
fn a_repeated_create_finds_its_own_work() {
    for (label, act) in [("drop", 0), ("reset", 1), ("reset before", 2)] {
        let server = Scripted::start(move |proc, n| match (proc, n, act) {
            (Proc::Create, 1, 0) => Act::Drop,
            (Proc::Create, 1, 1) => Act::Reset,
            (Proc::Create, 1, 2) => Act::ResetBefore,
            _ => Act::Send,
        });
        let mount = server.mount();
        assert_eq!(create_four(&mount), [Ok(()); 4], "{label}");
        assert!(mount.retransmitted() >= 1, "{label}");
        assert!(server.connections.load(Ordering::SeqCst) >= 3, "{label}: MOUNT, then two for NFS");
    }
}

#[test]
fn an_existing_file_is_not_taken_for_a_repeated_creates_work() {
    let server = Scripted::start(|proc, n| if proc == Proc::Create && n == 1 { Act::ResetBefore } else { Act::Send });
    let mount = server.mount();
    let root = mount.root();
    let mut calls = [Call::create(&root, &name(7), How::Guarded, AttrChange::default())];
    mount.perform(&mut calls);
    let file = calls[0].found().unwrap().node;
    mount.perform(&mut [Call::write(&file, 0, b"somebody else's", Stable::FileSync)]);
    let mut calls = [Call::create(&root, &name(7), How::Guarded, AttrChange::default())];
    mount.perform(&mut calls);
    assert!(calls[0].repeated, "the reset made it a repeated call");
    assert_eq!(calls[0].status(), Err(Status::Exist));
}

/// Each procedure that is not idempotent: its reply is lost, it is carried out a second time, and counts as done.
#[test]
fn every_lost_reply_of_a_nonidempotent_call_ends_well() {
    type Make = fn(&Node, &Node) -> Call<'static>;
    let cases: [(Proc, Make); 6] = [
        (Proc::MkDir, |root, _| Call::mkdir(root, &name(1), AttrChange::default())),
        (Proc::Symlink, |root, _| Call::symlink(root, &name(2), b"to/where", AttrChange::default())),
        (Proc::MkNod, |root, _| Call::mknod(root, &name(3), parfs::storage::Special::Fifo, AttrChange::default())),
        (Proc::Link, |root, file| Call::link(file, root, &name(4))),
        (Proc::Remove, |root, _| Call::remove(root, &name(0))),
        (Proc::RmDir, |root, _| Call::rmdir(root, &Name::new(b"dir").unwrap())),
    ];
    for (proc, make) in cases {
        let server =
            Scripted::start(
                move |p, n| if p == proc && n == usize::from(p == Proc::MkDir) { Act::Reset } else { Act::Send },
            );
        let mount = server.mount();
        let root = mount.root();
        let dir = Name::new(b"dir").unwrap();
        let mut calls = [
            Call::create(&root, &name(0), How::Guarded, AttrChange::default()),
            Call::mkdir(&root, &dir, AttrChange::default()),
        ];
        mount.perform(&mut calls);
        let file = calls[0].found().unwrap().node;
        let mut calls = [make(&root, &file)];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Ok(()), "{proc}");
        assert!(calls[0].repeated, "{proc}");
        assert_eq!(server.carried_out(proc), 2 + u64::from(proc == Proc::MkDir), "{proc}");
    }
}

/// What has the new name is what was renamed only if it is the same file: another may have had the name, and the first try come to nothing.
#[test]
fn a_repeated_rename_finds_its_own_work_by_its_file_id() {
    type Id = fn(u64) -> Option<u64>;
    let cases: [(Id, _); 3] =
        [(Some, Ok(())), (|id| Some(id + 1), Err(Status::NoEnt)), (|_| None, Err(Status::NoReply))];
    for (id, expected) in cases {
        let server = Scripted::start(|proc, n| if (proc, n) == (Proc::Rename, 0) { Act::Reset } else { Act::Send });
        let mount = server.mount();
        let root = mount.root();
        assert_eq!(create_four(&mount), [Ok(()); 4]);
        let mut calls = [Call::lookup(&root, &name(0))];
        mount.perform(&mut calls);
        let mut calls = [Call::get_attr(&calls[0].found().unwrap().node)];
        mount.perform(&mut calls);
        let id = id(calls[0].attr().unwrap().fileid);
        let mut calls = [Call::rename_of(id, (&root, &name(0)), (&root, &name(5)))];
        mount.perform(&mut calls);
        assert!(calls[0].repeated);
        assert_eq!(calls[0].status(), expected, "{id:?}");
    }
}

#[test]
fn replies_in_pieces_twice_and_out_of_order_are_matched_by_xid() {
    let server = Scripted::start(|proc, n| match (proc, n % 4) {
        (Proc::Read, 0) => Act::AfterNext,
        (Proc::Read, 1) => Act::Twice,
        (Proc::Read, 2) => Act::Fragments(3),
        (Proc::Read, 3) => Act::Fragments(1000),
        (Proc::Create, 1) => Act::Fragments(1),
        _ => Act::Send,
    });
    let mount = server.patient_mount();
    assert_eq!(create_four(&mount), [Ok(()); 4]);
    let root = mount.root();
    for i in 0..4 {
        let mut calls = [Call::lookup(&root, &name(i))];
        mount.perform(&mut calls);
        let node = calls[0].found().unwrap().node;
        let text = vec![i as u8; 5000 + i];
        let mut calls = [Call::write(&node, 0, &text, Stable::FileSync)];
        mount.perform(&mut calls);
        assert_eq!(calls[0].written().unwrap().count as usize, text.len());
        let mut calls: Vec<Call<'_>> = (0..8).map(|j| Call::read(&node, j * 100, 4000, Vec::new())).collect();
        mount.perform(&mut calls);
        for (j, call) in calls.iter().enumerate() {
            let Op::Read { buf, out, .. } = &call.op else { panic!() };
            assert_eq!((out, buf.len()), (&Ok(j * 100 + 4000 >= text.len()), 4000));
            assert!(buf.iter().all(|b| *b == i as u8));
        }
    }
    assert_eq!(mount.retransmitted(), 0);
}

#[test]
fn absurd_replies_end_the_connection_not_the_client() {
    let absurd: [fn() -> Vec<u8>; 5] = [
        || vec![0xff; 64],                                                   // a record of 2 GiB
        || 0x8000_0000u32.to_be_bytes().to_vec(),                            // an empty record, then the end
        || [0x8000_0002u32.to_be_bytes().to_vec(), vec![0, 1]].concat(),     // a record too short for an xid
        || [0x8000_0040u32.to_be_bytes().to_vec(), vec![0; 10]].concat(),    // the end in the middle of a record
        || [0x8000_0010u32.to_be_bytes().to_vec(), vec![0xee; 16]].concat(), // an answer to nobody's call
    ];
    for (i, bytes) in absurd.into_iter().enumerate() {
        let server = Scripted::start(
            move |proc, n| if proc == Proc::Create && n == 2 { Act::Bytes(bytes()) } else { Act::Send },
        );
        let mount = server.mount();
        assert_eq!(create_four(&mount), [Ok(()); 4], "case {i}");
        assert!(mount.reconnects() >= 1, "case {i}");
    }
}

#[test]
fn jukebox_is_waited_out() {
    let server =
        Scripted::start(
            |proc, n| if proc == Proc::Create && n % 3 == 0 { Act::Fail(Status::Jukebox) } else { Act::Send },
        );
    let mount = server.patient_mount();
    assert_eq!(create_four(&mount), [Ok(()); 4]);
    assert_eq!((server.carried_out(Proc::Create), mount.retransmitted()), (4, 0));
}

#[test]
fn a_call_that_always_breaks_the_connection_fails_alone() {
    let server = Scripted::start(|proc, _| if proc == Proc::Remove { Act::ResetBefore } else { Act::Send });
    let mount = server.mount();
    let root = mount.root();
    let mut calls = [Call::remove(&root, &name(1))];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoReply));
    assert_eq!(create_four(&mount), [Ok(()); 4], "the mount is of use afterwards");
}

/// Where many calls share a connection that often breaks, a call may be lost with many connections in a row, at once. No reason
/// to fail: that is how long its answer was waited for.
#[test]
fn connections_that_break_are_no_reason_to_give_a_call_up() {
    for proc in [Proc::Lookup, Proc::Remove] {
        // `retrans` is 3.
        let broken = move |p, n| if p == proc && n > 0 && n < 8 { Act::ResetBefore } else { Act::Send };
        let server = Scripted::start(broken);
        let mount =
            attach(&Url::parse(&server.url.replace("away=1", "away=60")).unwrap(), Usage::Writes).unwrap().remove(0);
        let root = mount.root();
        // The first one is for comparison, as `attach` may have asked it, too.
        for _ in 0..2 {
            let mut calls =
                [if proc == Proc::Lookup { Call::lookup(&root, &name(1)) } else { Call::remove(&root, &name(1)) }];
            mount.perform(&mut calls);
            // A repeated REMOVE that finds nothing has done its work.
            assert!(matches!(calls[0].status(), Ok(()) | Err(Status::NoEnt)), "{proc}: {:?}", calls[0].status());
        }
        assert!(mount.retransmitted() >= 7, "{proc}");
    }
}

/// A call that only asks leaves no doubt about what it did.
#[test]
fn a_call_that_only_asks_and_is_never_answered_says_so() {
    // Broken connections are over by `away`; silence by `retrans`, after 1.2 s, when a pause of the machine must not be `away`.
    for (broken, away) in [(true, "away=1"), (false, "away=60")] {
        let server = Scripted::start(move |proc, _| match (proc, broken) {
            (Proc::Lookup, true) => Act::ResetBefore,
            (Proc::Lookup, false) => Act::Drop,
            _ => Act::Send,
        });
        let mount = attach(&Url::parse(&server.url.replace("away=1", away)).unwrap(), Usage::Writes).unwrap().remove(0);
        let mut calls = [Call::lookup(&mount.root(), &name(1))];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(Status::Unanswered));
        assert!(Status::Unanswered.to_string().contains("changes nothing"));
        assert_eq!(create_four(&mount), [Ok(()); 4], "the mount is of use afterwards");
    }
}

/// What a mount sends again, or asks of what it made, waits as its calls do: here each I/O costs a fifth of a second.
#[test]
fn what_is_added_to_held_calls_is_held_too() {
    let ceiling = Ceiling { iops: 5.0, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    // Five more times, within 0.62 s by the pauses alone; and a GETATTR behind a CREATE, at once.
    let busy = |proc, n| if proc == Proc::GetAttr && n > 0 && n < 6 { Act::Fail(Status::Jukebox) } else { Act::Send };
    let held = |server: &Scripted| {
        let mount = server.patient_mount();
        mount.hold_by(Arc::new(Throttle::new(ceiling, PriceList::oci(), Arc::default())));
        mount
    };
    let server = Scripted::start(busy);
    let mount = held(&server);
    let begun = Instant::now();
    let mut calls = [Call::get_attr(&mount.root())];
    mount.perform(&mut calls);
    assert!(calls[0].status().is_ok() && begun.elapsed().as_secs_f64() >= 1.3, "{:?}", begun.elapsed());

    let server = Scripted::start(|proc, _| if proc == Proc::Create { Act::Bare } else { Act::Send });
    let mount = held(&server);
    let change = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    let begun = Instant::now();
    let mut calls = [1, 2, 3].map(|n| Call::create(&mount.root(), &name(n), How::Guarded, change));
    mount.perform(&mut calls);
    assert!(calls.iter().all(|call| call.status().is_ok()), "{calls:?}");
    assert!(begun.elapsed().as_secs_f64() >= 0.5, "{:?}", begun.elapsed());

    // Five more WRITEs of a fifth of a second; beside a limit that does not bind.
    let server = Scripted::start(|p, n| if p == Proc::Write && n < 5 { Act::Fail(Status::Jukebox) } else { Act::Send });
    let mount = server.patient_mount();
    for (iops, bytes_per_s) in [(1e9, f64::INFINITY), (f64::INFINITY, 5000.0)] {
        let ceiling = Ceiling { iops, bytes_per_s, latency: Duration::ZERO };
        mount.hold_by(Arc::new(Throttle::new(ceiling, PriceList::oci(), Arc::default()).only(Proc::Write)));
    }
    let file = server.memory.file(&server.memory.root(), "f", b"");
    let begun = Instant::now();
    let mut calls = [Call::write(&file, 0, &[1; 1000], Stable::Unstable)];
    mount.perform(&mut calls);
    assert!(calls[0].status().is_ok() && begun.elapsed().as_secs_f64() >= 1.3, "{:?}", begun.elapsed());
}

/// `away` is 100 s; who stops a run is not kept waiting for a server that is not there.
#[test]
fn a_run_that_is_stopped_waits_a_few_seconds() {
    let sim = Sim::start(&[]);
    let mount = attach(&Url::parse(&format!("{}?away=100", sim.url)).unwrap(), Usage::Writes).unwrap().remove(0);
    let root = mount.root();
    drop(sim);
    mount.heed(Arc::new(AtomicBool::new(true)));
    let begun = Instant::now();
    let mut calls = [Call::lookup(&root, &name(1))];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::TargetGone));
    assert!((14..60).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

/// One call is never answered, and is the only traffic of a run that is stopped: what is left to do goes on at its target.
#[test]
fn a_stopped_run_gives_up_a_call_and_not_its_target() {
    let server = Scripted::start(|proc, _| if proc == Proc::MkDir { Act::Drop } else { Act::Send });
    let url = server.url.replace("timeo=3&retrans=3&away=1", "timeo=600&away=300");
    let mount = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap().remove(0);
    mount.heed(Arc::new(AtomicBool::new(true)));
    let mut calls = [Call::mkdir(&mount.root(), &name(1), AttrChange::default())];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoReply));
    let mut calls = [Call::lookup(&mount.root(), &name(2))];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoEnt));
}

/// A target that answers NULL and nothing else is given up with the second call that it does not answer: a run that is stopped has more
/// to ask of it than one.
#[test]
fn a_stopped_run_does_not_go_on_asking_a_target_that_only_lives() {
    let attached = Arc::new(AtomicBool::new(false));
    let is_attached = attached.clone();
    let server = Scripted::start(move |proc, _| match proc {
        Proc::Null => Act::Send,
        _ if is_attached.load(Ordering::SeqCst) => Act::Drop,
        _ => Act::Send,
    });
    let url = server.url.replace("timeo=3&retrans=3&away=1", "timeo=600&away=300");
    let mount = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap().remove(0);
    attached.store(true, Ordering::SeqCst);
    mount.heed(Arc::new(AtomicBool::new(true)));
    let look_up = || {
        let mut calls = [Call::lookup(&mount.root(), &name(1))];
        mount.perform(&mut calls);
        calls[0].status()
    };
    assert_eq!([look_up(), look_up()], [Err(Status::Unanswered); 2]);
    let asked = server.counts.lock().unwrap()[Proc::Lookup as usize];
    for _ in 0..10 {
        assert_eq!(look_up(), Err(Status::TargetGone));
    }
    assert_eq!(server.counts.lock().unwrap()[Proc::Lookup as usize], asked);
}

/// How long 16 lanes take to send a MiB each, over one connection, to a server that reads no more; more than sockets take by
/// themselves.
fn written_to_the_deaf(patience: &str, is_stopped: bool) -> Duration {
    let server = Scripted::start(|proc, _| if proc == Proc::Write { Act::Deaf } else { Act::Send });
    let url = server.url.replace("timeo=3&retrans=3&away=1", patience);
    let mount = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap().remove(0);
    let mut calls = [Call::create(&mount.root(), &name(1), How::Guarded, AttrChange::default())];
    mount.perform(&mut calls);
    let file = calls[0].found().unwrap().node;
    mount.heed(Arc::new(AtomicBool::new(is_stopped)));
    let (begun, data) = (Instant::now(), vec![7; 1 << 20]);
    std::thread::scope(|scope| {
        for lane in 0..16 {
            let (mount, file, data) = (&mount, &file, &data);
            scope.spawn(move || {
                let mut calls = [Call::write(file, lane << 20, data, Stable::Unstable)];
                mount.perform(&mut calls);
                assert!(matches!(calls[0].status(), Err(Status::NoReply | Status::TargetGone)), "{calls:?}");
            });
        }
    });
    begun.elapsed()
}

/// Each lane waited for `timeo`, one after the other.
#[test]
fn a_peer_that_takes_no_bytes_is_waited_for_by_all_lanes_at_once() {
    let took = written_to_the_deaf("timeo=600&away=300", true);
    assert!((14..40).contains(&took.as_secs()), "a stopped run: {took:?}");
    let took = written_to_the_deaf("timeo=50&away=5", false);
    assert!((8..30).contains(&took.as_secs()), "timeo and away: {took:?}");
}

#[test]
fn a_server_that_is_not_there_is_a_clear_error() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = attach(&Url::parse(&format!("nfs://127.0.0.1:{port}/x")).unwrap(), Usage::Writes).unwrap_err();
    assert!(matches!(error, AttachError::Connect { .. }), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}: cannot reach MOUNT")), "{error}");
}

#[test]
fn a_server_that_closes_the_connection_is_told_for_that() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nfs://{}/x", listener.local_addr().unwrap());
    // Closed with what it was sent unread it would be reset.
    let closes = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
    });
    let error = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap_err();
    assert!(error.to_string().ends_with("it closed the connection without an answer"), "{error}");
    closes.join().unwrap();
}

/// Where NFS has its port and MOUNT another that no portmapper tells, as Linux has behind a firewall.
#[test]
fn a_port_without_mount_says_what_to_give() {
    // A portmapper of this host's could tell of a MOUNT.
    if std::net::TcpStream::connect("127.0.0.1:111").is_ok() {
        return;
    }
    let server = Scripted::start(|_, _| Act::Send);
    server.without_mount();
    let url = Url::parse(&format!("nfs://{}/", server.host())).unwrap();
    let error = attach(&url, Usage::Writes).unwrap_err();
    assert!(error.to_string().ends_with("give its port with mountport="), "{error}");
}

/// A server may hold calls back until the client has acted on the answer to another: that answer must reach its lane,
/// although it is few bytes for many calls in flight.
#[test]
fn one_reply_among_many_calls_in_flight_is_not_held_back() {
    let server = Scripted::start(|proc, n| match (proc, n) {
        (Proc::FsStat, _) => Act::AfterNext,
        (Proc::GetAttr, 1..=2) => Act::SendAlone, // the first one is attach's
        _ => Act::Send,
    });
    let mount = server.patient_mount();
    let root = mount.root();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let mut calls: Vec<Call<'_>> = (0..60).map(|_| Call::fs_stat(&root)).collect();
            mount.perform(&mut calls);
            calls.iter().all(|call| call.status() == Ok(()))
        });
        while server.counts.lock().unwrap()[Proc::FsStat as usize] < 60 {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            let mut calls = [Call::get_attr(&root)];
            mount.perform(&mut calls);
            assert_eq!(calls[0].status(), Ok(()));
        }
        assert!(slow.join().unwrap());
    });
    assert_eq!(mount.retransmitted(), 0, "no reply had to be asked for again");
}

/// Law 4: what was sent and never answered was issued too.
#[test]
fn a_call_without_reply_is_in_the_books() {
    let server = Scripted::start(|proc, _| if proc == Proc::Remove { Act::Reset } else { Act::Send });
    let mount = server.mount();
    let mut calls = [Call::remove(&mount.root(), &name(1))];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoReply));
    let issued = mount.issued().unwrap();
    assert_eq!((issued.get(Proc::Remove).calls, issued.get(Proc::Remove).failed), (1, 1));
    assert_eq!(issued.get(Proc::Remove).calls + mount.retransmitted(), server.carried_out(Proc::Remove));
}

/// EXIST would be a judgement: its caller would leave the object as it is, which may be its own and empty.
#[test]
fn a_repeated_call_is_not_judged_without_looking() {
    type Make = fn(&Node) -> Call<'static>;
    let cases: [(Proc, Make); 4] = [
        (Proc::Create, |root| Call::create(root, &name(1), How::Guarded, AttrChange::default())),
        (Proc::Link, |root| Call::link(root, root, &name(2))),
        (Proc::Symlink, |root| Call::symlink(root, &name(3), b"x", AttrChange::default())),
        (Proc::Rename, |root| Call::rename(root, &name(4), root, &name(5))),
    ];
    for (proc, make) in cases {
        let server = Scripted::start(move |p, n| match (p, n) {
            (Proc::Lookup, _) => Act::ResetBefore,
            (p, 0) if p == proc => Act::Reset,
            (p, _) if p == proc => Act::Fail(if p == Proc::Rename { Status::NoEnt } else { Status::Exist }),
            _ => Act::Send,
        });
        let mount = server.mount();
        let mut calls = [make(&mount.root())];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(Status::NoReply), "{proc}");
    }
}

/// A READ that gives nothing and does not end the file would be asked for again for ever.
#[test]
fn a_read_of_nothing_is_an_error_unless_the_file_ends() {
    let node = MemoryMount::new().root();
    for (count, eof, expected) in [(10, 0, Err(Status::Protocol)), (10, 1, Ok(())), (0, 0, Ok(()))] {
        // NFS3_OK, no attributes, a count of 0, the end or not, no data.
        let reply: Vec<u8> = [0_u32, 0, 0, eof, 0].into_iter().flat_map(u32::to_be_bytes).collect();
        let mut call = Call::read(&node, 0, count, Vec::new());
        let _ = nfs3::decode_results(&mut call, reply, 0, &|_, handle| Node::Handle(handle));
        assert_eq!(call.status(), expected);
    }
}

/// symlink(2) makes none of these.
#[test]
fn the_text_of_a_link_that_no_system_has_is_not_taken() {
    let node = MemoryMount::new().root();
    for (text, expected) in [("", Err(Status::Protocol)), ("a\0b", Err(Status::Protocol)), ("abc", Ok(()))] {
        // NFS3_OK, no attributes, the text.
        let len = text.len() as u32;
        let mut reply: Vec<u8> = [0_u32, 0, len].into_iter().flat_map(u32::to_be_bytes).collect();
        reply.extend(text.bytes());
        reply.resize(reply.len().next_multiple_of(4), 0);
        let mut call = Call::read_link(&node);
        let _ = nfs3::decode_results(&mut call, reply, 0, &|_, handle| Node::Handle(handle));
        assert_eq!(call.status(), expected, "{text:?}");
    }
}

/// Linux's client takes what such a server prefers, and files of any size.
#[test]
fn a_server_that_names_no_largest_transfer_or_file_is_used_all_the_same() {
    let node = MemoryMount::new().root();
    // NFS3_OK, no attributes, rtmax, rtpref, rtmult, wtmax, wtpref, wtmult, dtpref, maxfilesize, time_delta, properties.
    let words = [0_u32, 0, 0, 32768, 512, 0, 16384, 512, 8192, 0, 0, 0, 1, 0x1b];
    let mut call = Call::fs_info(&node);
    let reply: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    let _ = nfs3::decode_results(&mut call, reply, 0, &|_, handle| Node::Handle(handle));
    let Op::FsInfo { out: Ok(limits), .. } = &call.op else { panic!("{:?}", call.status()) };
    assert_eq!((limits.read_max, limits.write_max, limits.size_max), (32768, 16384, u64::MAX));
}

/// What RPC says in place of NFS (RFC 5531, section 9).
#[test]
fn refusals_of_rpc_are_told_for_what_they_are() {
    for (state, expected) in [
        (1, Status::NotServed),
        (2, Status::NotServed),
        (3, Status::NotSupp),
        (4, Status::Garbage),
        (5, Status::ServerFault),
        (6, Status::Protocol),
    ] {
        let server = Scripted::start(move |proc, _| if proc == Proc::MkDir { Act::Refuse(state) } else { Act::Send });
        let mount = server.mount();
        let mut calls = [Call::mkdir(&mount.root(), &name(1), AttrChange::default())];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(expected), "{state}");
    }
}

/// A target that accepts connections and answers nothing is gone, however short the timeout; its calls are for another.
#[test]
fn a_silent_target_is_gone_although_it_takes_connections() {
    let silent = Arc::new(AtomicBool::new(false));
    let now_silent = silent.clone();
    let server = Scripted::start(move |_, _| if now_silent.load(Ordering::SeqCst) { Act::Drop } else { Act::Send });
    let url = server.url.replace("timeo=3&retrans=3&away=1", "timeo=1&retrans=1&away=30");
    let mount = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap().remove(0);
    silent.store(true, Ordering::SeqCst);
    let mut calls = [Call::mkdir(&mount.root(), &name(1), AttrChange::default())];
    mount.perform(&mut calls);
    assert_eq!((calls[0].status(), calls[0].repeated), (Err(Status::TargetGone), true));
    // It answers all else: the call is to blame.
    let server = Scripted::start(|proc, _| if proc == Proc::MkDir { Act::Drop } else { Act::Send });
    let mount =
        attach(&Url::parse(&server.url.replace("timeo=3&retrans=3", "timeo=1&retrans=1")).unwrap(), Usage::Writes)
            .unwrap();
    let mut calls = [Call::mkdir(&mount[0].root(), &name(1), AttrChange::default())];
    mount[0].perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoReply));
}

/// Its pages do not say what is a directory.
#[test]
fn rules_about_directories_hold_where_pages_tell_names_alone() {
    for refused in [true, false] {
        let server = Scripted::start(move |proc, _| match proc {
            Proc::ReadDirPlus if refused => Act::Fail(Status::NotSupp),
            _ => Act::Send,
        });
        let memory = &server.memory;
        for path in ["gone", "gone/sub", "kept.d"] {
            let way: Vec<&str> = path.split('/').collect();
            let (name, up) = way.split_last().unwrap();
            let dir = memory.dir(&node_at(&**memory, up), *name);
            memory.file(&dir, "y.c", b"y");
            memory.file(&dir, "keep", b"not to be removed");
        }
        let bench = Bench::new();
        let url = server.url.replace("timeo=3", "timeo=200");
        let rules = "--include=*/ --include=*.c --exclude=*";
        bench.run_as(&format!("parcp -a --delete {rules} out {url}"));
        let left: Vec<String> = dump(&**memory).into_keys().filter(|path| !path.is_empty()).collect();
        assert_eq!(left, ["gone", "gone/keep", "gone/sub", "gone/sub/keep", "kept.d", "kept.d/keep"], "{refused}");
    }
}

/// unfs3 answers READDIRPLUS with NOTSUPP.
#[test]
fn a_server_without_readdirplus_is_listed_by_readdir() {
    let server = Scripted::start(|proc, _| match proc {
        Proc::ReadDirPlus => Act::Fail(Status::NotSupp),
        _ => Act::Send,
    });
    let bench = Bench::new();
    bench.run("xf a.tar -C out").ok();
    let url = server.url.replace("timeo=3", "timeo=200");
    let at = |path: &str| url.replace("/?", &format!("/{path}?"));
    bench.run_as(&format!("parcp -a out {}", at("copy"))).ok();
    bench.run_as(&format!("parcp -a {} back", at("copy"))).ok();
    assert_sample(&bench.path("back"));
    bench.run_as(&format!("parcp -a --verify-only {} back", at("copy"))).ok();
    bench.run(&format!("cf new.tar -C {} copy", url)).ok();
    let listed = bench.run("tf new.tar").ok().stdout;
    assert_eq!(listed.lines().count(), 1 + NAMES.len(), "{listed}");
    bench.run_as(&format!("parrm -r {}", at("copy"))).ok();
    let counts = *server.counts.lock().unwrap();
    // Each mount asks once; the copy and the comparison have one for either side.
    assert_eq!(counts[Proc::ReadDirPlus as usize], 4);
    assert_eq!(dump(&*server.memory).len(), 1, "the root alone");
}
