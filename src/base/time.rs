//! A file's time: seconds since 1970 and nanoseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time as POSIX keeps it; ordered. `nanos` is below 1,000,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds since 1970-01-01T00:00:00Z, negative before.
    pub secs: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
}

impl Time {
    /// The machine's clock, now.
    pub fn now() -> Time {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(d) => Time { secs: i64::try_from(d.as_secs()).unwrap_or(i64::MAX), nanos: d.subsec_nanos() },
            Err(_) => Time::default(),
        }
    }

    /// True when a file system that was given this time may say `kept`: in coarser units, down to whole seconds (unfs3), and
    /// `by_nfs` within what NFSv3 carries.
    pub fn may_be_kept_as(self, kept: Time, by_nfs: bool) -> bool {
        let equal = |t: Time| {
            let units = [1, 100, 1_000, 1_000_000, 1_000_000_000];
            kept.secs == t.secs && units.iter().any(|unit| kept.nanos == t.nanos / unit * unit)
        };
        equal(self) || (by_nfs && equal(self.on_the_wire()))
    }

    /// The nearest time that nfstime3 can carry (RFC 1813 2.5: 32 unsigned bits of seconds, 1970 to 2106).
    pub fn on_the_wire(self) -> Time {
        if self.secs < 0 {
            Time::default()
        } else if self.secs > i64::from(u32::MAX) {
            Time { secs: i64::from(u32::MAX), nanos: 999_999_999 }
        } else {
            self
        }
    }
}
