//! What a thread has used of the machine, as getrusage(2) counts it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Processor time in µs, context switches, page faults with and without I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as above
pub struct Usage {
    pub usr_us: u64,
    pub sys_us: u64,
    pub ctx: u64,
    pub majf: u64,
    pub minf: u64,
}

impl Usage {
    /// Of the calling thread so far; zeros where the kernel does not say.
    pub fn of_thread() -> Usage {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return Usage::default() };
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Usage {
            usr_us: count(usage.user_time().num_microseconds()),
            sys_us: count(usage.system_time().num_microseconds()),
            ctx: count(usage.voluntary_context_switches() + usage.involuntary_context_switches()),
            majf: count(usage.major_page_faults()),
            minf: count(usage.minor_page_faults()),
        }
    }

    /// What was used since `before`.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            usr_us: self.usr_us.saturating_sub(before.usr_us),
            sys_us: self.sys_us.saturating_sub(before.sys_us),
            ctx: self.ctx.saturating_sub(before.ctx),
            majf: self.majf.saturating_sub(before.majf),
            minf: self.minf.saturating_sub(before.minf),
        }
    }
}
