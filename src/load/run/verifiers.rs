//! verify_async=: threads that check what was read, while the job goes on.
//!
//! Promises: no more blocks wait than twice the threads; every block that was handed over is answered before the job ends.
//! Leaves out: what becomes of a mismatch, which is the job's.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::super::engine::Engine;
use super::super::verify::{Mismatch, Verifier, Written};
use super::choice::Next;
use super::clone::{Failed, Runner, said};

/// A block that was read, and what of it is wrong once it was checked.
pub(super) struct Task {
    block: Vec<u8>,
    written: Written,
    next: Next,
    wrong: Option<Mismatch>,
}

/// The threads of a clone.
pub(super) struct Verifiers {
    /// None when the threads are to end.
    tasks: Option<Sender<Task>>,
    checked: Receiver<Task>,
    threads: Vec<JoinHandle<()>>,
    /// Blocks that were handed over and not answered.
    out: usize,
    spare: Vec<Vec<u8>>,
}

impl Verifiers {
    /// `count` threads, on `cpus` if given.
    fn new(verifier: &Verifier, count: u32, cpus: Option<&[usize]>) -> Result<Verifiers, Errno> {
        let (tasks, waiting) = channel::<Task>();
        let (answers, checked) = channel::<Task>();
        let waiting = Arc::new(Mutex::new(waiting));
        // A thread begins on the processors of the one that starts it.
        let own = sched_getaffinity(None)?;
        if let Some(cpus) = cpus {
            let mut set = CpuSet::new();
            cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
            sched_setaffinity(None, &set)?;
        }
        let mut threads = Vec::with_capacity(count as usize);
        let mut failed = None;
        for _ in 0..count {
            let (verifier, waiting, answers) = (verifier.clone(), waiting.clone(), answers.clone());
            match std::thread::Builder::new().name("verify".into()).spawn(move || work(&verifier, &waiting, &answers)) {
                Ok(thread) => threads.push(thread),
                Err(error) => failed = Some(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN)),
            }
        }
        let back = if cpus.is_some() { sched_setaffinity(None, &own) } else { Ok(()) };
        let verifiers = Verifiers { tasks: Some(tasks), checked, threads, out: 0, spare: Vec::new() };
        match failed.or(back.err()) {
            Some(errno) => {
                verifiers.end();
                Err(errno)
            }
            None => Ok(verifiers),
        }
    }

    /// Ends the threads; a panic of one is raised again.
    pub(super) fn end(mut self) {
        drop(self.tasks.take());
        for thread in self.threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

fn work(verifier: &Verifier, waiting: &Mutex<Receiver<Task>>, answers: &Sender<Task>) {
    loop {
        let task = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut task) = task else { return };
        task.wrong = verifier.verify(&task.block, &task.written).err();
        if answers.send(task).is_err() {
            return;
        }
    }
}

impl<E: Engine> Runner<'_, E> {
    pub(super) fn start_verifiers(&mut self) {
        let verify = self.work.settings.verify.as_ref().filter(|verify| verify.threads > 0);
        let (Some(verify), Some(verifier)) = (verify, &self.verifier) else { return };
        match Verifiers::new(verifier, verify.threads, verify.cpus.as_deref()) {
            Ok(verifiers) => self.verifiers = Some(verifiers),
            Err(errno) => {
                self.work.host.tell(&format!("fio: verify_async={}: {}", verify.threads, said(errno)));
                self.failed.get_or_insert_with(|| Failed::new(errno, "func=verify_async"));
            }
        }
    }

    /// Hands a block that was read to the threads; waits while too many are waiting.
    pub(super) fn check_elsewhere(&mut self, block: &[u8], written: &Written, next: &Next) {
        let most = 2 * self.verifiers.as_ref().map_or(0, |verifiers| verifiers.threads.len());
        self.take_checked(most.saturating_sub(1));
        let Some(verifiers) = &mut self.verifiers else { return };
        let mut own = verifiers.spare.pop().unwrap_or_default();
        own.clear();
        own.extend_from_slice(block);
        let task = Task { block: own, written: *written, next: *next, wrong: None };
        if let Some(tasks) = &verifiers.tasks
            && tasks.send(task).is_ok()
        {
            verifiers.out += 1;
        }
    }

    /// Takes answers, until no more than `left` blocks are out.
    pub(super) fn take_checked(&mut self, left: usize) {
        while let Some(verifiers) = &mut self.verifiers
            && verifiers.out > 0
        {
            let answer = match verifiers.out > left {
                true => verifiers.checked.recv().ok(),
                false => verifiers.checked.try_recv().ok(),
            };
            let Some(task) = answer else { return };
            verifiers.out -= 1;
            if let Some(mismatch) = &task.wrong {
                self.mismatched(&task.block, &task.written, &task.next, mismatch);
            }
            if let Some(verifiers) = &mut self.verifiers {
                verifiers.spare.push(task.block);
            }
        }
    }
}
