use super::*;

fn segments(pairs: &[(u64, u64)]) -> Vec<Segment> {
    pairs.iter().map(|&(offset, len)| Segment { offset, len }).collect()
}

/// An old GNU header with this map; four segments in it, 21 in each block behind.
fn old(size: u64, stored: u64, map: &[(u64, u64)]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_path("s").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(stored);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_real_size(size);
    let (first, rest) = map.split_at(map.len().min(4));
    for (slot, (offset, len)) in gnu.sparse.iter_mut().zip(first) {
        slot.set_offset(*offset);
        slot.set_length(*len);
    }
    gnu.set_is_extended(!rest.is_empty());
    header.set_mode(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    let mut chunks = rest.chunks(21).peekable();
    while let Some(chunk) = chunks.next() {
        let mut more = tar::GnuExtSparseHeader::new();
        for (slot, (offset, len)) in more.sparse.iter_mut().zip(chunk) {
            slot.set_offset(*offset);
            slot.set_length(*len);
        }
        more.set_is_extended(chunks.peek().is_some());
        out.extend_from_slice(more.as_bytes());
    }
    out
}

/// The same map in each of the four formats, with `data` and a member behind it.
fn in_all_formats(size: u64, map: &[(u64, u64)], data: &[u8]) -> Vec<Vec<u8>> {
    let size_text = size.to_string();
    let count = map.len().to_string();
    let texts: Vec<(String, String)> = map.iter().map(|(o, l)| (o.to_string(), l.to_string())).collect();
    let mut v00 = vec![("GNU.sparse.size", &size_text[..]), ("GNU.sparse.numblocks", &count)];
    for (offset, len) in &texts {
        v00.extend([("GNU.sparse.offset", &offset[..]), ("GNU.sparse.numbytes", &len[..])]);
    }
    v00.push(("path", "s"));
    let joined = texts.iter().map(|(o, l)| format!("{o},{l}")).collect::<Vec<_>>().join(",");
    let v01 =
        [("GNU.sparse.size", &size_text[..]), ("GNU.sparse.map", &joined), ("GNU.sparse.name", "s"), ("path", "GNU/s")];
    let v10 = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", "s"),
        ("GNU.sparse.realsize", &size_text),
    ];
    let mut lines = format!("{count}\n");
    for (offset, len) in &texts {
        lines += &format!("{offset}\n{len}\n");
    }
    let mapped = [padded(lines.as_bytes()), data.to_vec()].concat();
    let mut all = vec![
        [old(size, data.len() as u64, map), padded(data)].concat(),
        [pax(b'x', &v00), entry("tmp", b'0', data)].concat(),
        [pax(b'x', &v10), entry("tmp", b'0', &mapped)].concat(),
    ];
    if !map.is_empty() {
        all.push([pax(b'x', &v01), entry("tmp", b'0', data)].concat());
    }
    for archive in &mut all {
        archive.extend(entry("z", b'0', b"behind"));
        archive.extend(END);
    }
    all
}

#[test]
fn four_formats_say_the_same() {
    let many: Vec<(u64, u64)> = (0..100).map(|i| (i * 4096, 3)).collect();
    let huge = 9u64 << 30;
    for (size, map) in [
        (huge, vec![(512, 512), (huge - 100, 100)]),
        (huge, vec![(0, 7), (huge, 0)]),
        (1 << 20, many),
        (12, vec![(0, 5), (5, 7)]),
        (4096, vec![]),
    ] {
        let stored: u64 = map.iter().map(|(_, len)| len).sum();
        let data: Vec<u8> = (0..stored).map(|i| i as u8).collect();
        for (format, archive) in in_all_formats(size, &map, &data).iter().enumerate() {
            let seen = read(archive);
            assert_eq!((seen.paths(), &seen.errors[..]), (vec!["s", "z"], &[][..]), "format {format}");
            let (member, got) = &seen.members[0];
            let kept: Vec<_> = map.iter().copied().filter(|(_, len)| *len > 0).collect();
            assert_eq!(member.segments, Some(segments(&kept)), "format {format}");
            assert_eq!((member.size, member.stored, got), (size, stored, &data), "format {format}");
            assert_eq!(seen.members[1].1, b"behind");
        }
    }
}

#[test]
fn maps_that_lie_cost_their_member_only() {
    let max = i64::MAX as u64;
    for (size, map, reason) in [
        (100, vec![(0, 50), (40, 50)], "out of order"),
        (100, vec![(50, 50), (0, 50)], "out of order"),
        (100, vec![(50, 50), (50, 50)], "out of order"),
        (99, vec![(0, 50), (50, 50)], "past the end"),
        (100, vec![(0, 99)], "99 bytes for 100"),
        (200, vec![(0, 101)], "101 bytes for 100"),
        (200, vec![], "0 bytes for 100"),
        (max, vec![(0, max)], "for 100 bytes"),
        (max, vec![(1, max)], "past the end"),
    ] {
        for (format, archive) in in_all_formats(size, &map, &[7; 100]).iter().enumerate() {
            let seen = read(archive);
            assert_eq!(seen.paths(), ["z"], "format {format}, {reason}");
            assert!(seen.errors.len() == 1 && seen.errors[0].contains(reason), "format {format}: {:?}", seen.errors);
        }
    }
}

#[test]
fn maps_that_cannot_be_read() {
    let v10 = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "9")];
    let unknown = [("GNU.sparse.major", "2"), ("GNU.sparse.realsize", "9")];
    let odd = [("GNU.sparse.size", "9"), ("GNU.sparse.map", "0,1,2")];
    let lone = [("GNU.sparse.size", "9"), ("GNU.sparse.numbytes", "2")];
    let sizeless = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "s")];
    for (records, data, reason) in [
        (&v10[..], padded(b"x\n"), "no number in the sparse map"),
        (&v10, padded(&[b'1'; 300]), "no number in the sparse map"),
        (&v10, padded(b"9999999\n"), "more than 1048576 segments"),
        (&v10, b"1\n0\n9\n".to_vec(), "without end"),
        (&v10, padded(b"3\n0\n1\n2\n1\n"), "no number in the sparse map"),
        (&v10, vec![], "without end"),
        (&unknown, vec![], "2.0 is not known"),
        (&odd, vec![], "invalid GNU.sparse.map=0,1,2"),
        (&lone, vec![], "invalid GNU.sparse.numbytes=2"),
        (&sizeless, padded(b"1\n0\n4\n"), "records of a sparse file without its size"),
    ] {
        let seen = read(&[pax(b'x', records), entry("s", b'0', &data), entry("z", b'0', b""), END.to_vec()].concat());
        assert_eq!(seen.paths(), ["z"], "{reason}");
        assert!(seen.errors.len() == 1 && seen.errors[0].contains(reason), "{:?}", seen.errors);
    }
    // Old GNU: a map that is not numbers, also when more blocks of it follow; and a header that is not GNU's.
    let map: Vec<(u64, u64)> = (0..30).map(|i| (i * 10, 1)).collect();
    let mut block = old(1000, 30, &map);
    block[386] = b'x';
    let mut header = Header::from_byte_slice(&block[..512]).clone();
    header.set_cksum();
    block[..512].copy_from_slice(header.as_bytes());
    let seen = read(&[block, padded(&[7; 30]), entry("z", b'0', b""), END.to_vec()].concat());
    assert_eq!((seen.paths(), seen.errors.len()), (vec!["z"], 1));
    let seen = read(&[entry("s", b'S', b"1234"), entry("z", b'0', b""), END.to_vec()].concat());
    assert_eq!((seen.paths(), seen.errors.len()), (vec!["z"], 1));
}
