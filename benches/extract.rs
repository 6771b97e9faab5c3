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
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use parfs::archive::{Archive, Input};
use parfs::base::hash::mix;
use parfs::base::units::grouped;
use parfs::crew::Crew;
use parfs::jobs::extract::{Live, Options, Owners, extract};
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
    let done = extract(&volume, &mut archive, &Options::default(), &NoOwners, &crew, &Live::default(), &|_| {});
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

#[derive(Clone, Copy, PartialEq)]
enum Goal {
    None,
    /// At least this share of the ceiling that binds.
    Ceiling(f64),
}

/// Runs one line; prints it; returns its seconds.
fn run(home: &Path, line: &Line<'_>) -> f64 {
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
    let seconds = report["seconds"].as_f64().expect("seconds");
    let targets = report["targets"].as_array().expect("targets");
    let sum = |key: &str| targets.iter().filter_map(|t| t[key].as_f64()).sum::<f64>();
    let n = targets.len() as f64;
    let (iops_ceiling, bandwidth_ceiling) = ceilings(line.sim);
    let (iops, share) = (sum("iops_per_s"), sum("iops_share") / n / iops_ceiling);
    let bandwidth_share = sum("bandwidth_share") / n / bandwidth_ceiling;
    let files = report["extracted"]["files"].as_f64().expect("files").max(1.0);
    let rpcs = sum("issued");
    let cpu_us = report["cpu_seconds"].as_f64().expect("cpu_seconds") * 1e6;
    let memory = report["memory_peak_bytes"].as_f64().expect("memory_peak_bytes") / 1e6;
    let met = match line.goal {
        Goal::None => String::new(),
        // Whichever ceiling binds: a WRITE of 1 MiB costs 66 IOPS, so 50,000 IOPS are used up at 794 MB/s.
        Goal::Ceiling(least) => verdict(share.max(bandwidth_share), least),
    };
    println!(
        "{:<34} {:>7.2} {:>9.0} {:>8} {:>6.1} {:>7.0} {:>6.1} {:>7.2} {:>7.1} {:>6.0}  {met}",
        line.label,
        seconds,
        files / seconds,
        grouped(iops as u64),
        share * 100.0,
        sum("bytes_per_s") / 1e6,
        bandwidth_share * 100.0,
        sum("iops_total") / files,
        cpu_us / rpcs,
        memory,
    );
    seconds
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
    let make = |name: &str, f: &dyn Fn(&Path)| -> PathBuf {
        let path = home.join(name);
        f(&path);
        path
    };
    let spread = make("spread.tar", &|p| small_files(p, files, files / 100));
    let flat = make("flat.tar", &|p| small_files(p, files, 1));
    let serial = make("serial.tar", &|p| small_files(p, files / 10, files / 1_000));
    println!("\nextract: {} files of 1 to 16 KiB; simulated targets of 50,000 IOPS and 1 GB/s at 1 ms", grouped(files));
    println!(
        "(serial: a tenth of the files; x0.1: --scale 0.1, ceilings at a tenth so that two processors carry eight targets)\n"
    );
    println!(
        "{:<34} {:>7} {:>9} {:>8} {:>6} {:>7} {:>6} {:>7} {:>7} {:>6}",
        "run", "s", "files/s", "IOPS", "%ceil", "MB/s", "%ceil", "IOPS/f", "us/RPC", "MB mem"
    );
    fn line(home: &Path, label: &str, archive: &Path, sim: &[&str], partar: &[&str], goal: Goal) -> f64 {
        run(home, &Line { label, archive, sim, partar, goal })
    }
    line(home, "serial (-P 1 --window 1)", &serial, &[], &["-P", "1", "--window", "1"], Goal::None);
    let in_many = line(home, "1 target, many directories", &spread, &[], &[], Goal::Ceiling(0.9));
    let in_one = line(home, "1 target, one flat directory", &flat, &[], &[], Goal::Ceiling(0.9));
    println!("{:<34} {:>7.2}x the time of many directories", "  flat against many:", in_one / in_many);
    for targets in ["1", "2", "4", "8"] {
        let label = format!("{targets} target(s) x0.1");
        let archive = if targets == "1" { &serial } else { &spread };
        line(home, &label, archive, &["--targets", targets, "--scale", "0.1"], &[], Goal::Ceiling(0.9));
    }
    let size: u64 = if quick { 1 << 30 } else { 8 << 30 };
    // A hole in a file on tmpfs is read at memory speed; on a disk's file system the kernel would fill its cache with zeros
    // first, which costs more than all the rest.
    let memory = Path::new("/dev/shm");
    let shelf = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory");
    let large = shelf.path().join("large.tar");
    one_large(&large, size);
    line(home, "one large member, 1 target", &large, &[], &[], Goal::Ceiling(0.9));
    line(home, "the same, only bandwidth binds", &large, &["--iops", "1000000"], &[], Goal::Ceiling(0.9));
    line(
        home,
        "one large member, 4 targets x0.2",
        &large,
        &["--targets", "4", "--scale", "0.2"],
        &[],
        Goal::Ceiling(0.9),
    );
    println!(
        "{:<34} {:>41.0} MB/s, one stream of 1 MiB writes, nothing else",
        "  this machine's loopback:",
        loopback_mb_per_s()
    );
    let members: u64 = if quick { 100_000 } else { 1_000_000 };
    let many = make("many.tar", &|p| many_members(p, members));
    let label = format!("{} members, no ceiling, no latency", grouped(members));
    line(home, &label, &many, &["--unlimited"], &[], Goal::None);
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
