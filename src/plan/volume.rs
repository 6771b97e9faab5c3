//! Block volumes: a profile of what they give by size and performance level, and what a layout of volumes and hosts gives
//! behind the limits of attachments and hosts. The built-in profile is `packaging/profiles/oci-block.toml`.
//!
//! GB are the provider's; IOPS and bytes are those that the limits are stated in, whatever the size of the I/Os.

use serde::{Deserialize, Serialize};

use super::level::{Level, Linear};
use super::profile::{self, BadProfile, Kind};

/// The built-in profile.
const OCI: &str = include_str!("../../packaging/profiles/oci-block.toml");

/// Levels at most, by their VPU/GB: each is searched for mixes.
const LEVELS_MAX: usize = 1_000;

/// The most that a GB or a VPU-GB may cost, in any currency and period.
pub const PRICE_MAX: f64 = 1e9;

/// What block volumes of a provider give and cost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeProfile {
    #[serde(rename = "kind")]
    _kind: Kind,
    /// What they are.
    pub name: String,
    /// Where the figures are from.
    pub source: String,
    /// How large one volume may be.
    pub size: Sizes,
    /// What one attachment gives.
    pub attachment: Attachment,
    /// What one host gives.
    pub host: HostLimits,
    /// What they cost.
    pub price: Option<Price>,
    /// The performance levels.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
}

/// How large one volume may be.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the names say it
pub struct Sizes {
    pub gb_min: u32,
    pub gb_max: u32,
}

/// What the attachment of a volume to a host gives; a limit that is not there is none.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Attachment {
    /// Without multipath, and of each host that shares a volume.
    #[serde(default, deserialize_with = "profile::limit")]
    pub single_path_iops_max: Option<f64>,
    #[serde(default, deserialize_with = "profile::limit")]
    pub single_path_bytes_per_s_max: Option<f64>,
    pub volumes_per_host_max: u32,
    pub hosts_per_volume_max: u32,
}

/// What one host gives all its volumes together; a limit that is not there is none.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct HostLimits {
    pub name: String,
    #[serde(default, deserialize_with = "profile::limit")]
    pub iops_max: Option<f64>,
    #[serde(default, deserialize_with = "profile::limit")]
    pub bytes_per_s_max: Option<f64>,
}

/// Prices of one billing period, in any currency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Price {
    #[serde(deserialize_with = "profile::from_zero")]
    pub per_gb: f64,
    #[serde(deserialize_with = "profile::from_zero")]
    pub per_vpu_gb: f64,
}

/// What something gives in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Rate {
    pub iops: f64,
    pub bytes_per_s: f64,
}

impl Rate {
    /// The lesser of both, figure by figure.
    fn min(self, other: Rate) -> Rate {
        Rate { iops: self.iops.min(other.iops), bytes_per_s: self.bytes_per_s.min(other.bytes_per_s) }
    }

    fn times(self, n: u64) -> Rate {
        Rate { iops: self.iops * n as f64, bytes_per_s: self.bytes_per_s * n as f64 }
    }

    /// I/Os a second of this size: as many as both figures let through.
    pub fn ios_per_s(self, io_bytes: u64) -> f64 {
        self.iops.min(self.bytes_per_s / io_bytes as f64)
    }
}

/// What one level gives at one VPU/GB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Grade {
    pub vpu: u32,
    pub per_gb: Rate,
    pub max: Rate,
}

impl Grade {
    /// What a volume of `gb` gives.
    pub fn volume(&self, gb: u64) -> Rate {
        self.per_gb.times(gb).min(self.max)
    }

    /// The least whole GB that give the most IOPS, and the most bytes.
    pub fn gb_for_most(&self) -> (u64, u64) {
        let gb = |most: f64, per_gb: f64| (most / per_gb).ceil() as u64;
        (gb(self.max.iops, self.per_gb.iops), gb(self.max.bytes_per_s, self.per_gb.bytes_per_s))
    }
}

/// Volumes of one size and level on hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Layout {
    pub vpu: u32,
    pub gb_each: u64,
    pub volumes: u64,
    pub hosts: u64,
    /// Each volume is attached to all hosts; else each is on one.
    pub sharing: bool,
    /// Attachments have one path even where a level could have several.
    pub single_path: bool,
}

/// What keeps a layout from giving more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Bound {
    Size,
    Level,
    Attachment,
    Host,
}

impl Bound {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Size => "size",
            Bound::Level => "level",
            Bound::Attachment => "attachment",
            Bound::Host => "host",
        }
    }
}

/// What a layout gives, stage by stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Given {
    /// One volume by its size and level.
    pub volume: Rate,
    /// All volumes, before attachments and hosts.
    pub volumes: Rate,
    /// All volumes through their attachments, before hosts.
    pub attached: Rate,
    /// What arrives at the hosts.
    pub total: Rate,
    pub iops_bound: Bound,
    pub bandwidth_bound: Bound,
    pub gb: u64,
    /// What is paid for besides the GB.
    pub vpu_gb: u64,
}

impl VolumeProfile {
    /// The built-in profile of OCI Block Volume.
    pub fn oci() -> VolumeProfile {
        VolumeProfile::parse("oci-block.toml", OCI).expect("a test reads the built-in profile")
    }

    /// The profile in `text`, which came from `file`.
    pub fn parse(file: &str, text: &str) -> Result<VolumeProfile, BadProfile> {
        let read: VolumeProfile = profile::parse(Kind::Volume, file, text)?;
        let bad = |key: &str, what: String| Err(BadProfile::key(file, key, what));
        if read.size.gb_min == 0 || read.size.gb_min > read.size.gb_max {
            return bad("size", "gb_min above 0 and not above gb_max is expected".into());
        }
        let attachment = &read.attachment;
        if attachment.volumes_per_host_max == 0 || attachment.hosts_per_volume_max == 0 {
            return bad("attachment", "numbers of volumes and hosts above 0 are expected".into());
        }
        if read.levels.is_empty() {
            return bad("level", "at least one [[level]] is expected".into());
        }
        read.check_limits(file)?;
        for level in &read.levels {
            level.check(file)?;
        }
        if read.levels.iter().map(|level| level.vpus().count()).sum::<usize>() > LEVELS_MAX {
            return bad("level.vpu", format!("{LEVELS_MAX} different VPU/GB are expected at most"));
        }
        if let Some(pair) = read.vpus().windows(2).find(|pair| pair[0] == pair[1]) {
            return bad("level.vpu", format!("{} VPU/GB are in two levels; one is expected", pair[0]));
        }
        Ok(read)
    }

    fn check_limits(&self, file: &str) -> Result<(), BadProfile> {
        let (attachment, host) = (&self.attachment, &self.host);
        for (key, figure, range) in [
            ("size.gb_max", Some(self.size.gb_max.into()), [1.0, 1e9]),
            ("attachment.single_path_iops_max", attachment.single_path_iops_max, profile::IOPS),
            ("attachment.single_path_bytes_per_s_max", attachment.single_path_bytes_per_s_max, profile::BYTES_PER_S),
            ("host.iops_max", host.iops_max, profile::IOPS),
            ("host.bytes_per_s_max", host.bytes_per_s_max, profile::BYTES_PER_S),
            ("price.per_gb", self.price.map(|price| price.per_gb), [0.0, PRICE_MAX]),
            ("price.per_vpu_gb", self.price.map(|price| price.per_vpu_gb), [0.0, PRICE_MAX]),
        ] {
            figure.map_or(Ok(()), |figure| profile::within(file, key, figure, range))?;
        }
        Ok(())
    }

    /// Every VPU/GB that can be had, ascending.
    pub fn vpus(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.levels.iter().flat_map(Level::vpus).collect();
        all.sort_unstable();
        all
    }

    /// The level of volumes with `vpu`, if there is one.
    pub fn level(&self, vpu: u32) -> Option<&Level> {
        let has = |level: &&Level| {
            let v = level.vpu;
            (v.min..=v.max).contains(&vpu) && (vpu - v.min).is_multiple_of(v.step)
        };
        self.levels.iter().find(has)
    }

    /// What volumes with `vpu` give, if there are any.
    pub fn grade(&self, vpu: u32) -> Option<Grade> {
        let level = self.level(vpu)?;
        let rate =
            |iops: Linear, bytes: Linear, unit: f64| Rate { iops: iops.at(vpu), bytes_per_s: bytes.at(vpu) * unit };
        Some(Grade {
            vpu,
            per_gb: rate(level.iops_per_gb, level.kb_per_s_per_gb, 1e3),
            max: rate(level.iops_max, level.mb_per_s_max, 1e6),
        })
    }

    /// What one host lets through.
    fn host_rate(&self) -> Rate {
        Rate {
            iops: self.host.iops_max.unwrap_or(f64::INFINITY),
            bytes_per_s: self.host.bytes_per_s_max.unwrap_or(f64::INFINITY),
        }
    }

    /// What one attachment lets through.
    fn path_rate(&self, single: bool) -> Rate {
        let limit = |max: Option<f64>| max.filter(|_| single).unwrap_or(f64::INFINITY);
        Rate {
            iops: limit(self.attachment.single_path_iops_max),
            bytes_per_s: limit(self.attachment.single_path_bytes_per_s_max),
        }
    }

    /// What `layout` gives, or why it cannot be.
    pub fn given(&self, layout: &Layout) -> Result<Given, String> {
        let grade = self.grade(layout.vpu).ok_or_else(|| {
            let vpus: Vec<String> = self.vpus().iter().map(u32::to_string).collect();
            format!("no level has {} VPU/GB; there are {}", layout.vpu, vpus.join(", "))
        })?;
        self.check(layout)?;
        let volume = grade.volume(layout.gb_each);
        let volumes = volume.times(layout.volumes);
        let path = self.path_rate(layout.single_path || layout.sharing);
        let host = self.host_rate();
        let (attached, total) = if layout.sharing {
            let by_volume = volume.min(path.times(layout.hosts));
            let by_host = path.times(layout.volumes).min(host);
            let attached = by_volume.times(layout.volumes);
            (attached, attached.min(by_host.times(layout.hosts)))
        } else {
            let each = volume.min(path);
            let (few, more) = (layout.volumes / layout.hosts, layout.volumes % layout.hosts);
            let on_host = |n: u64| each.times(n).min(host);
            let (low, high) = (on_host(few).times(layout.hosts - more), on_host(few + 1).times(more));
            let total = Rate { iops: low.iops + high.iops, bytes_per_s: low.bytes_per_s + high.bytes_per_s };
            (each.times(layout.volumes), total)
        };
        let bound = |figure: fn(Rate) -> f64| match (figure(total), figure(attached), figure(volumes), figure(volume)) {
            (total, attached, ..) if total < attached => Bound::Host,
            (_, attached, volumes, _) if attached < volumes => Bound::Attachment,
            (.., volume) if volume < figure(grade.max) => Bound::Size,
            _ => Bound::Level,
        };
        let gb = layout.gb_each * layout.volumes;
        Ok(Given {
            volume,
            volumes,
            attached,
            total,
            iops_bound: bound(|rate| rate.iops),
            bandwidth_bound: bound(|rate| rate.bytes_per_s),
            gb,
            vpu_gb: gb * u64::from(layout.vpu),
        })
    }

    fn check(&self, layout: &Layout) -> Result<(), String> {
        let (sizes, attachment) = (self.size, self.attachment);
        if !(u64::from(sizes.gb_min)..=u64::from(sizes.gb_max)).contains(&layout.gb_each) {
            return Err(format!(
                "a volume of {} GB cannot be had; they are {} to {} GB",
                layout.gb_each, sizes.gb_min, sizes.gb_max
            ));
        }
        if layout.sharing && layout.hosts > u64::from(attachment.hosts_per_volume_max) {
            return Err(format!("a volume is shared by {} hosts at most", attachment.hosts_per_volume_max));
        }
        if !layout.sharing && layout.hosts > layout.volumes {
            return Err(format!(
                "{} hosts have more than {} volume{} only when they share them",
                layout.hosts,
                layout.volumes,
                if layout.volumes == 1 { "" } else { "s" }
            ));
        }
        let on_host = if layout.sharing { layout.volumes } else { layout.volumes.div_ceil(layout.hosts) };
        if on_host > u64::from(attachment.volumes_per_host_max) {
            return Err(format!(
                "a host has {} volumes at most, and {on_host} would be on one",
                attachment.volumes_per_host_max
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Layout = Layout { vpu: 120, gb_each: 2_000, volumes: 1, hosts: 1, sharing: false, single_path: false };

    fn given(layout: Layout) -> Given {
        VolumeProfile::oci().given(&layout).unwrap()
    }

    #[test]
    fn the_built_in_levels_are_the_rules_of_the_source() {
        let oci = VolumeProfile::oci();
        assert_eq!(oci.vpus(), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]);
        let grade = |vpu| {
            let Grade { per_gb, max, .. } = oci.grade(vpu).unwrap();
            [per_gb.iops, max.iops, per_gb.bytes_per_s / 1e3, max.bytes_per_s / 1e6]
        };
        assert_eq!(grade(0), [2.0, 3_000.0, 240.0, 480.0]);
        assert_eq!(grade(10), [60.0, 25_000.0, 480.0, 480.0]);
        assert_eq!(grade(20), [75.0, 50_000.0, 600.0, 680.0]);
        assert_eq!(grade(120), [225.0, 300_000.0, 1_800.0, 2_680.0]);
        assert_eq!((oci.grade(15), oci.grade(130)), (None, None));
    }

    #[test]
    fn each_stage_may_bind() {
        let bounds = |layout| {
            let given = given(layout);
            (given.iops_bound, given.bandwidth_bound)
        };
        assert_eq!(bounds(Layout { gb_each: 100, ..ONE }), (Bound::Size, Bound::Size));
        assert_eq!(bounds(ONE), (Bound::Level, Bound::Level));
        assert_eq!(bounds(Layout { single_path: true, ..ONE }), (Bound::Attachment, Bound::Level));
        assert_eq!(bounds(Layout { volumes: 5, ..ONE }), (Bound::Host, Bound::Host));
        assert_eq!(given(Layout { volumes: 5, ..ONE }).total, Rate { iops: 1.3e6, bytes_per_s: 6e9 });
    }

    /// Five volumes on two hosts are three and two: only the host of three is full.
    #[test]
    fn volumes_lie_on_hosts_as_evenly_as_they_can() {
        let two = Layout { volumes: 5, hosts: 2, ..ONE };
        assert_eq!(given(two).total, Rate { iops: 1.5e6, bytes_per_s: 6e9 + 2.0 * 2.68e9 });
    }

    #[test]
    fn what_hosts_share_comes_through_one_path_each() {
        let shared = |hosts| given(Layout { hosts, sharing: true, ..ONE });
        assert_eq!((shared(3).total.iops, shared(3).iops_bound), (150_000.0, Bound::Attachment));
        assert_eq!((shared(6).total.iops, shared(8).total.iops), (300_000.0, 300_000.0));
        assert_eq!(shared(8).iops_bound, Bound::Level);
        // 30 volumes through one path each are 1,500,000 IOPS a host; a host gives less.
        let many = given(Layout { volumes: 30, hosts: 2, sharing: true, ..ONE });
        assert_eq!((many.total.iops, many.iops_bound), (2.6e6, Bound::Host));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let why = |layout| VolumeProfile::oci().given(&layout).unwrap_err();
        assert!(why(Layout { vpu: 15, ..ONE }).contains("no level has 15 VPU/GB; there are 0, 10, 20"));
        assert!(why(Layout { gb_each: 49, ..ONE }).contains("50 to 32768 GB"));
        assert!(why(Layout { hosts: 2, ..ONE }).contains("2 hosts have more than 1 volume only when"));
        assert!(why(Layout { hosts: 33, sharing: true, ..ONE }).contains("32 hosts at most"));
        assert!(why(Layout { volumes: 33, ..ONE }).contains("32 volumes at most, and 33"));
    }

    #[test]
    fn a_wrong_profile_is_told() {
        let told = |from: &str, to: &str| {
            assert!(OCI.contains(from), "{from}");
            VolumeProfile::parse("my.toml", &OCI.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(told("gb_min = 50", "gb_min = 0").contains("my.toml: size: gb_min above 0"));
        assert!(told("per_vpu = 1.5", "per_vpu = -1").contains("expected a number, 0 or more"));
        assert!(told("iops_max = 1_300_000", "iops = 1").contains("unknown field `iops`"));
        assert!(told("step = 10", "step = 0").contains("level.vpu: 'lower cost'"));
        assert!(told("max = 0", "max = 4_000_000_000").contains("up to 10000"));
        assert!(told("max = 0", "max = 10").contains("10 VPU/GB are in two levels"));
        assert!(told("base = 3_000", "base = 0").contains("level.iops_max: 'lower cost' at 0 VPU/GB: 0 is given"));
        let endless = told("iops_max = { base = 0, per_vpu = 2_500", "iops_max = { base = 1e308, per_vpu = 1e308");
        assert!(endless.contains("level.iops_max: 'balanced' at 10 VPU/GB: inf is given; from 1 to 1000000000000"));
        assert!(
            told("{ base = 240,", "{ base = 1e-320,").contains("kb_per_s_per_gb: 'lower cost' at 0 VPU/GB: 1e-320")
        );
        assert!(told("iops_max = 1_300_000", "iops_max = 1e-9").contains("host.iops_max: 1e-9 is given"));
        assert!(told("path_iops_max = 50_000", "path_iops_max = 1e13").contains("single_path_iops_max: 1000"));
        assert!(told("gb_max = 32_768", "gb_max = 4_000_000_000").contains("size.gb_max: 4000000000 is given"));
        assert!(told("# [price]\n# per_gb = 0.0255\n#", "[price]\nper_gb = 1e300\n").contains("price.per_gb: 1e300"));
        assert!(told("max = 120, step = 10", "max = 1_030, step = 1").contains("1000 different VPU/GB"));
        assert!(told("kind = \"volume\"", "kind = \"server\"").contains("parfs plan capacity"));
        assert!(told("volumes_per_host_max = 32", "volumes_per_host_max = 0").contains("attachment: numbers"));
    }
}
