//! `parfs sim`: serves NFSv3 as mount targets would, until a signal or for a time. Its first line on stdout is the URL.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Command, CommandFactory, Parser};
use serde::Serialize;

use crate::base::price::Ceiling;
use crate::base::units::{self, bytes_shown, grouped};
use crate::base::{PriceList, Proc};
use crate::crew::Stop;
use crate::mounts::{LocalMount, MemoryMount};
use crate::sim::{Config, Fault, RestartHook, Server};
use crate::storage::{Mount, Tally};

use super::Exit;
use super::console::{Console, reason};
use super::{flags, report, signals};

/// Targets at most: each has its own listener and threads.
const TARGETS_MAX: usize = 64;

const LOOK_EVERY: Duration = Duration::from_millis(50);
const LIVE_EVERY: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Prints the nfs:// URL as its first line, then serves until SIGINT or SIGTERM, or for --seconds.
Only this host can reach it, unless --listen names another address.

Faults: lost-reply, reset, reset-before, split, jukebox, delay, duplicate, restart, gone; for the
requests that proc=, target=, nth=, every=, p= with seed= choose, and ms= for a delay:
  --fault lost-reply:proc=CREATE,every=100 --fault delay:p=0.01,seed=7,ms=300
  --fault gone:target=2,nth=5000

Example:
  parfs sim --targets 4 --scale 0.25 &
  partar xf patch.tar -C nfs://127.0.0.1:PORT,...   (the URL that it printed)";

/// The simulator's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parfs sim",
    version,
    about = "Serves NFSv3 on the loopback as OCI mount targets would, with their latency, price list and ceilings",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// Mount targets of the one export
    #[arg(long, value_name = "N", default_value = "1", value_parser = targets)]
    targets: usize,
    /// Where to listen. Several targets with one port take consecutive loopback addresses, or consecutive ports elsewhere
    /// [default: 127.0.0.1, ports as the system gives them]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = listen)]
    listen: Option<SocketAddr>,
    /// Serve this directory
    #[arg(long, value_name = "PATH", conflicts_with = "memory")]
    dir: Option<PathBuf>,
    /// Serve an empty file system in memory (default)
    #[arg(long)]
    memory: bool,
    /// Answer time of an idle target [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration, conflicts_with = "unlimited")]
    latency: Option<Duration>,
    /// IOPS of each target by OCI's price list [default: 50000]
    #[arg(long, value_name = "N", value_parser = iops, conflicts_with = "unlimited")]
    iops: Option<f64>,
    /// Bytes a second of each target [default: 1GB]
    #[arg(long, value_name = "SIZE", value_parser = flags::bytes, conflicts_with = "unlimited")]
    bandwidth: Option<u64>,
    /// Ceilings times this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = flags::scale, conflicts_with = "unlimited")]
    scale: f64,
    /// No latency and no ceilings
    #[arg(long)]
    unlimited: bool,
    /// Requests that each target's duplicate request cache remembers; 0 for none [default: 4096]
    #[arg(long, value_name = "N")]
    replay: Option<usize>,
    /// Something that goes wrong, as KIND[:KEY=VALUE,...] (repeatable; see below)
    #[arg(long, value_name = "SPEC", value_parser = fault)]
    fault: Vec<Fault>,
    /// Serve the portmapper on port 111 as well (needs the right to)
    #[arg(long)]
    portmap: bool,
    /// Print a line each second on stderr
    #[arg(long)]
    live: bool,
    /// Write what was served to FILE as JSON at the end
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Serve for this long [default: until a signal]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    seconds: Option<Duration>,
}

fn targets(text: &str) -> Result<usize, String> {
    let n = text.parse().ok().filter(|n| (1..=TARGETS_MAX).contains(n));
    n.ok_or_else(|| format!("a number of targets, 1 to {TARGETS_MAX}"))
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let bad = || "an address such as 127.0.0.1, 127.0.0.1:2049 or [::1]:2049".to_string();
    let bare = text.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(text);
    bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0)).or_else(|_| text.parse()).map_err(|_| bad())
}

fn iops(text: &str) -> Result<f64, String> {
    let n = text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    n.ok_or_else(|| "a number of IOPS above 0".into())
}

fn fault(text: &str) -> Result<Fault, String> {
    text.parse::<Fault>().map_err(|error| error.to_string())
}

/// What --report writes, as packaging/schema says. It begins as it did before it had a number: an earlier one is known by that.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    report: crate::sim::Report,
    schema: u32,
}

impl Low {
    fn ceiling(&self) -> Ceiling {
        if self.unlimited {
            return Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
        }
        let oci = Ceiling::oci();
        Ceiling {
            iops: self.iops.unwrap_or(oci.iops),
            bytes_per_s: self.bandwidth.map_or(oci.bytes_per_s, |bytes| bytes as f64),
            latency: self.latency.unwrap_or(oci.latency),
        }
        .scaled(self.scale)
    }

    /// What is served, and what a restart does to it.
    fn mount(&self) -> io::Result<(Arc<dyn Mount>, RestartHook)> {
        Ok(match &self.dir {
            Some(dir) => {
                let local = Arc::new(LocalMount::open(dir)?);
                (local.clone(), Arc::new(move || local.restart()))
            }
            None => {
                let memory = Arc::new(MemoryMount::new());
                (memory.clone(), Arc::new(move || memory.restart()))
            }
        })
    }
}

/// The addresses that `count` targets listen at.
fn addresses(listen: Option<SocketAddr>, count: usize) -> Result<Vec<SocketAddr>, String> {
    let first = listen.unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
    let nth = |i: usize| match (first.ip(), first.port()) {
        (_, 0) => Some(first),
        (IpAddr::V4(ip), port) if ip.is_loopback() => {
            let ip = Ipv4Addr::from_bits(ip.to_bits().checked_add(u32::try_from(i).ok()?)?);
            ip.is_loopback().then(|| SocketAddr::new(ip.into(), port))
        }
        (ip, port) => Some(SocketAddr::new(ip, port.checked_add(u16::try_from(i).ok()?)?)),
    };
    let all: Option<Vec<SocketAddr>> = (0..count).map(nth).collect();
    all.ok_or_else(|| format!("there are no {count} addresses or ports from {first} on"))
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs the simulator with what follows `parfs sim`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Arc::new(Console::new("parfs sim"));
    let low = match Low::try_parse_from(std::iter::once("parfs sim".into()).chain(args)) {
        Ok(low) => low,
        Err(error) => return super::parse_ended(&console, &error),
    };
    match serve(&low, &console) {
        Ok(exit) => exit,
        Err(text) => {
            console.message(text);
            Exit::Failure
        }
    }
}

fn serve(low: &Low, console: &Arc<Console>) -> Result<Exit, String> {
    // It would never come, and a test would pass for want of it.
    if let Some(target) = low.fault.iter().filter_map(|fault| fault.target).find(|target| *target > low.targets) {
        return Err(format!("--fault: target={target}, and there are {} targets", low.targets));
    }
    if let Some(path) = &low.report {
        // What was measured would be lost in the end.
        report::judge(path, 0o666, ("--report", b"{\n  \"targets\":"))?;
    }
    super::host::allow_open_files();
    let stop = Stop::default();
    signals::watch(stop.clone(), |_| {}).map_err(|error| reason(&error))?;
    let shown = low.dir.as_deref().unwrap_or(Path::new("memory")).display();
    let (mount, on_restart) = low.mount().map_err(|error| format!("{shown}: Cannot open: {}", reason(&error)))?;
    let mut config = Config {
        targets: low.targets,
        addresses: addresses(low.listen, low.targets)?,
        ceiling: low.ceiling(),
        faults: low.fault.clone(),
        portmap: low.portmap,
        // Only root may give files to the users that ask for them.
        squash: low.dir.is_some() && !rustix::process::geteuid().is_root(),
        on_restart: Some(on_restart),
        ..Config::default()
    };
    config.replay_max = low.replay.unwrap_or(config.replay_max);
    let ceiling = config.ceiling;
    let server = Server::start(mount, config).map_err(|error| format!("Cannot listen: {}", reason(&error)))?;
    if let Some(Err(text)) = low.report.as_deref().map(report::empty) {
        server.stop();
        return Err(text);
    }
    console.print(server.url());
    console.flush();
    if console.has_failed() {
        // Nobody learned where it is.
        server.stop();
        return Ok(Exit::Failure);
    }
    wait(low, console, &server, ceiling, &stop);
    let written = match &low.report {
        Some(path) => report::write_json(path, 0o666, &Document { report: server.report(), schema: 1 })
            .map_err(|error| format!("{}: Cannot write: {}", path.display(), reason(&error))),
        None => Ok(()),
    };
    server.stop();
    // A signal is how a server is asked to end: it is no failure.
    written.map(|()| Exit::Success)
}

fn wait(low: &Low, console: &Console, server: &Server, ceiling: Ceiling, stop: &Stop) {
    let start = Instant::now();
    let (mut told_at, mut told) = (start, Vec::new());
    while !stop.is_set() && low.seconds.is_none_or(|limit| start.elapsed() < limit) {
        std::thread::sleep(LOOK_EVERY);
        if low.live && told_at.elapsed() >= LIVE_EVERY {
            let now = server.served();
            console.line(live_line(start.elapsed(), &told, &now, told_at.elapsed(), ceiling));
            (told_at, told) = (Instant::now(), now);
        }
    }
}

fn live_line(at: Duration, then: &[Tally], now: &[Tally], between: Duration, ceiling: Ceiling) -> String {
    let list = PriceList::oci();
    let seconds = between.as_secs_f64().max(1e-9);
    let since: Vec<Tally> =
        now.iter().enumerate().map(|(i, tally)| *tally - then.get(i).copied().unwrap_or_default()).collect();
    let shares: Vec<String> = since
        .iter()
        .map(|tally| {
            let iops = tally.price(&list) as f64 / seconds;
            if ceiling.iops.is_finite() {
                format!("{} ({:.0} %)", grouped(iops as u64), iops / ceiling.iops * 100.0)
            } else {
                grouped(iops as u64)
            }
        })
        .collect();
    let all: Tally = since.into_iter().sum();
    let written = all.get(Proc::Write).bytes + all.get(Proc::Read).bytes;
    format!(
        "{:6.1} s  {} calls/s  {}/s  IOPS of each target: {}",
        at.as_secs_f64(),
        grouped((all.calls() as f64 / seconds) as u64),
        bytes_shown((written as f64 / seconds) as u64),
        shares.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(line: &str) -> Result<Low, clap::Error> {
        Low::try_parse_from(std::iter::once("sim").chain(line.split_whitespace()))
    }

    #[test]
    fn ceilings_are_ocis_unless_told_otherwise() {
        assert_eq!(low("").unwrap().ceiling(), Ceiling::oci());
        let c = low("--iops 1000 --bandwidth 10MB --latency 250us --scale 0.5").unwrap().ceiling();
        assert_eq!((c.iops, c.bytes_per_s, c.latency), (500.0, 5e6, Duration::from_micros(250)));
        assert_eq!(low("--unlimited").unwrap().ceiling().latency, Duration::ZERO);
        for line in ["--unlimited --iops 5", "--iops 0", "--scale nan", "--targets 0", "--dir /x --memory", "--fault ?"]
        {
            assert!(low(line).is_err(), "{line}");
        }
    }

    #[test]
    fn targets_get_addresses_of_their_own() {
        let at = |text: Option<&str>, n| {
            addresses(text.map(|t| listen(t).unwrap()), n)
                .map(|all| all.iter().map(|a| a.to_string()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(at(None, 2).unwrap(), "127.0.0.1:0 127.0.0.1:0");
        assert_eq!(at(Some("127.0.0.1:2049"), 3).unwrap(), "127.0.0.1:2049 127.0.0.2:2049 127.0.0.3:2049");
        assert_eq!(at(Some("10.0.0.5:2049"), 2).unwrap(), "10.0.0.5:2049 10.0.0.5:2050");
        assert_eq!(at(Some("[::1]:65535"), 1).unwrap(), "[::1]:65535");
        assert!(at(Some("[::1]:65535"), 2).is_err());
        assert_eq!(at(Some("[::1]"), 1).unwrap(), "[::1]:0");
        assert!(listen("localhost").is_err());
    }
}
