//! A server whose every reply a script decides. Beneath the script is a `MemoryMount`, so what was carried out can be counted.
#![allow(clippy::unwrap_used)] // a helper of a test fails it by panicking

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use parfs::base::{Name, Proc, Status};
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{NfsMount, Url, Usage, attach};
use parfs::storage::{Handle, Ledger, Mount, Node, Op};
use parfs::wire::mount3::{self, MountStatus};
use parfs::wire::nfs3::{self, Asked, decode_args, encode_failure, encode_results};
use parfs::wire::record::Inbox;
use parfs::wire::rpc::{CallHead, begin_reply, end_record, parse_call};

/// What the script does with one reply.
pub enum Act {
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
    /// Sends it without the attributes of what was made.
    Bare,
    /// Answers with this accept_stat and does not carry the call out.
    Refuse(u32),
    /// Answers with this status and does not carry the call out.
    Fail(Status),
    /// Reads nothing more from the connection, for longer than a test takes.
    Deaf,
}

/// A script sees each NFS call's procedure and its number among those of the same procedure, from 0.
pub type Script = dyn Fn(Proc, usize) -> Act + Send + Sync;

pub struct Scripted {
    pub memory: Arc<MemoryMount>,
    /// Each byte of a handle on the wire is that of memory with this added: servers that do not share handles.
    skew: u8,
    /// The root's handle is the same at all servers.
    shares_root: AtomicBool,
    /// How MOUNT answers for a path.
    mount_answers: Mutex<HashMap<Vec<u8>, MountStatus>>,
    /// There is no MOUNT at this port.
    without_mount: AtomicBool,
    /// What the export takes, as MOUNT says.
    flavors: Mutex<Vec<u32>>,
    /// The whole replies to the first LOOKUP that found something and the first GETATTR, by the arguments; of a server that remembers.
    remembered: Option<Mutex<HashMap<Vec<u8>, Vec<u8>>>>,
    script: Box<Script>,
    pub counts: Mutex<[usize; Proc::COUNT]>,
    carried_out: Ledger,
    pub connections: AtomicUsize,
    open: AtomicBool,
    pub url: String,
}

impl Scripted {
    pub fn start(script: impl Fn(Proc, usize) -> Act + Send + Sync + 'static) -> Arc<Scripted> {
        Scripted::serving(Arc::new(MemoryMount::new()), 0, script)
    }

    pub fn serving(
        memory: Arc<MemoryMount>,
        skew: u8,
        script: impl Fn(Proc, usize) -> Act + Send + Sync + 'static,
    ) -> Arc<Scripted> {
        let (listener, server) = Scripted::made(memory, skew, script);
        server.listening(listener)
    }

    fn made(
        memory: Arc<MemoryMount>,
        skew: u8,
        script: impl Fn(Proc, usize) -> Act + Send + Sync + 'static,
    ) -> (TcpListener, Scripted) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nfs://{}/?timeo=3&retrans=3&away=1&nconnect=1", listener.local_addr().unwrap());
        let server = Scripted {
            memory,
            skew,
            shares_root: AtomicBool::new(false),
            mount_answers: Mutex::default(),
            without_mount: AtomicBool::new(false),
            flavors: Mutex::new(vec![1]),
            remembered: None,
            script: Box::new(script),
            counts: Mutex::new([0; Proc::COUNT]),
            carried_out: Ledger::default(),
            connections: AtomicUsize::new(0),
            open: AtomicBool::new(true),
            url,
        };
        (listener, server)
    }

    /// One that goes on showing what it has shown, whatever is done through others (nfs-ganesha: for 60 s).
    pub fn remembering(memory: Arc<MemoryMount>) -> Arc<Scripted> {
        let (listener, mut server) = Scripted::made(memory, 0, |_, _| Act::Send);
        server.remembered = Some(Mutex::default());
        server.listening(listener)
    }

    fn listening(self, listener: TcpListener) -> Arc<Scripted> {
        let server = Arc::new(self);
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

    pub fn mount(&self) -> Arc<NfsMount> {
        attach(&Url::parse(&self.url).unwrap(), Usage::Writes).unwrap().remove(0)
    }

    /// With a patience that no pause of a busy machine outlasts.
    pub fn patient_mount(&self) -> Arc<NfsMount> {
        attach(&Url::parse(&self.url.replace("timeo=3", "timeo=200")).unwrap(), Usage::Writes).unwrap().remove(0)
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut inbox = Inbox::new(2 << 20, 1 << 16);
        let mut held: Vec<u8> = Vec::new();
        while let Ok(n @ 1..) = stream.read(inbox.space()) {
            inbox.filled(n);
            while let Some(request) = inbox.next_record().unwrap() {
                if !self.answer(inbox.bytes(request), &mut stream, &mut held) {
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
            self.answer_of_mount(request, &head, &mut reply);
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
            Act::Deaf => {
                std::thread::sleep(std::time::Duration::from_secs(300));
                return false;
            }
            Act::Refuse(state) => {
                reply.truncate(reply.len() - 4);
                let mismatch = if state == 2 { [4_u32, 4].as_slice() } else { &[] };
                reply.extend([&[state], mismatch].concat().into_iter().flat_map(u32::to_be_bytes));
                end_record(&mut reply, start, 0);
                return stream.write_all(&reply).is_ok();
            }
            Act::Fail(status) => {
                encode_failure(proc, status, &mut reply);
                end_record(&mut reply, start, 0);
                return stream.write_all(&reply).is_ok();
            }
            _ => {}
        }
        if let Some(bytes) = self.recalled(proc, &request[head.args..], head.xid) {
            return stream.write_all(&bytes).is_ok();
        }
        let Asked::Call(call) = decode_args(proc, request, head.args, &|handle| Ok(self.node(handle))).unwrap().asked
        else {
            panic!("the client never looks up dots")
        };
        let mut calls = [call];
        self.memory.perform(&mut calls);
        if let (Act::Bare, Op::Create { out: Ok(made), .. } | Op::MkDir { out: Ok(made), .. }) =
            (&act, &mut calls[0].op)
        {
            made.attr = None;
        }
        self.carried_out.record(proc, 0, calls[0].status().is_err(), Default::default());
        let payload =
            encode_results(&calls[0], &|node| self.handle(node), &mut reply).map(<[u8]>::to_vec).unwrap_or_default();
        reply.extend_from_slice(&payload);
        reply.resize(reply.len().next_multiple_of(4), 0);
        end_record(&mut reply, start, 0);
        if let (Some(remembered), Op::Lookup { out: Ok(_), .. } | Op::GetAttr { out: Ok(_), .. }) =
            (&self.remembered, &calls[0].op)
        {
            remembered.lock().unwrap().insert(request[head.args..].to_vec(), reply.clone());
        }
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

    /// What this one answered to the same call.
    fn recalled(&self, proc: Proc, args: &[u8], xid: u32) -> Option<Vec<u8>> {
        let remembered = self.remembered.as_ref().filter(|_| matches!(proc, Proc::Lookup | Proc::GetAttr))?;
        let mut reply = remembered.lock().unwrap().get(args)?.clone();
        reply[4..8].copy_from_slice(&xid.to_be_bytes());
        Some(reply)
    }

    /// MOUNT's, behind an answer to somebody else's call.
    fn answer_of_mount(&self, request: &[u8], head: &CallHead, reply: &mut Vec<u8>) {
        if self.without_mount.load(Ordering::Relaxed) {
            reply.truncate(reply.len() - 4);
            reply.extend(1_u32.to_be_bytes()); // PROG_UNAVAIL
            return end_record(reply, 0, 0);
        }
        let path = mount3::decode_path(request, head.args).unwrap_or_default();
        let answer = match self.mount_answers.lock().unwrap().get(path) {
            Some(status) => Err(*status),
            None if path == b"/" => {
                let flavors = self.flavors.lock().unwrap().clone();
                Ok(mount3::Mounted { root: self.handle(&self.memory.root()), flavors })
            }
            None => Err(MountStatus::NoEnt),
        };
        let mut foreign = reply.clone();
        foreign[4..8].copy_from_slice(&head.xid.wrapping_add(1).to_be_bytes());
        end_record(&mut foreign, 0, 0);
        mount3::encode_mounted(&answer, reply);
        end_record(reply, 0, 0);
        reply.splice(0..0, foreign);
    }

    fn handle(&self, node: &Node) -> Handle {
        let Node::Handle(handle) = node else { panic!("memory has handles") };
        if self.is_shared(handle) { *handle } else { skewed(handle, |b| b.wrapping_add(self.skew)) }
    }

    fn is_shared(&self, handle: &Handle) -> bool {
        self.shares_root.load(Ordering::Relaxed) && Node::Handle(*handle) == self.memory.root()
    }

    /// From now on the root has the same handle as at the others.
    pub fn share_root(&self) {
        self.shares_root.store(true, Ordering::Relaxed);
    }

    /// From now on MOUNT of this path is answered so.
    pub fn answer_mount(&self, path: &str, status: MountStatus) {
        self.mount_answers.lock().unwrap().insert(path.into(), status);
    }

    /// From now on the export takes these.
    pub fn take(&self, flavors: &[u32]) {
        *self.flavors.lock().unwrap() = flavors.to_vec();
    }

    /// From now on MOUNT is not at this port.
    pub fn without_mount(&self) {
        self.without_mount.store(true, Ordering::Relaxed);
    }

    fn node(&self, handle: Handle) -> Node {
        Node::Handle(if self.is_shared(&handle) { handle } else { skewed(&handle, |b| b.wrapping_sub(self.skew)) })
    }

    pub fn host(&self) -> &str {
        self.url.trim_start_matches("nfs://").split('/').next().unwrap()
    }

    pub fn carried_out(&self, proc: Proc) -> u64 {
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

pub fn name(i: usize) -> Name {
    Name::new(format!("file-{i}").as_bytes()).unwrap()
}
