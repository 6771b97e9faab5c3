//! Hosts whose files are damaged: whatever is in them, there is a diagnosis, and both of its forms can be printed.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use proptest::prelude::*;

use crate::cli::console::Console;

use super::{Low, diagnose, show};

/// A recorded host.
fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hosts").join(name)
}

/// Every regular file of a host, with what is in it.
fn files(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
}

/// What doctor says of the host in `dir`: text, JSON, exit status.
fn examined(dir: &Path) -> (String, String, u8) {
    let low = Low::try_parse_from(["doctor".as_ref(), "--root".as_ref(), dir.as_os_str()]).unwrap();
    let (diagnosis, _) = diagnose(&low, &Console::new("parfs doctor")).unwrap();
    (show::lines(&diagnosis).join("\n"), serde_json::to_string(&diagnosis).unwrap(), diagnosis.exit_status)
}

/// What becomes of a file.
#[derive(Clone, Debug)]
enum Damage {
    None,
    Missing,
    Cut(prop::sample::Index),
    Byte(prop::sample::Index, u8),
    /// Each number becomes this one.
    Numbers(&'static str),
    Replaced(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let numbers = ["0", "-1", "1", "4294967296", "18446744073709551615", "99999999999999999999999", "nan", "1e400", ""];
    prop_oneof![
        4 => Just(Damage::None),
        1 => Just(Damage::Missing),
        2 => any::<prop::sample::Index>().prop_map(Damage::Cut),
        2 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        3 => prop::sample::select(numbers.to_vec()).prop_map(Damage::Numbers),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Damage::Replaced),
    ]
}

fn damaged(bytes: &[u8], damage: &Damage) -> Option<Vec<u8>> {
    let mut new = bytes.to_vec();
    match damage {
        Damage::None => {}
        Damage::Missing => return None,
        Damage::Cut(at) => new.truncate(at.index(bytes.len() + 1)),
        Damage::Byte(at, byte) if !new.is_empty() => new[at.index(bytes.len())] = *byte,
        Damage::Byte(..) => {}
        Damage::Numbers(number) => {
            new.clear();
            for part in bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
                new.extend_from_slice(if part[0].is_ascii_digit() { number.as_bytes() } else { part });
            }
        }
        Damage::Replaced(bytes) => new.clone_from(bytes),
    }
    Some(new)
}

proptest! {
    // Each case writes some hundred files.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_hosts_are_examined(
        name in prop::sample::select(vec!["healthy", "faulty", "bare"]),
        damages in prop::collection::vec(damage(), 24),
        first in 0usize..24,
    ) {
        let (mut all, dir) = (Vec::new(), tempfile::tempdir().unwrap());
        files(&recorded(name), &mut all);
        for (at, (path, bytes)) in all.iter().enumerate() {
            let Some(bytes) = damaged(bytes, &damages[(first + at) % damages.len()]) else { continue };
            let copy = dir.path().join(path.strip_prefix(recorded(name)).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, bytes).unwrap();
        }
        let (text, json, exit) = examined(dir.path());
        prop_assert!(text.ends_with("."), "{text}");
        prop_assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&json["exit_status"], &serde_json::Value::from(exit));
    }

    #[test]
    fn any_table_of_mounts_is_taken(
        mountinfo in prop::collection::vec(any::<u8>(), 0..400),
        point in prop::collection::vec(1u8.., 1..40),
        options in "[a-z=,0-9:.]{0,80}",
    ) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let line = [b"64 1 0:52 / /", &point[..], b" rw - nfs 10.0.0.5:/apps ", options.as_bytes(), b"\n"].concat();
        fs::write(dir.path().join("proc/self/mountinfo"), [mountinfo, b"\n".to_vec(), line].concat()).unwrap();
        let (text, json, _) = examined(dir.path());
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }
}

#[test]
fn what_is_found_depends_on_the_host() {
    let (healthy, faulty, bare) =
        (examined(&recorded("healthy")), examined(&recorded("faulty")), examined(&recorded("bare")));
    assert_eq!((healthy.2, faulty.2, bare.2), (0, 1, 0));
    assert!(healthy.0.ends_with("0 faults, 0 warnings, 1 note."), "{}", healthy.0);
    assert!(!healthy.0.contains("Not read"), "{}", healthy.0);
}
