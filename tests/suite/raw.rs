//! A blocking NFSv3 client of a page, straight over the codecs: for tests of the simulator that must see each reply.
#![allow(clippy::unwrap_used)] // a helper of a test fails it by panicking

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parfs::base::Name;
use parfs::storage::{Call, Handle, Node};
use parfs::wire::mount3::{self, MountStatus};
use parfs::wire::nfs3::{self, Decoded, decode_results, encode_args};
use parfs::wire::record::Inbox;
use parfs::wire::rpc::{self, Credential, RpcError};
use parfs::wire::xdr::padding;
use socket2::{Domain, Socket, Type};

pub struct Raw {
    pub stream: TcpStream,
    inbox: Inbox,
    pub credential: Credential,
    xid: u32,
}

pub fn handle_of(node: &Node) -> Result<Handle, parfs::base::Status> {
    match node {
        Node::Handle(handle) => Ok(*handle),
        Node::Chain(_) => Err(parfs::base::Status::BadHandle),
    }
}

fn by_handle(_: Option<(&Node, &Name)>, handle: Handle) -> Node {
    Node::Handle(handle)
}

impl Raw {
    pub fn connect(address: SocketAddr) -> Raw {
        Raw::over(TcpStream::connect(address).unwrap())
    }

    /// From a port of 127.0.0.1 that can be taken again: one below those that the system gives out, so that no other
    /// connection takes it meanwhile.
    pub fn connect_to_return(address: SocketAddr) -> Raw {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..1000 {
            let n = std::process::id().wrapping_mul(37) + NEXT.fetch_add(1, Ordering::Relaxed);
            let port = 20_000 + u16::try_from(n % 12_000).unwrap();
            if let Ok(raw) = Raw::connect_from(port, address) {
                return raw;
            }
        }
        panic!("no port to connect from");
    }

    /// From this port of 127.0.0.1, as a client does that keeps its identity.
    pub fn connect_from(port: u16, address: SocketAddr) -> io::Result<Raw> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], port)).into())?;
        socket.connect(&address.into())?;
        Ok(Raw::over(socket.into()))
    }

    fn over(stream: TcpStream) -> Raw {
        // A test that waits for ever says so instead.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        let credential = Credential { uid: 1000, gid: 1001, ..Credential::default() };
        Raw { stream, inbox: Inbox::new(4 << 20, 64 << 10), credential, xid: 0 }
    }

    /// Closes so that the port can be used again at once.
    pub fn reset(self) -> u16 {
        let port = self.stream.local_addr().unwrap().port();
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
        port
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next record; an error when the connection ends.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(record) = self.inbox.next_record().unwrap() {
                return Ok(self.inbox.bytes(record).to_vec());
            }
            let count = self.stream.read(self.inbox.space())?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.inbox.filled(count);
        }
    }

    fn rpc(&mut self, program: u32, version: u32, procedure: u32, args: &[u8]) -> Result<(Vec<u8>, usize), RpcError> {
        self.xid += 1;
        let mut out = Vec::new();
        let start = rpc::begin_call(&mut out, self.xid, program, version, procedure, Some(&self.credential));
        out.extend_from_slice(args);
        rpc::end_record(&mut out, start, 0);
        self.send_bytes(&out).unwrap();
        let record = self.receive().unwrap();
        let (xid, at) = rpc::parse_reply(&record).unwrap();
        assert_eq!(xid, self.xid);
        at.map(|at| (record, at))
    }

    /// Any procedure of any program with these arguments.
    pub fn ask(&mut self, program: u32, version: u32, procedure: u32, args: &[u8]) -> Result<Vec<u8>, RpcError> {
        self.rpc(program, version, procedure, args).map(|(record, at)| record[at..].to_vec())
    }

    pub fn mount(&mut self, path: &str) -> Result<Node, MountStatus> {
        let mut args = Vec::new();
        mount3::encode_path(path.as_bytes(), &mut args);
        let results = self.ask(mount3::PROGRAM, mount3::VERSION, 1, &args).unwrap();
        mount3::decode_mounted(&results, 0).unwrap().map(|mounted| Node::Handle(mounted.root))
    }

    /// The bytes of a call's record.
    pub fn record(&self, xid: u32, call: &Call<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let number = call.proc() as u32;
        let start = rpc::begin_call(&mut out, xid, nfs3::PROGRAM, nfs3::VERSION, number, Some(&self.credential));
        let payload = encode_args(call, &handle_of, &mut out).unwrap().unwrap_or_default();
        rpc::end_record(&mut out, start, payload.len() + padding(payload.len()));
        out.extend_from_slice(payload);
        out.extend_from_slice(&[0; 3][..padding(payload.len())]);
        out
    }

    pub fn send(&mut self, xid: u32, call: &Call<'_>) -> io::Result<()> {
        let record = self.record(xid, call);
        self.send_bytes(&record)
    }

    /// Sends a call under this xid and takes the reply.
    pub fn call_as<'a>(&mut self, xid: u32, mut call: Call<'a>) -> io::Result<Call<'a>> {
        self.send(xid, &call)?;
        let record = self.receive()?;
        let (answered, at) = rpc::parse_reply(&record).unwrap();
        assert_eq!(answered, xid);
        assert_eq!(decode_results(&mut call, record, at.unwrap(), &by_handle), Decoded::Done);
        Ok(call)
    }

    pub fn call<'a>(&mut self, call: Call<'a>) -> Call<'a> {
        self.xid += 1;
        self.call_as(self.xid, call).unwrap()
    }

    /// Sends all in one piece, and gives each one's status.
    pub fn statuses(&mut self, calls: &[Call<'_>]) -> Vec<u32> {
        let first = self.xid + 1;
        self.xid += calls.len() as u32;
        let records: Vec<_> = calls.iter().zip(first..).map(|(call, xid)| self.record(xid, call)).collect();
        self.send_bytes(&records.concat()).unwrap();
        let mut statuses = vec![u32::MAX; calls.len()];
        for _ in calls {
            let record = self.receive().unwrap();
            let (xid, at) = rpc::parse_reply(&record).unwrap();
            let at = at.unwrap();
            statuses[(xid - first) as usize] = u32::from_be_bytes(record[at..at + 4].try_into().unwrap());
        }
        statuses
    }
}
