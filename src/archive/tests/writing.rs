use proptest::prelude::*;

use super::*;
use crate::archive::write::{self, Format, Unfit, padding};
use crate::base::Time;

const FORMATS: [Format; 3] = [Format::Ustar, Format::Gnu, Format::Pax];

fn blocks(member: &Member, format: Format) -> Result<Vec<u8>, Unfit> {
    let mut out = b"before".to_vec();
    let written = write::header(member, format, false, &mut out);
    assert!(out.starts_with(b"before") && (written.is_ok() || out.len() == 6));
    written.map(|()| out.split_off(6))
}

/// An archive of one member, whose data is `x`s, and another behind it.
fn archive(member: &Member, format: Format) -> Result<Vec<u8>, Unfit> {
    let mut bytes = blocks(member, format)?;
    let stored = if member.kind == MemberKind::File { member.stored as usize } else { 0 };
    bytes.extend(vec![b'x'; stored]);
    bytes.extend(vec![0; padding(stored as u64)]);
    assert_eq!(bytes.len() % 512, 0);
    bytes.extend(entry("behind", b'0', b"1"));
    let end = write::end(bytes.len() as u64, write::RECORD_BYTES);
    assert!(end.len() >= 1024 && (bytes.len() + end.len()).is_multiple_of(10240));
    Ok([bytes, end].concat())
}

/// What the format keeps of the member.
fn kept(member: &Member, format: Format) -> Member {
    let mut kept = member.clone();
    if format != Format::Pax {
        kept.mtime.nanos = 0;
        for name in [&mut kept.uname, &mut kept.gname] {
            if name.len() > 31 {
                name.clear();
            }
        }
    }
    kept
}

fn check(member: &Member, format: Format) -> Result<(), Unfit> {
    let seen = read(&archive(member, format)?);
    assert_eq!((&seen.errors[..], &seen.warnings[..]), (&[][..], &[][..]), "{format:?} {member:?}");
    assert_eq!(seen.members[0].0, kept(member, format), "{format:?}");
    assert_eq!(seen.members[0].1, vec![b'x'; member.stored as usize]);
    assert_eq!((seen.members.len(), &seen.members[1].0.path[..]), (2, &b"behind"[..]));
    Ok(())
}

fn named(path: &[u8]) -> Member {
    Member { path: path.to_vec(), mode: 0o644, ..Member::default() }
}

/// GNU tar's headers, made again from what was read of them, byte for byte. See data/make.
#[test]
fn headers_are_gnu_tars_byte_for_byte() {
    let gnu = (&include_bytes!("data/gnu.tar.gz")[..], Format::Gnu, 20);
    let ustar = (&include_bytes!("data/ustar.tar.gz")[..], Format::Ustar, 14);
    for (packed, format, members) in [gnu, ustar] {
        let mut bytes = Vec::new();
        flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        let mut archive = Archive::new(file(&bytes), Options::default());
        let mut count = 0;
        let mut end = 0;
        while let Some(member) = archive.next().unwrap() {
            let (from, to) = (archive.offset() as usize, archive.stored_at().unwrap() as usize);
            assert_eq!(from, end, "{member:?}");
            let made = blocks(&member, format).unwrap();
            assert!(made == bytes[from..to], "{format:?} {member:?}: {:?}", differing(&made, &bytes[from..to]));
            end = to + member.stored as usize + padding(member.stored);
            count += 1;
        }
        assert_eq!(count, members);
        assert_eq!(bytes[end..], write::end(end as u64, write::RECORD_BYTES));
    }
}

/// Where two runs of bytes differ, and how.
fn differing<'a>(a: &'a [u8], b: &'a [u8]) -> Option<(usize, &'a [u8], &'a [u8])> {
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    Some((at, &a[at..a.len().min(at + 12)], &b[at..b.len().min(at + 12)]))
}

#[test]
fn what_ustar_and_gnu_cannot_say_is_unfit_in_gnu_tars_words() {
    let text = |member: &Member, format| blocks(member, format).unwrap_err().to_string();
    let ustar = |member: &Member| text(member, Format::Ustar);
    let large = Member { stored: 8 << 30, size: 8 << 30, ..named(b"f") };
    assert_eq!(ustar(&large), "value 8589934592 out of off_t range 0..8589934591");
    assert_eq!(ustar(&Member { uid: 2_097_152, ..named(b"f") }), "value 2097152 out of uid_t range 0..2097151");
    assert_eq!(ustar(&Member { gid: u32::MAX, ..named(b"f") }), "value 4294967295 out of gid_t range 0..2097151");
    let early = Member { mtime: Time { secs: -6, nanos: 5 }, ..named(b"f") };
    assert_eq!(ustar(&early), "value -6 out of time_t range 0..8589934591");
    assert_eq!(ustar(&named(&[b'n'; 101])), "file name is too long (cannot be split); not dumped");
    assert_eq!(ustar(&named(&[b'n'; 257])), "file name is too long (max 256); not dumped");
    let link = Member { kind: MemberKind::Symlink, link: vec![b'l'; 101], ..named(b"s") };
    assert_eq!(ustar(&link), "link name is too long; not dumped");
    let sparse = Member { size: 5, segments: Some(Vec::new()), ..named(b"s") };
    assert_eq!(ustar(&sparse), "a sparse file cannot be in an archive of this format; not dumped");
    for format in [Format::Ustar, Format::Gnu] {
        let xattr = Member { xattrs: vec![(b"user.x".to_vec(), b"1".to_vec())], ..named(b"f") };
        assert!(text(&xattr, format).starts_with("extended attributes cannot be"));
        let acl = Member { acl_default: Some(b"user::rwx".to_vec()), kind: MemberKind::Dir, ..named(b"d/") };
        assert!(text(&acl, format).starts_with("ACLs cannot be"));
    }
    for format in FORMATS {
        assert!(text(&named(b""), format).starts_with("the name is empty"));
        assert!(text(&named(b"f/"), format).contains("ends with a slash"));
        assert!(text(&named(b"a\0b"), format).contains("NUL"));
        let huge = Member { stored: u64::MAX, size: u64::MAX, ..named(b"f") };
        assert!(blocks(&huge, format).is_err());
        let torn = Member { size: 9, stored: 3, segments: Some(vec![Segment { offset: 0, len: 2 }]), ..named(b"f") };
        assert!(blocks(&torn, format).is_err());
    }
    assert!(text(&named(&vec![b'n'; 1 << 20]), Format::Gnu).contains("more than"));
    assert!(text(&named(&vec![b'n'; 16 << 20]), Format::Pax).contains("more than"));
}

/// An extended header only where something needs it.
#[test]
fn pax_is_ustar_where_ustar_is_enough() {
    let path = [&[b'd'; 150][..], b"/", &[b'n'; 100]].concat();
    for member in [named(b"f"), named(&path), named(b"\xff\xfe"), Member { uid: 2_097_151, ..named(b"f") }] {
        assert_eq!(blocks(&member, Format::Pax), blocks(&member, Format::Ustar));
    }
    let needs: [(&str, Member); 9] = [
        ("path", named(&[b'n'; 101])),
        ("linkpath", Member { kind: MemberKind::HardLink, link: vec![b'l'; 101], ..named(b"h") }),
        ("uid", Member { uid: 2_097_152, ..named(b"f") }),
        ("gid", Member { gid: 2_097_152, ..named(b"f") }),
        ("size", Member { stored: 1 << 33, size: 1 << 33, ..named(b"f") }),
        ("mtime", Member { mtime: Time { secs: 1, nanos: 500_000_000 }, ..named(b"f") }),
        ("uname", Member { uname: vec![b'u'; 32], ..named(b"f") }),
        ("SCHILY.devminor", Member { kind: MemberKind::Char, dev: (1, 1 << 21), ..named(b"c") }),
        ("SCHILY.xattr.user.x", Member { xattrs: vec![(b"user.x".to_vec(), b"1".to_vec())], ..named(b"f") }),
    ];
    for (key, member) in needs {
        let bytes = blocks(&member, Format::Pax).unwrap();
        let records = String::from_utf8_lossy(&bytes[512..1024]).into_owned();
        assert_eq!((bytes[156], bytes.len()), (b'x', 1536), "{key}");
        assert!(records.contains(&format!(" {key}=")) && records.matches('\n').count() == 1, "{records}");
    }
    let bytes = blocks(&named(&[b'\xff'; 101]), Format::Pax).unwrap();
    assert!(bytes[512..].starts_with(b"21 hdrcharset=BINARY\n"));
}

#[test]
fn names_at_the_edges_of_their_fields() {
    for len in [99, 100, 101, 154, 155, 156, 157, 255, 256, 257, 5000] {
        for slash in [0, 1, 50, 99, 100, 101, 154, 155, 156, 200].into_iter().filter(|&at| at < len) {
            let mut path = vec![b'n'; len];
            path[slash] = b'/';
            let is_dir = slash + 1 == len;
            let kind = if is_dir { MemberKind::Dir } else { MemberKind::File };
            for format in FORMATS {
                let checked = check(&Member { kind, ..named(&path) }, format);
                assert!(checked.is_ok() || format == Format::Ustar && len > 100, "{len} {slash} {checked:?}");
            }
        }
    }
    let dir = Member { kind: MemberKind::Dir, ..named(b"d") };
    for format in FORMATS {
        assert_eq!(read(&archive(&dir, format).unwrap()).members[0].0.path, b"d/");
    }
}

#[test]
fn a_label_is_passed_over_by_readers() {
    let time = Time { secs: 5, nanos: 0 };
    for format in [Format::Gnu, Format::Pax] {
        let label = write::label(b"backup", time, format).unwrap();
        let seen = read(&[&label[..], &entry("a", b'0', b"1"), &END].concat());
        assert_eq!((seen.paths(), &seen.warnings[..]), (vec!["a"], &[][..]));
        assert!(write::label(&[b'l'; 100], time, format).is_err() && write::label(b"a\0", time, format).is_err());
    }
    assert!(write::label(b"backup", time, Format::Ustar).is_err());
}

#[test]
fn ends_fill_the_record() {
    for (position, record, bytes) in
        [(0, 10240, 10240), (9216, 10240, 1024), (9728, 10240, 10752), (512, 512, 1024), (0, 0, 1024)]
    {
        assert_eq!(write::end(position, record), vec![0; bytes], "{position}");
    }
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![8 => Just(b'n'), 2 => Just(b'/'), 1 => 1..=255u8];
    let len = prop_oneof![1..20usize, 90..110usize, 150..160usize, 250..260usize, 1..5000usize];
    len.prop_flat_map(move |len| prop::collection::vec(byte.clone(), len)).prop_map(|mut name| {
        while name.ends_with(b"/") {
            name.pop();
        }
        if name.is_empty() { vec![b'n'] } else { name }
    })
}

fn number(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>()).prop_map(move |(used, value)| if used == 0 { 0 } else { value >> (64 - used) })
}

fn time() -> impl Strategy<Value = Time> {
    let nanos = prop_oneof![Just(0u32), 0..1_000_000_000u32, (0..10u32).prop_map(|n| n * 100_000_000)];
    (number(63), any::<bool>(), nanos).prop_map(|(secs, negative, nanos)| {
        let secs = secs as i64;
        Time { secs: if negative { -secs } else { secs }, nanos }
    })
}

fn xattrs() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let names = prop_oneof![Just(b"security.selinux".to_vec()), prop::collection::vec(1..=255u8, 1..30)];
    let values =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..2000), Just(b"system_u:object_r:etc_t:s0\0".to_vec())];
    let some = prop::collection::btree_map(names, values, 0..5).prop_map(|xattrs| xattrs.into_iter().collect());
    prop_oneof![Just(Vec::new()), some]
}

fn segments() -> impl Strategy<Value = Option<(Vec<Segment>, u64)>> {
    let runs = prop::collection::vec((number(40), 1..60u64), 0..60);
    prop::option::of((runs, number(40)).prop_map(|(runs, tail)| {
        let mut end = 0;
        let segments = runs.into_iter().enumerate().map(|(i, (hole, len))| {
            let offset = end + if i == 0 { hole } else { hole.max(1) };
            end = offset + len;
            Segment { offset, len }
        });
        let segments: Vec<Segment> = segments.collect();
        (segments, end + tail)
    }))
}

fn member() -> impl Strategy<Value = Member> {
    use MemberKind::*;
    let kinds = prop_oneof![4 => Just(File), 1 => Just(HardLink), 1 => Just(Symlink), 1 => Just(Dir), 1 => Just(Fifo), 1 => Just(Char), 1 => Just(Block)];
    let owner = || prop::collection::vec(1..=255u8, 0..40);
    let names = (name(), name(), owner(), owner());
    let numbers = (number(12), number(32), number(32), number(32), number(32));
    let acl = || prop::option::weighted(0.2, prop::collection::vec(any::<u8>(), 1..100));
    (kinds, names, numbers, time(), 0..2000u64, segments(), (xattrs(), acl(), acl())).prop_map(
        |(kind, (path, link, uname, gname), numbers, mtime, stored, segments, (xattrs, acl_access, acl_default))| {
            let (mode, uid, gid, major, minor) = numbers;
            let mut member =
                Member { path, kind, uname, gname, mtime, xattrs, acl_access, acl_default, ..Member::default() };
            (member.mode, member.uid, member.gid) = (mode as u32, uid as u32, gid as u32);
            match kind {
                File => match segments {
                    Some((segments, size)) => {
                        (member.stored, member.size) = (segments.iter().map(|s| s.len).sum(), size);
                        member.segments = Some(segments);
                    }
                    None => (member.stored, member.size) = (stored, stored),
                },
                HardLink | Symlink => member.link = link,
                Dir => member.path.push(b'/'),
                Char | Block => member.dev = (major as u32, minor as u32),
                Fifo => {}
            }
            member
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written is read back equal, or refused; pax and, but for attributes, GNU refuse nothing here.
    #[test]
    fn members_come_back(member in member()) {
        let bare = Member { xattrs: Vec::new(), acl_access: None, acl_default: None, ..member.clone() };
        prop_assert_eq!(check(&member, Format::Pax), Ok(()));
        prop_assert_eq!(check(&bare, Format::Gnu), Ok(()));
        let _ = check(&bare, Format::Ustar);
        prop_assert_eq!(blocks(&member, Format::Pax), blocks(&member, Format::Pax));
    }
}
