use super::super::value::{KbBase, split};
use super::*;

const K: u64 = 1024;

fn plan(order: Order, sizes: Sizes) -> Plan {
    let align = sizes.min();
    Plan {
        order,
        sizes,
        align,
        unaligned: false,
        map: true,
        distribution: Distribution::Uniform,
        percentage_random: 100,
    }
}

const RANDOM: Order = Order::Random { run: 1, identical: false };
const SEQUENTIAL: Order = Order::Sequential { skip: 0 };

fn offsets(plan: Plan, offset: u64, len: u64) -> Offsets {
    Offsets::new(plan, Extent { offset, len }, Seeds::new(None, true, 0, 1), 0)
}

/// One pass, as offset and length in KiB.
fn pass(offsets: &mut Offsets) -> Vec<(u64, u64)> {
    let ios = std::iter::from_fn(|| offsets.next_io()).take(100_000);
    ios.map(|io| (io.offset / K, io.len / K)).collect()
}

/// All bytes from 0 to `end` (in KiB) once, none beyond.
fn covers(mut ios: Vec<(u64, u64)>, end: u64) {
    ios.sort_unstable();
    let reached = ios.iter().fold(0, |at, (offset, len)| {
        assert!(*offset == at && *len > 0, "{offset}+{len} at {at}");
        at + len
    });
    assert_eq!(reached, end);
}

/// The offsets that Debian's fio 3.33 used, by its latency log.
#[test]
fn sequential_as_fio() {
    assert_eq!(pass(&mut offsets(plan(SEQUENTIAL, Sizes::Fixed(4 * K)), 0, 16 * K)), [(0, 4), (4, 4), (8, 4), (12, 4)]);
    assert_eq!(pass(&mut offsets(plan(SEQUENTIAL, Sizes::Fixed(4 * K)), 60 * K, 8 * K)), [(60, 4), (64, 4)]);
    let ragged = pass(&mut offsets(plan(SEQUENTIAL, Sizes::Fixed(64 * K)), 0, 3_000_001));
    assert_eq!((ragged.len(), ragged[44]), (45, (2816, 64)), "the last part of a block is left out");
}

/// By an I/O log of fio 3.33: each row is a region, a block, what is left out behind it, and where I/Os began, all in KiB.
#[test]
fn holes_as_fio() {
    for (len, size, skip, begins) in [
        (64, 4, 4, &[0, 8, 16, 24, 32, 40, 48, 56, 0, 8, 16, 24, 32, 40, 48, 56][..]),
        (64, 4, 12, &[0, 16, 32, 48, 0, 16, 32, 48, 0, 16, 32, 48, 0, 16, 32, 48]),
        (60, 4, 12, &[0, 16, 32, 48, 0, 16, 32, 48, 0, 16, 32, 48, 0, 16, 32]),
        (60, 8, 3, &[0, 11, 22, 33, 44]),
    ] {
        let holes = plan(Order::Sequential { skip: skip * K }, Sizes::Fixed(size * K));
        assert!(!holes.visits_once());
        let mut offsets = offsets(holes, 0, len * K);
        // A pass is as many bytes as the region has.
        let ios = std::iter::from_fn(|| offsets.next_io()).take((len / size) as usize);
        let ios: Vec<_> = ios.map(|io| (io.offset / K, io.len / K)).collect();
        assert_eq!(ios, begins.iter().map(|begin| (*begin, size)).collect::<Vec<_>>(), "{len} {size} {skip}");
    }
}

#[test]
fn sequential_sizes_are_cut_to_fit() {
    let sizes = Sizes::Split(split("4k/50:16k/50", KbBase::Binary).unwrap());
    let ios = pass(&mut offsets(plan(SEQUENTIAL, sizes), 0, 64 * K));
    covers(ios.clone(), 64);
    assert!(ios.iter().all(|(_, len)| len % 4 == 0));
}

#[test]
fn the_map_visits_each_block_once() {
    let mut offsets = offsets(plan(RANDOM, Sizes::Fixed(4 * K)), 0, 4096 * K);
    let first = pass(&mut offsets);
    covers(first.clone(), 4096);
    assert!(first.windows(2).filter(|pair| pair[0].0 + 4 == pair[1].0).count() < 10, "no order");
    assert_eq!(offsets.next_io(), None);
    offsets.restart();
    let second = pass(&mut offsets);
    covers(second.clone(), 4096);
    assert_ne!(first, second, "another order in each pass");
}

#[test]
fn the_map_visits_each_byte_once_where_sizes_differ() {
    let ranges = Sizes::Range(4 * K, 64 * K);
    let splits = Sizes::Split(split("4k/10:64k/50:32k/40", KbBase::Binary).unwrap());
    for sizes in [ranges, splits] {
        for len in [4, 60, 64, 256, 1000, 4100] {
            let mut offsets = offsets(plan(RANDOM, sizes.clone()), 0, len * K);
            covers(pass(&mut offsets), len);
            offsets.restart();
            covers(pass(&mut offsets), len);
        }
    }
    let mut unaligned = plan(RANDOM, Sizes::Range(1000, 5000));
    unaligned.unaligned = true;
    // As in fio, nothing is smaller than the smallest I/O: less than that is left at the end.
    for len in [100_000, 100_001, 99_313, 98_700, 97_001] {
        let mut offsets = offsets(unaligned.clone(), 0, len);
        let mut ios: Vec<Extent> = std::iter::from_fn(|| offsets.next_io()).collect();
        ios.sort_unstable_by_key(|io| io.offset);
        let end = ios.iter().fold(0, |at, io| if io.offset == at { at + io.len } else { 0 });
        assert!((len - 999..=len).contains(&end) && ios.iter().all(|io| io.len >= 1000), "{len}: {ios:?}");
    }
}

#[test]
fn the_map_keeps_the_weights_of_sizes() {
    let splits = Sizes::Split(split("4k/10:64k/50:32k/40", KbBase::Binary).unwrap());
    let ios = pass(&mut offsets(plan(RANDOM, splits), 0, 1 << 30));
    let share = |size| (ios.iter().filter(|(_, len)| *len == size).count() as f64 / ios.len() as f64 * 100.0).round();
    assert_eq!([4, 64, 32].map(share), [10.0, 50.0, 40.0]);
    let rare = Sizes::Split(split("4k/1:8k/98:16k/1", KbBase::Binary).unwrap());
    covers(pass(&mut offsets(plan(RANDOM, rare), 0, 5000 * K)), 5000);
    let ranges = pass(&mut offsets(plan(RANDOM, Sizes::Range(4 * K, 64 * K)), 0, 1 << 30));
    let mean = ranges.iter().map(|(_, len)| len).sum::<u64>() / ranges.len() as u64;
    assert!((33..=35).contains(&mean), "{mean} KiB on average");
}

#[test]
fn sizes_of_a_range_are_equally_frequent_in_sequence_too() {
    let ios = pass(&mut offsets(plan(SEQUENTIAL, Sizes::Range(4 * K, 16 * K)), 0, 1 << 30));
    for size in [4, 8, 12, 16] {
        let share = ios.iter().filter(|(_, len)| *len == size).count() as f64 / ios.len() as f64;
        assert!((0.24..0.26).contains(&share), "{share} of {size} KiB");
    }
}

#[test]
fn without_the_map_blocks_repeat() {
    let mut free = plan(RANDOM, Sizes::Fixed(4 * K));
    free.map = false;
    let ios = pass(&mut offsets(free, 0, 64 * K));
    assert_eq!(ios.len(), 100_000, "no end");
    assert!(ios.iter().all(|(offset, len)| offset % 4 == 0 && offset + len <= 64));
    let mut counts = [0; 16];
    ios.iter().for_each(|(offset, _)| counts[*offset as usize / 4] += 1);
    assert!(counts.iter().all(|count| (5_800..6_700).contains(count)), "{counts:?}");
}

#[test]
fn runs() {
    let four =
        |identical| pass(&mut offsets(plan(Order::Random { run: 4, identical }, Sizes::Fixed(4 * K)), 0, 4096 * K));
    for io in four(false).chunks_exact(4).take(100).filter(|io| io[0].0 <= 4080) {
        assert!(io.windows(2).all(|pair| pair[0].0 + 4 == pair[1].0), "{io:?}");
    }
    for io in four(true).chunks_exact(4).take(100) {
        assert!(io.windows(2).all(|pair| pair[0] == pair[1]), "{io:?}");
    }
}

#[test]
fn a_share_of_random() {
    let mut half = plan(RANDOM, Sizes::Fixed(4 * K));
    half.percentage_random = 30;
    let ios = pass(&mut offsets(half, 0, 1 << 30));
    let onward = ios.windows(2).filter(|pair| pair[0].0 + 4 == pair[1].0).count();
    assert!((69_000..71_000).contains(&onward), "{onward}");
}

#[test]
fn aligned_offsets_and_distributions() {
    let mut aligned = plan(RANDOM, Sizes::Fixed(4 * K));
    aligned.align = 8 * K;
    let ios = pass(&mut offsets(aligned, 0, 64 * K));
    assert_eq!(ios.len(), 8);
    assert!(ios.iter().all(|(offset, len)| offset % 8 == 0 && *len == 4));
    let mut hot = plan(RANDOM, Sizes::Range(4 * K, 16 * K));
    hot.distribution = Distribution::Zipf { theta: 1.2, center: None };
    assert!(pass(&mut offsets(hot, 0, 1000 * K)).iter().all(|(offset, len)| offset + len <= 1000 && *len >= 4));
}

#[test]
fn what_is_too_small_has_no_io() {
    for order in [SEQUENTIAL, RANDOM] {
        for map in [true, false] {
            let mut small = plan(order, Sizes::Fixed(4 * K));
            small.map = map;
            assert_eq!(offsets(small, 0, 4 * K - 1).next_io(), None);
        }
    }
    assert_eq!(offsets(plan(RANDOM, Sizes::Range(4 * K, 8 * K)), 0, K).next_io(), None);
}

#[test]
fn the_same_seeds_give_the_same() {
    let ios = |clone, part| {
        let seeds = Seeds::new(None, true, clone * 77, clone);
        let mut offsets =
            Offsets::new(plan(RANDOM, Sizes::Range(4 * K, 16 * K)), Extent { offset: 0, len: 4096 * K }, seeds, part);
        pass(&mut offsets)
    };
    assert_eq!(ios(1, 0), ios(1, 0));
    assert_ne!(ios(1, 0), ios(2, 0));
    assert_ne!(ios(1, 0), ios(1, 1));
}
