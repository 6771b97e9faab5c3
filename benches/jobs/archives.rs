//! Archives from and onto simulated targets, by the command itself: creation, and creation piped into extraction.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use parfs::base::units::grouped;
use serde_json::Value;

use super::child::Role;

/// Odd, so that the median is one of the runs.
const REPEATS: usize = 3;

/// One end of a run: what its report says.
struct End {
    seconds: f64,
    iops_share: f64,
    bandwidth_share: f64,
    /// Priced IOPS of all and of the listing.
    price: f64,
    listing: f64,
    cpu_seconds: f64,
    calls: f64,
    memory_mb: f64,
}

fn partar(arguments: &[&str], report: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parfs"));
    command.arg("partar").args(arguments).arg("--report").arg(report);
    command
}

fn ended(mut child: Child) {
    assert!(child.wait().expect("a child ends").success(), "partar failed");
}

/// What the report says of its only target on NFS.
fn end(report: &Path) -> End {
    let text = std::fs::read_to_string(report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("reports are JSON");
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"));
    let targets = report["targets"].as_array().expect("targets");
    let target = targets.iter().find(|target| !target["issued"].is_null()).expect("a target on NFS");
    let procedures = target["procedures"].as_array().expect("procedures");
    let calls = |name: Option<&str>| -> f64 {
        let chosen = procedures.iter().filter(|p| name.is_none_or(|name| p["procedure"] == name));
        chosen.map(|p| of(p, "calls")).sum()
    };
    End {
        seconds: of(&report, "seconds"),
        iops_share: of(target, "iops_share"),
        bandwidth_share: of(target, "bandwidth_share"),
        price: of(target, "iops_total"),
        listing: 4.0 * calls(Some("READDIRPLUS")),
        cpu_seconds: of(&report, "cpu_seconds"),
        calls: calls(None),
        memory_mb: of(&report, "memory_peak_bytes") / 1e6,
    }
}

/// A server with these arguments, and its URL.
fn serve(arguments: &str) -> Role {
    let words: Vec<String> = ["serve"].into_iter().chain(arguments.split_whitespace()).map(String::from).collect();
    Role::start(&words)
}

/// Runs `once` some times; prints the line of the run whose seconds are the median, and returns its end.
fn median(label: &str, files: u64, goal: f64, only: &str, once: impl Fn() -> End) -> Option<End> {
    if !label.contains(only) {
        return None;
    }
    let mut ends: Vec<End> = (0..REPEATS).map(|_| once()).collect();
    ends.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let end = ends.swap_remove(REPEATS / 2);
    let share = 100.0 * end.iops_share.max(end.bandwidth_share);
    println!(
        "{label:<44} {:>7.2} {:>8} {:>7.1} {:>7.1} {:>9.3} {:>7.1} {:>7.0}  goal {goal:.0} %: {}",
        end.seconds,
        grouped((files as f64 / end.seconds) as u64),
        end.iops_share * 100.0,
        end.bandwidth_share * 100.0,
        end.price / files as f64,
        end.cpu_seconds * 1e6 / end.calls,
        end.memory_mb,
        if share >= goal { "met" } else { "MISSED" },
    );
    Some(end)
}

/// The table; of its lines those whose label contains `only`.
pub fn run(quick: bool, only: &str) {
    let scale = if quick { 5 } else { 1 };
    println!(
        "\narchives: partar from and onto simulated targets of 50,000 IOPS and 1 GB/s at 1 ms; medians of {REPEATS} runs. Client"
    );
    println!(
        "and servers share this machine's processors. Files of 1 to 16 KiB. IOPS/f, us/RPC and memory of the end that is named.\n"
    );
    println!(
        "{:<44} {:>7} {:>8} {:>7} {:>7} {:>9} {:>7} {:>7}",
        "run", "s", "files/s", "% IOPS", "% MB/s", "IOPS/f", "us/RPC", "MB mem"
    );
    let place = tempfile::Builder::new().prefix("parfs-bench").tempdir_in("/dev/shm").expect("room");
    let report = place.path().join("report");
    let files = 20_000 / scale;
    let created = median("create from a target", files, 90.0, only, || {
        let source = serve(&format!("files={files} dirs={}", files / 100));
        ended(partar(&["-cf", "/dev/null", "-C", &source.line, "tree"], &report).spawn().expect("partar"));
        end(&report)
    });
    if let Some(created) = created {
        let beyond = (created.price - created.listing) / files as f64;
        let met = if beyond <= 7.0 { "met" } else { "MISSED" };
        println!("  beyond the listing: {beyond:.3} IOPS for each file (goal 7: {met})");
    }
    median("create from a target, one directory", files, 90.0, only, || {
        let source = serve(&format!("files={files} dirs=1"));
        ended(partar(&["-cf", "/dev/null", "-C", &source.line, "tree"], &report).spawn().expect("partar"));
        end(&report)
    });
    // A hole: reading it costs next to nothing. With 50,000 IOPS a WRITE of 1 MiB, at 66, would bind at 794 MB/s.
    let large = place.path().join("large");
    std::fs::File::create(&large).and_then(|file| file.set_len((8 << 30) / scale)).expect("room");
    let local = place.path().to_str().expect("a name of our own");
    median("create onto a target, bandwidth binds", 1, 90.0, only, || {
        let target = serve("iops=20");
        let archive = format!("{}/a.tar", target.line.trim_end_matches('/'));
        ended(partar(&["-cf", &archive, "-C", local, "large"], &report).spawn().expect("partar"));
        end(&report)
    });
    let second = place.path().join("report2");
    median("create | extract, the extraction", files, 85.0, only, || {
        let (source, target) = (serve(&format!("files={files} dirs={}", files / 100)), serve(""));
        let mut from = partar(&["-pcf", "-", "-P", "32", "-C", &source.line, "tree"], &report);
        let mut from = from.stdout(Stdio::piped()).spawn().expect("partar");
        let mut to = partar(&["-pxf", "-", "-P", "32", "-C", &target.line], &second);
        let to = to.stdin(from.stdout.take().expect("piped")).spawn().expect("partar");
        ended(to);
        ended(from);
        end(&second)
    });
}
