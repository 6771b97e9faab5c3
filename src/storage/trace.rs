//! A record of the last calls, for diagnosis and for tests of order.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use crate::base::{Name, Proc, Status};

use super::{Call, Op, Tap};

/// One call as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The procedure.
    pub proc: Proc,
    /// The name it was about, where it has one.
    pub name: Option<Name>,
    /// Payload bytes.
    pub bytes: u64,
    /// How it ended.
    pub status: Result<(), Status>,
}

/// Keeps the last `seen_max` calls.
#[derive(Debug)]
pub struct Trace {
    seen_max: usize,
    seen: Mutex<VecDeque<Seen>>,
}

impl Trace {
    /// A trace of the last `seen_max` calls.
    pub fn new(seen_max: usize) -> Trace {
        Trace { seen_max, seen: Mutex::default() }
    }

    /// The calls kept, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("a trace never panics").iter().cloned().collect()
    }
}

fn name_of(call: &Call<'_>) -> Option<Name> {
    match &call.op {
        Op::Lookup { name, .. }
        | Op::Create { name, .. }
        | Op::MkDir { name, .. }
        | Op::Symlink { name, .. }
        | Op::MkNod { name, .. }
        | Op::Remove { name, .. }
        | Op::RmDir { name, .. }
        | Op::Link { name, .. }
        | Op::Rename { from: name, .. } => Some(name.clone()),
        _ => None,
    }
}

impl Tap for Trace {
    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let mut seen = self.seen.lock().expect("a trace never panics");
        for call in calls {
            if seen.len() == self.seen_max {
                seen.pop_front();
            }
            let (proc, name, bytes, status) = (call.proc(), name_of(call), call.payload(), call.status());
            seen.push_back(Seen { proc, name, bytes, status });
        }
    }
}
