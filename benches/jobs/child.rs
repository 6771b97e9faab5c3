//! What runs in a process of its own: a simulated server with a tree in it, and the client whose processor time and memory
//! are measured. Each prints one line of JSON, or of what it serves.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parfs::base::hash::mix;
use parfs::base::price::Ceiling;
use parfs::base::{Name, PriceList, Proc, Time};
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::copy::{self, Side, Sparse, What};
use parfs::jobs::remove::{self, Operand};
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::sim::{Config, Server};
use parfs::storage::{AttrChange, Call, How, Mount, Node, SetTime, Shape, Spread, Stable, Tally, Volume};
use serde_json::{Value, json};

/// What the lanes may hold of file data, in bytes: as the commands set it.
const BUDGET_BYTES: u64 = 128 << 20;

/// A child process of this program, in the role that its first arguments name. What it is told on its standard input ends it.
pub struct Role {
    child: Child,
    /// Its first line.
    pub line: String,
    output: BufReader<std::process::ChildStdout>,
}

impl Role {
    pub fn start(arguments: &[String]) -> Role {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped above"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a child prints a line");
        Role { child, line: line.trim().into(), output }
    }

    /// Ends it; what else it printed, as JSON.
    pub fn end(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("a child's output");
        assert!(self.child.wait().expect("a child ends").success(), "a child failed");
        serde_json::from_str(&rest).unwrap_or(Value::Null)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of `key=value` among the arguments.
pub fn given<'a>(arguments: &'a [String], key: &str) -> Option<&'a str> {
    arguments.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='))
}

pub fn number(arguments: &[String], key: &str, default: f64) -> f64 {
    given(arguments, key).map_or(default, |text| text.parse().expect("a number"))
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a short name")
}

fn one<'a>(mount: &dyn Mount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

/// Plants `files` files of 1 to 16 KiB in `dirs` directories below the directory `below`, the same for the same numbers.
fn plant(mount: &dyn Mount, below: &str, files: u64, dirs: u64) {
    let dir = |parent: &Node, text: &str| {
        let change = AttrChange { mode: Some(0o755), ..AttrChange::default() };
        one(mount, Call::mkdir(parent, &name(text), change)).found().expect("a new directory").node
    };
    let time = SetTime::At(Time { secs: 1_700_000_000, nanos: 0 });
    let times = AttrChange { atime: time, mtime: time, ..AttrChange::default() };
    let data: Vec<u8> = (0..2048).flat_map(|i| mix(i).to_le_bytes()).collect();
    let top = dir(&mount.root(), below);
    let all: Vec<Node> = (0..dirs).map(|i| dir(&top, &format!("d{i:05}"))).collect();
    for file in 0..files {
        let size = 1024 + mix(file) % (15 * 1024 + 1);
        let parent = &all[(file * dirs / files) as usize];
        let change = AttrChange { mode: Some(0o644), ..AttrChange::default() };
        let made = one(mount, Call::create(parent, &name(&format!("f{file:07}")), How::Guarded, change));
        let node = made.found().expect("a new file").node;
        one(mount, Call::write(&node, 0, &data[..size as usize], Stable::FileSync)).status().expect("room");
        one(mount, Call::set_attr(&node, times)).status().expect("times");
    }
    all.iter().chain([&top]).for_each(|node| one(mount, Call::set_attr(node, times)).status().expect("times"));
}

/// Serves a tree until its standard input ends: `files=`, `dirs=`, `below=`, `size=` of one large file, `targets=`, `scale=`.
pub fn serve(arguments: &[String]) {
    let memory = Arc::new(MemoryMount::new());
    let (files, size) = (number(arguments, "files", 0.0) as u64, number(arguments, "size", 0.0) as u64);
    if files > 0 {
        plant(&*memory, given(arguments, "below").unwrap_or("tree"), files, number(arguments, "dirs", 1.0) as u64);
    }
    if size > 0 {
        // A hole: READ answers zeros at memory's speed.
        let made = one(&*memory, Call::create(&memory.root(), &name("large"), How::Guarded, AttrChange::default()));
        let change = AttrChange { size: Some(size), ..AttrChange::default() };
        one(&*memory, Call::set_attr(&made.found().expect("a new file").node, change)).status().expect("a size");
    }
    let mut ceiling = Ceiling::oci().scaled(number(arguments, "scale", 1.0));
    ceiling.iops *= number(arguments, "iops", 1.0);
    if given(arguments, "unlimited").is_some() {
        ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    }
    let config = Config { targets: number(arguments, "targets", 1.0) as usize, ceiling, ..Config::default() };
    let server = Server::start(memory, config).expect("a free port of the loopback");
    say(&server.url());
    let mut rest = String::new();
    let _ = std::io::stdin().read_to_string(&mut rest);
    server.stop();
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody reads");
}

/// The volume of a location: `nfs://...` or a directory.
fn volume(location: &str) -> Volume {
    let mounts: Vec<Arc<dyn Mount>> = match Url::parse(location) {
        Ok(url) => {
            attach(&url, Usage::Writes).expect("the servers answer").into_iter().map(|m| m as Arc<dyn Mount>).collect()
        }
        Err(_) => vec![Arc::new(LocalMount::open(location.as_ref()).expect("a directory"))],
    };
    Volume::new(mounts, Spread::default())
}

/// Processor time of this process so far, in seconds.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that was resident at once, in bytes (VmHWM of proc(5)).
pub fn memory_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

fn issued(volume: &Volume) -> Tally {
    volume.issued().unwrap_or_default()
}

fn told(tally: Tally) -> Value {
    let procs: Value = tally.iter().map(|(proc, count)| (proc.to_string(), json!(count.calls))).collect();
    json!({"price": tally.price(&PriceList::oci()), "calls": tally.calls(), "bytes": tally.bytes(),
        "listing": tally.get(Proc::ReadDirPlus).calls * 4, "procs": procs})
}

fn shape(arguments: &[String], suggested: Shape) -> Shape {
    Shape {
        lanes: number(arguments, "lanes", suggested.lanes as f64) as usize,
        window: number(arguments, "window", suggested.window as f64) as usize,
    }
}

/// Removes or copies, and prints what it took: `remove AT below=NAME`, `copy FROM TO from=NAME to=NAME`; `lanes=`, `window=`,
/// `dense` for no holes.
pub fn work(arguments: &[String]) {
    let mut source = Tally::default();
    let target;
    let before = cpu_seconds();
    let (seconds, objects, bytes, failed, waited) = match arguments[0].as_str() {
        "remove" => {
            let volume = volume(&arguments[1]);
            let crew = Crew::new(shape(arguments, volume.limits().shape), BUDGET_BYTES).expect("threads");
            let done = remove_below(&volume, given(arguments, "below").unwrap_or("tree"), &crew);
            target = issued(&volume);
            (done.elapsed, done.files + done.dirs, 0, crew.report().failures(), done.waited_most)
        }
        _ => {
            let from = volume(&arguments[1]);
            let same = arguments[1] == arguments[2];
            let to = if same { None } else { Some(volume(&arguments[2])) };
            let to = to.as_ref().unwrap_or(&from);
            let (a, b) = (from.limits().shape, to.limits().shape);
            let suggested = Shape { lanes: a.lanes.max(b.lanes), window: a.window.max(b.window) };
            let crew = Crew::new(shape(arguments, suggested), BUDGET_BYTES).expect("threads");
            let done = copy_below((&from, given(arguments, "from")), (to, given(arguments, "to")), arguments, &crew);
            target = issued(to);
            if !same {
                source = issued(&from);
            }
            (done.elapsed, done.objects, done.bytes, crew.report().failures(), done.waited_most)
        }
    };
    let report = json!({"seconds": seconds.as_secs_f64(), "objects": objects, "bytes": bytes,
        "failures": failed.iter().map(ToString::to_string).collect::<Vec<_>>(), "source": told(source),
        "target": told(target), "cpu_seconds": cpu_seconds() - before, "memory": memory_peak_bytes(), "waited": waited});
    say(&report.to_string());
}

pub fn remove_below(volume: &Volume, below: &str, crew: &Crew) -> remove::Summary {
    let way: Vec<Name> = below.split('/').filter(|part| !part.is_empty()).map(name).collect();
    let contents = way.is_empty();
    let operand = Operand {
        dir: volume.root(),
        way,
        shown: below.into(),
        contents,
        fs_root: contents,
        dir_fsid: None,
        must_be_dir: false,
    };
    let mut operands = std::iter::once(Ok(operand));
    remove::remove(volume, &mut operands, &remove::Options::default(), crew, &Live::default(), None)
}

fn copy_below(
    from: (&Volume, Option<&str>),
    to: (&Volume, Option<&str>),
    arguments: &[String],
    crew: &Crew,
) -> copy::Summary {
    let way = |below: Option<&str>| below.iter().flat_map(|b| b.split('/')).map(name).collect::<Vec<_>>();
    let side = |(volume, below)| Side { volume, way: way(below), fs_root: below.is_none(), shown: b"side".to_vec() };
    let plain = given(arguments, "plain").is_some();
    let mut options = copy::Options { ..copy::Options::default() };
    if given(arguments, "dense").is_some() {
        options.sparse = Sparse::Never;
    }
    if plain {
        (options.preserve.xattrs, options.preserve.acls, options.preserve.times) = (false, false, false);
    }
    copy::copy(&side(from), &side(to), What::Tree, &options, crew, &Live::default(), None)
}
