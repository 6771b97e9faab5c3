//! Which mixes of volumes, level and hosts reach a goal: for each level the fewest volumes, and of them the fewest GB and
//! hosts. More volumes of the same level cost the same until they are of the least size, for all that is counted is GB.

use serde::Serialize;

use super::volume::{Given, Grade, Layout, VolumeProfile};

/// Volumes of one mix at most: beyond, a profile or a goal is likelier wrong than meant.
pub const VOLUMES_MAX: u64 = 1024;

/// Relative slack for sums of floating point.
const ROUNDING: f64 = 1e-9;

/// What is to be reached, and what of a mix is given already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct Wish {
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Of all volumes together, at least.
    pub gb: u64,
    pub vpu: Option<u32>,
    pub gb_each: Option<u64>,
    pub volumes: Option<u64>,
    pub hosts: Option<u64>,
    pub sharing: bool,
    pub single_path: bool,
}

/// A mix that reaches the goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Mix {
    pub layout: Layout,
    pub given: Given,
}

/// For each level that can reach `wish`, the mix of the fewest volumes; ascending by VPU.
pub fn mixes(profile: &VolumeProfile, wish: &Wish) -> Vec<Mix> {
    let vpus = profile.vpus().into_iter().filter(|vpu| wish.vpu.is_none_or(|wanted| wanted == *vpu));
    vpus.filter_map(|vpu| {
        let grade = profile.grade(vpu)?;
        let (first, last) = wish.volumes.map_or((1, VOLUMES_MAX), |n| (n, n));
        (first..=last).find_map(|volumes| mix(profile, wish, &grade, volumes))
    })
    .collect()
}

/// The mix of that many volumes: the fewest GB, then the fewest hosts.
fn mix(profile: &VolumeProfile, wish: &Wish, grade: &Grade, volumes: u64) -> Option<Mix> {
    let n = volumes as f64;
    let needed = |goal: f64, per_gb: f64| (goal / n / per_gb * (1.0 - ROUNDING)).ceil() as u64;
    let gb_each = wish.gb_each.unwrap_or_else(|| {
        let by_rate = needed(wish.iops, grade.per_gb.iops).max(needed(wish.bytes_per_s, grade.per_gb.bytes_per_s));
        by_rate.max(wish.gb.div_ceil(volumes)).max(profile.size.gb_min.into())
    });
    let reaches = |total: f64, goal: f64| total >= goal * (1.0 - ROUNDING);
    let volume = grade.volume(gb_each);
    let possible = reaches(volume.iops * n, wish.iops) && reaches(volume.bytes_per_s * n, wish.bytes_per_s);
    if !possible || gb_each > profile.size.gb_max.into() || gb_each.saturating_mul(volumes) < wish.gb {
        return None;
    }
    // So many hosts as volumes at most; those of a profile may be without a limit.
    let hosts_max =
        if wish.sharing { u64::from(profile.attachment.hosts_per_volume_max).min(VOLUMES_MAX) } else { volumes };
    let (first, last) = wish.hosts.map_or((if wish.sharing { 2 } else { 1 }, hosts_max), |n| (n, n));
    let reached = |hosts| {
        let Wish { sharing, single_path, .. } = *wish;
        let layout = Layout { vpu: grade.vpu, gb_each, volumes, hosts, sharing, single_path };
        let given = profile.given(&layout).ok()?;
        let enough = reaches(given.total.iops, wish.iops) && reaches(given.total.bytes_per_s, wish.bytes_per_s);
        enough.then_some(Mix { layout, given })
    };
    // More hosts never give less, so the fewest are found by halving, if the most are enough.
    let (mut low, mut high) = (first, last);
    let mut fewest = (low <= high).then(|| reached(high)).flatten()?;
    while low < high {
        let middle = low + (high - low) / 2;
        match reached(middle) {
            Some(mix) => (fewest, high) = (mix, middle),
            None => low = middle + 1,
        }
    }
    Some(fewest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wish: Wish) -> Vec<(u32, u64, u64, u64)> {
        let shown = |mix: Mix| (mix.layout.vpu, mix.layout.volumes, mix.layout.gb_each, mix.layout.hosts);
        mixes(&VolumeProfile::oci(), &wish).into_iter().map(shown).collect()
    }

    #[test]
    fn each_level_has_its_fewest_volumes_and_fewest_gb() {
        let found = found(Wish { iops: 100_000.0, gb: 1_000, ..Wish::default() });
        // 100,000 IOPS: 34 volumes of 3,000 at VPU 0, which two hosts take; four of 25,000 at VPU 10; one from VPU 40 on.
        assert_eq!(found[0], (0, 34, 1_471, 2));
        assert_eq!(found[1], (10, 4, 417, 1));
        assert_eq!(found[4], (40, 1, 1_000, 1));
        assert_eq!(found[12], (120, 1, 1_000, 1));
    }

    #[test]
    fn what_is_given_is_kept() {
        let wish = Wish { iops: 100_000.0, ..Wish::default() };
        assert_eq!(found(Wish { vpu: Some(120), ..wish }), [(120, 1, 445, 1)]);
        assert_eq!(found(Wish { vpu: Some(120), volumes: Some(20), ..wish }), [(120, 20, 50, 1)]);
        assert_eq!(found(Wish { vpu: Some(20), gb_each: Some(100), ..wish }), [(20, 14, 100, 1)]);
        assert_eq!(found(Wish { vpu: Some(120), volumes: Some(1), single_path: true, ..wish }), []);
        assert_eq!(found(Wish { vpu: Some(120), sharing: true, ..wish }), [(120, 1, 445, 2)]);
        assert_eq!(found(Wish { vpu: Some(120), hosts: Some(3), ..wish })[0].3, 3);
        assert_eq!(found(Wish { gb: 40_000, vpu: Some(10), ..wish }), [(10, 4, 10_000, 1)]);
        assert_eq!(found(Wish { gb: 40_000, vpu: Some(10), volumes: Some(1), ..wish }), []);
    }

    /// Hosts are added until what they let through reaches the goal.
    #[test]
    fn hosts_are_counted_by_what_they_let_through() {
        assert_eq!(found(Wish { bytes_per_s: 20e9, vpu: Some(120), ..Wish::default() })[0].3, 4);
        assert_eq!(found(Wish { iops: 1e12, ..Wish::default() }), []);
    }

    /// One host less does not reach the goal.
    #[test]
    fn the_fewest_hosts_are_found() {
        let oci = VolumeProfile::oci();
        let mut several = 0;
        for (sharing, single_path) in [(false, false), (false, true), (true, false)] {
            for iops in [1e5, 7e5, 1.4e6, 2.7e6, 9e6, 2.3e7] {
                let wish = Wish { iops, bytes_per_s: iops * 4096.0, sharing, single_path, ..Wish::default() };
                for Mix { layout, .. } in mixes(&oci, &wish) {
                    let Layout { vpu, gb_each, volumes, hosts, .. } = layout;
                    let held = Wish { vpu: Some(vpu), gb_each: Some(gb_each), volumes: Some(volumes), ..wish };
                    let on = |hosts| mixes(&oci, &Wish { hosts: Some(hosts), ..held }).len();
                    assert_eq!(on(hosts), 1, "{layout:?}");
                    assert!((1..hosts).all(|fewer| on(fewer) == 0 || (sharing && fewer == 1)), "{layout:?}");
                    several += usize::from(hosts > 2);
                }
            }
        }
        assert!(several > 20, "{several}");
    }

    /// A profile without a limit of hosts does not make the search endless.
    #[test]
    fn a_goal_out_of_reach_is_soon_known() {
        let mut profile = VolumeProfile::oci();
        profile.attachment.hosts_per_volume_max = 4_000_000_000;
        profile.host.iops_max = Some(1.0);
        let wish = Wish { iops: 20_000_000.0, sharing: true, ..Wish::default() };
        assert_eq!(mixes(&profile, &wish), []);
        profile.host.iops_max = Some(100.0);
        let found = mixes(&profile, &Wish { iops: 100_000.0, vpu: Some(120), ..wish });
        assert_eq!((found.len(), found[0].layout.hosts), (1, 1_000));
    }
}
