//! A server's profile: what one mount target gives, and what each NFSv3 procedure costs it. The built-in one is
//! `packaging/profiles/oci-fss.toml`; its prices and ceilings are those of `PriceList::oci` and `Ceiling::oci`, by a test.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::base::price::Ceiling;
use crate::base::{PriceList, Proc};

use super::profile::{self, BadProfile, Kind};

/// The built-in profile.
const OCI: &str = include_str!("../../packaging/profiles/oci-fss.toml");

/// IOPS of one procedure, or of a block of it, at most.
const PRICE_MAX: f64 = 1e6;

/// What a mount target gives and costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerProfile {
    /// What it is.
    pub name: String,
    /// Where the figures are from.
    pub source: String,
    /// IOPS of each procedure.
    pub prices: PriceList,
    /// What one target gives.
    pub ceiling: Ceiling,
    /// The share of the IOPS at which an alarm is to be raised.
    pub alarm_share: f64,
    /// The most bytes of one READ or WRITE.
    pub transfer_bytes_max: u64,
    /// Entries of one directory, at most, by the source's advice.
    pub directory_entries_advised: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(rename = "kind")]
    _kind: Kind,
    name: String,
    source: String,
    target: Target,
    iops: BTreeMap<String, u32>,
    iops_per_block: Steps,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(deserialize_with = "profile::above_zero")]
    iops: f64,
    #[serde(deserialize_with = "profile::above_zero")]
    bytes_per_s: f64,
    latency_us: u32,
    #[serde(deserialize_with = "profile::above_zero")]
    alarm_share: f64,
    transfer_bytes_max: u32,
    directory_entries_advised: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    #[serde(rename = "READ")]
    read: u32,
    #[serde(rename = "WRITE")]
    write: u32,
}

impl ServerProfile {
    /// The built-in profile of an OCI File Storage mount target.
    pub fn oci() -> ServerProfile {
        ServerProfile::parse("oci-fss.toml", OCI).expect("a test reads the built-in profile")
    }

    /// The profile in `text`, which came from `file`.
    pub fn parse(file: &str, text: &str) -> Result<ServerProfile, BadProfile> {
        let typed: Typed = profile::parse(Kind::Server, file, text)?;
        let target = &typed.target;
        for (key, figure, range) in [
            ("target.iops", target.iops, profile::IOPS),
            ("target.bytes_per_s", target.bytes_per_s, profile::BYTES_PER_S),
            ("target.latency_us", target.latency_us.into(), [0.0, 60e6]),
            ("target.alarm_share", target.alarm_share, [0.01, 1.0]),
            ("target.transfer_bytes_max", target.transfer_bytes_max.into(), [512.0, f64::from(1 << 30)]),
            ("target.directory_entries_advised", target.directory_entries_advised.into(), [1.0, 1e9]),
            ("iops_per_block.READ", typed.iops_per_block.read.into(), [0.0, PRICE_MAX]),
            ("iops_per_block.WRITE", typed.iops_per_block.write.into(), [0.0, PRICE_MAX]),
        ] {
            profile::within(file, key, figure, range)?;
        }
        let prices = prices(file, &typed)?;
        Ok(ServerProfile {
            prices,
            ceiling: Ceiling {
                iops: target.iops,
                bytes_per_s: target.bytes_per_s,
                latency: Duration::from_micros(target.latency_us.into()),
            },
            alarm_share: target.alarm_share,
            transfer_bytes_max: target.transfer_bytes_max.into(),
            directory_entries_advised: target.directory_entries_advised.into(),
            name: typed.name,
            source: typed.source,
        })
    }
}

fn prices(file: &str, typed: &Typed) -> Result<PriceList, BadProfile> {
    let nfs3 = || Proc::ALL.into_iter().filter(|proc| proc.is_nfs3());
    if let Some(other) = typed.iops.keys().find(|key| !nfs3().any(|proc| proc.name() == key.as_str())) {
        let what = format!("'{other}' is no procedure of NFSv3; names such as GETATTR and READDIRPLUS are expected");
        return Err(BadProfile::key(file, "iops", what));
    }
    // The procedures beyond NFSv3 cost nothing: no mount target serves them.
    let mut base = [0; Proc::COUNT];
    for proc in nfs3() {
        let Some(price) = typed.iops.get(proc.name()) else {
            return Err(BadProfile::key(file, "iops", format!("{proc} is missing; each procedure needs its IOPS")));
        };
        // What a load is made of costs something.
        let least = if matches!(proc, Proc::Read | Proc::Write) { 1.0 } else { 0.0 };
        profile::within(file, &format!("iops.{proc}"), (*price).into(), [least, PRICE_MAX])?;
        base[proc as usize] = *price;
    }
    Ok(PriceList::new(base, typed.iops_per_block.read, typed.iops_per_block.write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profile_is_the_list_that_reports_and_the_simulator_use() {
        let profile = ServerProfile::oci();
        assert_eq!(profile.prices, PriceList::oci());
        assert_eq!(profile.ceiling, Ceiling::oci());
        assert_eq!((profile.alarm_share, profile.directory_entries_advised), (0.8, 10_000));
        assert!(profile.source.contains("v2.0, August 2023"));
    }

    /// What `from` changed `to` in the built-in profile is told as.
    fn told(from: &str, to: &str) -> String {
        assert!(OCI.contains(from), "{from}");
        ServerProfile::parse("my.toml", &OCI.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn figures_out_of_range_are_told_with_key_and_range() {
        let tiny = "my.toml: target.iops: 1e-320 is given; from 1 to 1000000000000 is expected";
        assert_eq!(told("iops = 50_000", "iops = 1e-320"), tiny);
        assert!(told("iops = 50_000", "iops = 1e308").contains("target.iops: 1e308 is given"));
        assert!(told("bytes_per_s = 1_000_000_000", "bytes_per_s = 1e16").contains("target.bytes_per_s: 1e16"));
        assert!(told("latency_us = 1_000", "latency_us = 60_000_001").contains("target.latency_us: 60000001"));
        assert!(told("alarm_share = 0.8", "alarm_share = 1e-9").contains("target.alarm_share: 1e-9"));
        assert!(told("REMOVE = 8", "REMOVE = 4294967295").contains("iops.REMOVE: 4294967295 is given; from 0 to"));
        assert!(told("\nWRITE = 2", "\nWRITE = 4294967295").contains("iops_per_block.WRITE: 4294967295"));
        assert!(told("advised = 10_000", "advised = 0").contains("directory_entries_advised: 0 is given"));
    }

    #[test]
    fn what_is_wrong_is_told_with_file_line_and_what_is_expected() {
        assert_eq!(
            told("iops = 50_000", "iops = \"many\""),
            "my.toml: line 8 ('iops = \"many\"'): \
             invalid type: string \"many\", expected a number above 0"
        );
        assert!(told("iops = 50_000", "iops = 0").contains("expected a number above 0"));
        assert!(told("latency_us", "latency").contains("unknown field `latency`, expected one of `iops`"));
        assert!(told("alarm_share = 0.8", "").contains("missing field `alarm_share`"));
        assert!(
            told("alarm_share = 0.8", "alarm_share = 80").contains("target.alarm_share: 80 is given; from 0.01 to 1")
        );
        assert!(told("transfer_bytes_max = 1_048_576", "transfer_bytes_max = 0").contains("0 is given; from 512 to"));
        assert_eq!(
            told("GETATTR = 1", "GETATTRS = 1"),
            "my.toml: iops: 'GETATTRS' is no procedure of NFSv3; names such as GETATTR and READDIRPLUS are expected"
        );
        assert_eq!(told("COMMIT = 1", ""), "my.toml: iops: COMMIT is missing; each procedure needs its IOPS");
        assert!(told("REMOVE = 8", "REMOVE = -8").contains("('REMOVE = -8')"));
        assert!(told("READ = 2", "READ = 0").contains("iops.READ: 0 is given; from 1 to 1000000"));
        assert_eq!(
            told("kind = \"server\"", "kind = \"volume\""),
            "my.toml: kind: 'server' is expected, not 'volume', which parfs plan volume reads"
        );
        assert!(told("kind = \"server\"", "").contains("missing field `kind`"));
        assert!(told("[target]", "[target").contains("line 7 ('[target')"));
    }
}
