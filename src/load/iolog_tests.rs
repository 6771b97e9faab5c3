use std::sync::{Arc, Mutex};

use super::*;

fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let mut lines = Lines::new(text.as_bytes(), "log");
    let mut all = Vec::new();
    while let Some(entry) = lines.next_entry()? {
        all.push(entry);
    }
    Ok(all)
}

fn entry(at_us: Option<u64>, name: &str, action: Action) -> Entry {
    Entry { at_us, name: name.into(), action }
}

#[test]
fn both_versions_are_read() {
    let io = |direction, offset, len| Action::Io { direction, offset, len };
    let read = entries(
        "fio version 3 iolog\n1 f add\n20 f open\n\n30 a b read 0 4096\n40  f\twrite 8192  512\n50 f sync 0 0\n60 f close\n",
    );
    let wanted = [
        entry(Some(1), "f", Action::Add),
        entry(Some(20), "f", Action::Open),
        entry(Some(30), "a b", io(Direction::Read, 0, 4096)),
        entry(Some(40), "f", io(Direction::Write, 8192, 512)),
        entry(Some(50), "f", Action::Sync(SyncKind::Full)),
        entry(Some(60), "f", Action::Close),
    ];
    assert_eq!(
        read.map(|mut read| {
            read[3].name = read[3].name.trim().to_owned();
            read
        }),
        Ok(wanted.to_vec())
    );
    let read = entries("fio version 2 iolog\nf wait 5 0\nf datasync 0 0").unwrap();
    assert_eq!(read, [entry(None, "f", Action::Wait(5)), entry(None, "f", Action::Sync(SyncKind::Data))]);
}

#[test]
fn what_is_no_log_is_told_with_its_line() {
    let third = |line: &str| entries(&format!("fio version 3 iolog\n0 f add\n{line}\n")).unwrap_err();
    for (line, reason) in [
        ("x f read 0 1", "'x' is not a time"),
        ("5", "is not FILE ACTION"),
        ("5 f", "is not FILE ACTION"),
        ("5 open", "is not FILE ACTION"),
        ("5 f read 0", "is not FILE ACTION"),
        ("5 f read 0 -1", "is not FILE ACTION"),
        ("5 f read 0 4294967296", "is not FILE ACTION"),
        ("5 f read 0 0", "0 bytes"),
        ("5 f read 9223372036854775807 1", "beyond any file's end"),
        ("5 f jump 0 1", "'jump' is none of add"),
        ("5 f trim 0 1", "cannot be trimmed"),
        (&format!("5 {} open", "f".repeat(5000)), "longer than 4096 bytes"),
    ] {
        let said = third(line);
        assert!(said.starts_with("fio: log: line 3: ") && said.contains(reason), "{line}: {said}");
    }
    for first in ["", "fio version 1 iolog\n", "ab\0\n"] {
        assert!(entries(first).unwrap_err().starts_with("fio: log: line 1: it is not 'fio version 2"), "{first}");
    }
}

#[test]
fn a_summary_has_files_blocks_and_bytes() {
    let of = |text: &str| Summary::of(Lines::new(text.as_bytes(), "log"));
    let found =
        of("fio version 2 iolog\na add\nb write 0 512\nwait wait 1 0\na write 0 4096\nb write 5 512\n").unwrap();
    assert_eq!((found.files.join(" "), found.bytes, found.rw()), ("a b".into(), 5120, "write"));
    assert_eq!((found.blocks.read, found.blocks.write), (None, Some((512, 4096))));
    assert_eq!(of("fio version 2 iolog\na read 0 1\na write 0 1\n").unwrap().rw(), "rw");
    assert_eq!(of("fio version 2 iolog\na add\n"), Err("fio: log: there is no read and no write in it".into()));
}

/// Bytes that a test looks at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_written_is_read_back_and_goes_out_in_blocks() {
    let shared = Shared::default();
    let file = std::path::Path::new("a b");
    let mut writer = Writer::new(Box::new(shared.clone()), "log", [file.display()].into_iter());
    writer.line(7, file.display(), format_args!("open"));
    writer.begin(5_000);
    for at in 0..5000 {
        writer.line(6_000 + at * 1000, file.display(), format_args!("write {at} 1"));
    }
    assert!(shared.0.lock().unwrap().len() > BLOCK_MAX, "nothing is held until the end");
    assert_eq!(writer.close(), None);
    let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
    let all = entries(&text).unwrap();
    assert_eq!((all.len(), all[0].action, all[1].at_us, all[2].at_us), (5002, Action::Add, Some(0), Some(1)));
    assert_eq!(all[5001], entry(Some(5000), "a b", Action::Io { direction: Direction::Write, offset: 4999, len: 1 }));
}

#[test]
fn offsets_are_scaled_and_aligned() {
    let replay = Replay { path: "log".into(), no_stall: false, percent: 100, scale: 2, align: 4096, open_max: None };
    assert_eq!([replay.offset(20_000), replay.offset(100)], [8192, 0]);
    assert_eq!(Replay { scale: 1, align: 0, ..replay }.offset(4097), 4097);
}
