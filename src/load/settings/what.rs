//! What I/O a job does: directions, blocks, offsets, amounts.
//!
//! Promises: blocks and offsets for each direction as fio takes them; bssplit= goes before bsrange=, and that before bs=, whichever stands first.
//! Leaves out: percentages of files, and what of it fits a file.

use super::super::job::BadJob;
use super::super::offsets::{Order, Plan, Sizes};
use super::super::options::Value;
use super::super::value::{self, Amount};
use super::super::{Direction, Each, distribution};
use super::Load;
use super::asked::Asked;

pub(super) fn load(asked: &mut Asked<'_>) -> Result<Load, BadJob> {
    let (word, more) = asked.choice("rw");
    let rw = match word {
        "readwrite" => "rw",
        "read" | "write" | "randread" | "randwrite" | "rw" | "randrw" => word,
        _ => return Err(asked.refused("rw", "a file on NFS cannot be trimmed; use rw=write with zero_buffers")),
    };
    let sizes = sizes(asked)?;
    let blocks = Each::of(|direction| (sizes[direction].min(), sizes[direction].max()));
    let load = Load {
        rw,
        read_percent: match rw {
            "read" | "randread" => 100,
            "write" | "randwrite" => 0,
            _ => read_percent(asked),
        },
        plans: plans(asked, rw, more, sizes)?,
        blocks,
        size: asked.amount("size"),
        io_size: asked.amount("io_size"),
        offset: asked.amount("offset").unwrap_or(Amount::Bytes(0)),
        offset_increment: asked.amount("offset_increment").unwrap_or(Amount::Bytes(0)),
        offset_align: align(asked)?,
        number_ios: asked.number("number_ios").unwrap_or(0),
        seed: asked.has("randseed").then(|| asked.number("randseed")).flatten(),
        // Later versions of fio have one option of both names (its t/random_seed.py holds it): the last counts.
        repeat: match asked.place("allrandrepeat") > asked.place("randrepeat") {
            true => asked.is("allrandrepeat"),
            false => asked.is("randrepeat"),
        },
        fill: asked.is("fill_device"),
    };
    if let Some(Amount::Bytes(size)) = load.size {
        let min = load.block_min();
        if size < min {
            let text = "fio: size too small, must not be less than minimum block size";
            return Err(asked.together(format!("{text}: {size} < {min}")));
        }
    }
    if load.fill && load.reads() && load.size.is_none() {
        return Err(asked.refused(
            "fill_device",
            "a job that reads needs a size; fill the file system by a job with rw=write first",
        ));
    }
    Ok(load)
}

/// rwmixread= and rwmixwrite= say the same; the last of the two holds.
fn read_percent(asked: &Asked<'_>) -> u64 {
    let percent = |name: &str, value: &Value| match (name, value) {
        ("rwmixread", Value::Int(percent)) => u64::try_from(*percent).ok(),
        ("rwmixwrite", Value::Int(percent)) => u64::try_from(100 - *percent).ok(),
        _ => None,
    };
    asked.job.all().rev().find_map(|given| percent(given.spec.name, &given.value)).unwrap_or(50)
}

/// offset_align= is one number in fio, whatever stands behind commas.
fn align(asked: &Asked<'_>) -> Result<u64, BadJob> {
    let each = asked.each("offset_align", 0);
    if each.write != each.read || each.trim != each.read {
        return Err(asked.bad("offset_align", "one number holds for all directions"));
    }
    Ok(each.read)
}

fn sizes(asked: &Asked<'_>) -> Result<Each<Sizes>, BadJob> {
    let fixed = asked.each("bs", 4096);
    let ranges = asked.merged("bsrange", |value| match value {
        Value::EachRange(ranges) => Some(*ranges),
        _ => None,
    });
    let splits = asked.merged("bssplit", |value| match value {
        Value::EachSplit(splits) => Some(splits.clone()),
        _ => None,
    });
    let mut empty = false;
    let sizes = Each::of(|direction| {
        empty |= ranges[direction].is_some_and(|(low, _)| low == 0);
        match (&splits[direction], ranges[direction]) {
            (Some(split), _) => match split.as_slice() {
                [one] => Sizes::Fixed(one.size),
                _ => Sizes::Split(split.clone()),
            },
            (None, Some((low, high))) if low == high => Sizes::Fixed(low),
            (None, Some((low, high))) => Sizes::Range(low, high),
            (None, None) => Sizes::Fixed(fixed[direction]),
        }
    });
    if empty { Err(asked.bad("bsrange", "a block of 0 bytes")) } else { Ok(sizes) }
}

/// What rw= has behind its colon: bytes that sequential I/O leaves out after each block, or how many blocks follow a random one.
fn order(asked: &Asked<'_>, is_random: bool, more: Option<&str>) -> Result<Order, BadJob> {
    let Some(more) = more else {
        return Ok(if is_random { Order::Random { run: 1, identical: false } } else { Order::Sequential { skip: 0 } });
    };
    if is_random {
        return match more.trim().parse() {
            Ok(run) if run > 0 => Ok(Order::Random { run, identical: asked.word("rw_sequencer") == "identical" }),
            _ => Err(asked.bad("rw", format!("'{more}' is not a number of I/Os, 1 or more"))),
        };
    }
    let base = super::super::job::base(asked.job.all());
    match value::signed(more, base).map(|read| u64::try_from(read.value)) {
        Ok(Ok(skip)) => Ok(Order::Sequential { skip }),
        Ok(Err(_)) => Err(asked
            .refused("rw", "I/O does not go backwards; use rw=randread or rw=randwrite with rw_sequencer=identical")),
        Err(error) => Err(asked.bad("rw", error.0)),
    }
}

fn plans(asked: &mut Asked<'_>, rw: &str, more: Option<String>, sizes: Each<Sizes>) -> Result<Each<Plan>, BadJob> {
    let is_random = rw.starts_with("rand");
    let order = order(asked, is_random, more.as_deref())?;
    let (word, more) = asked.choice("random_distribution");
    let base = super::super::job::base(asked.job.all());
    let distributions = distribution::parse(word, more.as_deref(), base);
    let distributions = distributions.map_err(|error| asked.bad("random_distribution", error.0))?;
    let aligns = asked.merged("ba", |value| match value {
        Value::Each(each) => Some(*each),
        _ => None,
    });
    let align = |direction: Direction| aligns[direction].filter(|_| is_random).unwrap_or(sizes[direction].min());
    let percentage_random = asked.each("percentage_random", 100);
    let aligned = Direction::ALL.iter().any(|direction| align(*direction) != sizes[*direction].min());
    let mut map = !asked.is("norandommap");
    if aligned && map {
        asked.warn("fio: Any use of blockalign= turns off randommap");
        map = false;
    }
    Ok(Each::of(|direction| Plan {
        order,
        sizes: sizes[direction].clone(),
        align: align(direction),
        unaligned: asked.is("bs_unaligned"),
        map: map && distributions[direction] == distribution::Distribution::Uniform,
        distribution: distributions[direction].clone(),
        percentage_random: percentage_random[direction],
    }))
}
