//! A clone of a command line over an engine of a test.

use std::io::{BufRead, Write};

use super::super::commandline::{Asked, parse};
use super::super::engine::Engine;
use super::super::engine::null::NullPlace;
use super::super::general::{General, Traces};
use super::super::offsets::Extent;
use super::super::random::Seeds;
use super::super::results::JobResult;
use super::super::settings::settle;
use super::{Clock, Host, Live, LogFiles, Work, run};

/// Says nothing, and has no files.
struct Nobody;

impl LogFiles for Nobody {
    fn log(&self, name: &str) -> Result<Box<dyn Write + Send>, String> {
        Err(name.to_owned())
    }
}

impl Host for Nobody {
    fn tell(&self, _: &str) {}

    fn save(&self, _: &str, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn state_path(&self, name: &str) -> String {
        name.to_owned()
    }

    fn read(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        Err(name.to_owned())
    }

    fn trace(&self, _: &str) {}

    fn shell(&self, command: &str, _: &str) -> Result<(), String> {
        Err(command.to_owned())
    }
}

/// Each file's part: 16 blocks.
pub(super) const REGION: Extent = Extent { offset: 4096, len: 65536 };

/// Runs `line` over `files` files, in passes of `total_bytes`.
pub(super) fn run_clone<E: Engine>(line: &str, files: usize, total_bytes: u64, live: &Live, engine: E) -> JobResult {
    let words: Vec<String> = format!("--name=j --bs=4k {line}").split_whitespace().map(str::to_owned).collect();
    let Ok(Asked::Run(asked)) = parse(&words) else { panic!("{line}") };
    let settings = settle(&asked.jobs[0], &General::default()).unwrap().settings;
    let work = Work {
        settings: &settings,
        traces: Traces::default(),
        group: 0,
        clone: 0,
        number: 1,
        place: &NullPlace,
        files: (0..files).map(|file| (format!("f{file}").into(), REGION)).collect(),
        there: Vec::new(),
        total_bytes,
        seeds: Seeds::new(None, true, 0, 1),
        live,
        clock: Clock::start(),
        host: &Nobody,
    };
    run(engine, &work, &|| {})
}
