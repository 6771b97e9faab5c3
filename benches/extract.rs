//! The main job against the simulator: `cargo bench --bench extract` (with `-- --quick`: fewer files, same lines).
//!
//! First criterion: what extracting costs the processor when storage answers at once (2,000 files into memory, in this
//! process). Then a table of whole runs, each `parfs partar` as a process of its own against `parfs sim` as another, both
//! on this machine's processors: what share of the simulated ceiling is reached, at what price for each file, with what
//! client CPU for each RPC and what peak memory. Figures of partar are its own `--report`; figures of the simulator its own.

#![allow(clippy::print_stdout)] // a bench prints

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use parfs::archive::{Archive, Input};
use parfs::base::hash::mix;
use parfs::base::units::grouped;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::extract::{Options, Owners, extract};
use parfs::mounts::MemoryMount;
use parfs::storage::{Shape, Spread, Volume};
use serde_json::Value;

const PARFS: &str = env!("CARGO_BIN_EXE_parfs");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|a| a == "--quick");
    if !arguments.iter().any(|a| a == "--table") {
        let mut criterion = Criterion::default().configure_from_args();
        processor(&mut criterion);
        criterion.final_summary();
    }
    let home = tempfile::tempdir().expect("a directory for archives");
    table(home.path(), quick);
}

/// What one extraction costs when storage is memory and answers at once.
fn processor(criterion: &mut Criterion) {
    let home = tempfile::tempdir().expect("a directory for archives");
    let path = home.path().join("small.tar");
    small_files(&path, 2_000, 20);
    let archive = std::fs::read(&path).expect("the archive just made");
    let mut group = criterion.benchmark_group("extract");
    group.throughput(criterion::Throughput::Elements(2_000)).sample_size(10);
    for (label, lanes, window) in [("memory, 1 lane", 1, 1), ("memory, 8 lanes", 8, 4)] {
        group.bench_function(label, |b| b.iter(|| into_memory(&archive, lanes, window)));
    }
    group.finish();
}

fn into_memory(archive: &[u8], lanes: usize, window: usize) {
    let volume = Volume::new(vec![Arc::new(MemoryMount::new())], Spread::First);
    let crew = Crew::new(Shape { lanes, window }, 64 << 20).expect("a few threads");
    let mut archive = Archive::new(Input::Seekable(Arc::new(archive.to_vec())), Default::default());
    let done = extract(&volume, &mut archive, &Options::default(), &NoOwners, &crew, &Live::default(), &|_, _| {});
    assert_eq!((done.files, crew.report().count()), (2_000, 0));
}

/// Names mean nobody here; the archive's numbers are used.
struct NoOwners;

impl Owners for NoOwners {
    fn uid(&self, _name: &[u8]) -> Option<u32> {
        None
    }
    fn gid(&self, _name: &[u8]) -> Option<u32> {
        None
    }
}

/// An archive of `files` files of 1 to 16 KiB in `dirs` directories (1: all flat in one), the same for the same numbers.
fn small_files(path: &Path, files: u64, dirs: u64) {
    let mut builder = tar::Builder::new(BufWriter::new(File::create(path).expect("room for an archive")));
    let mut data = vec![0u8; 16 << 10];
    for (i, chunk) in data.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&mix(i as u64).to_le_bytes());
    }
    for dir in 0..dirs {
        let mut header = header(tar::EntryType::Directory, 0o755, 0);
        builder.append_data(&mut header, format!("patch/d{dir:05}/"), std::io::empty()).expect("room for an archive");
    }
    for file in 0..files {
        let size = 1024 + mix(file) % (15 * 1024 + 1);
        let mut header = header(tar::EntryType::Regular, 0o644, size);
        let name = format!("patch/d{:05}/f{file:07}", file * dirs / files);
        builder.append_data(&mut header, name, &data[..size as usize]).expect("room for an archive");
    }
    builder.into_inner().and_then(|mut w| w.flush()).expect("room for an archive");
}

fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(1_700_000_000);
    header.set_size(size);
    header
}

/// One member of `size` zero bytes, as a sparse archive file: costs no disk.
fn one_large(path: &Path, size: u64) {
    let mut file = File::create(path).expect("room for an archive");
    let mut header = header(tar::EntryType::Regular, 0o644, size);
    header.set_path("large").expect("a short name");
    header.set_cksum();
    file.write_all(header.as_bytes()).expect("room for an archive");
    file.set_len(512 + size.next_multiple_of(512) + 1024).expect("a sparse file");
}

/// `members` members of 100 bytes, 1,000 to a directory.
fn many_members(path: &Path, members: u64) {
    let mut builder =
        tar::Builder::new(BufWriter::with_capacity(1 << 20, File::create(path).expect("room for an archive")));
    for member in 0..members {
        let mut header = header(tar::EntryType::Regular, 0o644, 100);
        let name = format!("set/part-{:04}/object-{member:07}.dat", member / 1_000);
        builder.append_data(&mut header, name, &[b'x'; 100][..]).expect("room for an archive");
    }
    builder.into_inner().and_then(|mut w| w.flush()).expect("room for an archive");
}

/// A `parfs sim` in a process of its own.
struct Sim {
    child: Child,
    url: String,
}

impl Sim {
    fn start(arguments: &[&str]) -> Sim {
        let mut command = Command::new(PARFS);
        command.arg("sim").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the simulator starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("piped above");
        BufReader::new(stdout).read_line(&mut url).expect("the simulator prints its URL first");
        Sim { child, url: url.trim().into() }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One line of the table.
struct Line<'a> {
    label: &'a str,
    archive: &'a Path,
    sim: &'a [&'a str],
    partar: &'a [&'a str],
    /// What the goal is a share of, and the least share.
    goal: Goal,
}

#[derive(Clone, Copy)]
enum Goal {
    None,
    /// At least this share of the ceiling that binds.
    Ceiling(f64),
}

/// What one run reached.
struct Figures {
    seconds: f64,
    files_per_s: f64,
    iops: f64,
    /// Shares of the simulated ceilings, 0 to 1.
    iops_share: f64,
    bandwidth_share: f64,
    mb_per_s: f64,
    iops_per_file: f64,
    cpu_us_per_rpc: f64,
    memory_mb: f64,
}

/// Runs one line against a simulator of its own.
fn measure(home: &Path, line: &Line<'_>) -> Figures {
    let sim = Sim::start(line.sim);
    let report = home.join("report.json");
    let status = Command::new(PARFS)
        .args(["partar", "-x", "-f"])
        .arg(line.archive)
        .args(["-C", &sim.url, "--report"])
        .arg(&report)
        .args(line.partar)
        .status()
        .expect("partar starts");
    assert!(status.success(), "{}: partar failed", line.label);
    let mut text = String::new();
    File::open(&report).and_then(|mut f| f.read_to_string(&mut text)).expect("partar wrote its report");
    let report: Value = serde_json::from_str(&text).expect("the report is JSON");
    let number = |key: &str| report[key].as_f64().expect("a number of the report");
    let targets = report["targets"].as_array().expect("targets");
    let sum = |key: &str| targets.iter().filter_map(|t| t[key].as_f64()).sum::<f64>();
    let (iops_ceiling, bandwidth_ceiling) = ceilings(line.sim);
    let n = targets.len() as f64;
    let files = report["extracted"]["files"].as_f64().expect("files");
    Figures {
        seconds: number("seconds"),
        files_per_s: files / number("seconds"),
        iops: sum("iops_per_s"),
        iops_share: sum("iops_share") / n / iops_ceiling,
        bandwidth_share: sum("bandwidth_share") / n / bandwidth_ceiling,
        mb_per_s: sum("bytes_per_s") / 1e6,
        iops_per_file: sum("iops_total") / files,
        cpu_us_per_rpc: number("cpu_seconds") * 1e6 / sum("issued"),
        memory_mb: number("memory_peak_bytes") / 1e6,
    }
}

/// Runs the lines in turn, `REPEATS` times; prints of each the run whose seconds are the median; returns those seconds.
fn run(home: &Path, lines: &[Line<'_>]) -> Vec<f64> {
    let mut runs: Vec<Vec<Figures>> = lines.iter().map(|_| Vec::new()).collect();
    for _ in 0..REPEATS {
        lines.iter().zip(&mut runs).for_each(|(line, runs)| runs.push(measure(home, line)));
    }
    lines.iter().zip(&mut runs).map(|(line, runs)| median_printed(line, runs)).collect()
}

/// Odd, so that the median is one of the runs.
const REPEATS: usize = 3;

fn median_printed(line: &Line<'_>, runs: &mut [Figures]) -> f64 {
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let figures = &runs[runs.len() / 2];
    let met = match line.goal {
        Goal::None => String::new(),
        // Whichever ceiling binds: a WRITE of 1 MiB costs 66 IOPS, so 50,000 IOPS are used up at 794 MB/s.
        Goal::Ceiling(least) => verdict(figures.iops_share.max(figures.bandwidth_share), least),
    };
    println!(
        "{:<36} {:>7.2} {:>8.0} {:>8} {:>6.1} {:>7.0} {:>6.1} {:>8.2} {:>7.1} {:>6.0}  {met}",
        line.label,
        figures.seconds,
        figures.files_per_s,
        grouped(figures.iops as u64),
        figures.iops_share * 100.0,
        figures.mb_per_s,
        figures.bandwidth_share * 100.0,
        figures.iops_per_file,
        figures.cpu_us_per_rpc,
        figures.memory_mb,
    );
    figures.seconds
}

/// Shares in the report are of an OCI target; the simulator's ceilings may be others.
fn ceilings(sim: &[&str]) -> (f64, f64) {
    let number = |option| sim.iter().position(|a| *a == option).map(|i| sim[i + 1].parse::<f64>().expect("a number"));
    let scale = number("--scale").unwrap_or(1.0);
    (scale * number("--iops").map_or(1.0, |iops| iops / 50_000.0), scale)
}

fn verdict(share: f64, least: f64) -> String {
    format!("goal {:.0} %: {}", least * 100.0, if share >= least { "met" } else { "MISSED" })
}

fn table(home: &Path, quick: bool) {
    let files: u64 = if quick { 4_000 } else { 20_000 };
    println!(
        "\nextract: {} files of 1 to 16 KiB; simulated targets of 50,000 IOPS and 1 GB/s at 1 ms;",
        grouped(files)
    );
    println!("medians of {REPEATS} runs. Client and simulator share this machine's processors.");
    println!("x0.1: ceilings at a tenth (--scale 0.1). serial and 1 target x0.1: a tenth of the files.\n");
    println!(
        "{:<36} {:>7} {:>8} {:>8} {:>6} {:>7} {:>6} {:>8} {:>7} {:>6}",
        "run", "s", "files/s", "IOPS", "%ceil", "MB/s", "%ceil", "IOPS/f", "us/RPC", "MB mem"
    );
    small_lines(home, files);
    large_lines(home, if quick { 1 << 30 } else { 8 << 30 });
    many_lines(home, if quick { 100_000 } else { 1_000_000 });
}

fn small_lines(home: &Path, files: u64) {
    let (spread, flat, few) = (home.join("spread.tar"), home.join("flat.tar"), home.join("few.tar"));
    small_files(&spread, files, files / 100);
    small_files(&flat, files, 1);
    small_files(&few, files / 10, files / 1_000);
    let (serial, goal) = (["-P", "1", "--window", "1"], Goal::Ceiling(0.9));
    let seconds = run(
        home,
        &[
            Line { label: "serial (-P 1 --window 1)", archive: &few, sim: &[], partar: &serial, goal: Goal::None },
            Line { label: "1 target, many directories", archive: &spread, sim: &[], partar: &[], goal },
            Line { label: "1 target, one flat directory", archive: &flat, sim: &[], partar: &[], goal },
        ],
    );
    println!("{:<36} {:>7.2} times the seconds of many directories", "  flat", seconds[2] / seconds[1]);
    let tenth = |targets| ["--targets", targets, "--scale", "0.1"];
    run(
        home,
        &[
            Line { label: "1 target x0.1", archive: &few, sim: &tenth("1"), partar: &[], goal },
            Line { label: "2 targets x0.1", archive: &spread, sim: &tenth("2"), partar: &[], goal },
            Line { label: "4 targets x0.1", archive: &spread, sim: &tenth("4"), partar: &[], goal },
            Line { label: "8 targets x0.1", archive: &spread, sim: &tenth("8"), partar: &[], goal },
        ],
    );
}

fn large_lines(home: &Path, size: u64) {
    // A hole in a file on tmpfs is read at memory speed; on a disk's file system the kernel would fill its cache with zeros
    // first, which costs more than all the rest.
    let memory = Path::new("/dev/shm");
    let shelf = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory");
    let archive = &shelf.path().join("large.tar");
    one_large(archive, size);
    let (fifth, goal) = (["--targets", "4", "--scale", "0.2"], Goal::Ceiling(0.9));
    run(
        home,
        &[
            Line { label: "one large member, 1 target", archive, sim: &[], partar: &[], goal },
            Line { label: "  only bandwidth binds", archive, sim: &["--iops", "1000000"], partar: &[], goal },
            Line { label: "  4 targets x0.2", archive, sim: &fifth, partar: &[], goal },
            Line { label: "  no ceiling, no latency", archive, sim: &["--unlimited"], partar: &[], goal: Goal::None },
        ],
    );
    println!("{:<36} {:>39.0} in 1 MiB writes, one stream, nothing else", "  loopback itself", loopback_mb_per_s());
}

fn many_lines(home: &Path, members: u64) {
    let archive = &home.join("many.tar");
    many_members(archive, members);
    let label = &format!("{} members, 8 targets", grouped(members));
    run(
        home,
        &[
            Line { label, archive, sim: &["--targets", "8"], partar: &[], goal: Goal::None },
            Line { label: "  no ceiling, no latency", archive, sim: &["--unlimited"], partar: &[], goal: Goal::None },
        ],
    );
}

/// What the machine's loopback carries: 2 GiB in 1 MiB writes over one connection, read and dropped at the other end.
fn loopback_mb_per_s() -> f64 {
    const WRITES: usize = 2048;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let to = listener.local_addr().expect("bound above");
    let sender = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(to).expect("loopback");
        let buf = vec![0u8; 1 << 20];
        (0..WRITES).for_each(|_| stream.write_all(&buf).expect("loopback"));
    });
    let (mut stream, _) = listener.accept().expect("loopback");
    let start = Instant::now();
    let (mut buf, mut got) = (vec![0u8; 1 << 20], 0);
    loop {
        match stream.read(&mut buf).expect("loopback") {
            0 => break,
            n => got += n,
        }
    }
    sender.join().expect("the sender ends");
    got as f64 / start.elapsed().as_secs_f64() / 1e6
}
