use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn size(text: &str) -> Result<u64, BadValue> {
    bytes(text, KbBase::Binary).map(|read| read.value)
}

#[test]
fn sizes_as_fio_reads_them() {
    for text in ["4k", "4K", "4kb", "4KB", "4ki", "0x1000", "4096", " 4k ", "+4k", "4096b"] {
        assert_eq!(size(text), Ok(4096), "{text}");
    }
    assert_eq!(size("(1024*1k)"), Ok(1 << 20));
    assert_eq!(size("8kib"), Ok(8000), "three-letter forms are inverted");
    assert_eq!(size("1mib"), Ok(1_000_000));
    assert_eq!([size("1m"), size("1g"), size("1T"), size("1p")], [20, 30, 40, 50].map(|power| Ok(1 << power)));
    let decimal = |text| bytes(text, KbBase::Decimal).map(|read| read.value);
    assert_eq!([decimal("4k"), decimal("4ki"), decimal("4kib")], [Ok(4000), Ok(4000), Ok(4096)]);
}

#[test]
fn what_fio_cuts_off_is_refused_or_told() {
    assert_eq!(bytes("1.5g", KbBase::Binary), Ok(Read { value: 3 << 29, differs: true }));
    assert_eq!(size("0.25k"), Ok(256));
    for text in ["", "k", "foo", "4x", "4kfoo", "1.g", "-4k", "99999999999g", "4k 8k", "0x", "1z"] {
        assert!(size(text).is_err(), "{text}");
    }
}

#[test]
fn percentages() {
    let amount = |text| amount(text, KbBase::Binary).map(|read| read.value);
    assert_eq!(amount("20%"), Ok(Amount::Percent(20)));
    assert_eq!(amount("1m"), Ok(Amount::Bytes(1 << 20)));
    assert!(amount("101%").is_err() && amount("%").is_err() && amount("-1%").is_err());
}

#[test]
fn signs() {
    assert_eq!(signed("-5", KbBase::Binary).map(|read| read.value), Ok(-5));
    assert_eq!(signed("19", KbBase::Binary).map(|read| read.value), Ok(19));
}

#[test]
fn times() {
    let seconds = |text| duration(text, TimeUnit::Seconds).map(|read| read.value);
    assert_eq!([seconds("1"), seconds("1s"), seconds("1000ms"), seconds("1000000us")], [const { Ok(SECOND) }; 4]);
    assert_eq!([seconds("1000msec"), seconds("1000000USEC")], [const { Ok(SECOND) }; 2]);
    assert_eq!([seconds("2m"), seconds("1h"), seconds("1d")], [120, 3600, 86400].map(|n| Ok(n * SECOND)));
    assert_eq!(duration("1000", TimeUnit::Microseconds).map(|read| read.value), Ok(SECOND / 1000));
    assert_eq!(duration("500", TimeUnit::Milliseconds).map(|read| read.value), Ok(SECOND / 2));
    assert!(seconds("1y").is_err() && seconds("").is_err() && seconds("-1").is_err());
}

#[test]
fn times_that_fio_misreads_mean_what_they_say() {
    let told = |text, value| assert_eq!(duration(text, TimeUnit::Seconds), Ok(Read { value, differs: true }), "{text}");
    told("2sec", 2 * SECOND);
    told("1min", 60 * SECOND);
    told("1.5s", 3 * SECOND / 2);
}

#[test]
fn switches() {
    assert_eq!([boolean("0"), boolean("1"), boolean("1G")], [Ok(false), Ok(true), Ok(true)]);
    assert_eq!(["0x1", "0X1", "0x0", "0x", "0x1G"].map(boolean), [Ok(true), Ok(true), Ok(false), Ok(false), Ok(true)]);
    assert_eq!(boolean("0x2"), Err(BadValue("max value out of range: 2 (1 max)".into())));
    assert_eq!(boolean("2"), Err(BadValue("max value out of range: 2 (1 max)".into())));
    assert!(boolean("--thread").is_err() && boolean("").is_err() && boolean("yes").is_err());
}

/// Block sizes as Debian's fio 3.33 printed them in its banner; 4096 is the default that was kept.
#[test]
fn lists_for_each_direction() {
    let banner = |text| {
        let given = each_bytes(text, KbBase::Binary).unwrap().value;
        [given.read, given.write, given.trim].map(|value| value.unwrap_or(4096))
    };
    assert_eq!(banner("4k"), [4096; 3]);
    assert_eq!(banner("8k"), [8192; 3]);
    assert_eq!(banner(",8k"), [4096, 8192, 8192]);
    assert_eq!(banner("8k,,16k"), [8192, 4096, 16384]);
    assert_eq!(banner("8k,"), [8192, 4096, 4096]);
    assert_eq!(banner("4k-16k"), [4096, 16384, 16384], "no range");
    assert_eq!(banner("4k:8k:16k"), [4096, 8192, 16384]);
    for text in [",", "", "4k,8k,16k,32k"] {
        assert!(each_bytes(text, KbBase::Binary).is_err(), "{text}");
    }
}

#[test]
fn ranges() {
    let ranges = each_range("1k-4k,8k:32k", KbBase::Binary).unwrap().value;
    let far = Some((8 << 10, 32 << 10));
    assert_eq!(ranges, Each { read: Some((1 << 10, 4 << 10)), write: far, trim: far });
    assert_eq!(range("4k-1k", KbBase::Binary).unwrap().value, (1024, 4096), "turned round");
    assert!(range("4k", KbBase::Binary).is_err());
    assert_eq!(each_range("100k-1M,1M-4M", KbBase::Binary).unwrap().value.write, Some((1 << 20, 4 << 20)));
}

fn weights(text: &str) -> Vec<(u64, u32)> {
    split(text, KbBase::Binary).unwrap().iter().map(|w| (w.size >> 10, w.percent)).collect()
}

#[test]
fn mixtures() {
    assert_eq!(weights("4k/10:64k/50:32k/40"), [(4, 10), (64, 50), (32, 40)]);
    assert_eq!(weights("4k/50:64k:32k"), [(4, 50), (64, 25), (32, 25)], "blank shares take the rest");
    assert_eq!(weights("4k/50:64k/:32k"), [(4, 50), (64, 25), (32, 25)]);
    assert_eq!(weights("4k/50:8k/0"), [(4, 50), (8, 50)], "0 is none");
    assert_eq!(weights("64k/30:4k/10:16k/10"), [(64, 80), (4, 10), (16, 10)], "the greatest share takes what is left");
    assert_eq!(weights("64k/10:4k/10"), [(64, 10), (4, 90)], "the last of equal ones does");
    assert_eq!(weights("4k/90:8k/90"), [(4, 90), (8, 90)], "3.42 takes more than 100 %");
    let both = each_split("4k/10:64k/90,8k/100", KbBase::Binary).unwrap();
    assert_eq!(both.read.unwrap().len(), 2);
    assert_eq!(both.write, Some(vec![Weighted { size: 8192, percent: 100 }]));
    assert_eq!(both.trim, both.write);
    for text in ["", "4k/101", "0/10", "4k/x"] {
        assert!(split(text, KbBase::Binary).is_err(), "{text}");
    }
}

#[test]
fn name_lists() {
    assert_eq!(names("/mt1:/mt2"), ["/mt1", "/mt2"]);
    assert_eq!(names(r"/dev/a\:b:c"), ["/dev/a:b", "c"]);
    assert_eq!(names(r"a\b::c:"), [r"a\b", "c"]);
}

#[test]
fn numbers_and_processors() {
    assert_eq!(floats("99:50:99.9", 20, 0.0, 100.0), Ok(vec![99.0, 50.0, 99.9]));
    assert!(floats("101", 20, 0.0, 100.0).is_err() && floats("x", 20, 0.0, 100.0).is_err());
    assert!(floats(&["1"; 21].join(":"), 20, 0.0, 100.0).is_err());
    assert!(floats("nan", 20, 0.0, 100.0).is_err());
    assert_eq!(cpus("0-3,5"), Ok(vec![0, 1, 2, 3, 5]));
    assert!(cpus("3-1").is_err() && cpus("0-99999999999").is_err() && cpus("").is_err());
}
