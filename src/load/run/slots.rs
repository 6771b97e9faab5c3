//! A clone's buffers, one for each I/O that it may have under way, and what checks what is read into them.
//!
//! Promises: what no memory of the host holds is refused by the options that ask for it.
//! Leaves out: what is in the buffers.

use rustix::io::Errno;

use super::super::Direction;
use super::super::engine::{Buf, Engine};
use super::super::offsets::Extent;
use super::super::verify::Verifier;
use super::choice::Next;
use super::clone::{Failed, Runner, Slot};
use super::recorder::Times;

impl<E: Engine> Runner<'_, E> {
    pub(super) fn set_up_slots(&mut self, depth: u32, largest: usize) {
        let settings = self.work.settings;
        let align = usize::try_from(settings.buffers.align).unwrap_or(0).next_power_of_two();
        let nothing = Next { file: 0, direction: Direction::Read, extent: Extent { offset: 0, len: 0 }, number: 0 };
        let mut bufs = Vec::with_capacity(depth as usize);
        let host = rustix::system::sysinfo();
        let memory = u128::from(host.totalram) * u128::from(host.mem_unit);
        let needed = u128::from(depth) * largest as u128;
        for _ in 0..depth {
            // The kernel may hand out more than there is, and end the process when it is used.
            let Some(mut buf) = Buf::zeroed(largest, align).filter(|_| needed <= memory) else {
                let text = format!("buffers of iodepth={depth} and bs={largest}: not enough memory");
                self.work.host.tell(&format!("fio: {}: {text}", settings.name));
                self.failed = Some(Failed::new(Errno::NOMEM, format!("func=iomem allocation, error={text}")));
                return;
            };
            if settings.load.writes() {
                self.contents.prefill(&mut buf);
            }
            bufs.push(buf);
        }
        if let Err(errno) = self.engine.prepare(&bufs) {
            let text = self.said(errno);
            self.work.host.tell(&format!("fio: buffers: {text}"));
            self.failed = Some(Failed::new(errno, format!("func=buffers, error={text}")));
        }
        for buf in bufs {
            self.slots.push(Slot {
                buf: Some(buf),
                next: nothing,
                times: Times::default(),
                moved: 0,
                is_stale: false,
                checks: None,
            });
        }
        if let Some(verify) = &settings.verify {
            let smallest = settings.load.blocks.iter().map(|(_, (least, _))| *least).min().unwrap_or(1) as usize;
            let interval = Some(verify.interval as usize);
            match Verifier::new(verify.check, interval, smallest, verify.mark_at as usize, verify.pattern.clone()) {
                Ok(verifier) => self.verifier = Some(verifier),
                Err(text) => self.failed = Some(Failed::new(Errno::INVAL, text)),
            }
        }
    }
}
