//! verify_state_save and verify_state_load: how far a job that writes with marks came, for a job that checks them later.
//!
//! Promises: fio's name of the file, `local-JOB-N-verify.state`. What is in it is one line of text; fio's own is binary and not read here.
//! Leaves out: where the file is (`Host`).

use std::io::Read;

use rustix::io::Errno;

use super::super::engine::Engine;
use super::clone::{Failed, Runner};

const TITLE: &str = "parfs verify state 1, I/Os: ";

/// No more is read of a state file.
const STATE_BYTES_MAX: u64 = 256;

impl<E: Engine> Runner<'_, E> {
    fn state_name(&self) -> String {
        let name = self.work.settings.name.replace('/', ".");
        self.work.host.state_path(&format!("local-{name}-{}-verify.state", self.work.number.saturating_sub(1)))
    }

    /// After a job that wrote: how many I/Os of a pass it did.
    pub(super) fn save_state(&mut self) {
        let Some(verify) = &self.work.settings.verify else { return };
        if !verify.save_state || verify.only || !self.work.settings.load.writes() {
            return;
        }
        let name = self.state_name();
        if let Err(reason) = self.work.host.save(&name, format!("{TITLE}{}\n", self.pass_most).as_bytes()) {
            // As in fio, which saves unless told not to: the job has done its work all the same.
            self.work.host.tell(&format!("fio: verify state: {name}: {reason}"));
        }
    }

    /// Ahead of a job that checks: no more I/Os than were done.
    pub(super) fn load_state(&mut self) {
        let checks = self.work.settings.verify.as_ref().filter(|verify| verify.load_state);
        let Some(verify) = checks else { return };
        if self.work.settings.load.writes() && !verify.only {
            return;
        }
        let name = self.state_name();
        let text = self.work.host.read(&name).and_then(|from| {
            let mut text = String::new();
            let read = from.take(STATE_BYTES_MAX).read_to_string(&mut text);
            read.map(|_| text).map_err(|error| error.to_string())
        });
        let ios = text.and_then(|text| {
            let ios = text.strip_prefix(TITLE).and_then(|ios| ios.trim_end().parse().ok());
            ios.ok_or_else(|| format!("fio: {name}: it is not a state file of parfs"))
        });
        match ios {
            Ok(ios) => self.ios_max = self.ios_max.min(ios),
            Err(reason) => self.state_failed(&name, &reason),
        }
    }

    fn state_failed(&mut self, name: &str, reason: &str) {
        let reason = reason.strip_prefix("fio: ").unwrap_or(reason);
        self.work.host.tell(&format!("fio: verify state: {reason}"));
        self.failed.get_or_insert_with(|| Failed::new(Errno::IO, format!("func=verify_state({name})")));
    }
}
