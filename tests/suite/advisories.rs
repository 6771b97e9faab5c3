//! `packaging/advisories`: a lock with a flaw, and one with a crate that nobody looked up, are refused by name; a database becomes the table.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn run(at: &Path, arguments: &[&Path]) -> Output {
    // By its interpreter: a copy just written may be open in a child of another test, and cannot be executed then.
    Command::new("python3").arg(at.join("packaging/advisories")).args(arguments).output().expect("python3 runs")
}

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn package(name: &str, version: &str) -> String {
    format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry\"\n\n")
}

#[test]
fn a_locked_crate_with_an_advisory_or_without_a_look_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("Cargo.lock");
    let held = |text: String| {
        fs::write(&lock, text).unwrap();
        said(&run(Path::new(ROOT), &[&lock]))
    };
    assert_eq!(said(&run(Path::new(ROOT), &[])), (Some(0), String::new()), "the lock that is kept");
    assert_eq!(held(package("tar", "0.4.45")), (Some(0), String::new()));
    let both = "tar 0.4.44: RUSTSEC-2026-0067\ntar 0.4.44: RUSTSEC-2026-0068\n";
    assert_eq!(held(package("tar", "0.4.44")), (Some(1), both.into()));
    // Between the mended ones of two lines of versions, and one that never had it.
    assert_eq!(held(package("lz4_flex", "0.12.0")), (Some(1), "lz4_flex 0.12.0: RUSTSEC-2026-0041\n".into()));
    assert_eq!(held(package("lz4_flex", "0.11.6")), (Some(0), String::new()));
    assert_eq!(held(package("crossbeam-epoch", "0.8.2")), (Some(0), String::new()));
    // `^0.20.2` is 0.20 only; a pre-release comes before its release.
    assert_eq!(held(package("nix", "0.20.3")), (Some(0), String::new()));
    assert_eq!(held(package("nix", "0.22.1")).0, Some(1));
    assert_eq!(held(package("tar", "0.4.45-rc.1")).0, Some(1));
    let (status, why) = held(package("no-such-crate", "1.0.0"));
    assert_eq!((status, why.contains("no-such-crate: not in packaging/advisories.tsv")), (Some(1), true), "{why}");
}

#[test]
fn a_database_becomes_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let advisory = |name: &str, id: &str, more: &str| {
        let place = at.join("db/crates").join(name);
        fs::create_dir_all(&place).unwrap();
        let versions = "[versions]\npatched = [\">= 1.2.0\"]\nunaffected = [\"< 1.0.0\"]";
        let text =
            format!("```toml\n[advisory]\nid = \"{id}\"\ndate = \"2026-05-04\"\n{more}\n{versions}\n```\n\n# A flaw\n");
        fs::write(place.join(format!("{id}.md")), text).unwrap();
    };
    advisory("flawed", "RUSTSEC-2026-9001", "");
    advisory("flawed", "RUSTSEC-2026-9002", "withdrawn = \"2026-05-05\"");
    advisory("elsewhere", "RUSTSEC-2026-9003", "");
    fs::create_dir(at.join("packaging")).unwrap();
    fs::copy(Path::new(ROOT).join("packaging/advisories"), at.join("packaging/advisories")).unwrap();
    fs::write(at.join("Cargo.lock"), package("flawed", "1.1.0") + &package("sound", "0.1.0")).unwrap();

    assert_eq!(said(&run(at, &[Path::new("--update"), &at.join("db")])), (Some(0), String::new()));
    let table = fs::read_to_string(at.join("packaging/advisories.tsv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with("2026-05-04"), "{table}");
    assert_eq!(lines[1..], ["flawed\tRUSTSEC-2026-9001\t>= 1.2.0\t< 1.0.0", "sound"]);
    assert_eq!(said(&run(at, &[])), (Some(1), "flawed 1.1.0: RUSTSEC-2026-9001\n".into()));
}
