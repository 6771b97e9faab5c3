use std::collections::{BTreeMap, BTreeSet};

use super::super::super::commandline::{Asked, parse};
use super::super::super::general::General;
use super::super::super::settings::settle;
use super::*;

/// The first job's settings of a command line.
fn settings(line: &str) -> Settings {
    let words: Vec<String> = format!("--name=j {line}").split_whitespace().map(str::to_owned).collect();
    let Ok(Asked::Run(line)) = parse(&words) else { panic!("{line}") };
    settle(&line.jobs[0], &General::default()).unwrap().settings
}

fn region(len: u64) -> Extent {
    Extent { offset: 0, len }
}

fn choice(line: &str, files: u64, len: u64, pass: u64) -> Choice {
    let regions: Vec<Extent> = (0..files).map(|_| region(len)).collect();
    Choice::new(&settings(line), Seeds::new(None, true, 0, 1), &regions, pass)
}

fn all(choice: &mut Choice) -> Vec<Next> {
    std::iter::from_fn(|| choice.next_io(&Each::default())).collect()
}

/// The same of all passes, to the bytes that were asked for.
fn of_all_passes(choice: &mut Choice) -> Vec<Next> {
    let mut found = Vec::new();
    loop {
        match all(choice) {
            ios if ios.is_empty() => return found,
            ios => found.extend(ios),
        }
        choice.go_on();
    }
}

const LEN: u64 = 1 << 20;

/// Reads and writes of a mixed job with the map share it: each block once, by one or the other; with replays the same again.
#[test]
fn a_mixed_pass_visits_each_block_once_and_again_in_the_same_order() {
    let mut choice = choice("--rw=randrw --bs=4k --size=1m", 1, LEN, 2 * LEN);
    let mut replay = choice.clone();
    let first = all(&mut choice);
    let offsets: BTreeSet<u64> = first.iter().map(|next| next.extent.offset).collect();
    assert_eq!((first.len(), offsets.len()), (256, 256));
    let writes = first.iter().filter(|next| next.direction == Direction::Write).count();
    assert!((90..166).contains(&writes), "{writes}");
    assert_eq!(all(&mut replay), first);
    choice.restart();
    let second = all(&mut choice);
    assert_eq!(second.len(), 256);
    assert_ne!(
        second.iter().map(|next| next.extent).collect::<Vec<_>>(),
        first.iter().map(|next| next.extent).collect::<Vec<_>>()
    );
}

#[test]
fn sequential_directions_go_on_each_by_itself() {
    let mut choice = choice("--rw=rw --bs=4k --size=1m", 1, LEN, LEN);
    let mut next_offset = BTreeMap::new();
    for next in all(&mut choice) {
        let at = next_offset.entry(next.direction as u8).or_insert(0);
        assert_eq!(next.extent.offset, *at);
        *at += next.extent.len;
    }
    assert_eq!(next_offset.values().sum::<u64>(), LEN);
}

/// As in fio 3.33: writes of 8 KiB fit no file of 4.
#[test]
fn a_direction_that_fits_nowhere_leaves_the_other_alone() {
    for (line, direction) in [("--bs=4k,8k", Direction::Read), ("--bs=8k,4k", Direction::Write)] {
        for rw in ["--rw=rw", "--rw=randrw", "--rw=randrw --norandommap"] {
            let ios = of_all_passes(&mut choice(&format!("{rw} {line} --size=4k"), 1, 4096, 64 << 10));
            assert!(ios.len() == 16 && ios.iter().all(|next| next.direction == direction), "{rw} {line}: {ios:?}");
        }
    }
}

#[test]
fn files_take_turns_as_file_service_type_says() {
    let order = |line: &str| {
        let mut choice = choice(&format!("--bs=4k --size=32k {line}"), 2, 16 << 10, 32 << 10);
        all(&mut choice).iter().map(|next| next.file.to_string()).collect::<String>()
    };
    assert_eq!(order("--nrfiles=2"), "01010101");
    assert_eq!(order("--nrfiles=2 --file_service_type=roundrobin:2"), "00110011");
    assert_eq!(order("--nrfiles=2 --file_service_type=sequential"), "00001111");
    assert_eq!(order("--nrfiles=2 --openfiles=1"), "00001111", "another is begun when one is done");
    assert_eq!(order("--nrfiles=2 --openfiles=1 --file_service_type=roundrobin:2"), "00001111");
    let one_by_one = order("--nrfiles=2 --openfiles=1 --file_service_type=random");
    assert!(["00001111", "11110000"].contains(&one_by_one.as_str()), "{one_by_one}");
    let mut round = choice("--bs=4k --size=24k --nrfiles=3", 3, 8 << 10, 48 << 10);
    let files = of_all_passes(&mut round).iter().map(|next| next.file.to_string()).collect::<String>();
    assert_eq!(files, "012012012012", "each round begins with the first");
    let random = order("--nrfiles=2 --file_service_type=random");
    assert_eq!(random.matches('1').count(), 4, "each to its end: {random}");
}

/// As in fio 3.33 an io_size beyond the files takes more passes; less ends the first early.
#[test]
fn passes_have_the_bytes_that_were_asked_for() {
    for (total, ios) in [(LEN / 2, 128), (LEN, 256), (3 * LEN, 768)] {
        for line in ["--rw=read --bs=4k --size=1m", "--rw=randread --bs=4k --size=1m"] {
            assert_eq!(all(&mut choice(line, 1, LEN, total)).len(), ios.min(256), "{line} {total}");
            assert_eq!(of_all_passes(&mut choice(line, 1, LEN, total)).len(), ios, "{line} {total}");
        }
    }
    assert_eq!(all(&mut choice("--rw=read --bs=4k --size=1m", 1, 1000, LEN)).len(), 0, "no room for one");
}

/// The offsets of passes of a job that fills its time, in blocks, with `/` between them, as fio 3.33 has them.
fn passes(line: &str, files: u64, len: u64, pass: u64, count: usize) -> String {
    let mut choice = choice(&format!("--bs=4k --size=1m --time_based --runtime=1 {line}"), files, len, pass);
    let mut seen = Vec::new();
    for _ in 0..count {
        let ios = all(&mut choice);
        seen.push(ios.iter().map(|next| format!("{:x}", next.extent.offset / 4096)).collect::<String>());
        choice.go_on();
    }
    seen.join("/")
}

#[test]
fn a_pass_goes_on_where_the_last_ended() {
    assert_eq!(passes("--rw=read", 1, 65536, 24 << 10, 4), "012345/6789ab/cdef01/234567");
    assert_eq!(passes("--rw=read", 1, 65536, 65536, 2), "0123456789abcdef/0123456789abcdef");
    assert_eq!(passes("--rw=read --nrfiles=4", 4, 16384, 24 << 10, 3), "000011/112222/333300", "files go on as well");
    assert_eq!(passes("--rw=read", 1, 10 << 10, 10 << 10, 3), "01/01/01", "what is left has no room");
    assert_eq!(passes("--rw=read", 1, 10 << 10, 4 << 10, 4), "0/1/0/1");
    assert_eq!(passes("--rw=read:4k", 1, 65536, 16 << 10, 3), "0246/8ace/0246");
    let mut blocks: Vec<char> = passes("--rw=randread", 1, 65536, 16 << 10, 4).replace('/', "").chars().collect();
    blocks.sort_unstable();
    assert_eq!(String::from_iter(blocks), "0123456789abcdef", "each once");
    assert_eq!(passes("--rw=read", 1, 1000, LEN, 2), "/");
}

/// Measured of fio 3.33: where I/O with holes leads out of its part of a file the pass is over, and begins anew only at the file's end.
#[test]
fn holes_begin_anew_where_the_file_ends() {
    let blocks = |line: &str, region: Extent, bytes: u64| {
        let seeds = Seeds::new(None, true, 0, 1);
        let choice = Choice::new(&settings(&format!("--bs=4k --size=64k {line}")), seeds, &[region], region.len);
        let mut choice = choice.in_files(&[bytes]);
        let ios = all(&mut choice);
        ios.iter().map(|next| format!("{:x}", next.extent.offset / 4096)).collect::<String>()
    };
    for (line, whole, part) in [
        ("--rw=read:4k", "02468ace02468ace", "02468ace"),
        ("--rw=write:8k", "0369cf", "0369cf"),
        ("--rw=read:12k", "048c048c048c048c", "048c"),
        ("--rw=read:64k", "0000000000000000", "0"),
    ] {
        assert_eq!(blocks(line, region(65536), 65536), whole, "{line}");
        assert_eq!(blocks(line, region(65536), 131_072), part, "{line}: of a file twice as large");
        assert_eq!(blocks(line, region(65536), 0), whole, "{line}: of a file that is laid out");
    }
    let behind = Extent { offset: 8192, len: 61440 };
    assert_eq!(blocks("--rw=read:8k", behind, 131_072), "258be");
    assert_eq!(blocks("--rw=read:12k", behind, 131_072), "26ae");
}

/// What a write job of a seed visits, a read job of it visits too: that is how an earlier run is verified.
#[test]
fn reads_visit_what_writes_visited() {
    let extents = |line| all(&mut choice(line, 1, LEN, LEN)).into_iter().map(|next| next.extent).collect::<Vec<_>>();
    assert_eq!(extents("--rw=randwrite --bs=4k --size=1m"), extents("--rw=randread --bs=4k --size=1m"));
}
