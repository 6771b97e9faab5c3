//! What parrm's options mean on this host: contradictions refused, files of patterns read, what is to be asked.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use crate::base::Time;
use crate::cli::host::Unclear::{self, Usage};
use crate::cli::host::{Host, Manner};
use crate::cli::lists;
use crate::cli::location::{Location, is_absent};
use crate::jobs::remove::Options;

use super::low::{Ask, Low};
use super::{age, exclude};

/// Operands up to which `-I` asks nothing, unless trees are removed.
const UNASKED_MAX: usize = 3;

/// A run of parrm, ready to begin.
#[derive(Debug)]
#[allow(missing_docs)] // the names say it
pub struct High {
    pub operands: Vec<OsString>,
    pub list: Option<List>,
    pub options: Options,
    /// Remove what is in the operands, and keep them.
    pub contents: bool,
    /// Refuse what is on another device than its parent, also its contents.
    pub same_device: bool,
    /// What is asked before anything is removed.
    pub question: Option<String>,
    pub dry_run: bool,
    pub manner: Manner,
}

/// A list of paths to remove.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct List {
    pub file: OsString,
    pub null: bool,
}

impl High {
    /// What `low` means on `host`.
    pub fn new(low: Low, host: &Host) -> Result<High, Unclear> {
        let list = list(&low)?;
        let empty_only = low.manner.dir && !low.manner.recursive;
        let asks = match low.manner.interactive {
            Some(ask) => ask == Ask::Once,
            None => low.manner.once,
        };
        if asks && list.as_ref().is_some_and(|list| list.file == "-") {
            return Err(Usage("-I and --files-from - cannot both read standard input".into()));
        }
        let older_than = low.choice.older_than.as_deref().map(|age| age::parse(age, Time::now())).transpose();
        for operand in &low.operands {
            Location::parse(operand).map_err(|error| Usage(error.to_string()))?;
        }
        let options = Options {
            excluded: exclude::excluded(patterns(&low, list.as_ref())?, &low.operands, list.as_ref())?,
            older_than: older_than.map_err(Usage)?,
            one_file_system: low.manner.one_file_system,
            // What was looked at before the run began may have been mounted over by the time that its turn comes.
            mounts_stay: true,
            same_device: low.manner.preserve_root == Some(true),
            // Of local volumes, when they are opened.
            host_root: None,
            empty_only,
            force: low.manner.force,
            // Known when it begins.
            rehearsal: false,
        };
        Ok(High {
            question: asks.then(|| question(&low, list.as_ref(), empty_only)).flatten(),
            options,
            contents: low.manner.contents,
            same_device: low.manner.preserve_root == Some(true),
            dry_run: low.manner.dry_run,
            manner: Manner::new(&low.parallel.flags, None, &low.output.tell, low.output.verbose, host)?,
            operands: low.operands,
            list,
        })
    }
}

fn list(low: &Low) -> Result<Option<List>, Unclear> {
    let Some(file) = low.choice.files_from.clone() else {
        return match (low.choice.null, low.operands.is_empty()) {
            (true, _) => Err(Usage("-0 (--null) is about --files-from".into())),
            (false, false) => Ok(None),
            // As GNU rm: nothing to remove is what -f ignores.
            (false, true) if low.manner.force => Ok(None),
            (false, true) => Err(Usage("missing operand".into())),
        };
    };
    if low.operands.len() > 1 {
        return Err(Usage("--files-from takes one directory that its paths are relative to".into()));
    }
    if low.manner.contents {
        return Err(Usage("--contents is about operands, not about the paths of --files-from".into()));
    }
    Ok(Some(List { file, null: low.choice.null }))
}

/// The patterns as they were typed.
fn patterns(low: &Low, list: Option<&List>) -> Result<Vec<Vec<u8>>, Unclear> {
    let mut patterns: Vec<Vec<u8>> = low.choice.exclude.iter().cloned().map(OsStringExt::into_vec).collect();
    let stdin_taken = list
        .filter(|list| list.file == "-")
        .map(|_| "--exclude-from - and --files-from - cannot both read standard input");
    for file in &low.choice.exclude_from {
        patterns.extend(lists::patterns(file, false, stdin_taken)?);
    }
    Ok(patterns)
}

/// GNU rm's question, where there is one. Without -r a tree is one that is there, for it goes all the same.
fn question(low: &Low, list: Option<&List>, empty_only: bool) -> Option<String> {
    let recursively = |recursive| if recursive { " recursively" } else { "" };
    if let Some(list) = list {
        return Some(format!("remove what '{}' lists{}? ", list.file.display(), recursively(!empty_only)));
    }
    let operands = &low.operands;
    let recursive = !empty_only && (low.manner.recursive || operands.iter().any(|operand| may_be_dir(operand)));
    let (n, recursively) = (operands.len(), recursively(recursive));
    let plural = if n == 1 { "" } else { "s" };
    (recursive || n > UNASKED_MAX).then(|| format!("remove {n} argument{plural}{recursively}? "))
}

/// False for what is no directory, or not there. A server is not asked yet.
fn may_be_dir(operand: &OsStr) -> bool {
    match Location::parse(operand) {
        Ok(Location::Dir(path)) => match std::fs::symlink_metadata(path) {
            Ok(meta) => meta.is_dir(),
            Err(error) => !is_absent(&error),
        },
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;

    const USER: Host = Host {
        uid: 1000,
        umask: 0o027,
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        pids: None,
    };

    fn high(line: &str) -> Result<High, Unclear> {
        High::new(low::parse(line.split_whitespace().map(OsString::from).collect()).unwrap(), &USER)
    }

    #[test]
    fn trees_are_removed_unless_only_empty_directories_are_asked_for() {
        for (line, empty_only) in [("a", false), ("-d a", true), ("-rd a", false), ("-rf a", false)] {
            assert_eq!(high(line).unwrap().options.empty_only, empty_only, "{line}");
        }
        assert!(high("-f a").unwrap().options.force && !high("a").unwrap().options.force);
    }

    #[test]
    fn it_asks_as_rm_does_and_never_unasked() {
        let question = |line| high(line).unwrap().question;
        assert_eq!(question("a b c d"), None);
        assert_eq!(question("-I /").as_deref(), Some("remove 1 argument recursively? "));
        assert_eq!(question("-Ir a").as_deref(), Some("remove 1 argument recursively? "));
        assert_eq!(question("-I nfs://h/e/a").as_deref(), Some("remove 1 argument recursively? "));
        assert_eq!(question("-I Cargo.toml no/such"), None);
        assert_eq!(question("-I a b c d").as_deref(), Some("remove 4 arguments? "));
        assert_eq!(question("-Id a b c"), None);
        assert_eq!(question("-Id a b c d").as_deref(), Some("remove 4 arguments? "));
        assert_eq!(question("--interactive=once a /").as_deref(), Some("remove 2 arguments recursively? "));
        assert_eq!(question("-I --interactive=never a"), None);
        assert_eq!(question("-I --files-from l").as_deref(), Some("remove what 'l' lists recursively? "));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let usage = |line| match high(line) {
            Err(Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(usage(""), "missing operand");
        assert!(high("-f").unwrap().operands.is_empty());
        assert!(usage("-0 a").contains("--files-from"));
        assert!(usage("--files-from l a b").contains("one directory"));
        assert!(usage("--files-from l --contents a").contains("--contents"));
        assert!(usage("--files-from - -I").contains("standard input"));
        assert!(usage("--files-from - --exclude-from -").contains("standard input"));
        assert!(usage("--older-than soon a").contains("--older-than"));
        assert!(usage("--exclude [[=a=]] a").contains("[[=a=]]"));
    }
}
