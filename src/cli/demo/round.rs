//! One run of the demo: fresh simulated targets, one extraction, its figures.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::archive::{self, Archive, Input};
use crate::base::PriceList;
use crate::base::price::Ceiling;
use crate::cli::archive::Seekable;
use crate::cli::location::Location;
use crate::cli::meter::Meters;
use crate::cli::open::Opener;
use crate::cli::owners::HostOwners;
use crate::crew::{Crew, Stop};
use crate::jobs::Live;
use crate::jobs::extract::{Options, extract};
use crate::mounts::MemoryMount;
use crate::sim::{Config, Server};
use crate::storage::{Mount, Shape};

use super::patch::Patch;

const BUDGET_BYTES: u64 = 64 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How one run is to be done.
pub struct Round {
    pub title: &'static str,
    pub targets: usize,
    /// None: as the targets suggest.
    pub shape: Option<Shape>,
    /// Ends it early.
    pub cut: Option<Duration>,
}

/// What one run did.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub in_flight: usize,
    pub seconds: f64,
    pub files: u64,
    /// Files of the whole archive.
    pub files_whole: u64,
    /// Priced IOPS asked for.
    pub iops: u64,
}

impl Figures {
    /// True when the run was ended early.
    pub fn is_cut(&self) -> bool {
        self.files < self.files_whole
    }

    fn scale_to_whole(&self) -> f64 {
        self.files_whole as f64 / self.files.max(1) as f64
    }

    /// Seconds of the whole archive; extrapolated when the run was cut.
    pub fn seconds_whole(&self) -> f64 {
        self.seconds * self.scale_to_whole()
    }

    /// IOPS of the whole archive; extrapolated when the run was cut.
    pub fn iops_whole(&self) -> u64 {
        (self.iops as f64 * self.scale_to_whole()) as u64
    }

    /// Files a second.
    pub fn files_per_s(&self) -> f64 {
        self.files as f64 / self.seconds.max(1e-9)
    }

    /// Priced IOPS a second.
    pub fn iops_per_s(&self) -> f64 {
        self.iops as f64 / self.seconds.max(1e-9)
    }
}

impl Round {
    /// Runs it. An error says what failed.
    pub fn run(&self, patch: &Patch, ceiling: Ceiling, stop: &Stop) -> Result<Figures, String> {
        let config = Config { targets: self.targets, ceiling, ..Config::default() };
        let server = Server::start(Arc::new(MemoryMount::new()), config).map_err(|e| format!("Cannot listen: {e}"))?;
        let url = format!("{}?uid=0&gid=0", server.url());
        let location = Location::parse(url.as_ref()).map_err(|error| error.to_string())?;
        let meters = Meters::default();
        let volume = Opener::new(meters.clone()).volume(&location, None)?;
        let crew = Crew::new(self.shape.unwrap_or(volume.limits().shape), BUDGET_BYTES).map_err(|e| e.to_string())?;
        let source = Input::Seekable(Arc::new(Seekable::new(patch.file.clone(), patch.len)));
        let mut archive = Archive::new(source, archive::Options { ignore_zeros: false });
        let options = Options::default();
        let live = Live::default();
        let start = Instant::now();
        let done = std::thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let (crew_stop, cut) = (crew.stop().clone(), self.cut);
            scope.spawn(move || {
                while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    if stop.is_set() || cut.is_some_and(|cut| start.elapsed() >= cut) {
                        crew_stop.set();
                    }
                }
            });
            let done = extract(&volume, &mut archive, &options, &HostOwners::default(), &crew, &live, &|_, _| {});
            drop(ended);
            done
        });
        let seconds = start.elapsed().as_secs_f64();
        if stop.is_set() {
            return Err("interrupted".into());
        }
        if let Some(failure) = crew.report().failures().iter().find(|failure| !failure.is_cancelled()) {
            return Err(failure.to_string());
        }
        if let Some(error) = done.archive_error.filter(|_| !crew.stop().is_set()) {
            return Err(error);
        }
        drop(volume);
        server.stop();
        Ok(Figures {
            in_flight: crew.shape().in_flight(),
            seconds,
            files: done.files,
            files_whole: patch.files,
            iops: meters.tally().price(&PriceList::oci()),
        })
    }
}
