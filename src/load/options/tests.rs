use super::*;
use std::collections::BTreeSet;

fn given(name: &str, text: &str) -> Result<Value, OptionError> {
    Given::new(name, Some(text), KbBase::Binary).map(|given| given.value)
}

#[test]
fn names_are_unique_and_defaults_are_values_of_their_kind() {
    let mut seen = BTreeSet::new();
    for spec in TABLE {
        for name in spec.aliases.iter().chain([&spec.name]) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(refusal(name, None), None, "{name} is in the table and refused");
        }
        if !spec.default.is_empty() {
            assert!(spec.kind.read(spec.default, KbBase::Binary).is_ok(), "{}={}", spec.name, spec.default);
        }
        assert!(spec.engines.iter().all(|name| engine(name).is_ok()), "{}", spec.name);
    }
}

#[test]
fn aliases_become_their_option() {
    for (alias, name) in
        [("readwrite", "rw"), ("blocksize", "bs"), ("io_limit", "io_size"), ("wait_for_previous", "stonewall")]
    {
        assert_eq!(find(alias).map(|spec| spec.name), Some(name));
    }
}

#[test]
fn values_by_kind() {
    assert_eq!(given("rw", "randread:8"), Ok(Value::Choice { word: "randread", more: Some("8".into()) }));
    assert_eq!(given("runtime", "60s"), Ok(Value::Time(Duration::from_secs(60))));
    assert_eq!(given("thinktime", "1000"), Ok(Value::Time(Duration::from_millis(1))));
    assert_eq!(given("filesize", "1k-4k"), Ok(Value::BytesRange((1024, 4096))));
    assert_eq!(given("startdelay", "1-3"), Ok(Value::TimeRange(Duration::from_secs(1), Duration::from_secs(3))));
    assert_eq!(given("directory", "/mt1:/mt2"), Ok(Value::Names(vec!["/mt1".into(), "/mt2".into()])));
    assert_eq!(given("nice", "-5"), Ok(Value::Int(-5)));
    let flag = Given::new("group_reporting", None, KbBase::Binary).unwrap();
    assert_eq!((flag.value, flag.text), (Value::Bool(true), None));
    assert_eq!(Given::new("write_bw_log", None, KbBase::Binary).unwrap().value, Value::Text(String::new()));
    assert!(Given::new("size", Some("1.5g"), KbBase::Binary).unwrap().differs);
}

#[test]
fn what_is_wrong_is_named() {
    let message = |name, text| Given::new(name, text, KbBase::Binary).unwrap_err().to_string();
    assert_eq!(message("runime", Some("3")), "Bad option <runime=3>\nDid you mean runtime?");
    assert_eq!(message("qqqqqqqqqq", None), "Bad option <qqqqqqqqqq>");
    assert_eq!(message("direct", None), "Option direct requires an argument");
    assert_eq!(message("direct", Some("2")), "direct: max value out of range: 2 (1 max)\nfio: failed parsing direct=2");
    assert_eq!(message("numjobs", Some("")), "numjobs: '' is not a number\nfio: failed parsing numjobs=");
    assert!(message("verify_interval", Some("5")).contains("min value out of range: 5 (80 min)"));
    assert!(message("verify_offset", Some("0")).contains("min value out of range: 0 (40 min)"));
    assert!(message("rwmixread", Some("101")).contains("max value out of range: 101 (100 max)"));
    assert!(message("rw", Some("foo")).ends_with("fio: failed parsing rw=foo"));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let message = |name, text| Given::new(name, Some(text), KbBase::Binary).unwrap_err().to_string();
    assert_eq!(
        message("zonemode", "zbd"),
        "fio: option 'zonemode=zbd' is not supported here: zoned block devices cannot sit on an NFS mount; use real fio for this job"
    );
    for (name, text) in
        [("rw", "randtrim"), ("ioengine", "rbd"), ("cmdprio_percentage", "5"), ("flow", "1"), ("mem", "mmaphuge")]
    {
        assert!(message(name, text).contains("is not supported here"), "{name}={text}");
    }
    for (name, text) in [
        ("threads", "2"),
        ("stat_type", "lstat"),
        ("bs_is_seq_rand", "1"),
        ("log_issue_time", "1"),
        ("verify_pattern_interval", "512"),
        ("verify_policy", "x"),
        ("iodepth_mode", "stepped"),
        ("random_distribution", "sequence"),
        ("trim_backlog", "1"),
    ] {
        assert!(message(name, text).contains("is not supported here"), "{name}={text}");
    }
    assert!(message("zonemode", "strided").contains("a file is not divided into zones"));
    assert!(message("ioengine", "foo").contains("engine foo not loadable"));
    for name in ENGINES {
        assert!(given("ioengine", name).is_ok());
    }
}

/// Some harmless lines say them.
#[test]
fn what_is_refused_may_be_switched_off() {
    for (name, text) in [
        ("lockfile", "none"),
        ("dedupe_mode", "repeat"),
        ("numa_mem_policy", "default"),
        ("trim_percentage", "0"),
        ("log_prio", "0"),
        ("flow", "0"),
        ("atomic", "0"),
        ("write_barrier", "0"),
        ("zonesize", "0"),
        ("log_alternate_epoch", "0"),
        ("dedupe_global", "0"),
        ("bs_is_seq_rand", "0"),
        ("stat_type", "stat"),
    ] {
        assert!(given(name, text).is_ok(), "{name}={text}");
        let on = Given::new(name, Some("1"), KbBase::Binary).unwrap_err().to_string();
        assert!(on.contains("is not supported here"), "{name}=1: {on}");
    }
}
