use proptest::prelude::*;

use super::*;

/// An archive with every kind of extension.
fn rich() -> Vec<u8> {
    let v10 = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "9999")];
    [
        entry("a", b'0', &[1; 700]),
        pax(b'g', &[("uid", "7")]),
        entry("L", b'L', b"long\0"),
        entry("K", b'K', b"link\0"),
        entry("b", b'2', b""),
        pax(b'x', &[("path", "c"), ("mtime", "1.5"), ("size", "5")]),
        entry("c", b'0', b"12345"),
        pax(b'x', &v10),
        entry("s", b'0', &[padded(b"2\n0\n3\n100\n4\n"), b"1234567".to_vec()].concat()),
        pax(b'x', &[("GNU.sparse.size", "50"), ("GNU.sparse.map", "0,3,10,4")]),
        entry("t", b'0', b"1234567"),
        entry("d/", b'5', b""),
        END.to_vec(),
    ]
    .concat()
}

fn check(bytes: &[u8]) {
    for ignore_zeros in [false, true] {
        for (member, data) in &read_with(bytes, Options { ignore_zeros }).members {
            assert!(data.len() as u64 <= member.stored);
            if let Some(segments) = &member.segments {
                assert_eq!(segments.iter().map(|s| s.len).sum::<u64>(), member.stored);
                assert!(segments.iter().all(|s| s.len > 0 && s.offset + s.len <= member.size));
                assert!(segments.windows(2).all(|w| w[0].offset + w[0].len <= w[1].offset));
            } else if member.kind == MemberKind::File {
                assert_eq!(member.size, member.stored);
            } else {
                assert_eq!((member.size, member.stored), (0, 0));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        check(&bytes);
        if let Ok((_, input)) = open(pipe(&bytes)) {
            drain(&mut Archive::new(input, Options::default()), 1000);
        }
    }

    /// Bytes changed anywhere, the checksums set right again, so that the change is believed.
    #[test]
    fn changed_archives(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12), cut in any::<Option<prop::sample::Index>>()
    ) {
        let mut bytes = rich();
        let headers: Vec<usize> =
            (0..bytes.len()).step_by(512).filter(|&at| bytes[at + 257..at + 262] == *b"ustar").collect();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for at in headers {
            let mut header = Header::from_byte_slice(&bytes[at..at + 512]).clone();
            header.set_cksum();
            bytes[at..at + 512].copy_from_slice(header.as_bytes());
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        check(&bytes);
    }

    /// One header whose numbers are anything.
    #[test]
    fn any_header(kind in any::<u8>(), fields in prop::collection::vec(any::<u8>(), 412), tail in 0usize..3000) {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[100..].copy_from_slice(&fields);
        header.as_mut_bytes()[0] = b'n';
        header.as_mut_bytes()[257..265].copy_from_slice(if tail % 2 == 0 { b"ustar  \0" } else { b"ustar\x0000" });
        header.set_entry_type(EntryType::new(kind));
        header.set_cksum();
        check(&[header.as_bytes(), &vec![b'1'; tail][..]].concat());
    }

    /// Pax records of any content; those with sparse keys above all.
    #[test]
    fn any_records(pairs in prop::collection::vec(
        ("(path|size|uid|mtime|linkpath|GNU.sparse.(major|minor|name|realsize|size|map|offset|numbytes))", "[-0-9.,]{0,22}"), 1..8,
    )) {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        check(&[pax(b'x', &pairs), entry("f", b'0', &padded(b"1\n0\n2\n")), END.to_vec()].concat());
        check(&[pax(b'g', &pairs), entry("f", b'0', b"12"), entry("g", b'0', b""), END.to_vec()].concat());
    }
}

#[test]
fn sizes_that_lie_allocate_nothing() {
    let huge = i64::MAX as u64;
    for kind in *b"LKxgX0VSM" {
        let seen = read(&[header("x", kind, huge).as_bytes(), &[b'1'; 1000][..]].concat());
        assert!(seen.errors.last().is_some_and(|e| e.contains("Unexpected EOF")), "{}: {seen:?}", kind as char);
    }
    let seen = read(&[pax(b'x', &[("size", "9223372036854775807")]), entry("x", b'0', b"1234")].concat());
    assert_eq!((seen.paths(), seen.errors.len()), (vec!["x"], 1));
}

#[test]
fn extensions_over_their_limit_cost_their_member_only() {
    for (kind, bytes) in [(b'L', 1 << 20), (b'K', 1 << 20), (b'x', 16 << 20)] {
        let archive =
            [&entry("e", kind, &vec![b'a'; bytes + 1])[..], &entry("f", b'0', b"1"), &entry("z", b'0', b"2"), &END]
                .concat();
        let seen = drain(&mut Archive::new(file(&archive), Options::default()), 10);
        assert_eq!(seen.paths(), ["z"]);
        assert!(seen.errors.len() == 1 && seen.errors[0].contains("more than"), "{:?}", seen.errors);
    }
    let name = vec![b'a'; 1 << 20];
    let seen = drain(
        &mut Archive::new(
            file(&[&entry("e", b'L', &name)[..], &entry("f", b'0', b""), &END].concat()),
            Options::default(),
        ),
        10,
    );
    assert_eq!(seen.only().path, name);
}

#[test]
fn a_map_of_the_most_segments_is_read_and_one_more_is_not() {
    for extra in [0, 1] {
        let count = (1 << 20) + extra;
        let mut lines = format!("{count}\n");
        (0..count).for_each(|i| lines += &format!("{i}\n0\n"));
        let records = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "9999999")];
        let archive = [pax(b'x', &records), entry("s", b'0', &padded(lines.as_bytes())), END.to_vec()].concat();
        let seen = drain(&mut Archive::new(file(&archive), Options::default()), 10);
        assert_eq!((seen.members.len(), seen.errors.len()), (1 - extra, extra));
    }
}

#[test]
fn warnings_are_kept_up_to_a_limit() {
    let archive = [pax(b'g', &[("uid", "no number")]).repeat(5000), entry("z", b'0', b"")].concat();
    let mut archive = Archive::new(file(&archive), Options::default());
    assert_eq!(archive.next().unwrap().unwrap().path, b"z");
    let warnings = archive.take_warnings().told();
    assert_eq!((warnings.len(), &warnings[1000][..]), (1001, "4000 warnings more are not listed"));
}
