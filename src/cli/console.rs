//! What the user reads: names on stdout, messages and the progress line on stderr, never torn into each other.
//!
//! A reader of stdout that went away (`partar -xvf a.tar | head`) is no error: the rest is not printed. What cannot be
//! written to stderr is lost; there is nobody left to tell.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use indicatif::ProgressBar;
use serde::Serialize;

pub use crate::base::reason;

use crate::base::name::PrintableLines;

use super::watch::log::Log;

/// Bytes read of an answer.
const ANSWER_BYTES_MAX: u64 = 4096;

/// A message in the log.
#[derive(Serialize)]
struct Message {
    text: String,
}

/// The command's two outputs, and its log.
pub struct Console {
    program: &'static str,
    log: OnceLock<Arc<Log>>,
    bar: Mutex<Option<ProgressBar>>,
    stdout: Mutex<io::BufWriter<io::Stdout>>,
    stdout_gone: AtomicBool,
    stdout_failed: AtomicBool,
    stdout_shares_terminal: bool,
}

impl Console {
    /// The outputs of `program`, whose name opens each message.
    pub fn new(program: &'static str) -> Console {
        use std::io::IsTerminal;
        Console {
            program,
            log: OnceLock::new(),
            bar: Mutex::new(None),
            stdout: Mutex::new(io::BufWriter::with_capacity(64 << 10, io::stdout())),
            stdout_gone: AtomicBool::new(false),
            stdout_failed: AtomicBool::new(false),
            stdout_shares_terminal: io::stdout().is_terminal(),
        }
    }

    /// From now on messages are in `log` too; the first one stays.
    pub fn set_log(&self, log: Arc<Log>) {
        let _first = self.log.set(log);
    }

    /// Where a run is logged, if it is.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    /// From now on `bar` is drawn on stderr and steps aside for lines.
    pub fn set_bar(&self, bar: Option<ProgressBar>) {
        *self.bar.lock().expect("a console never panics") = bar;
    }

    /// The bar that was drawn, which no longer is this console's.
    pub fn take_bar(&self) -> Option<ProgressBar> {
        self.bar.lock().expect("a console never panics").take()
    }

    /// A line on stderr as it is.
    pub fn line(&self, text: impl fmt::Display) {
        self.aside(|| {
            let _lost = writeln!(io::stderr().lock(), "{text}");
        });
    }

    /// A message on stderr, and in the log: `partar: text`.
    pub fn message(&self, text: impl fmt::Display) {
        if let Some(log) = self.log() {
            log.add("message", &Message { text: text.to_string() });
        }
        self.show(text);
    }

    /// A message on stderr that the log has already, or need not have.
    pub fn show(&self, text: impl fmt::Display) {
        // What was typed may be another's name, with a terminal's commands in it.
        self.line(format_args!("{}: {}", self.program, PrintableLines(&text.to_string())));
    }

    /// Asks on stderr and reads a line from stdin: does it begin with `y`?
    pub fn ask(&self, question: &str) -> bool {
        let _lost = write!(io::stderr().lock(), "{}: {question}", self.program);
        let mut answer = Vec::new();
        let read = io::stdin().lock().take(ANSWER_BYTES_MAX).read_until(b'\n', &mut answer);
        read.is_ok() && matches!(answer.first(), Some(b'y' | b'Y'))
    }

    /// A line on stdout; buffered unless stdout is a terminal.
    pub fn print(&self, text: impl fmt::Display) {
        if self.stdout_gone.load(Ordering::Relaxed) {
            return;
        }
        let write = || {
            let mut out = self.stdout.lock().expect("a console never panics");
            let flush = self.stdout_shares_terminal;
            let result = writeln!(out, "{text}").and_then(|()| if flush { out.flush() } else { Ok(()) });
            self.note_stdout(result);
        };
        if self.stdout_shares_terminal { self.aside(write) } else { write() }
    }

    /// Hands what `print` buffered to stdout, and has that tell what became of it.
    pub fn flush(&self) {
        if !self.stdout_gone.load(Ordering::Relaxed) {
            let mut out = self.stdout.lock().expect("a console never panics");
            let result = out.flush().and_then(|()| closed(out.get_ref()));
            drop(out);
            self.note_stdout(result);
        }
    }

    /// True when whoever read what is printed went away.
    pub fn is_unread(&self) -> bool {
        self.stdout_gone.load(Ordering::Relaxed) && !self.has_failed()
    }

    /// True when something printed was lost, other than to a reader that went away.
    pub fn has_failed(&self) -> bool {
        self.stdout_failed.load(Ordering::Relaxed)
    }

    fn note_stdout(&self, result: io::Result<()>) {
        let Err(error) = result else { return };
        let first = !self.stdout_gone.swap(true, Ordering::Relaxed);
        if first && error.kind() != io::ErrorKind::BrokenPipe {
            self.stdout_failed.store(true, Ordering::Relaxed);
            let _lost = writeln!(io::stderr().lock(), "{}: stdout: {}", self.program, reason(&error));
        }
    }

    fn aside(&self, write: impl FnOnce()) {
        match self.bar.lock().expect("a console never panics").as_ref() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// What closing a file would tell. Each closing of a descriptor asks the file system; the file's own comes when nobody looks any more.
pub fn closed(file: impl AsFd) -> io::Result<()> {
    let again = match rustix::io::fcntl_dupfd_cloexec(file, 0) {
        // Nothing is lost that is known of.
        Err(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => return Ok(()),
        again => again?,
    };
    match nix::unistd::close(again) {
        Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()), // closed all the same on Linux
        Err(errno) => Err(io::Error::from(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_those_of_strerror() {
        assert_eq!(reason(&io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason(&io::Error::other("plain")), "plain");
    }
}
