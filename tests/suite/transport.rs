//! The direct client's transport against a server whose every reply a script decides: late, lost, twice, in pieces,
//! out of order, absurd. Beneath the script is a `MemoryMount`, so what was carried out can be counted.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use parfs::base::{Name, Proc, Status};
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{AttachError, NfsMount, Url, attach};
use parfs::storage::{AttrChange, Call, Handle, How, Ledger, Mount, Node, Op, Spread, Stable, Volume};
use parfs::wire::mount3;
use parfs::wire::nfs3::{self, Asked, decode_args, encode_failure, encode_results};
use parfs::wire::record::Records;
use parfs::wire::rpc::{begin_reply, end_record, parse_call};

/// What the script does with one reply.
enum Act {
    /// Sends it.
    Send,
    /// Carries the call out and drops the reply; the connection stays.
    Drop,
    /// Carries the call out and resets the connection.
    Reset,
    /// Resets the connection and does not carry the call out.
    ResetBefore,
    /// Sends it twice.
    Twice,
    /// Sends it as fragments of this many bytes, each in its own segment.
    Fragments(usize),
    /// Holds it until the next reply was sent.
    AfterNext,
    /// Sends it and goes on holding what is held.
    SendAlone,
    /// Sends these bytes in its place and then nothing more.
    Bytes(Vec<u8>),
    /// Answers with this status and does not carry the call out.
    Fail(Status),
}

/// A script sees each NFS call's procedure and its number among those of the same procedure, from 0.
type Script = dyn Fn(Proc, usize) -> Act + Send + Sync;

struct Scripted {
    memory: Arc<MemoryMount>,
    /// Each byte of a handle on the wire is that of memory with this added: servers that do not share handles.
    skew: u8,
    script: Box<Script>,
    counts: Mutex<[usize; Proc::COUNT]>,
    carried_out: Ledger,
    connections: AtomicUsize,
    open: AtomicBool,
    url: String,
}

impl Scripted {
    fn start(script: impl Fn(Proc, usize) -> Act + Send + Sync + 'static) -> Arc<Scripted> {
        Scripted::serving(Arc::new(MemoryMount::new()), 0, script)
    }

    fn serving(
        memory: Arc<MemoryMount>,
        skew: u8,
        script: impl Fn(Proc, usize) -> Act + Send + Sync + 'static,
    ) -> Arc<Scripted> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nfs://{}/?timeo=3&retrans=3&away=1&nconnect=1", listener.local_addr().unwrap());
        let server = Arc::new(Scripted {
            memory,
            skew,
            script: Box::new(script),
            counts: Mutex::new([0; Proc::COUNT]),
            carried_out: Ledger::default(),
            connections: AtomicUsize::new(0),
            open: AtomicBool::new(true),
            url,
        });
        let weak = Arc::downgrade(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(server) = weak.upgrade().filter(|s| s.open.load(Ordering::SeqCst)) else { return };
                server.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || server.serve(stream.unwrap()));
            }
        });
        server
    }

    fn mount(&self) -> Arc<NfsMount> {
        attach(&Url::parse(&self.url).unwrap()).unwrap().remove(0)
    }

    /// With a patience that no pause of a busy machine outlasts.
    fn patient_mount(&self) -> Arc<NfsMount> {
        attach(&Url::parse(&self.url.replace("timeo=3", "timeo=200")).unwrap()).unwrap().remove(0)
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut records = Records::new(2 << 20);
        let mut buf = vec![0; 1 << 16];
        let mut held: Vec<u8> = Vec::new();
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            let mut requests = Vec::new();
            records.push(&buf[..n], |record| requests.push(record.to_vec())).unwrap();
            for request in requests {
                if !self.answer(&request, &mut stream, &mut held) {
                    let _ = socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
                    return;
                }
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// False ends the connection.
    fn answer(&self, request: &[u8], stream: &mut TcpStream, held: &mut Vec<u8>) -> bool {
        let head = parse_call(request).unwrap();
        let mut reply = Vec::new();
        let start = begin_reply(&mut reply, head.xid);
        if head.program == mount3::PROGRAM {
            let root = self.handle(&self.memory.root());
            mount3::encode_mounted(&Ok(mount3::Mounted { root, flavors: vec![1] }), &mut reply);
            end_record(&mut reply, start, 0);
            return stream.write_all(&reply).is_ok();
        }
        assert_eq!(head.program, nfs3::PROGRAM);
        let proc = Proc::from_number(head.procedure).unwrap();
        let number = {
            let mut counts = self.counts.lock().unwrap();
            counts[proc as usize] += 1;
            counts[proc as usize] - 1
        };
        let act = (self.script)(proc, number);
        match act {
            Act::ResetBefore => return false,
            Act::Fail(status) => {
                encode_failure(proc, status, &mut reply);
                end_record(&mut reply, start, 0);
                return stream.write_all(&reply).is_ok();
            }
            _ => {}
        }
        let Asked::Call(call) = decode_args(proc, request, head.args, &|handle| Ok(self.node(handle))).unwrap().asked
        else {
            panic!("the client never looks up dots")
        };
        let mut calls = [call];
        self.memory.perform(&mut calls);
        self.carried_out.record(proc, 0, calls[0].status().is_err(), Default::default());
        let payload =
            encode_results(&calls[0], &|node| self.handle(node), &mut reply).map(<[u8]>::to_vec).unwrap_or_default();
        reply.extend_from_slice(&payload);
        reply.resize(reply.len().next_multiple_of(4), 0);
        end_record(&mut reply, start, 0);
        let sent = match act {
            Act::Drop => Ok(()),
            Act::Reset => return false,
            Act::Twice => stream.write_all(&[reply.clone(), reply].concat()),
            Act::Fragments(size) => send_fragments(stream, &reply[4..], size),
            Act::AfterNext => {
                held.extend_from_slice(&reply);
                return true;
            }
            Act::SendAlone => return stream.write_all(&reply).is_ok(),
            Act::Bytes(bytes) => stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write)),
            _ => stream.write_all(&reply),
        };
        sent.and_then(|()| stream.write_all(&std::mem::take(held))).is_ok()
    }

    fn handle(&self, node: &Node) -> Handle {
        let Node::Handle(handle) = node else { panic!("memory has handles") };
        skewed(handle, |b| b.wrapping_add(self.skew))
    }

    fn node(&self, handle: Handle) -> Node {
        Node::Handle(skewed(&handle, |b| b.wrapping_sub(self.skew)))
    }

    fn host(&self) -> &str {
        self.url.trim_start_matches("nfs://").split('/').next().unwrap()
    }

    fn carried_out(&self, proc: Proc) -> u64 {
        self.carried_out.tally().get(proc).calls
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.open.store(false, Ordering::SeqCst);
        // Wakes the listener, which then ends.
        let _ = TcpStream::connect(self.host());
    }
}

fn skewed(handle: &Handle, f: impl Fn(u8) -> u8) -> Handle {
    let bytes: Vec<u8> = handle.as_bytes().iter().map(|b| f(*b)).collect();
    Handle::new(&bytes).unwrap()
}

fn send_fragments(stream: &mut TcpStream, record: &[u8], size: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let last = record.len().div_ceil(size) - 1;
    for (i, fragment) in record.chunks(size).enumerate() {
        let mark = fragment.len() as u32 | if i == last { 1 << 31 } else { 0 };
        stream.write_all(&mark.to_be_bytes())?;
        stream.write_all(fragment)?;
    }
    Ok(())
}

fn name(i: usize) -> Name {
    Name::new(format!("file-{i}").as_bytes()).unwrap()
}

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
    let cases: [(Proc, Make); 7] = [
        (Proc::MkDir, |root, _| Call::mkdir(root, &name(1), AttrChange::default())),
        (Proc::Symlink, |root, _| Call::symlink(root, &name(2), b"to/where", AttrChange::default())),
        (Proc::MkNod, |root, _| Call::mknod(root, &name(3), parfs::storage::Special::Fifo, AttrChange::default())),
        (Proc::Link, |root, file| Call::link(file, root, &name(4))),
        (Proc::Rename, |root, _| Call::rename(root, &name(0), root, &name(5))),
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
        let mount = attach(&Url::parse(&server.url.replace("away=1", "away=60")).unwrap()).unwrap().remove(0);
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
        let mount = attach(&Url::parse(&server.url.replace("away=1", away)).unwrap()).unwrap().remove(0);
        let mut calls = [Call::lookup(&mount.root(), &name(1))];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(Status::Unanswered));
        assert!(Status::Unanswered.to_string().contains("changes nothing"));
        assert_eq!(create_four(&mount), [Ok(()); 4], "the mount is of use afterwards");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_clear_error() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = attach(&Url::parse(&format!("nfs://127.0.0.1:{port}/x")).unwrap()).unwrap_err();
    assert!(matches!(error, AttachError::Connect { .. }), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}: cannot reach MOUNT")), "{error}");
}

#[test]
fn two_servers_of_different_data_are_not_one_volume() {
    let (one, two) = (Scripted::start(|_, _| Act::Send), Scripted::start(|_, _| Act::Send));
    let error = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap()).unwrap_err();
    assert!(matches!(error, AttachError::Different { .. }), "{error}");
}

/// Targets whose handles differ are one volume all the same: what one made is looked up at the other.
#[test]
fn a_handle_good_at_one_target_only_is_looked_up_at_the_other() {
    let memory = Arc::new(MemoryMount::new());
    let one = Scripted::serving(memory.clone(), 1, |_, _| Act::Send);
    let two = Scripted::serving(memory, 2, |_, _| Act::Send);
    let mounts = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap()).unwrap();
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
    let mounts = attach(&Url::parse(&url).unwrap()).unwrap();
    let volume = Volume::new(mounts.into_iter().map(|m| m as Arc<dyn Mount>).collect(), Spread::First);
    let root = volume.root();
    let mut calls = [Call::create(&root, &name(1), How::Guarded, AttrChange::default()), Call::remove(&root, &name(2))];
    volume.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()), "made by the first, found by the second");
    assert_eq!(calls[1].status(), Err(Status::NoReply));
    assert_eq!(volume.gone().len(), 1);
    assert_eq!((two.carried_out(Proc::Create), two.carried_out(Proc::Remove)), (1, 0));
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

/// Servers take the second they started in for a verifier: two targets may have the same and not each other's data.
#[test]
fn a_commit_at_another_target_does_not_vouch_for_a_write() {
    let memory = Arc::new(MemoryMount::new());
    let one = Scripted::serving(memory.clone(), 0, |_, _| Act::Send);
    let two = Scripted::serving(memory, 0, |_, _| Act::Send);
    let mounts = attach(&Url::parse(&format!("nfs://{},{}/", one.host(), two.host())).unwrap()).unwrap();
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

/// A target that accepts connections and answers nothing is gone, however short the timeout; its calls are for another.
#[test]
fn a_silent_target_is_gone_although_it_takes_connections() {
    let silent = Arc::new(AtomicBool::new(false));
    let now_silent = silent.clone();
    let server = Scripted::start(move |_, _| if now_silent.load(Ordering::SeqCst) { Act::Drop } else { Act::Send });
    let url = server.url.replace("timeo=3&retrans=3&away=1", "timeo=1&retrans=1&away=30");
    let mount = attach(&Url::parse(&url).unwrap()).unwrap().remove(0);
    silent.store(true, Ordering::SeqCst);
    let mut calls = [Call::mkdir(&mount.root(), &name(1), AttrChange::default())];
    mount.perform(&mut calls);
    assert_eq!((calls[0].status(), calls[0].repeated), (Err(Status::TargetGone), true));
    // It answers all else: the call is to blame.
    let server = Scripted::start(|proc, _| if proc == Proc::MkDir { Act::Drop } else { Act::Send });
    let mount = attach(&Url::parse(&server.url.replace("timeo=3&retrans=3", "timeo=1&retrans=1")).unwrap()).unwrap();
    let mut calls = [Call::mkdir(&mount[0].root(), &name(1), AttrChange::default())];
    mount[0].perform(&mut calls);
    assert_eq!(calls[0].status(), Err(Status::NoReply));
}
