use super::super::settle::tests::settled;
use super::*;

const NOTHING: There = There::Nothing;
const MIB: u64 = 1 << 20;

fn extents(line: &str, clone: u32, there: &[There]) -> Result<Vec<FileExtent>, String> {
    let settings = settled(&format!("--name=a {line}")).unwrap().settings;
    assert_eq!(there.len(), settings.files.count as usize, "{line}");
    files(&settings, clone, there, Seeds::new(None, true, 0, 1))
}

/// Offset, length, size to have; of each file.
fn shapes(line: &str, clone: u32, there: &[There]) -> Vec<(u64, u64, u64)> {
    let found = extents(line, clone, there).unwrap();
    found.iter().map(|file| (file.region.offset, file.region.len, file.size)).collect()
}

fn io(line: &str, there: &[There]) -> u64 {
    let settings = settled(&format!("--name=a {line}")).unwrap().settings;
    total_io(&settings, &files(&settings, 0, there, Seeds::new(None, true, 0, 1)).unwrap())
}

#[test]
fn sizes_are_divided_by_files() {
    let quarter = (0, MIB / 4, MIB / 4);
    assert_eq!(shapes("--nrfiles=4 --size=1m", 0, &[NOTHING; 4]), [quarter; 4]);
    assert_eq!(shapes("--filename=f1:f2 --size=64k", 0, &[NOTHING; 2]), [(0, 32768, 32768); 2]);
    // What is left over goes to the first files, a block each.
    let uneven = shapes("--nrfiles=3 --size=20k --bs=1", 0, &[NOTHING; 3]);
    assert_eq!(uneven.iter().map(|(_, len, _)| *len).collect::<Vec<_>>(), [6827, 6827, 6826]);
    assert_eq!(io("--nrfiles=4 --size=1m", &[NOTHING; 4]), MIB);
    assert_eq!(io("--size=3000001 --bs=64k", &[NOTHING]), 3_000_001);
}

#[test]
fn loops_are_of_the_io_size_where_there_is_one() {
    let bytes = |line: &str| io(line, &[NOTHING]);
    assert_eq!(bytes("--size=8k --io_size=20k"), 20 << 10);
    assert_eq!(bytes("--size=8k --io_size=20k --loops=2"), 40 << 10);
    assert_eq!(bytes("--size=64k --loops=3"), 192 << 10);
    assert_eq!(bytes("--size=64k --loops=3 --time_based --runtime=1 --io_size=100k"), 64 << 10, "in a pass");
}

#[test]
fn file_sizes_go_before_the_size() {
    assert_eq!(shapes("--nrfiles=4 --filesize=1m", 0, &[NOTHING; 4]), [(0, MIB, MIB); 4]);
    assert_eq!(io("--nrfiles=4 --filesize=1m", &[NOTHING; 4]), 4 * MIB);
    assert_eq!(io("--nrfiles=4 --filesize=1m --size=2m", &[NOTHING; 4]), 2 * MIB);
    assert_eq!(io("--nrfiles=4 --filesize=1m --size=8m", &[NOTHING; 4]), 4 * MIB);
    let drawn = shapes("--nrfiles=64 --filesize=64k-1m", 0, &[NOTHING; 64]);
    assert!(drawn.iter().all(|(_, len, size)| (65536..=MIB).contains(len) && len % 4096 == 0 && size == len));
    assert!(drawn.iter().any(|other| *other != drawn[0]), "each has a size of its own");
    assert_eq!(shapes("--filesize=64k-1m", 0, &[There::File(70_000)]), [(0, 70_000, 70_000)], "it fits already");
    assert_eq!(shapes("--filesize=64k", 0, &[There::File(MIB)]), [(0, 65536, 65536)]);
}

#[test]
fn what_is_there_counts_without_a_size() {
    assert_eq!(shapes("--offset=4k", 0, &[There::File(MIB)]), [(4096, MIB - 4096, MIB)]);
    assert_eq!(extents("--rw=read", 0, &[NOTHING]), Err("a: you need to specify size=".into()));
    assert_eq!(extents("--size=100%", 0, &[NOTHING]), Err("a: you need to specify size=".into()));
    assert_eq!(extents("--offset=2m", 0, &[There::File(MIB)]), Err("a: you need to specify valid offset=".into()));
    assert_eq!(
        extents("--rw=read", 0, &[There::File(100)]),
        Err("fio: blocksize is larger than data set range".into())
    );
    assert_eq!(shapes("--size=2m", 0, &[There::File(MIB)]), [(0, 2 * MIB, 2 * MIB)], "to be laid out anew");
}

/// `offset=40% size=100%` of 10 MiB are 6 MiB (measured).
#[test]
fn percentages() {
    let there = [There::File(10 * MIB)];
    assert_eq!(shapes("--offset=40% --size=100%", 0, &there), [(4 * MIB, 6 * MIB, 10 * MIB)]);
    assert_eq!(shapes("--offset=40% --size=50%", 0, &there), [(4 * MIB, 5 * MIB, 9 * MIB)]);
    assert_eq!(shapes("--size=20%", 0, &there), [(0, 2 * MIB, 2 * MIB)]);
    assert_eq!(io("--size=20% --io_size=50%", &there), MIB);
    assert_eq!(io("--size=2m --io_size=9m", &there), 9 * MIB, "round and round");
    assert_eq!(
        io("--size=2m --io_size=1m --time_based --runtime=1", &there),
        2 * MIB,
        "the time is filled with the whole"
    );
    let clone = |clone| shapes("--size=1m --offset_increment=20%", clone, &there)[0].0;
    assert_eq!([clone(0), clone(1), clone(2)], [0, 2 * MIB, 4 * MIB]);
    // Rounded up to a block, or to offset_align.
    assert_eq!(shapes("--offset=1% --size=8k", 0, &there)[0].0, 106_496);
    assert_eq!(shapes("--offset=1% --offset_align=64k --size=8k", 0, &there)[0].0, 131_072);
    assert_eq!(shapes("--offset=5 --offset_align=64k --size=8k", 0, &there)[0].0, 5, "what is typed stays");
}

#[test]
fn clones_begin_further_on() {
    let at = |line, clone| shapes(line, clone, &[There::File(10 * MIB)])[0].0;
    assert_eq!(
        [0, 1, 3].map(|clone| at("--size=1m --offset=4k --offset_increment=1m", clone)),
        [4096, MIB + 4096, 3 * MIB + 4096]
    );
    assert_eq!(at("--size=1m --offset_increment=20%", 2), 4 * MIB);
    assert!(extents("--size=1m --offset_increment=9000t", 4_000_000_000, &[NOTHING]).is_err(), "no overflow");
}

#[test]
fn devices_and_endless_files() {
    assert_eq!(shapes("--rw=read", 0, &[There::Device(MIB)]), [(0, MIB, 0)]);
    assert_eq!(shapes("--size=9m", 0, &[There::Device(MIB)]), [(0, MIB, 0)], "a device does not grow");
    assert_eq!(shapes("--size=9m", 0, &[There::Stream]), [(0, 9 * MIB, 0)]);
    let endless = shapes("--rw=write --fill_device=1", 0, &[NOTHING]);
    assert_eq!(endless, [(0, i64::MAX as u64, 0)]);
    assert_eq!(shapes("--rw=write --fill_device=1 --size=1m", 0, &[NOTHING]), [(0, MIB, MIB)]);
    assert_eq!(shapes("--rw=write --file_append=1 --size=1m", 0, &[There::File(4096)]), [(4096, MIB, MIB + 4096)]);
    for (there, at) in [(NOTHING, 0), (There::File(4096), 4096)] {
        let shape = shapes("--rw=write --file_append=1 --size=1m --offset=64k", 0, &[there]);
        assert_eq!(shape, [(at, MIB, MIB + at)], "offset= is not looked at");
    }
}
