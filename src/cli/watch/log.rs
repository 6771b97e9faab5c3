//! The log of a run: JSON lines, appended to a file, each written at once and whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Timestamp;
use serde::Serialize;

use crate::cli::console::reason;
use crate::cli::report::begins_as;

/// An open log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Why lines were lost.
    lost: Option<io::Error>,
}

/// One line.
#[derive(Serialize)]
struct Event<'a, F: Serialize> {
    time: String,
    event: &'static str,
    #[serde(flatten)]
    fields: &'a F,
}

impl Log {
    /// Appends to `path`, a file of `mode` where there is none. Nothing is appended to a file that does not begin as JSON.
    pub fn open(path: &Path, mode: u32) -> Result<Log, String> {
        let is_other = |there: fs::Metadata| there.is_file() && there.len() > 0;
        if fs::metadata(path).is_ok_and(is_other) && begins_as(path, b"{").is_ok_and(|is_log| !is_log) {
            return Err(format!("{}: is there and is no log; give --log another name", path.display()));
        }
        let file = OpenOptions::new().append(true).create(true).mode(mode).open(path);
        let file = file.map_err(|error| format!("{}: Cannot open: {}", path.display(), reason(&error)))?;
        Ok(Log { path: path.to_path_buf(), state: Mutex::new(State { file, lost: None }) })
    }

    /// Adds a line of this event, with the time (UTC) and these fields, a struct's.
    pub fn add(&self, event: &'static str, fields: &impl Serialize) {
        let line = serde_json::to_string(&Event { time: Timestamp::now().to_string(), event, fields });
        let line = line.expect("numbers and names are JSON") + "\n";
        let mut state = self.state.lock().expect("nothing panics while it logs");
        // One call a line: several runs may share a log.
        if state.lost.is_none() {
            state.lost = state.file.write_all(line.as_bytes()).err();
        }
    }

    /// Why the log is not whole, if it is not.
    pub fn lost(&self) -> Option<String> {
        let state = self.state.lock().expect("nothing panics while it logs");
        state.lost.as_ref().map(|error| format!("{}: Cannot write: {}", self.path.display(), reason(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Fields {
        text: &'static str,
    }

    #[test]
    fn lines_are_added_to_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "{}\n").unwrap();
        let log = Log::open(&path, 0o600).unwrap();
        log.add("message", &Fields { text: "a\nb" });
        assert_eq!(log.lost(), None);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[1]["event"], &lines[1]["text"]), (&"message".into(), &"a\nb".into()));
        assert!(lines[1]["time"].as_str().unwrap().parse::<Timestamp>().is_ok());
        let full = Log::open(Path::new("/dev/full"), 0o600).unwrap();
        full.add("message", &Fields { text: "" });
        assert_eq!(full.lost().unwrap(), "/dev/full: Cannot write: No space left on device");
        assert!(Log::open(&dir.path().join("no/log"), 0o600).unwrap_err().ends_with("No such file or directory"));
    }
}
