use super::*;
use crate::base::Time;

#[test]
fn kinds_and_fields_of_ustar_and_gnu() {
    for gnu in [false, true] {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, path) in [(0, "f"), (b'0', "g"), (b'7', "c"), (b'5', "d/"), (b'6', "p"), (b'3', "c3"), (b'4', "b4")]
        {
            let mut header = if gnu { Header::new_gnu() } else { Header::new_ustar() };
            header.set_path(path).unwrap();
            header.set_entry_type(EntryType::new(kind));
            header.set_mode(0o104_755);
            header.set_uid(12);
            header.set_gid(0o7777777);
            header.set_mtime(77);
            header.set_username("anna").unwrap();
            header.set_groupname("staff").unwrap();
            header.set_device_major(8).unwrap();
            header.set_device_minor(17).unwrap();
            header.set_size(0);
            header.set_cksum();
            builder.append(&header, &[][..]).unwrap();
        }
        let mut header = Header::new_gnu();
        header.set_size(0);
        header.set_entry_type(EntryType::Link);
        builder.append_link(&mut header.clone(), "hard", "f").unwrap();
        header.set_entry_type(EntryType::Symlink);
        builder.append_link(&mut header, "soft", "../x").unwrap();
        let seen = read(&builder.into_inner().unwrap());
        assert_eq!(seen.errors, [""; 0]);
        use MemberKind::*;
        let kinds: Vec<_> = seen.members.iter().map(|(m, _)| m.kind).collect();
        assert_eq!(kinds, [File, File, File, Dir, Fifo, Char, Block, HardLink, Symlink]);
        let member = &seen.members[0].0;
        assert_eq!((member.mode, member.uid, member.gid), (0o4755, 12, 0o7777777));
        assert_eq!((&member.uname[..], &member.gname[..]), (&b"anna"[..], &b"staff"[..]));
        assert_eq!((member.mtime, member.dev), (Time { secs: 77, nanos: 0 }, (0, 0)));
        assert_eq!((seen.members[5].0.dev, seen.members[6].0.dev), ((8, 17), (8, 17)));
        assert_eq!((&seen.members[7].0.link[..], &seen.members[8].0.link[..]), (&b"f"[..], &b"../x"[..]));
    }
}

#[test]
fn long_names_of_gnu_and_the_prefix_of_ustar() {
    let long = "a/".repeat(2500) + "end";
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(3);
    builder.append_data(&mut header, &long, &b"abc"[..]).unwrap();
    header.set_size(0);
    header.set_entry_type(EntryType::Symlink);
    builder.append_link(&mut header, "l", &long).unwrap();
    let seen = read(&builder.into_inner().unwrap());
    assert_eq!((seen.paths(), &seen.members[0].1[..]), (vec![&long[..], "l"], &b"abc"[..]));
    assert_eq!(seen.members[1].0.link, long.as_bytes());

    // The prefix counts whatever the version; a full name field has no NUL.
    let full = "n".repeat(100);
    let block = changed(self::header(&full, b'0', 0), |b| {
        b[345..348].copy_from_slice(b"dir");
        b[263..265].copy_from_slice(b"\0\0");
    });
    assert_eq!(read(&[&block, &END[..]].concat()).only().path, format!("dir/{full}").as_bytes());
}

#[test]
fn a_v7_header_has_neither_prefix_nor_names_and_a_slash_makes_a_directory() {
    let old = |path: &str, data: &[u8]| {
        let block = changed(header(path, 0, data.len() as u64), |b| b[257..].fill(b'x'));
        [block, padded(data)].concat()
    };
    let seen = read(&[old("d/", b""), old("f", b"data"), END.to_vec()].concat());
    assert_eq!((seen.paths(), &seen.errors[..]), (vec!["d/", "f"], &[][..]));
    let (dir, file) = (&seen.members[0], &seen.members[1]);
    assert_eq!((dir.0.kind, dir.0.stored, &dir.1[..]), (MemberKind::Dir, 0, &b""[..]));
    assert_eq!((file.0.kind, &file.0.uname[..], &file.1[..]), (MemberKind::File, &b""[..], &b"data"[..]));
}

/// As of GNU tar that extracts, and bsdtar: the next header follows at once, and where data does, it is no header.
#[test]
fn a_directory_by_its_slash_has_no_data_whatever_size_it_says() {
    for kind in [0, b'0', b'7'] {
        let (first, second) = (header("owo1/", kind, 1), header("owo2/", kind, 0));
        let archive = [&first.as_bytes()[..], second.as_bytes(), &entry("f", b'0', b"data"), &END].concat();
        let seen = read(&archive);
        assert_eq!((seen.paths(), &seen.errors[..]), (vec!["owo1/", "owo2/", "f"], &[][..]), "{kind}");
        assert_eq!((seen.members[0].0.kind, seen.members[0].0.size), (MemberKind::Dir, 0), "{kind}");
        assert!(seen.warnings.is_empty(), "{kind}");
        let seen = read(&[entry("d/", kind, b"no use"), entry("f", b'0', b"data"), END.to_vec()].concat());
        assert_eq!((seen.paths(), seen.errors.len()), (vec!["d/", "f"], 1), "{kind}");
        assert!(seen.errors[0].contains("bad checksum"), "{:?}", seen.errors);
    }
}

#[test]
fn a_size_of_what_has_no_data_is_passed_over_as_gnu_tar_does() {
    for kind in b'1'..=b'6' {
        let block = header("x", kind, 700);
        let seen = read(&[block.as_bytes(), &entry("y", b'0', b"data")[..], &END].concat());
        assert_eq!((seen.paths(), &seen.errors[..]), (vec!["x", "y"], &[][..]), "{}", kind as char);
        assert_eq!((seen.members[0].0.stored, seen.members[0].0.size), (0, 0));
    }
}

#[test]
fn rare_types() {
    let archive = |kind: u8| [entry("x", kind, b"data"), entry("y", b'0', b"more"), END.to_vec()].concat();
    let seen = read(&archive(b'V'));
    assert_eq!((seen.paths(), &seen.warnings[..]), (vec!["y"], &[][..]));
    let seen = read(&archive(b'D'));
    assert_eq!(
        (seen.members[0].0.kind, &seen.members[0].1[..], seen.paths()),
        (MemberKind::Dir, &b""[..], vec!["x", "y"])
    );
    assert_eq!(seen.warnings.len(), 1);
    let seen = read(&archive(b'Q'));
    assert_eq!(
        (seen.members[0].0.kind, &seen.members[0].1[..], seen.paths()),
        (MemberKind::File, &b"data"[..], vec!["x", "y"])
    );
    assert_eq!(seen.warnings, ["x: Unknown file type 'Q', taken as a normal file"]);
    let seen = read(&archive(b'M'));
    assert_eq!((seen.paths(), seen.errors.len()), (vec!["y"], 1));
    assert!(seen.errors[0].starts_with("x: 'x' is continued from another volume"), "{:?}", seen.errors);
}

#[test]
fn numbers() {
    let set = |from: usize, bytes: &[u8]| {
        let block = changed(header("x", b'0', 0), |b| b[from..from + bytes.len()].copy_from_slice(bytes));
        read(&[&block, &END[..]].concat())
    };
    // Base-256: -1 second; 2^35 seconds.
    assert_eq!(set(136, &[0xff; 12]).only().mtime, Time { secs: -1, nanos: 0 });
    assert_eq!(set(136, b"\x80\0\0\0\0\0\0\x08\0\0\0\0").only().mtime.secs, 1 << 35);
    assert_eq!(set(108, b"\x80\0\0\0\xff\xff\xff\xff").only().uid, u32::MAX);
    let seen = set(108, b"\x80\0\0\x01\0\0\0\0");
    assert_eq!(seen.members[0].0.uid, 65534);
    assert_eq!(seen.warnings, ["x: uid 4294967296 is outside 32 bits; 65534 (nobody) is taken"]);
    assert_eq!(set(108, b"    17  ").only().uid, 0o17);
    assert_eq!(set(108, &[0; 8]).members[0].0.uid, 0);
    let seen = set(100, b"rwxrwxrw");
    assert_eq!((seen.members[0].0.mode, &seen.warnings[..]), (0, &["x: no number in the mode field".to_string()][..]));
    for (size, reason) in [
        (&b"            "[..], "blanks"),
        (b"12345678901z", "no number"),
        (&[0xff; 12], "out of range"),
        (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", "out of range"),
    ] {
        let seen = set(124, size);
        assert_eq!(seen.errors, ["This does not look like a tar archive"], "{reason}");
        let second = changed(header("x", b'0', 0), |b| b[124..136].copy_from_slice(size));
        let seen = read(&[&entry("a", b'0', b"1")[..], &second, &entry("z", b'0', b"2"), &END].concat());
        assert_eq!(seen.paths(), ["a", "z"]);
        assert!(seen.errors[0].contains(reason) && seen.errors[0].ends_with("byte 1024"), "{:?}", seen.errors);
    }
}

#[test]
fn a_signed_checksum_counts() {
    let mut block = *header("x", b'0', 0).as_bytes();
    block[0] = 0xe9;
    let sum: i32 =
        block.iter().enumerate().map(|(i, &b)| if (148..156).contains(&i) { 32 } else { i32::from(b as i8) }).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(read(&[&block[..], &END].concat()).only().path, [0xe9]);
}

#[test]
fn pax_records_override_the_header() {
    let all = [
        ("path", "new\nname"),
        ("linkpath", "ignored for a file"),
        ("size", "4"),
        ("uid", "3000000"),
        ("gid", "3000001"),
        ("uname", "\u{e9}va"),
        ("gname", "g"),
        ("mtime", "-1.25"),
        ("hdrcharset", "BINARY"),
        ("SCHILY.xattr.user.x", "a=b\nc"),
        ("comment", "12 path=evil\n"),
    ];
    let empty = header("old", b'0', 0);
    let seen = read(&[&pax(b'x', &all)[..], empty.as_bytes(), &padded(b"data"), &entry("z", b'0', b""), &END].concat());
    assert_eq!((seen.paths(), &seen.errors[..], &seen.warnings[..]), (vec!["new\nname", "z"], &[][..], &[][..]));
    let (member, data) = &seen.members[0];
    assert_eq!((member.uid, member.gid, &data[..], &member.link[..]), (3_000_000, 3_000_001, &b"data"[..], &b""[..]));
    assert_eq!((&member.uname[..], &member.gname[..]), ("\u{e9}va".as_bytes(), &b"g"[..]));
    assert_eq!(member.mtime, Time { secs: -2, nanos: 750_000_000 });
    assert_eq!(seen.members[1].0.uid, 1000);
}

#[test]
fn pax_times() {
    for (text, secs, nanos) in [
        ("0", 0, 0),
        ("1.5", 1, 500_000_000),
        ("1.1234567899", 1, 123_456_789),
        ("-0.5", -1, 500_000_000),
        ("-3", -3, 0),
        ("-1.9999999999", -2, 0),
        ("9223372036854775807.9", i64::MAX, 900_000_000),
        ("-9223372036854775807.9", i64::MIN, 100_000_000),
    ] {
        let archive = [&pax(b'x', &[("mtime", text)])[..], &entry("x", b'0', b""), &END].concat();
        assert_eq!(read(&archive).only().mtime, Time { secs, nanos }, "{text}");
    }
    for text in ["abc", "-", "1.2.3", "--1", "9223372036854775808", "1e5"] {
        let seen = read(&[&pax(b'x', &[("mtime", text)])[..], &entry("x", b'0', b""), &END].concat());
        assert_eq!((seen.members[0].0.mtime.secs, seen.warnings.len()), (1_000_000_000, 1), "{text}");
    }
}

#[test]
fn global_records_hold_until_deleted_and_a_second_header_replaces_the_first() {
    let archive = [
        pax(b'g', &[("uid", "7"), ("mtime", "5")]),
        entry("a", b'0', b""),
        pax(b'x', &[("uid", "8")]),
        entry("b", b'0', b""),
        pax(b'x', &[("path", "lost")]),
        pax(b'x', &[("uid", "")]),
        entry("c", b'0', b""),
        pax(b'g', &[("mtime", "")]),
        entry("d", b'0', b""),
        END.to_vec(),
    ];
    let seen = read(&archive.concat());
    let got: Vec<_> = seen.members.iter().map(|(m, _)| (m.uid, m.mtime.secs)).collect();
    assert_eq!((seen.paths(), got), (vec!["a", "b", "c", "d"], vec![(7, 5), (8, 5), (1000, 5), (7, 1_000_000_000)]));
}

#[test]
fn a_member_behind_malformed_records_is_left_out() {
    for (records, reason) in [
        (&b"99 path=bb"[..], "is no record"),
        (b"path=bb\n", "is no record"),
        (b"12 uname=bb\n4 \n", "is no record"),
        (b"18446744073709551617 a=b\n", "is no record"),
        (b"12 size=abc\n", "invalid size=abc"),
        (b"27 size=99999999999999999999\n", "is no record"),
        (b"29 size=99999999999999999999\n", "invalid size"),
    ] {
        for kind in *b"xg" {
            let archive = [entry("p", kind, records), entry("b", b'0', b"1"), entry("z", b'0', b"2"), END.to_vec()];
            let seen = read(&archive.concat());
            assert_eq!((seen.members[0].0.path.as_slice(), seen.members.len()), (&b"z"[..], 1), "{reason}");
            assert!(seen.errors.len() == 1 && seen.errors[0].contains(reason), "{:?} {reason}", seen.errors);
        }
    }
}

/// The second volume of GNU tar's pax archives begins with such a global header; its first member is none of its own.
#[test]
fn a_later_volume_is_named_and_the_rest_of_it_read() {
    let volume = [("GNU.volume.filename", "big"), ("GNU.volume.size", "4"), ("GNU.volume.offset", "15360")];
    let archive = [
        pax(b'g', &volume),
        pax(b'x', &[("atime", "0")]),
        entry("GNUFileParts/big.2", b'0', b"tail"),
        entry("y", b'0', b"more"),
        END.to_vec(),
    ];
    let seen = read(&archive.concat());
    assert_eq!(seen.paths(), ["y"]);
    let text = "GNUFileParts/big.2: 'big' is continued from another volume, which is not supported (member at byte 0)";
    assert_eq!(seen.errors, [text]);
}

#[test]
fn attributes_and_acls_in_all_spellings() {
    let all = [
        ("SCHILY.xattr.user.a%3Db%25c", "1"),
        ("SCHILY.xattr.user.empty", ""),
        ("LIBARCHIVE.xattr.user.empty", "AP8K"),
        ("LIBARCHIVE.xattr.user.b%20c", "AP8K"),
        ("RHT.security.selinux", "u:r:t:s0"),
        ("SCHILY.acl.access", "user::rw-\ngroup::r--\nother::r--\n"),
        ("SCHILY.acl.default", "user::rwx,group::r-x,other::r-x"),
        ("SCHILY.devmajor", "3000000"),
    ];
    let archive = [pax(b'x', &all), entry("c", b'3', b""), entry("z", b'0', b""), END.to_vec()];
    let seen = read(&archive.concat());
    assert_eq!((&seen.errors[..], &seen.warnings[..]), (&[][..], &[][..]));
    let pair = |name: &str, value: &[u8]| (name.as_bytes().to_vec(), value.to_vec());
    let member = &seen.members[0].0;
    let expected = [
        pair("security.selinux", b"u:r:t:s0\0"),
        pair("user.a=b%c", b"1"),
        pair("user.b c", b"\0\xff\n"),
        pair("user.empty", b""),
    ];
    assert_eq!(member.xattrs, expected);
    assert_eq!(member.acl_access.as_deref(), Some(all[5].1.as_bytes()));
    assert_eq!(member.acl_default.as_deref(), Some(all[6].1.as_bytes()));
    assert_eq!(member.dev, (3_000_000, 0));
    assert_eq!(seen.members[1].0.xattrs, []);
    assert_eq!((&seen.members[1].0.acl_access, &seen.members[1].0.acl_default), (&None, &None));
    // Of a global header they are nobody's.
    let seen = read(&[pax(b'g', &all[..6]), entry("z", b'0', b""), END.to_vec()].concat());
    assert_eq!((&seen.only().xattrs[..], &seen.only().acl_access), (&[][..], &None));
}

#[test]
fn attributes_that_make_no_sense_are_told_and_passed_over() {
    for (key, value) in
        [("SCHILY.xattr.", "1"), ("LIBARCHIVE.xattr.user.x", "!"), ("SCHILY.xattr.a\0b", "1"), ("SCHILY.devminor", "x")]
    {
        let seen = read(&[pax(b'x', &[(key, value)]), entry("z", b'0', b""), END.to_vec()].concat());
        assert_eq!((seen.paths(), seen.warnings.len(), seen.errors.len()), (vec!["z"], 1, 0), "{key}");
        assert_eq!(seen.members[0].0.xattrs, []);
    }
    let many: Vec<String> = (0..10_002).map(|i| format!("SCHILY.xattr.user.{i}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|key| (&key[..], "v")).collect();
    let seen =
        drain(&mut Archive::new(file(&[pax(b'x', &many), entry("z", b'0', b"")].concat()), Options::default()), 10);
    assert_eq!((seen.members[0].0.xattrs.len(), seen.warnings.len()), (10_000, 2));
}

/// A device of other numbers could be a disk.
#[test]
fn numbers_that_do_not_fit_are_told_and_make_no_device() {
    let huge = |from: usize, bytes: &'static [u8]| {
        move |block: &mut [u8; 512]| block[from..from + bytes.len()].copy_from_slice(bytes)
    };
    let minus_one = changed(header("dev", b'4', 0), huge(337, &[0xff; 8]));
    let beyond = changed(header("dev", b'3', 0), huge(329, &[0x80, 0, 0, 1, 0, 0, 0, 0]));
    let by_pax = [pax(b'x', &[("SCHILY.devminor", "4294967296")]), entry("dev", b'4', b"")].concat();
    for device in [minus_one, beyond, by_pax] {
        let seen = read(&[&device[..], &entry("z", b'0', b"z"), &END].concat());
        assert!(seen.errors.len() == 1 && seen.errors[0].contains("more than 32 bits"), "{:?}", seen.errors);
        assert_eq!((seen.members.len(), &seen.members[0].0.path[..]), (1, &b"z"[..]));
    }
    let late = changed(header("late", b'0', 0), huge(136, &[0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
    let seen = read(&[&late[..], &END].concat());
    assert_eq!(seen.members[0].0.mtime, Time::default());
    assert!(seen.warnings[0].contains("mtime 18446744073709551616 is outside 64 bits"), "{:?}", seen.warnings);
}

#[test]
fn a_label_is_told_of_a_header_of_its_own_and_of_a_global_one() {
    let global = pax(b'g', &[("GNU.volume.label", "lab"), ("GNU.volume.number", "1")]);
    for before in [entry("lab", b'V', b""), global] {
        let archive = [&before[..], &entry("a", b'0', b"abc"), &END].concat();
        let mut archive = Archive::new(file(&archive), Options::default());
        assert_eq!(archive.next().unwrap().unwrap().path, b"a");
        let label = archive.take_label().unwrap();
        assert_eq!((&label.name[..], label.mtime.secs), (&b"lab"[..], 1_000_000_000));
        assert!(archive.next().unwrap().is_none() && archive.take_label().is_none());
    }
}

#[test]
fn what_stands_before_a_label_is_not_the_next_member_s() {
    let extended = pax(b'x', &[("path", "foo"), ("size", "1")]);
    let seen = read(&[&extended[..], &entry("label", b'V', b""), &entry("a", b'0', b"abc"), &END].concat());
    assert_eq!((&seen.only().path[..], seen.only().size), (&b"a"[..], 3));
}
