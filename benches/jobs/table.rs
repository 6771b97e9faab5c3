//! Whole runs against simulated targets, and their goals.

use parfs::base::units::grouped;
use serde_json::Value;

use super::child::{Role, given, number};

/// Odd, so that the median is one of the runs.
const REPEATS: usize = 3;

/// One line of the table.
struct Line {
    label: String,
    /// The servers, by the arguments of the role `serve`; a copy's target is the last.
    servers: Vec<String>,
    /// The client's job and options; the servers' URLs follow the job.
    work: String,
    files: u64,
    /// The least share of the ceiling that binds, in percent; 0: none.
    goal: f64,
}

fn line(label: &str, servers: &[&str], work: &str, files: u64, goal: f64) -> Line {
    let servers = servers.iter().map(|s| (*s).to_owned()).collect();
    Line { label: label.into(), servers, work: work.into(), files, goal }
}

/// What one run reached.
struct Figures {
    seconds: f64,
    /// Of the side that is nearer to its ceilings: its IOPS, and its shares of IOPS and bandwidth, 0 to 1.
    iops: f64,
    iops_share: f64,
    bandwidth_share: f64,
    mb_per_s: f64,
    price: u64,
    listing: u64,
    cpu_us_per_rpc: f64,
    memory_mb: f64,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn measure(line: &Line) -> Figures {
    let roles: Vec<Role> =
        line.servers.iter().map(|s| Role::start(&[vec!["serve".into()], words(s)].concat())).collect();
    let (job, options) = line.work.split_once(' ').unwrap_or((&line.work, ""));
    let mut arguments = vec!["work".to_owned(), job.into()];
    arguments.extend(roles.iter().map(|role| role.line.clone()));
    if job == "copy" && roles.len() == 1 {
        arguments.push(roles[0].line.clone());
    }
    arguments.extend(words(options));
    let client = Role::start(&arguments);
    let report: Value = serde_json::from_str(&client.line).expect("the client reports in JSON");
    client.end();
    assert_eq!(report["failures"], serde_json::json!([]), "{}", line.label);
    assert!(report["objects"].as_u64().expect("objects") >= line.files, "{}: {report}", line.label);
    if given(&arguments, "show").is_some() {
        println!("{report}");
    }
    let seconds = report["seconds"].as_f64().expect("seconds");
    let side = |key: &str, server: &String| {
        let server = words(server);
        let scale = number(&server, "scale", 1.0) * number(&server, "targets", 1.0);
        let of = |what: &str| report[key][what].as_f64().expect("a number") / seconds;
        (of("price"), of("price") / (50_000.0 * scale * number(&server, "iops", 1.0)), of("bytes") / (1e9 * scale))
    };
    let source = side("source", &line.servers[0]);
    let target = side("target", line.servers.last().expect("a server"));
    let most = |s: &(f64, f64, f64)| s.1.max(s.2);
    let binding = if most(&source) > most(&target) { source } else { target };
    let sum = |what: &str| report["source"][what].as_u64().unwrap_or(0) + report["target"][what].as_u64().unwrap_or(0);
    Figures {
        seconds,
        iops: binding.0,
        iops_share: binding.1,
        bandwidth_share: binding.2,
        mb_per_s: report["bytes"].as_f64().expect("bytes") / seconds / 1e6,
        price: sum("price"),
        listing: sum("listing"),
        cpu_us_per_rpc: report["cpu_seconds"].as_f64().expect("seconds") * 1e6 / sum("calls") as f64,
        memory_mb: report["memory"].as_f64().expect("bytes") / 1e6,
    }
}

/// Runs the lines in turn, `REPEATS` times; prints of each the run whose seconds are the median, and returns it.
fn medians(lines: &[Line], only: &str) -> Vec<Option<Figures>> {
    let mut runs: Vec<Vec<Figures>> = lines.iter().map(|_| Vec::new()).collect();
    for _ in 0..REPEATS {
        let chosen = lines.iter().zip(&mut runs).filter(|(line, _)| line.label.contains(only));
        chosen.for_each(|(line, runs)| runs.push(measure(line)));
    }
    lines.iter().zip(runs).map(|(line, runs)| median(line, runs)).collect()
}

fn median(line: &Line, mut runs: Vec<Figures>) -> Option<Figures> {
    if runs.is_empty() {
        return None;
    }
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let figures = runs.swap_remove(runs.len() / 2);
    let share = 100.0 * figures.iops_share.max(figures.bandwidth_share);
    let met = match line.goal {
        0.0 => String::new(),
        goal => format!("goal {goal:.0} %: {}", if share >= goal { "met" } else { "MISSED" }),
    };
    println!(
        "{:<40} {:>7.2} {:>8.0} {:>8} {:>6.1} {:>6.0} {:>6.1} {:>9.3} {:>7.1} {:>6.0}  {met}",
        line.label,
        figures.seconds,
        line.files as f64 / figures.seconds,
        grouped(figures.iops as u64),
        figures.iops_share * 100.0,
        figures.mb_per_s,
        figures.bandwidth_share * 100.0,
        figures.price as f64 / line.files as f64,
        figures.cpu_us_per_rpc,
        figures.memory_mb,
    );
    Some(figures)
}

/// The table; of its lines those whose label contains `only`.
pub fn run(quick: bool, only: &str) {
    let scale = if quick { 5 } else { 1 };
    println!(
        "\njobs: simulated targets of 50,000 IOPS and 1 GB/s at 1 ms; medians of {REPEATS} runs. Client and servers share"
    );
    println!(
        "this machine's processors. Files of 1 to 16 KiB. x0.1: ceilings at a tenth. %ceil: of the side nearer to its"
    );
    println!("ceilings. IOPS/f: of both sides together, by OCI's price list.\n");
    println!(
        "{:<40} {:>7} {:>8} {:>8} {:>6} {:>6} {:>6} {:>9} {:>7} {:>6}",
        "run", "s", "files/s", "IOPS", "%ceil", "MB/s", "%ceil", "IOPS/f", "us/RPC", "MB mem"
    );
    removals(50_000 / scale, only);
    copies(20_000 / scale, only);
    unchanged(100_000 / scale, only);
    large((8 << 30) / scale, only);
}

fn removals(files: u64, only: &str) {
    let dirs = files / 100;
    let spread = format!("files={files} dirs={dirs}");
    let flat = format!("files={files} dirs=1");
    let lines = [
        line(&format!("remove, {} directories", grouped(dirs)), &[&spread], "remove", files, 90.0),
        line("remove, one directory", &[&flat], "remove", files, 90.0),
    ];
    for (line, figures) in lines.iter().zip(medians(&lines, only)) {
        let Some(figures) = figures else { continue };
        let price = figures.price as f64 / files as f64;
        println!("  {}: {price:.3} IOPS for each file (goal 8.2: {})", line.label, met(price <= 8.2));
    }
    let tenth: Vec<Line> = [1, 4, 8]
        .into_iter()
        .map(|targets| {
            let files = if targets == 1 { files / 4 } else { files };
            let server = format!("files={files} dirs={} targets={targets} scale=0.1", files / 100);
            line(&format!("remove, {targets} target(s) x0.1"), &[&server], "remove", files, 90.0)
        })
        .collect();
    speedup(&tenth, only);
}

fn copies(files: u64, only: &str) {
    let source = format!("files={files} dirs={}", files / 100);
    let to = "from=tree to=copy";
    let lines = [
        line("copy, target to target", &[&source, ""], &format!("copy {to}"), files, 85.0),
        line("copy, within one export", &[&source], &format!("copy {to}"), files, 85.0),
        line("copy, one directory", &[&format!("files={files} dirs=1"), ""], &format!("copy {to}"), files, 85.0),
    ];
    medians(&lines, only);
    let tenth: Vec<Line> = [1, 4, 8]
        .into_iter()
        .map(|targets| {
            let files = if targets == 1 { files / 4 } else { files };
            let source = format!("files={files} dirs={} targets={targets} scale=0.1", files / 100);
            let target = format!("targets={targets} scale=0.1");
            let label = format!("copy, {targets} target(s) x0.1 on each side");
            line(&label, &[&source, &target], &format!("copy {to}"), files, 85.0)
        })
        .collect();
    speedup(&tenth, only);
}

/// Prints how many times the first line's rate the others reach; four targets are to reach 3.6.
fn speedup(lines: &[Line], only: &str) {
    let rates: Vec<Option<f64>> =
        lines.iter().zip(medians(lines, only)).map(|(line, f)| Some(line.files as f64 / f?.seconds)).collect();
    if let [Some(one), Some(four), Some(eight)] = rates[..] {
        let times = four / one;
        println!("  4 targets: {times:.2} times one (goal 3.6: {}); 8: {:.2} times", met(times >= 3.6), eight / one);
    }
}

fn unchanged(files: u64, only: &str) {
    let tree = format!("files={files} dirs={}", files / 200);
    let lines = [line("copy, nothing changed", &[&tree, &tree], "copy from=tree to=tree", files, 0.0)];
    if let Some(Some(figures)) = medians(&lines, only).pop() {
        let (listing, all) = (figures.listing as f64 / files as f64, figures.price as f64 / files as f64);
        let rest = all - listing;
        println!(
            "  listing both sides: {listing:.4} IOPS for each file; the rest: {rest:.4} (goal 0.2: {})",
            met(rest < 0.2)
        );
    }
}

fn large(size: u64, only: &str) {
    let source = format!("size={size}");
    let lines = [
        line("copy, one large file", &[&source, ""], "copy dense=1", 1, 85.0),
        line(
            "copy, one large file, bandwidth binds",
            &[&format!("{source} iops=20"), "iops=20"],
            "copy dense=1",
            1,
            85.0,
        ),
        line(
            "copy, one large file, 4 targets x0.1",
            &[&format!("{source} targets=4 scale=0.1"), "targets=4 scale=0.1"],
            "copy dense=1",
            1,
            85.0,
        ),
        line(
            "copy, one large file, no ceiling",
            &[&format!("{source} unlimited=1"), "unlimited=1"],
            "copy dense=1",
            1,
            0.0,
        ),
    ];
    medians(&lines, only);
}

fn met(is: bool) -> &'static str {
    if is { "met" } else { "MISSED" }
}
