//! Where results go: stdout, or the file of `--output`. Banners and notices go there at once, where people read them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Mutex;

use crate::cli::console::{closed, reason};
use crate::load::general::{Format, General};

/// What results are written to.
trait Sink: Write + AsFd + Send {}

impl Sink for io::Stdout {}

impl Sink for File {}

/// The output of a run.
pub struct Out {
    sink: Mutex<Box<dyn Sink>>,
    failed: Mutex<Option<String>>,
    /// The human report is among the formats: banners are printed.
    pub is_normal: bool,
    /// Kept for the document, where there is no human report.
    notices: Mutex<Vec<String>>,
}

impl Out {
    /// Opens and empties `--output`'s file, before anything else is done. An error is fio's.
    pub fn open(general: &General) -> Result<Out, String> {
        let sink: Box<dyn Sink> = match &general.output {
            None => Box::new(io::stdout()),
            Some(path) => {
                let file = File::create(path)
                    .map_err(|error| format!("fio: output file open error: {path}: {}", reason(&error)))?;
                Box::new(file)
            }
        };
        let is_normal = general.formats.contains(&Format::Normal);
        Ok(Out { sink: Mutex::new(sink), failed: Mutex::default(), is_normal, notices: Mutex::default() })
    }

    /// Writes `text` as it is.
    pub fn write(&self, text: &str) {
        let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let result = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
        drop(sink);
        self.note(result);
    }

    /// A line for people: printed now, or in the document's notices.
    pub fn notice(&self, line: &str) {
        if self.is_normal {
            self.write(&format!("{line}\n"));
        } else {
            self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line.to_owned());
        }
    }

    /// A line that only the human report has.
    pub fn banner(&self, line: &str) {
        if self.is_normal {
            self.write(&format!("{line}\n"));
        }
    }

    /// What was noticed, for documents.
    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn note(&self, result: io::Result<()>) {
        if let Err(error) = result {
            let mut failed = self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            failed.get_or_insert_with(|| reason(&error));
        }
    }

    /// Why something could not be written, now that all is. A reader that has gone (EPIPE) is told as well.
    pub fn failure(&self) -> Option<String> {
        self.note(closed(&*self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner)));
        self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}
