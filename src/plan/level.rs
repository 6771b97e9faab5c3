//! Performance levels of block volumes: figures that grow with the VPU/GB.

use serde::Deserialize;

use super::profile::{self, BadProfile};

/// The most VPU/GB of a level: it bounds how many there are.
const VPU_MAX: u32 = 10_000;

/// What volumes of some VPU/GB give.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the names say it
pub struct Level {
    pub name: String,
    pub vpu: Vpus,
    pub iops_per_gb: Linear,
    pub iops_max: Linear,
    pub kb_per_s_per_gb: Linear,
    pub mb_per_s_max: Linear,
}

/// The VPU/GB of a level: from `min` to `max` in steps.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Vpus {
    pub min: u32,
    pub max: u32,
    pub step: u32,
}

/// A figure that grows with the VPU/GB.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Linear {
    #[serde(deserialize_with = "profile::from_zero")]
    pub base: f64,
    #[serde(deserialize_with = "profile::from_zero")]
    pub per_vpu: f64,
}

impl Linear {
    /// What it is at so many VPU/GB.
    pub(super) fn at(self, vpu: u32) -> f64 {
        self.base + self.per_vpu * f64::from(vpu)
    }
}

impl Level {
    /// The VPU/GB that can be had, ascending.
    pub(super) fn vpus(&self) -> impl Iterator<Item = u32> + use<> {
        (self.vpu.min..=self.vpu.max).step_by(self.vpu.step as usize)
    }

    /// Its VPU/GB, and its figures at the lowest and the highest of them: those of others are between.
    pub(super) fn check(&self, file: &str) -> Result<(), BadProfile> {
        let Vpus { min, max, step } = self.vpu;
        if min > max || max > VPU_MAX || step == 0 {
            let what = format!("'{}': min to max, up to {VPU_MAX}, in steps above 0 are expected", self.name);
            return Err(BadProfile::key(file, "level.vpu", what));
        }
        for (key, figure, range) in [
            ("level.iops_per_gb", self.iops_per_gb, [1e-3, 1e9]),
            ("level.iops_max", self.iops_max, profile::IOPS),
            ("level.kb_per_s_per_gb", self.kb_per_s_per_gb, [1e-3, 1e9]),
            ("level.mb_per_s_max", self.mb_per_s_max, [1e-3, 1e9]),
        ] {
            for vpu in [min, max] {
                let key = format!("{key}: '{}' at {vpu} VPU/GB", self.name);
                profile::within(file, &key, figure.at(vpu), range)?;
            }
        }
        Ok(())
    }
}
