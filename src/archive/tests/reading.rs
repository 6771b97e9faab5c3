use std::sync::Mutex;

use super::*;

#[test]
fn ends() {
    let a = entry("a", b'0', b"1");
    let z = entry("z", b'0', b"2");
    let zero = &END[..512];
    let ignore = Options { ignore_zeros: true };
    let lone = ["A lone zero block at 3".to_string()];
    // Messages and block numbers are those of GNU tar 1.34 on the same bytes.
    for archive in [[&a[..], zero, &z, &END].concat(), [&a[..], zero].concat()] {
        let seen = read(&archive);
        assert_eq!((seen.paths(), &seen.warnings[..], &seen.errors[..]), (vec!["a"], &lone[..], &[][..]));
    }
    let both = [&a[..], &END, &[0; 8192], &z, &END].concat();
    assert_eq!((read(&both).paths(), read_with(&both, ignore).paths()), (vec!["a"], vec!["a", "z"]));
    assert_eq!(read_with(&[zero, &a[..]].concat(), ignore).paths(), ["a"]);
    assert_eq!(read(&END), Seen::default());
    assert_eq!(read_with(&END, ignore), Seen::default());
    // What follows the end mark is nobody's.
    let seen = read(&[&a[..], &END, &[b'x'; 3000]].concat());
    assert_eq!((seen.paths(), &seen.errors[..], &seen.warnings[..]), (vec!["a"], &[][..], &[][..]));
    // No end mark: GNU tar takes it, but so a writer that was killed may leave it.
    let no_end =
        |end: usize| vec![format!("The archive has no end: nothing follows byte {end}, and members may be missing")];
    for options in [Options::default(), ignore] {
        let seen = read_with(&a, options);
        assert_eq!((seen.paths(), &seen.errors, &seen.warnings[..]), (vec!["a"], &no_end(a.len()), &[][..]));
    }
    assert_eq!(read_with(&[&a[..], zero, &z].concat(), ignore).errors, no_end(2 * a.len() + 512));
    assert_eq!(read_with(&[&a[..], zero].concat(), ignore).errors, [""; 0]);
    for nothing in [&b""[..], b"short", &[b'x'; 5000]] {
        assert_eq!(read(nothing).errors, ["This does not look like a tar archive"]);
    }
    let seen = read(&[pax(b'x', &[("path", "p")]), END.to_vec()].concat());
    assert_eq!((seen.members.len(), seen.warnings.len()), (0, 1));
}

#[test]
fn a_bad_header_is_reported_once_and_the_next_good_one_found() {
    let mut bad = entry("b", b'0', &[b'x'; 2000]);
    bad[3] ^= 1;
    let archive = [&entry("a", b'0', b"1")[..], &bad, &entry("z", b'0', b"2"), &bad, &entry("y", b'0', b"3"), &END];
    let seen = read(&archive.concat());
    assert_eq!(seen.paths(), ["a", "z", "y"]);
    let text = "Skipping to next header: bad checksum in the header at byte";
    assert_eq!(seen.errors, [format!("{text} 1024"), format!("{text} {}", 1024 + bad.len() + 1024)]);
    let seen = read(&archive[1..].concat());
    assert_eq!((seen.paths(), &seen.errors[0][..]), (vec!["z", "y"], "This does not look like a tar archive"));
    // A name for a header that turns out bad is not given to the next.
    let named = [entry("L", b'L', b"long\0"), bad, entry("z", b'0', b"2"), END.to_vec()];
    assert_eq!(read(&named.concat()).paths(), ["z"]);
}

/// Cut anywhere, an archive gives whole members and then an error.
#[test]
fn truncation_at_every_byte() {
    let parts = [
        entry("a", b'0', &[1; 700]),
        [entry("L", b'L', b"long name\0"), entry("b", b'0', b"22")].concat(),
        [pax(b'x', &[("path", "c"), ("mtime", "1.5")]), entry("tmp", b'0', &[3; 512])].concat(),
        entry("d/", b'5', b""),
    ];
    let archive = parts.concat();
    let whole = read(&[&archive[..], &END].concat());
    assert_eq!((whole.paths(), &whole.errors[..]), (vec!["a", "long name", "c", "d/"], &[][..]));
    let mut boundaries = vec![0];
    parts.iter().for_each(|part| boundaries.push(boundaries[boundaries.len() - 1] + part.len()));
    for cut in 1..archive.len() {
        let seen = read(&archive[..cut]);
        assert_eq!(seen.errors.len(), 1, "cut at {cut}: {:?}", seen.errors);
        for ((member, data), expected) in seen.members.iter().zip(&whole.members) {
            assert_eq!(member, &expected.0);
            assert!(expected.1.starts_with(data));
            assert!(data.len() as u64 == member.stored || seen.errors[0].contains("Unexpected EOF"), "cut at {cut}");
        }
        if boundaries.contains(&cut) {
            assert!(seen.errors[0].contains(&format!("no end: nothing follows byte {cut},")), "{:?}", seen.errors);
        } else if cut > 512 {
            assert!(seen.errors[0].ends_with(&format!("Unexpected EOF in archive at byte {cut}")), "{:?}", seen.errors);
        }
    }
    let seen = read(&archive[..600]);
    assert_eq!(seen.errors, ["a: Unexpected EOF in archive at byte 600"]);
}

/// A source that notes its reads.
struct Noted {
    bytes: Vec<u8>,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl ReadAt for Noted {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reads.lock().unwrap().push((offset, buf.len()));
        self.bytes.read_at(offset, buf)
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[test]
fn small_members_cost_few_reads_and_unread_data_none() {
    let noted = |bytes| Arc::new(Noted { bytes, reads: Mutex::default() });
    let small = noted([entry("s", b'0', &[1; 1000]).repeat(2000), END.to_vec()].concat());
    let mut archive = Archive::new(Input::Seekable(small.clone()), Options::default());
    assert_eq!(drain(&mut archive, 2000).members.len(), 2000);
    // 3 MB: 32, 64, 128, 256 KiB, then chunks of 512 KiB; no more when their data is passed over.
    assert!(small.reads.lock().unwrap().len() <= 11);
    small.reads.lock().unwrap().clear();
    let mut archive = Archive::new(Input::Seekable(small.clone()), Options::default());
    while archive.next().unwrap().is_some() {}
    assert!(small.reads.lock().unwrap().len() <= 11);

    let big = vec![7; 3 << 20];
    let large = noted([entry("b", b'0', &big).repeat(10), END.to_vec()].concat());
    let mut archive = Archive::new(Input::Seekable(large.clone()), Options::default());
    for i in 0..10 {
        let member = archive.next().unwrap().unwrap();
        assert_eq!(archive.offset(), i * (512 + (3 << 20)));
        assert_eq!((member.stored, archive.stored_at()), (3 << 20, Some(archive.offset() + 512)));
    }
    assert!(archive.next().unwrap().is_none() && archive.stored_at().is_none());
    let read: usize = large.reads.lock().unwrap().iter().map(|(_, n)| n).sum();
    assert!(read <= 11 * (32 << 10), "{read} bytes read for ten headers");

    // What a large buffer takes does not pass through the chunk; data behind it is where `stored_at` says.
    large.reads.lock().unwrap().clear();
    let mut archive = Archive::new(Input::Seekable(large.clone()), Options::default());
    archive.next().unwrap().unwrap();
    let mut buf = vec![0; 1 << 20];
    let first = archive.read(&mut buf).unwrap();
    assert_eq!(archive.stored_at(), Some(512 + first as u64));
    assert_eq!(archive.read(&mut buf).unwrap(), 1 << 20);
    assert_eq!(large.reads.lock().unwrap().last(), Some(&(512 + first as u64, 1 << 20)));
    assert_eq!(archive.source().unwrap().len(), large.len());
}

#[test]
fn a_skip_past_the_end_is_an_error_on_files_and_pipes() {
    let bytes = [header("big", b'0', 1 << 40).as_bytes(), &[1; 5000][..]].concat();
    for input in [file(&bytes), pipe(&bytes)] {
        let mut archive = Archive::new(input, Options::default());
        assert_eq!(archive.next().unwrap().unwrap().stored, 1 << 40);
        let error = archive.next().unwrap_err();
        assert_eq!(error.to_string(), "big: Unexpected EOF in archive at byte 5512");
        assert!(error.is_fatal() && matches!(archive.next(), Ok(None)));
        assert_eq!(archive.read(&mut [0; 10]).unwrap(), 0);
    }
}

#[test]
fn a_read_error_names_member_and_place() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("tape torn"))
        }
    }
    let bytes = entry("a", b'0', &[1; 5000])[..2000].to_vec();
    let mut archive = Archive::new(Input::Pipe(Box::new(io::Cursor::new(bytes).chain(Broken))), Options::default());
    archive.next().unwrap().unwrap();
    let error = loop {
        match archive.read(&mut [0; 100]) {
            Ok(n) => assert_ne!(n, 0),
            Err(e) => break e,
        }
    };
    assert_eq!(error.to_string(), "a: cannot read the archive at byte 2000: tape torn");
    assert!(matches!(archive.next(), Ok(None)));
}
