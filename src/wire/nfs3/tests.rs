//! Round trips of every procedure in both directions, the crate's own decoders as a second opinion, and hostile bytes.

use nfs3_types::nfs3 as crates;
use nfs3_types::xdr_codec::Unpack;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::attr as wire_attr;
use super::*;
use crate::base::{Name, Proc, Status, Time};
use crate::storage::Space;
use crate::storage::*;
use crate::wire::record::Received;
use crate::wire::xdr::padding;

fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..max)
}

fn node() -> impl Strategy<Value = Node> {
    bytes(65).prop_map(|bytes| Node::Handle(Handle::new(&bytes).unwrap()))
}

fn name() -> impl Strategy<Value = Name> {
    prop::collection::vec(any::<u8>(), 1..=255).prop_filter_map("a name", |bytes| Name::new(&bytes).ok())
}

fn time() -> impl Strategy<Value = Time> {
    (any::<u32>(), 0_u32..1_000_000_000).prop_map(|(secs, nanos)| Time { secs: secs.into(), nanos })
}

fn set_time() -> impl Strategy<Value = SetTime> {
    prop_oneof![Just(SetTime::Keep), Just(SetTime::Now), time().prop_map(SetTime::At)]
}

fn change() -> impl Strategy<Value = AttrChange> {
    let mode = prop::option::of(0_u32..=0o7777);
    (mode, any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u64>>(), set_time(), set_time()).prop_map(
        |(mode, uid, gid, size, atime, mtime)| AttrChange { mode, uid, gid, size, atime, mtime, masked: None },
    )
}

fn attr() -> impl Strategy<Value = Attr> {
    use Kind::*;
    let kind = prop::sample::select(vec![File, Dir, Block, Char, Symlink, Socket, Fifo]);
    let words = (0_u32..=0o7777, any::<u32>(), any::<u32>(), any::<u32>(), any::<(u32, u32)>());
    (kind, words, any::<[u64; 4]>(), time(), time(), time()).prop_map(
        |(kind, (mode, nlink, uid, gid, rdev), [size, used, fsid, fileid], atime, mtime, ctime)| Attr {
            kind,
            mode,
            nlink,
            uid,
            gid,
            size,
            used,
            rdev,
            fsid,
            fileid,
            atime,
            mtime,
            ctime,
        },
    )
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![Just(How::Unchecked), Just(How::Guarded), any::<u64>().prop_map(How::Exclusive)]
}

fn special() -> impl Strategy<Value = Special> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(a, b)| Special::Char(a, b)),
        any::<(u32, u32)>().prop_map(|(a, b)| Special::Block(a, b)),
        Just(Special::Socket),
        Just(Special::Fifo),
    ]
}

fn stable() -> impl Strategy<Value = Stable> {
    prop::sample::select(vec![Stable::Unstable, Stable::DataSync, Stable::FileSync])
}

/// A call of any procedure, not yet performed. Its borrowed data lives for ever.
fn call() -> impl Strategy<Value = Call<'static>> {
    let data = || bytes(40).prop_map(|data| &*Box::leak(data.into_boxed_slice()));
    let want = prop::sample::select(vec![Want::Names, Want::Attributes]);
    let one_node = (node(), 0..5).prop_map(|(n, which)| match which {
        0 => Call::get_attr(&n),
        1 => Call::read_link(&n),
        2 => Call::fs_stat(&n),
        3 => Call::fs_info(&n),
        _ => Call::path_conf(&n),
    });
    let entry = (node(), name(), 0..3).prop_map(|(d, n, which)| match which {
        0 => Call::lookup(&d, &n),
        1 => Call::remove(&d, &n),
        _ => Call::rmdir(&d, &n),
    });
    Union::new([
        Just(()).prop_map(|()| Call::default()).boxed(),
        one_node.boxed(),
        entry.boxed(),
        (node(), change()).prop_map(|(n, c)| Call::set_attr(&n, c)).boxed(),
        (node(), any::<u32>()).prop_map(|(n, w)| Call::access(&n, w)).boxed(),
        (node(), any::<u64>(), any::<u32>()).prop_map(|(n, o, c)| Call::read(&n, o, c, Vec::new())).boxed(),
        (node(), any::<u64>(), any::<u32>()).prop_map(|(n, o, c)| Call::commit(&n, o, c)).boxed(),
        (node(), any::<u64>(), data(), stable()).prop_map(|(n, o, d, s)| Call::write(&n, o, d, s)).boxed(),
        (node(), name(), how(), change())
            .prop_map(|(d, n, h, c)| {
                let c = if matches!(h, How::Exclusive(_)) { AttrChange::default() } else { c };
                Call::create(&d, &n, h, c)
            })
            .boxed(),
        (node(), name(), change()).prop_map(|(d, n, c)| Call::mkdir(&d, &n, c)).boxed(),
        (node(), name(), data(), change()).prop_map(|(d, n, t, c)| Call::symlink(&d, &n, t, c)).boxed(),
        (node(), name(), special(), change()).prop_map(|(d, n, s, c)| Call::mknod(&d, &n, s, c)).boxed(),
        (node(), name(), node(), name()).prop_map(|(a, b, c, d)| Call::rename(&a, &b, &c, &d)).boxed(),
        (node(), node(), name()).prop_map(|(n, d, name)| Call::link(&n, &d, &name)).boxed(),
        (node(), any::<(u64, u64)>(), want, any::<u32>())
            .prop_map(|(d, (position, verifier), w, max)| {
                Call::read_dir(&d, Cookie { position, verifier, ..Cookie::default() }, w, max)
            })
            .boxed(),
    ])
}

/// Name, file id, cookie, attributes, node.
type Listed = (Name, u64, u64, Option<Attr>, Option<Node>);

/// Outcomes for whatever procedure comes.
#[derive(Clone, Debug)]
struct Outcome {
    attr: Attr,
    maybe: Option<Attr>,
    node: Node,
    words: (u32, u64, bool),
    data: Vec<u8>,
    entries: Vec<Listed>,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let entry = (name(), any::<u64>(), any::<u64>(), prop::option::of(attr()), prop::option::of(node()));
    let entries = prop::collection::vec(entry, 0..5);
    (attr(), prop::option::of(attr()), node(), any::<(u32, u64, bool)>(), bytes(50), entries)
        .prop_map(|(attr, maybe, node, words, data, entries)| Outcome { attr, maybe, node, words, data, entries })
}

/// Performs the call with this outcome.
fn perform(call: &mut Call<'_>, with: &Outcome) {
    let (word, long, flag) = with.words;
    let found = Found { node: with.node.clone(), attr: with.maybe };
    match &mut call.op {
        Op::Null { out } | Op::Remove { out, .. } | Op::RmDir { out, .. } | Op::Rename { out, .. } => *out = Ok(()),
        Op::GetAttr { out, .. } => *out = Ok(with.attr),
        Op::SetAttr { out, .. } | Op::Link { out, .. } => *out = Ok(with.maybe),
        Op::Access { out, .. } | Op::PathConf { out, .. } => *out = Ok(word),
        // A text has a byte, and no NUL.
        Op::ReadLink { out, .. } => *out = Ok(with.data.iter().map(|byte| byte | 1).chain(*b"x").collect()),
        Op::Read { count, buf, attr, out, .. } => {
            *attr = with.maybe;
            *buf = with.data[..with.data.len().min(*count as usize)].to_vec();
            *out = Ok(flag || buf.is_empty()); // nothing is only read at the end
        }
        Op::Write { data, out, stable, .. } => {
            let count = u32::try_from(data.len()).unwrap();
            *out = Ok(Written { count: count.min(1 + word % 50), stable: *stable, verifier: long });
        }
        Op::Lookup { out, .. }
        | Op::Create { out, .. }
        | Op::MkDir { out, .. }
        | Op::Symlink { out, .. }
        | Op::MkNod { out, .. } => *out = Ok(found),
        Op::ReadDir { from, want, bytes_max, out, .. } => {
            *bytes_max = 100_000;
            let plus = *want == Want::Attributes;
            let entry = |(name, fileid, position, attr, node): (Name, u64, u64, Option<Attr>, Option<Node>)| Entry {
                name,
                fileid,
                position,
                node: node.filter(|_| plus),
                attr: attr.filter(|_| plus),
                kind: attr.filter(|_| plus).map(|attr| attr.kind),
            };
            let entries: Vec<_> = with.entries.iter().cloned().map(entry).collect();
            let position = entries.last().map_or(from.position, |entry| entry.position);
            let end = flag || position == from.position;
            let above = entries.first().map(|_| DotDot { fileid: long, position: 2 });
            *out = Ok(Page { above, entries, next: Cookie { position, verifier: long, ..Cookie::default() }, end });
        }
        Op::FsStat { out, .. } => {
            *out = Ok(Space {
                total_bytes: long,
                free_bytes: 1,
                available_bytes: 2,
                total_files: 3,
                free_files: 4,
                available_files: 5,
            });
        }
        Op::FsInfo { out, .. } => {
            let max = word.max(1);
            *out = Ok(Limits {
                read_max: max,
                write_max: max,
                list_max: word,
                name_max: 255,
                size_max: long,
                shape: Shape::SERIAL,
                extras: Default::default(),
                dirs_locked: false,
            });
        }
        Op::Beyond(beyond) => panic!("{} is not NFSv3's", beyond.proc()),
        Op::Commit { out, .. } => *out = Ok(long),
    }
}

fn handle_of(node: &Node) -> Handle {
    match node {
        Node::Handle(handle) => *handle,
        Node::Chain(_) => panic!("only handles here"),
    }
}

/// The arguments as a server receives them.
fn args_of(call: &Call<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let payload = encode_args(call, &|node| Ok(handle_of(node)), &mut out).unwrap().unwrap_or_default().to_vec();
    out.extend_from_slice(&payload);
    out.extend_from_slice(&[0; 3][..padding(payload.len())]);
    out
}

fn results_of(call: &Call<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let payload = encode_results(call, &handle_of, &mut out).unwrap_or_default();
    out.extend_from_slice(payload);
    out.extend_from_slice(&[0; 3][..padding(payload.len())]);
    out
}

fn request(procedure: Proc, args: &[u8]) -> Result<Request<'_>, ArgsError> {
    decode_args(procedure, args, 0, &|handle| Ok(Node::Handle(handle)))
}

/// The same work with a pending outcome.
fn afresh(args: &[u8], procedure: Proc) -> Call<'_> {
    match request(procedure, args).unwrap().asked {
        Asked::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

/// Has the crate's own decoder read the arguments to their last byte: a second opinion on the layout.
fn crate_reads_args(procedure: Proc, args: &[u8]) -> bool {
    fn all<T: Unpack>(args: &[u8]) -> bool {
        T::unpack(&mut &*args).is_ok_and(|(_, used)| used == args.len())
    }
    match procedure {
        Proc::Null => args.is_empty(),
        Proc::GetAttr => all::<crates::GETATTR3args>(args),
        Proc::SetAttr => all::<crates::SETATTR3args>(args),
        Proc::Lookup => all::<crates::LOOKUP3args<'static>>(args),
        Proc::Access => all::<crates::ACCESS3args>(args),
        Proc::ReadLink => all::<crates::READLINK3args>(args),
        Proc::Read => all::<crates::READ3args>(args),
        Proc::Write => all::<crates::WRITE3args<'static>>(args),
        Proc::Create => all::<crates::CREATE3args<'static>>(args),
        Proc::MkDir => all::<crates::MKDIR3args<'static>>(args),
        Proc::Symlink => all::<crates::SYMLINK3args<'static>>(args),
        Proc::MkNod => all::<crates::MKNOD3args<'static>>(args),
        Proc::Remove => all::<crates::REMOVE3args<'static>>(args),
        Proc::RmDir => all::<crates::RMDIR3args<'static>>(args),
        Proc::Rename => all::<crates::RENAME3args<'static, 'static>>(args),
        Proc::Link => all::<crates::LINK3args<'static>>(args),
        Proc::ReadDir => all::<crates::READDIR3args>(args),
        Proc::ReadDirPlus => all::<crates::READDIRPLUS3args>(args),
        Proc::FsStat => all::<crates::FSSTAT3args>(args),
        Proc::FsInfo => all::<crates::FSINFO3args>(args),
        Proc::PathConf => all::<crates::PATHCONF3args>(args),
        Proc::Commit => all::<crates::COMMIT3args>(args),
        beyond => panic!("{beyond} is not NFSv3's"),
    }
}

/// The same for results.
fn crate_reads_results(procedure: Proc, results: &[u8]) -> bool {
    fn all<T: Unpack>(results: &[u8]) -> bool {
        T::unpack(&mut &*results).is_ok_and(|(_, used)| used == results.len())
    }
    match procedure {
        Proc::Null => results.is_empty(),
        Proc::GetAttr => all::<crates::GETATTR3res>(results),
        Proc::SetAttr => all::<crates::SETATTR3res>(results),
        Proc::Lookup => all::<crates::LOOKUP3res>(results),
        Proc::Access => all::<crates::ACCESS3res>(results),
        Proc::ReadLink => all::<crates::READLINK3res<'static>>(results),
        Proc::Read => all::<crates::READ3res<'static>>(results),
        Proc::Write => all::<crates::WRITE3res>(results),
        Proc::Create => all::<crates::CREATE3res>(results),
        Proc::MkDir => all::<crates::MKDIR3res>(results),
        Proc::Symlink => all::<crates::SYMLINK3res>(results),
        Proc::MkNod => all::<crates::MKNOD3res>(results),
        Proc::Remove => all::<crates::REMOVE3res>(results),
        Proc::RmDir => all::<crates::RMDIR3res>(results),
        Proc::Rename => all::<crates::RENAME3res>(results),
        Proc::Link => all::<crates::LINK3res>(results),
        Proc::ReadDir => all::<crates::READDIR3res<'static>>(results),
        Proc::ReadDirPlus => all::<crates::READDIRPLUS3res<'static>>(results),
        Proc::FsStat => all::<crates::FSSTAT3res>(results),
        Proc::FsInfo => all::<crates::FSINFO3res>(results),
        Proc::PathConf => all::<crates::PATHCONF3res>(results),
        Proc::Commit => all::<crates::COMMIT3res>(results),
        beyond => panic!("{beyond} is not NFSv3's"),
    }
}

fn by_handle(_: Option<(&Node, &Name)>, handle: Handle) -> Node {
    Node::Handle(handle)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn arguments_round_trip(call in call()) {
        let args = args_of(&call);
        prop_assert_eq!(args.len() % 4, 0);
        prop_assert!(crate_reads_args(call.proc(), &args), "{:?}", call);
        let back = afresh(&args, call.proc());
        prop_assert_eq!(format!("{back:?}"), format!("{call:?}"));
    }

    #[test]
    fn results_round_trip(mut call in call(), with in outcome()) {
        perform(&mut call, &with);
        let args = args_of(&call);
        let results = results_of(&call);
        prop_assert!(crate_reads_results(call.proc(), &results), "{:?}", call);
        let mut back = afresh(&args, call.proc());
        prop_assert_eq!(decode_results(&mut back, results, 0, &by_handle), Decoded::Done);
        prop_assert_eq!(format!("{back:?}"), format!("{call:?}"));
    }

    #[test]
    fn statuses_round_trip(mut call in call(), number in prop::sample::select(vec![1_u32, 2, 17, 70, 10003, 10008])) {
        prop_assume!(call.proc() != Proc::Null);
        call.fail(Status::from_nfs(number));
        let results = results_of(&call);
        prop_assert!(crate_reads_results(call.proc(), &results));
        let args = args_of(&call);
        let mut back = afresh(&args, call.proc());
        prop_assert_eq!(decode_results(&mut back, results, 0, &by_handle), Decoded::Done);
        prop_assert_eq!(back.status(), call.status());
    }

    #[test]
    fn arbitrary_arguments_never_panic(procedure in 0_u32..22, args in bytes(300)) {
        let _ = request(Proc::from_number(procedure).unwrap(), &args);
    }

    #[test]
    fn cut_and_changed_messages_never_panic(
        mut call in call(), with in outcome(), cut in any::<prop::sample::Index>(), spoilt in any::<(prop::sample::Index, u32)>(),
    ) {
        perform(&mut call, &with);
        for (message, is_args) in [(args_of(&call), true), (results_of(&call), false)] {
            if message.is_empty() {
                continue;
            }
            let mut changed = message.clone();
            let at = spoilt.0.index(message.len() / 4) * 4;
            changed[at..at + 4].copy_from_slice(&spoilt.1.to_be_bytes());
            let cut = message[..cut.index(message.len())].to_vec();
            for bytes in [cut, changed] {
                if is_args {
                    let _ = request(call.proc(), &bytes);
                } else {
                    let args = args_of(&call);
                    let mut back = afresh(&args, call.proc());
                    let len = bytes.len();
                    let done = decode_results(&mut back, bytes, 0, &by_handle);
                    prop_assert!(done == Decoded::NeedsLookup || back.status() != Err(Status::Pending));
                    if let Op::Read { buf, count, .. } = &back.op {
                        prop_assert!(buf.len() <= *count as usize && buf.len() <= len);
                    }
                }
            }
        }
    }
}

/// A payload that was received apart is the call's buffer as it is, whatever its length; one that is cut elsewhere is joined.
#[test]
fn a_payload_that_lies_apart_is_not_moved() {
    for len in [1_usize, 2, 3, 4, 100, 4096] {
        let mut served = Call::read(&root(), 0, len as u32, Vec::new());
        let Op::Read { buf, out, .. } = &mut served.op else { panic!() };
        (*buf, *out) = ((0..len).map(|at| at as u8).collect(), Ok(false));
        let (data, results) = (buf.clone(), results_of(&served));
        let payload = results.len() - len - padding(len);
        for at in 0..=results.len() {
            let received = Received { head: results[..at].to_vec(), tail: results[at..].to_vec() };
            let place = received.tail.as_ptr();
            let mut call = Call::read(&root(), 0, len as u32, Vec::new());
            assert_eq!(decode_results(&mut call, received, 0, &by_handle), Decoded::Done);
            let Op::Read { buf, out, .. } = &call.op else { panic!() };
            assert_eq!((buf, *out), (&data, Ok(false)), "{len} bytes, cut at {at}");
            assert_eq!(buf.as_ptr() == place, at == payload, "{len} bytes, cut at {at}");
        }
    }
}

fn root() -> Node {
    Node::Handle(Handle::new(b"root").unwrap())
}

#[test]
fn a_made_object_without_handle_needs_a_lookup() {
    let name = Name::new(b"x").unwrap();
    let mut call = Call::mkdir(&root(), &name, AttrChange::default());
    let results = vec![0; 4 + 4 + 4 + 8]; // OK, no handle, no attributes, empty wcc
    assert_eq!(decode_results(&mut call, results, 0, &by_handle), Decoded::NeedsLookup);
    assert_eq!(call.status(), Err(Status::Pending));
}

#[test]
fn an_unknown_status_is_a_failure_all_the_same() {
    let mut call = Call::get_attr(&root());
    assert_eq!(decode_results(&mut call, vec![0, 1, 0, 0], 0, &by_handle), Decoded::Done);
    assert_eq!(call.status(), Err(Status::Protocol));
}

#[test]
fn more_data_than_asked_for_is_cut_and_is_not_the_end() {
    let mut served = Call::read(&root(), 0, 100, Vec::new());
    let Op::Read { buf, out, .. } = &mut served.op else { panic!() };
    (*buf, *out) = (vec![7; 100], Ok(true));
    let mut call = Call::read(&root(), 0, 60, Vec::new());
    assert_eq!(decode_results(&mut call, results_of(&served), 0, &by_handle), Decoded::Done);
    let Op::Read { buf, out, .. } = &call.op else { panic!() };
    assert_eq!((buf, *out), (&vec![7; 60], Ok(false)));
}

#[test]
fn listings_are_cut_at_their_size_and_leave_out_the_dots() {
    let mut call = Call::read_dir(&root(), Cookie::default(), Want::Names, 200);
    let entries = (0..20)
        .map(|i| Entry {
            name: Name::new(format!("file{i:02}").as_bytes()).unwrap(),
            fileid: i,
            position: i + 1,
            node: None,
            attr: None,
            kind: None,
        })
        .collect();
    let Op::ReadDir { out, .. } = &mut call.op else { panic!() };
    *out =
        Ok(Page { above: None, entries, next: Cookie { position: 20, verifier: 9, ..Cookie::default() }, end: true });
    let results = results_of(&call);
    assert!((150..=204).contains(&results.len()), "{}", results.len());
    let mut back = Call::read_dir(&root(), Cookie::default(), Want::Names, 200);
    assert_eq!(decode_results(&mut back, results.clone(), 0, &by_handle), Decoded::Done);
    let Op::ReadDir { out: Ok(page), .. } = &back.op else { panic!() };
    assert_eq!((page.entries.len(), page.next.position, page.end), (5, 5, false));

    let dotted: Vec<u8> = String::from_utf8_lossy(&results).replace("file00", "..\0\0\0\0").into_bytes();
    let mut dotted = dotted;
    let at = dotted.windows(2).position(|pair| pair == b"..").unwrap();
    dotted[at - 1] = 2;
    dotted.drain(at + 4..at + 8);
    assert_eq!(decode_results(&mut back, dotted, 0, &by_handle), Decoded::Done);
    let Op::ReadDir { out: Ok(page), .. } = &back.op else { panic!() };
    assert_eq!((page.entries.len(), page.next.position), (4, 5));

    let Op::ReadDir { bytes_max, .. } = &mut call.op else { panic!() };
    *bytes_max = 30;
    assert_eq!(results_of(&call)[..4], Status::TooSmall.to_nfs().to_be_bytes());
}

#[test]
fn names_that_lead_elsewhere_are_answered_with_a_status() {
    let root = Handle::new(b"root").unwrap();
    let args = |name: &[u8]| {
        let mut out = Vec::new();
        wire_attr::put_handle(&mut out, &root);
        crate::wire::xdr::put_opaque(&mut out, name);
        wire_attr::put_change(&mut out, &AttrChange::default());
        out
    };
    for (name, status) in [
        (&b"a/b"[..], Status::Inval),
        (b"", Status::Inval),
        (b"a\0", Status::Inval),
        (b"..", Status::Exist),
        (&[b'x'; 256], Status::NameTooLong),
    ] {
        assert_eq!(request(Proc::MkDir, &args(name)).unwrap_err(), ArgsError::Status(status));
    }
    assert!(matches!(request(Proc::Lookup, &args(b".")).unwrap().asked, Asked::LookupDot(_)));
    assert!(matches!(request(Proc::Lookup, &args(b"..")).unwrap().asked, Asked::LookupDotDot(_)));
    let mut long = Vec::new();
    crate::wire::xdr::put_opaque(&mut long, &[1; 65]);
    assert_eq!(request(Proc::GetAttr, &long).unwrap_err(), ArgsError::Status(Status::BadHandle));
    assert_eq!(request(Proc::GetAttr, &long[..20]).unwrap_err(), ArgsError::Garbage);
}
