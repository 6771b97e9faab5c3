//! `--idle-prof`: how idle processors are while jobs run.
//!
//! Promises: fio's measure. A thread on each processor, of the class that runs only where nothing else wants to (SCHED_IDLE), repeats a unit
//! of work; the units it came to, times what one takes, over the time, is the share that was idle.
//! Leaves out: processors that this process may not use. Clocks that rise and fall with the load make the share one of speed, as in fio.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::super::results::Idleness;
use super::clone::said;
use super::prio;

/// Bytes that a unit writes one by one: fio's page.
const UNIT_BYTES: usize = 4096;

/// Units between two looks at the clock, and how often, of which the fastest counts: fio's numbers. Some 50 ms in all.
const CALIBRATION_UNITS: usize = 1000;
const CALIBRATION_RUNS: usize = 10;

/// The threads, calibrated.
pub struct IdleProf {
    workers: Vec<Worker>,
    /// µs that a unit takes on each processor.
    unit_us: Vec<f64>,
    stop: Arc<AtomicBool>,
}

struct Worker {
    cpu: usize,
    begin: Sender<()>,
    /// Units that were done, and in which time; none of a thread that was never to begin.
    thread: JoinHandle<Option<(f64, Duration)>>,
}

impl IdleProf {
    /// Starts a thread on each processor that this process may use, and measures what a unit takes there. An error is for stderr.
    pub fn calibrate() -> Result<IdleProf, String> {
        let allowed = sched_getaffinity(None).map_err(|errno| failed("sched_getaffinity", errno))?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let stop = Arc::new(AtomicBool::new(false));
        let (mut workers, mut ready) = (Vec::new(), Vec::new());
        for cpu in cpus {
            let (begin, may_begin) = channel();
            let (calibrated, told) = channel();
            let stop = stop.clone();
            let thread = std::thread::Builder::new().spawn(move || work(cpu, &calibrated, &may_begin, &stop));
            workers.push(Worker { cpu, begin, thread: thread.map_err(|error| format!("fio: idle-prof: {error}"))? });
            ready.push(told);
        }
        let unit_us = ready
            .into_iter()
            .map(|told| told.recv().unwrap_or_else(|_| Err("fio: idle-prof: a thread has ended".into())));
        Ok(IdleProf { unit_us: unit_us.collect::<Result<_, _>>()?, workers, stop })
    }

    /// From now on idle time is counted.
    pub fn begin(&self) {
        for worker in &self.workers {
            // A thread that is gone is told by its result.
            let _gone = worker.begin.send(());
        }
    }

    /// Ends the threads; what they found. `told` asks for each processor.
    pub fn finish(self, told: bool) -> Idleness {
        self.stop.store(true, Ordering::Relaxed);
        let (unit_mean_us, unit_stddev_us) = mean_and_deviation(&self.unit_us);
        let mut cpus = Vec::new();
        for Worker { cpu, begin, thread } in self.workers {
            drop(begin);
            let (units, spent) = thread.join().ok().flatten().unwrap_or_default();
            cpus.push((cpu, idle_percent(units, unit_mean_us, spent)));
        }
        Idleness { cpus, told, unit_mean_us, unit_stddev_us }
    }

    /// Ends the threads without having begun: what a unit takes.
    pub fn calibration(self) -> Idleness {
        Idleness { cpus: Vec::new(), ..self.finish(false) }
    }
}

fn failed(call: &str, errno: Errno) -> String {
    format!("fio: idle-prof: {call}: {}", said(errno))
}

/// A processor's thread.
fn work(
    cpu: usize,
    calibrated: &Sender<Result<f64, String>>,
    may_begin: &Receiver<()>,
    stop: &AtomicBool,
) -> Option<(f64, Duration)> {
    let mut data = [0; UNIT_BYTES];
    // The lowest class comes after the calibration, which others would disturb.
    let ready = bind(cpu).map(|()| unit_us(&mut data)).and_then(|unit_us| {
        prio::set_idle().map_err(|errno| failed("sched_setscheduler", errno))?;
        Ok(unit_us)
    });
    // Nobody listens any more where another thread has failed.
    calibrated.send(ready).ok()?;
    may_begin.recv().ok()?;
    let start = Instant::now();
    let mut units = 0;
    let rest = loop {
        match unit(&mut data, units, stop) {
            UNIT_BYTES => units += 1,
            rest => break rest,
        }
    };
    Some((units as f64 + rest as f64 / UNIT_BYTES as f64, start.elapsed()))
}

fn bind(cpu: usize) -> Result<(), String> {
    let mut own = CpuSet::new();
    own.set(cpu);
    sched_setaffinity(None, &own).map_err(|errno| failed("sched_setaffinity", errno))
}

/// µs of a unit, at best.
fn unit_us(data: &mut [u8; UNIT_BYTES]) -> f64 {
    let never = AtomicBool::new(false);
    let runs = (0..CALIBRATION_RUNS).map(|_| {
        let start = Instant::now();
        for shift in 0..CALIBRATION_UNITS {
            unit(data, shift, black_box(&never));
        }
        start.elapsed()
    });
    runs.min().unwrap_or_default().as_secs_f64() * 1e6 / CALIBRATION_UNITS as f64
}

/// Writes a unit; how many of its bytes were written before `stop` was set.
fn unit(data: &mut [u8; UNIT_BYTES], shift: usize, stop: &AtomicBool) -> usize {
    for at in 0..UNIT_BYTES {
        if stop.load(Ordering::Relaxed) {
            return at;
        }
        data[at.wrapping_add(shift) % UNIT_BYTES] = at as u8;
    }
    black_box(data);
    UNIT_BYTES
}

/// 100 at most: a processor may be faster than when it was calibrated.
fn idle_percent(units: f64, unit_us: f64, spent: Duration) -> f64 {
    let spent_us = spent.as_secs_f64() * 1e6;
    if spent_us > 0.0 { (100.0 * units * unit_us / spent_us).min(100.0) } else { 0.0 }
}

/// The deviation is that of a sample; 0 of a single one, where fio prints no number.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_time() {
        let spent = Duration::from_millis(100);
        assert_eq!(idle_percent(10_000.0, 8.0, spent), 80.0);
        assert_eq!(idle_percent(0.0, 8.0, spent), 0.0);
        assert_eq!(idle_percent(20_000.0, 8.0, spent), 100.0, "faster than calibrated");
        assert_eq!(idle_percent(5.0, 8.0, Duration::ZERO), 0.0);
    }

    #[test]
    fn units_have_a_mean_and_a_deviation() {
        assert_eq!(mean_and_deviation(&[7.0, 9.0]), (8.0, 2_f64.sqrt()));
        assert_eq!(mean_and_deviation(&[7.5]), (7.5, 0.0));
    }

    /// What was written of a unit tells where it was stopped.
    #[test]
    fn a_unit_ends_where_it_is_stopped() {
        let mut data = [0; UNIT_BYTES];
        assert_eq!(unit(&mut data, 5, &AtomicBool::new(false)), UNIT_BYTES);
        assert_eq!((data[5], data[6], data[4]), (0, 1, 255));
        assert_eq!(unit(&mut data, 5, &AtomicBool::new(true)), 0);
    }

    #[test]
    fn each_processor_is_told() {
        let allowed = sched_getaffinity(None).unwrap();
        let prof = IdleProf::calibrate().unwrap();
        prof.begin();
        let Idleness { cpus, told, unit_mean_us, .. } = prof.finish(true);
        assert!(cpus.iter().map(|(cpu, _)| *cpu).eq((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu))));
        assert!(cpus.iter().all(|(_, idle)| (0.0..=100.0).contains(idle)), "{cpus:?}");
        assert!(told && unit_mean_us > 0.0);
        let calibration = IdleProf::calibrate().unwrap().calibration();
        assert!(calibration.cpus.is_empty() && calibration.unit_mean_us > 0.0);
    }
}
