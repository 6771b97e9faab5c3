use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;

type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

#[derive(Default)]
struct Memory(Files);

struct File(Files, String);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().entry(self.1.clone()).or_default().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogFiles for Memory {
    fn log(&self, name: &str) -> Result<Box<dyn Write + Send>, String> {
        Ok(Box::new(File(self.0.clone(), name.to_owned())))
    }
}

impl Memory {
    fn text(&self, name: &str) -> String {
        String::from_utf8(self.0.lock().unwrap().remove(name).unwrap_or_default()).unwrap()
    }
}

fn asked() -> Asked {
    let all = Some("out".to_owned());
    Asked {
        rated: [true; 2],
        bw: all.clone(),
        iops: all.clone(),
        lat: all.clone(),
        of: [true; 3],
        hist: None,
        every: Duration::ZERO,
        bw_every: Duration::ZERO,
        iops_every: Duration::ZERO,
        hist_every: (Duration::ZERO, 0),
        per_job: true,
        offset: false,
        window: WindowValue::Average,
        unix_epoch: false,
    }
}

const MS: u64 = 1_000_000;

fn io(ms: u64) -> Logged {
    let (ended, issued) = (ms * MS, ms * MS - 500_000);
    Logged {
        direction: Direction::Write,
        len: 4096,
        offset: 8192,
        times: Times { ready: issued - 1000, issued, ended },
    }
}

#[test]
fn a_line_for_each_io() {
    let files = Memory::default();
    let mut logs = Logs::open(&asked(), 3, true, &files, 0).unwrap();
    logs.io(&io(2), (4096, 1));
    assert_eq!(logs.close(2 * MS), None);
    assert_eq!(files.text("out_clat.3.log"), "2, 500000, 1, 4096, 0\n");
    assert_eq!(files.text("out_slat.3.log"), "2, 1000, 1, 4096, 0\n");
    assert_eq!(files.text("out_lat.3.log"), "2, 501000, 1, 4096, 0\n");
    assert_eq!(files.text("out_iops.3.log"), "2, 1, 1, 4096, 0\n");
    assert_eq!(files.text("out_bw.3.log"), "2, 8000, 1, 4096, 0\n", "4 KiB in 500 us");
}

#[test]
fn a_line_for_each_interval_and_direction() {
    let files = Memory::default();
    let every = Duration::from_millis(10);
    let asked = Asked {
        every,
        bw_every: every,
        iops_every: every,
        per_job: false,
        offset: true,
        unix_epoch: true,
        window: WindowValue::Both,
        ..asked()
    };
    let mut logs = Logs::open(&asked, 1, false, &files, 1000).unwrap();
    for (n, ms) in (1..).zip([2, 4, 12, 13]) {
        let mut io = io(ms);
        io.times.issued -= (n - 1) * 100;
        logs.io(&io, (n * 4096, n));
    }
    assert_eq!(logs.close(15 * MS), None);
    assert_eq!(files.text("out_clat.log"), "1012, 500100, 500200, 1, 0, 0, 0\n1015, 500300, 500300, 1, 0, 0, 0\n");
    assert_eq!(files.text("out_slat.log"), "", "an engine that waits has none");
    assert_eq!(files.text("out_iops.log"), "1012, 250, 250, 1, 0, 0, 0\n", "three in 12 ms");
    assert_eq!(files.text("out_bw.log"), "1012, 1000, 1000, 1, 0, 0, 0\n");
}

#[test]
fn histograms() {
    let files = Memory::default();
    let asked = Asked { hist: Some("h".into()), hist_every: (Duration::from_millis(5), 6), ..asked() };
    let mut logs = Logs::open(&asked, 1, false, &files, 0).unwrap();
    [1, 2, 7].into_iter().for_each(|ms| logs.io(&io(ms), (4096, 1)));
    logs.close(8 * MS);
    let text = files.text("h_clat_hist.1.log");
    let line: Vec<&str> = text.trim().split(", ").collect();
    assert_eq!((&line[..3], line.len()), (&["7", "1", "4096"][..], 3 + FIO_BUCKETS / 64), "{text}");
    assert_eq!(line[3..].iter().map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), 3);
}

#[test]
fn latencies_that_are_not_measured_have_no_log() {
    for (at, kind) in ["slat", "clat", "lat"].into_iter().enumerate() {
        let files = Memory::default();
        let mut of = [true; 3];
        of[at] = false;
        let mut logs = Logs::open(&Asked { of, ..asked() }, 1, true, &files, 0).unwrap();
        logs.io(&io(2), (4096, 1));
        assert_eq!(logs.close(2 * MS), None);
        let there = ["slat", "clat", "lat"].map(|kind| !files.text(&format!("out_{kind}.1.log")).is_empty());
        assert_eq!(there, of, "without {kind}");
    }
}

/// Measured of fio 3.33: an empty file.
#[test]
fn histograms_without_an_interval() {
    let files = Memory::default();
    let asked = Asked { bw: None, iops: None, lat: None, hist: Some("h".into()), ..asked() };
    let mut logs = Logs::open(&asked, 1, false, &files, 0).unwrap();
    assert!(logs.is_empty());
    logs.io(&io(1), (4096, 1));
    logs.close(2 * MS);
    assert_eq!(files.text("h_clat_hist.1.log"), "");
}

/// A file that cannot be written is told at the end, with its name.
#[test]
fn a_full_disk_is_told() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("no room"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    struct Disk;
    impl LogFiles for Disk {
        fn log(&self, _: &str) -> Result<Box<dyn Write + Send>, String> {
            Ok(Box::new(Full))
        }
    }
    let mut logs = Logs::open(&asked(), 1, false, &Disk, 0).unwrap();
    logs.io(&io(1), (4096, 1));
    assert_eq!(logs.close(MS), Some("out_bw.1.log: no room".into()));
}

/// latency_target= measures anew when its depth is found: fio's log goes on with 300, then 146.
#[test]
fn amounts_and_times_that_begin_anew() {
    let files = Memory::default();
    let every = Duration::from_millis(10);
    let asked = Asked { every, bw_every: every, iops_every: every, per_job: false, ..asked() };
    let mut logs = Logs::open(&asked, 1, true, &files, 0).unwrap();
    logs.io(&io(10), (8 << 20, 2048));
    logs.io(&io(15), (16 << 20, 4096));
    logs.begin(15 * MS);
    logs.io(&io(20), (4096, 1));
    logs.io(&io(25), (8192, 2));
    assert_eq!(logs.close(25 * MS), None);
    assert_eq!(files.text("out_bw.log"), "10, 819200, 1, 0, 0\n10, 800, 1, 0, 0\n");
    assert_eq!(files.text("out_iops.log"), "10, 204800, 1, 0, 0\n10, 200, 1, 0, 0\n");
    let of_windows = "10, 500000, 1, 0, 0\n15, 500000, 1, 0, 0\n10, 500000, 1, 0, 0\n";
    assert_eq!(files.text("out_clat.log"), of_windows);
}
