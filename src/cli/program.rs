//! How a command begins: what was typed becomes what it means, or a message; then it runs.

use std::ffi::OsString;
use std::sync::Arc;

use super::Exit;
use super::console::Console;
use super::flags::TellFlags;
use super::host::{Host, Manner, Unclear, beside};
use super::planned::Planned;

/// A command: `L` is what was typed, `H` what it means.
#[allow(missing_docs)] // the names say it
pub struct Program<L, H> {
    pub name: &'static str,
    pub parse: fn(Vec<OsString>) -> Result<L, String>,
    pub help: fn() -> String,
    pub tell: fn(&L) -> &TellFlags,
    pub high: fn(L, &Host) -> Result<H, Unclear>,
    pub run: fn(&H, &Arc<Console>) -> Exit,
    /// What the run goes by.
    pub manner: fn(&mut H) -> &mut Manner,
    /// The word by which `parfs plan` forecasts it; none for what it does not forecast.
    pub job: fn(&H) -> Option<&'static str>,
    /// How it ends when something on the host keeps it from beginning, and what it then says.
    pub fatal: (Exit, Option<&'static str>),
}

impl<L, H: Sync> Program<L, H> {
    /// Runs it with what follows its name.
    pub fn run(&self, args: Vec<OsString>) -> Exit {
        self.begin(args, None)
    }

    /// Rehearses it, as the job `what`, for a forecast: nothing is changed.
    pub fn rehearse(&self, args: Vec<OsString>, what: &str, planned: &Planned) -> Exit {
        self.begin(args, Some((what, planned)))
    }

    /// What a command line of ours means on `host`.
    pub fn means(&self, line: &[&str], host: &Host) -> Result<H, String> {
        let low = (self.parse)(line.iter().map(OsString::from).collect())?;
        (self.high)(low, host).map_err(|unclear| match unclear {
            Unclear::Usage(text) | Unclear::Fatal(text) => text,
        })
    }

    fn begin(&self, args: Vec<OsString>, planned: Option<(&str, &Planned)>) -> Exit {
        let console = Arc::new(Console::new(self.name));
        let usage = |text: String| {
            console.message(text);
            console.line(format_args!("Try '{} --help' for more information.", self.name));
            Exit::Failure
        };
        let low = match (self.parse)(args) {
            Ok(low) => low,
            Err(text) => return usage(text),
        };
        let tell = (self.tell)(&low);
        if tell.help || tell.version {
            let version = || super::version(&format!("{} (parfs)", self.name));
            let text = if tell.help { (self.help)() } else { version() };
            return super::shown(&console, text.trim_end());
        }
        match (self.high)(low, &Host::here()) {
            Ok(mut high) => {
                if let Some((what, planned)) = planned {
                    match (self.job)(&high) {
                        Some(job) if job == what => {}
                        Some(job) => return usage(format!("this command line is a job for 'parfs plan {job}'")),
                        None => return usage("this command line changes nothing that could be forecast".into()),
                    }
                    let manner = (self.manner)(&mut high);
                    planned.has_lanes(manner.lanes);
                    planned.holds(manner.held);
                    // What it would tell of itself is not the forecast.
                    (manner.planned, manner.verbose) = (Some(planned.clone()), 0);
                }
                beside(|| (self.run)(&high, &console))
            }
            Err(Unclear::Usage(text)) => usage(text),
            Err(Unclear::Fatal(text)) => {
                console.message(text);
                self.fatal.1.into_iter().for_each(|text| console.message(text));
                self.fatal.0
            }
        }
    }
}
