//! `parfs plan volume`: what block volumes give by size, level, attachment and host; and which mixes reach a goal.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Command, CommandFactory, Parser};
use serde::Serialize;

use crate::base::units::{grouped, io_shown};
use crate::cli::Exit;
use crate::cli::console::Console;
use crate::cli::exit::Fatal;
use crate::cli::flags::bytes;
use crate::cli::table::Table;
use crate::plan::mix::{Mix, VOLUMES_MAX, Wish, mixes};
use crate::plan::volume::{Given, Layout, PRICE_MAX, Price, Rate};
use crate::plan::{BadProfile, VolumeProfile};

use super::{Told, counted, io_bytes, mb, rate, whole};

const PROGRAM: &str = "parfs plan volume";

const AFTER_HELP: &str = "\
Sizes are in the provider's GB: 256G and 256GB are 256 of them, 1T is 1,024.
Without --iops and --throughput: what these volumes give, stage by stage.
With one of them: for each level the fewest volumes, GB and hosts that reach it; --vpu, --size,
--volumes and --hosts hold a part of the answer fixed. More volumes of a level cost the same.
What is paid for is GB and VPU-GB, which are VPU/GB times GB.
An attachment is taken to have several paths (multipath) unless --single-path or --sharing is given.

Exit status: 0; 1 no mix reaches the goal; 2 a usage error.

Examples:
  parfs plan volume --size 256G --vpu 50
  parfs plan volume --total 32T --volumes 31 --vpu 10
  parfs plan volume --size 2T --vpu 120 --hosts 3 --sharing
  parfs plan volume --iops 400000 --throughput 4GB/s --total 4T";

/// The command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    about = "What block volumes give by size, level, attachment and host, and which mixes reach a goal",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// Size of each volume
    #[arg(long, value_name = "SIZE", value_parser = gb)]
    size: Option<u64>,
    /// Size of all volumes together, in equal parts
    #[arg(long, value_name = "SIZE", value_parser = gb)]
    total: Option<u64>,
    /// Volume performance units for each GB: the level
    #[arg(long, value_name = "N")]
    vpu: Option<u32>,
    /// Volumes [default: 1, or the fewest]
    #[arg(long, value_name = "N", value_parser = volumes)]
    volumes: Option<u64>,
    /// Hosts that the volumes are attached to [default: 1, or the fewest]
    #[arg(long, value_name = "N", value_parser = volumes)]
    hosts: Option<u64>,
    /// Attach each volume to all hosts, not to one of them
    #[arg(long)]
    sharing: bool,
    /// Attach without multipath
    #[arg(long)]
    single_path: bool,
    /// Reach this many IOPS
    #[arg(long, value_name = "N", value_parser = rate)]
    iops: Option<f64>,
    /// Reach this many bytes a second, such as 4GB/s
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    throughput: Option<u64>,
    /// Also say what is left for I/Os of this size, such as 64k
    #[arg(long, value_name = "SIZE", value_parser = io_bytes)]
    io_size: Option<u64>,
    /// IOPS that one host lets through [default: the profile's]
    #[arg(long, value_name = "N", value_parser = rate)]
    host_iops: Option<f64>,
    /// Bytes a second that one host lets through [default: the profile's]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    host_throughput: Option<u64>,
    /// Price of one GB, in any currency and period [default: the profile's, if it has one]
    #[arg(long, value_name = "PRICE", value_parser = price)]
    price_per_gb: Option<f64>,
    /// Price of one VPU-GB [default: the profile's, if it has one]
    #[arg(long, value_name = "PRICE", value_parser = price)]
    price_per_vpu_gb: Option<f64>,
    /// Levels, limits and prices of another provider, as TOML [default: OCI Block Volume's]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A size in the provider's GB, whatever the unit is called.
fn gb(text: &str) -> Result<u64, String> {
    let bad = || "a size in whole GB, such as 256G or 32T".to_string();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
    let factor = match text[end..].trim_start() {
        "G" | "GB" | "GiB" => 1.0,
        "T" | "TB" | "TiB" => 1024.0,
        _ => return Err(bad()),
    };
    let gb = text[..end].parse::<f64>().map_err(|_| bad())? * factor;
    // Beyond a PB of any provider it is a typing error.
    if gb >= 1.0 && gb.fract() == 0.0 && gb <= 1e9 { Ok(gb as u64) } else { Err(bad()) }
}

fn volumes(text: &str) -> Result<u64, String> {
    whole(text, VOLUMES_MAX)
}

fn price(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|n| (0.0..=PRICE_MAX).contains(n)).ok_or_else(|| "a price, 0 or more".into())
}

/// The plan of volumes that are given.
#[derive(Debug, Serialize)]
struct LayoutPlan {
    layout: Layout,
    level: String,
    #[serde(flatten)]
    given: Given,
    io_bytes: Option<u64>,
    ios_per_s: Option<f64>,
    cost: Option<f64>,
}

/// The plan of a goal.
#[derive(Debug, Serialize)]
struct GoalPlan {
    wish: Wish,
    mixes: Vec<Priced>,
}

/// A mix and what it costs, where there are prices.
#[derive(Debug, Serialize)]
struct Priced {
    #[serde(flatten)]
    mix: Mix,
    cost: Option<f64>,
}

impl Low {
    fn has_goal(&self) -> bool {
        self.iops.is_some() || self.throughput.is_some()
    }

    /// The volumes that are given.
    fn layout(&self) -> Result<Layout, String> {
        let vpu = self.vpu.ok_or("which level? Say --vpu, or a goal with --iops or --throughput")?;
        let volumes = self.volumes.unwrap_or(1);
        let gb_each = match (self.size, self.total) {
            (Some(size), None) => size,
            // A volume has whole GB.
            (None, Some(total)) => total.div_ceil(volumes),
            (Some(_), Some(_)) => return Err("--size is of each volume and --total of all; say one of them".into()),
            (None, None) => return Err("how large? Say --size of each volume, or --total of all".into()),
        };
        let hosts = self.hosts.unwrap_or(1);
        if self.sharing && hosts < 2 {
            return Err("--sharing is between hosts; say how many with --hosts".into());
        }
        Ok(Layout { vpu, gb_each, volumes, hosts, sharing: self.sharing, single_path: self.single_path })
    }

    /// The goal, and what is fixed.
    fn wish(&self) -> Result<Wish, String> {
        if self.io_size.is_some() {
            return Err("--io-size is about volumes that are given; a goal has --iops and --throughput".into());
        }
        if self.sharing && self.hosts == Some(1) {
            return Err("--sharing is between hosts; say how many with --hosts".into());
        }
        Ok(Wish {
            iops: self.iops.unwrap_or(0.0),
            bytes_per_s: self.throughput.unwrap_or(0) as f64,
            gb: self.total.unwrap_or(0),
            vpu: self.vpu,
            gb_each: self.size,
            volumes: self.volumes,
            hosts: self.hosts,
            sharing: self.sharing,
            single_path: self.single_path,
        })
    }

    /// The profile, with what the command line says of hosts and prices.
    fn volume_profile(&self) -> Result<VolumeProfile, String> {
        let parse: fn(&str, &str) -> Result<VolumeProfile, BadProfile> = VolumeProfile::parse;
        let mut profile = super::profile(self.profile.as_deref(), VolumeProfile::oci, parse)?;
        if let Some(iops) = self.host_iops {
            profile.host.iops_max = Some(iops);
        }
        if let Some(bytes) = self.host_throughput {
            profile.host.bytes_per_s_max = Some(bytes as f64);
        }
        match (self.host_iops, self.host_throughput) {
            (None, None) => {}
            (Some(_), Some(_)) => profile.host.name = "as given".into(),
            (Some(_), None) => profile.host.name += ", with IOPS as given",
            (None, Some(_)) => profile.host.name += ", with throughput as given",
        }
        if self.price_per_gb.is_some() || self.price_per_vpu_gb.is_some() {
            let old = profile.price;
            // A price taken for 0 would make another mix the least.
            let missing = |option| format!("{option} is needed as well: the profile has no prices");
            let per_gb = self.price_per_gb.or(old.map(|old| old.per_gb));
            let per_vpu_gb = self.price_per_vpu_gb.or(old.map(|old| old.per_vpu_gb));
            profile.price = Some(Price {
                per_gb: per_gb.ok_or_else(|| missing("--price-per-gb"))?,
                per_vpu_gb: per_vpu_gb.ok_or_else(|| missing("--price-per-vpu-gb"))?,
            });
        }
        Ok(profile)
    }
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs it with what follows `parfs plan volume`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Console::new(PROGRAM);
    let low = match Low::try_parse_from(std::iter::once(PROGRAM.into()).chain(args)) {
        Ok(low) => low,
        Err(error) => return crate::cli::parse_ended(&console, &error),
    };
    match answer(&low, &console) {
        Ok(()) => Exit::Success,
        Err(Fatal { text, exit }) => {
            console.message(text);
            exit
        }
    }
}

fn answer(low: &Low, console: &Console) -> Result<(), Fatal> {
    let profile = low.volume_profile().map_err(Fatal::usage)?;
    let (name, source, json) = (profile.name.as_str(), profile.source.as_str(), low.json);
    if low.has_goal() {
        let wish = low.wish().map_err(Fatal::usage)?;
        if let Some(vpu) = wish.vpu.filter(|vpu| profile.level(*vpu).is_none()) {
            return Err(Fatal::usage(no_level(&profile, vpu)));
        }
        let priced = |mix: Mix| Priced { mix, cost: cost(&profile, mix.given.gb, mix.given.vpu_gb) };
        let plan = GoalPlan { wish, mixes: mixes(&profile, &wish).into_iter().map(priced).collect() };
        let lines = goal_lines(&profile, &plan);
        Told { program: PROGRAM, profile: name, source, json, plan: &plan, lines }
            .print(console)
            .map_err(Fatal::usage)?;
        return if plan.mixes.is_empty() { Err(unreached(&profile).into()) } else { Ok(()) };
    }
    let layout = low.layout().map_err(Fatal::usage)?;
    let Some(level) = profile.level(layout.vpu) else { return Err(Fatal::usage(no_level(&profile, layout.vpu))) };
    let given = profile.given(&layout).map_err(Fatal::usage)?;
    let plan = LayoutPlan {
        layout,
        level: level.name.clone(),
        given,
        io_bytes: low.io_size,
        ios_per_s: low.io_size.map(|bytes| given.total.ios_per_s(bytes)),
        cost: cost(&profile, given.gb, given.vpu_gb),
    };
    let lines = layout_lines(&profile, &plan);
    Told { program: PROGRAM, profile: name, source, json, plan: &plan, lines }.print(console).map_err(Fatal::usage)
}

fn no_level(profile: &VolumeProfile, vpu: u32) -> String {
    let vpus: Vec<String> = profile.vpus().iter().map(u32::to_string).collect();
    format!("no level has {vpu} VPU/GB; there are {}", vpus.join(", "))
}

fn cost(profile: &VolumeProfile, gb: u64, vpu_gb: u64) -> Option<f64> {
    profile.price.map(|price| price.per_gb * gb as f64 + price.per_vpu_gb * vpu_gb as f64)
}

fn whole_number(figure: f64) -> String {
    grouped(figure.round() as u64)
}

/// What one host lets through, in words.
fn host_shown(profile: &VolumeProfile) -> String {
    let host = &profile.host;
    let limit = |max: Option<f64>, shown: fn(f64) -> String| max.map_or_else(|| "no limit of".into(), shown);
    format!("{} IOPS, {} MB/s ({})", limit(host.iops_max, whole_number), limit(host.bytes_per_s_max, mb), host.name)
}

fn layout_lines(profile: &VolumeProfile, plan: &LayoutPlan) -> Vec<String> {
    let (layout, given) = (&plan.layout, &plan.given);
    let mut lines = vec![format!(
        "{} of {} GB at {} VPU/GB ({}), {}{}.",
        counted(layout.volumes, "volume"),
        grouped(layout.gb_each),
        layout.vpu,
        plan.level,
        match (layout.sharing, layout.hosts) {
            (true, hosts) => format!("shared by {}", counted(hosts, "host")),
            (false, 1) => "on 1 host".into(),
            (false, hosts) => format!("spread over {}", counted(hosts, "host")),
        },
        if layout.single_path { ", without multipath" } else { "" }
    )];
    if let Some(grade) = profile.grade(layout.vpu) {
        let (by_iops, by_bandwidth) = grade.gb_for_most();
        lines.push(format!(
            "Level: {} IOPS/GB up to {} at {} GB; {} KB/s per GB up to {} MB/s at {} GB.",
            grade.per_gb.iops,
            whole_number(grade.max.iops),
            grouped(by_iops),
            whole_number(grade.per_gb.bytes_per_s / 1e3),
            mb(grade.max.bytes_per_s),
            grouped(by_bandwidth)
        ));
    }
    lines.extend([format!("Host: {}.", host_shown(profile)), String::new()]);
    let mut table = Table::new(&["", "IOPS", "MB/s"]);
    let mut row =
        |stage: &str, rate: Rate| table.row(vec![stage.into(), whole_number(rate.iops), mb(rate.bytes_per_s)]);
    row("one volume", given.volume);
    row("all volumes", given.volumes);
    row("through their attachments", given.attached);
    row("at the hosts", given.total);
    lines.extend(table.lines());
    lines.push(String::new());
    lines.push(format!(
        "Bound by: IOPS by {}, throughput by {}.",
        given.iops_bound.name(),
        given.bandwidth_bound.name()
    ));
    if let (Some(io_bytes), Some(ios_per_s)) = (plan.io_bytes, plan.ios_per_s) {
        let (size, rate) = (io_shown(io_bytes), mb(ios_per_s * io_bytes as f64));
        lines.push(format!("I/Os of {size}: {} a second, {rate} MB/s.", grouped(ios_per_s as u64)));
    }
    lines.push(format!("Paid for: {} GB, {} VPU-GB.", grouped(given.gb), grouped(given.vpu_gb)));
    lines.extend(plan.cost.map(|cost| format!("Cost: {cost:.2}.")));
    lines
}

fn goal_lines(profile: &VolumeProfile, plan: &GoalPlan) -> Vec<String> {
    let wish = &plan.wish;
    let goals = [
        (wish.iops > 0.0).then(|| format!("{} IOPS", whole_number(wish.iops))),
        (wish.bytes_per_s > 0.0).then(|| format!("{} MB/s", mb(wish.bytes_per_s))),
        (wish.gb > 0).then(|| format!("{} GB", grouped(wish.gb))),
        wish.sharing.then(|| "each volume on all hosts".into()),
        wish.single_path.then(|| "without multipath".into()),
    ];
    let goals: Vec<String> = goals.into_iter().flatten().collect();
    let mut lines =
        vec![format!("Goal: {}.", goals.join(", ")), format!("Host: {}.", host_shown(profile)), String::new()];
    if plan.mixes.is_empty() {
        return lines;
    }
    let mut headings = vec!["VPU/GB", "volumes", "GB each", "hosts", "IOPS", "MB/s", "GB", "VPU-GB"];
    headings.extend(profile.price.map(|_| "cost"));
    let mut table = Table::new(&headings);
    for Priced { mix, cost } in &plan.mixes {
        let (layout, given) = (&mix.layout, &mix.given);
        let mut cells = vec![
            layout.vpu.to_string(),
            layout.volumes.to_string(),
            grouped(layout.gb_each),
            layout.hosts.to_string(),
            whole_number(given.total.iops),
            mb(given.total.bytes_per_s),
            grouped(given.gb),
            grouped(given.vpu_gb),
        ];
        cells.extend(cost.map(|cost| format!("{cost:.2}")));
        table.row(cells);
    }
    lines.extend(table.lines());
    lines.push(String::new());
    lines.extend(best(&plan.mixes));
    lines
}

/// Which mix is the least by each measure.
fn best(mixes: &[Priced]) -> Vec<String> {
    let line = |what: &str, key: &dyn Fn(&Priced) -> f64| {
        // Of equal ones the first, which has the lowest level.
        let least = mixes.iter().min_by(|a, b| key(a).total_cmp(&key(b)))?;
        let Layout { vpu, volumes, gb_each, .. } = least.mix.layout;
        Some(format!("{what}: {} of {} GB at {vpu} VPU/GB.", counted(volumes, "volume"), grouped(gb_each)))
    };
    let costed = mixes.iter().all(|priced| priced.cost.is_some());
    let lines = [
        line("Fewest volumes", &|priced| priced.mix.layout.volumes as f64),
        line("Fewest GB", &|priced| priced.mix.given.gb as f64),
        line("Fewest VPU-GB", &|priced| priced.mix.given.vpu_gb as f64),
        costed.then(|| line("Least cost", &|priced| priced.cost.unwrap_or(f64::INFINITY))).flatten(),
    ];
    lines.into_iter().flatten().collect()
}

fn unreached(profile: &VolumeProfile) -> String {
    format!(
        "no mix of up to {VOLUMES_MAX} volumes reaches it with what is fixed; a volume is of {} to {} GB, \
         and a host has at most {} volumes",
        profile.size.gb_min, profile.size.gb_max, profile.attachment.volumes_per_host_max
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(line: &str) -> Low {
        Low::try_parse_from(std::iter::once(PROGRAM).chain(line.split_whitespace())).unwrap()
    }

    #[test]
    fn sizes_are_the_providers_gb() {
        assert_eq!(["256G", "256GB", "256GiB", "1.5T", "32TB"].map(gb), [256, 256, 256, 1_536, 32_768].map(Ok));
        for bad in ["256", "0G", "1.5G", "256M", "G", "", "1e9T", "99999999999T"] {
            assert!(gb(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_layout_needs_a_level_and_a_size() {
        let refused = |line| low(line).layout().unwrap_err();
        assert!(refused("").contains("--vpu"));
        assert!(refused("--vpu 10").contains("--size"));
        assert!(refused("--vpu 10 --size 1T --total 1T").contains("say one of them"));
        assert!(refused("--vpu 10 --size 1T --sharing").contains("--hosts"));
        assert_eq!(low("--vpu 10 --total 32T --volumes 31").layout().unwrap().gb_each, 1_058);
        assert!(low("--iops 5 --io-size 64k").wish().unwrap_err().contains("--io-size"));
        assert!(low("--iops 5 --sharing --hosts 1").wish().unwrap_err().contains("--hosts"));
    }

    #[test]
    fn hosts_and_prices_are_taken_from_the_command_line_first() {
        let profile = low("--host-iops 5000 --price-per-gb 0 --price-per-vpu-gb 0.5").volume_profile().unwrap();
        assert_eq!((profile.host.iops_max, profile.host.bytes_per_s_max), (Some(5_000.0), Some(6e9)));
        assert_eq!(cost(&profile, 100, 1_000), Some(500.0));
        assert_eq!(cost(&VolumeProfile::oci(), 100, 1_000), None);
        // Neither is taken for 0.
        let missing = |line| low(line).volume_profile().unwrap_err();
        assert!(missing("--price-per-gb 0.02").starts_with("--price-per-vpu-gb is needed"));
        assert!(missing("--price-per-vpu-gb 0.02").starts_with("--price-per-gb is needed"));
    }
}
