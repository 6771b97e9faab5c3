//! Times that a wire does not carry: storage sets the nearest, and whoever asked for them hears of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::storage::{AttrChange, Call, Op, SetTime, Tap};

/// Counts the times of last modification that were set to others than was asked for.
#[derive(Default)]
pub struct Clamped(AtomicU64);

impl Clamped {
    /// What there is to say of them.
    pub fn warning(&self) -> Option<String> {
        let times = match self.0.load(Ordering::Relaxed) {
            0 => return None,
            1 => "1 time of last modification is".into(),
            times => format!("{times} times of last modification are"),
        };
        Some(format!("{times} before 1970 or after 2106, which NFSv3 cannot carry; the nearest that it can was set"))
    }
}

fn change<'c>(call: &'c Call<'_>) -> Option<&'c AttrChange> {
    match &call.op {
        Op::SetAttr { change, .. }
        | Op::Create { change, .. }
        | Op::MkDir { change, .. }
        | Op::Symlink { change, .. }
        | Op::MkNod { change, .. } => Some(change),
        _ => None,
    }
}

impl Tap for Clamped {
    fn sees_each(&self) -> bool {
        false
    }

    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let is_clamped = |call: &&Call<'_>| match change(call) {
            Some(AttrChange { mtime: SetTime::At(time), .. }) => time.on_the_wire() != *time && call.status().is_ok(),
            _ => false,
        };
        let times = calls.iter().filter(is_clamped).count() as u64;
        if times > 0 {
            self.0.fetch_add(times, Ordering::Relaxed);
        }
    }
}
