//! What parcp's options mean on this host: contradictions refused, files of patterns read, rules put in order.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::base::name::Shown;
use crate::cli::flags::ProgressForm;
use crate::cli::host::Unclear::{self, Usage};
use crate::cli::host::{Host, Manner};
use crate::cli::lists;
use crate::cli::location::Location;
use crate::jobs::copy::{Compare, Delete, Options, Sparse, User, Verify};
use crate::jobs::select::Rules;

use super::low::{Info, Low, RuleArg};
use super::preserve::{self, Asked};

/// A run of parcp, ready to begin.
#[derive(Debug)]
#[allow(missing_docs)] // the names say it
pub struct High {
    pub sources: Vec<Location>,
    pub destination: Location,
    /// Sources go below the destination under their own names; false maps the one source onto it.
    pub below: bool,
    pub list: Option<List>,
    pub options: Options,
    pub asked: Asked,
    /// Bytes a second for all targets of the destination.
    pub bwlimit: Option<u64>,
    pub dry_run: bool,
    pub stats: bool,
    pub warnings: Vec<String>,
    pub manner: Manner,
}

/// A list of paths to copy.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct List {
    pub file: OsString,
    pub null: bool,
}

impl High {
    /// What `low` means on `host`.
    pub fn new(mut low: Low, host: &Host) -> Result<High, Unclear> {
        let (sources, destination, below) = operands(&mut low)?;
        let list = list(&low, &sources, below)?;
        let is_root = destination.uid(host.uid) == 0;
        let (preserve, asked) = preserve::preserve(&low.keeps, is_root);
        let mut warnings = Vec::new();
        if low.attributes.one_file_system > 1 {
            return Err(Usage(
                "-x given twice is not in this version; directories of other file systems are made, and not entered: use --exclude \
                 to leave them out, or -x once"
                    .into(),
            ));
        }
        let delete = delete(&low)?;
        let rules = rules(&low.rules, list.as_ref(), delete.is_some(), &mut warnings)?;
        let verify = match &low.check {
            check if check.verify_only => Verify::Only,
            check if check.verify => Verify::Written,
            _ => Verify::Off,
        };
        if verify != Verify::Off && low.check.dry_run {
            return Err(Usage(
                "--dry-run writes nothing that could be verified; --verify-only changes nothing either".into(),
            ));
        }
        if verify == Verify::Only && low.compare.keeps_some() {
            return Err(Usage(
                "--verify-only compares all data; -u, -n and --size-only leave some of it as it is".into(),
            ));
        }
        let sparse = if low.data.sparse_always { Sparse::Always } else { Sparse::Auto };
        let bwlimit = low.parallel.bwlimit.filter(|rate| *rate > 0);
        let options = Options {
            rules,
            compare: compare(&low),
            existing: low.compare.existing(),
            preserve,
            user: (!is_root).then(|| User {
                uid: destination.uid(host.uid),
                groups: destination.groups().into(),
                carried: asked.groups,
            }),
            one_file_system: low.attributes.one_file_system > 0 || low.attributes.restore,
            delete,
            atomic: low.data.atomic,
            verify,
            sparse: low.data.sparse.unwrap_or(sparse),
            // What the storage copies by itself cannot be held under a rate.
            reflink: low.data.reflink.unwrap_or(true) && bwlimit.is_none(),
            umask: host.umask,
            host: host.pids,
            ..Options::default()
        };
        let informs = |info| low.output.info.contains(&info);
        let stats = low.output.stats || informs(Info::Stats);
        if informs(Info::Progress) {
            low.output.tell.progress.get_or_insert(ProgressForm::Line);
        }
        Ok(High {
            sources,
            destination,
            below,
            list,
            options,
            asked,
            bwlimit,
            dry_run: low.check.dry_run,
            stats,
            warnings,
            manner: Manner::new(&low.parallel.flags, None, &low.output.tell, low.output.verbose, host)?,
        })
    }
}

/// The sources, the destination, and whether they go below it under their own names.
fn operands(low: &mut Low) -> Result<(Vec<Location>, Location, bool), Unclear> {
    let mut operands = std::mem::take(&mut low.operands);
    let (destination, below) = match low.target_directory.take() {
        Some(directory) => (directory, true),
        None => {
            let last = operands.pop().ok_or_else(|| Usage("missing file operand".into()))?;
            if operands.is_empty() {
                let shown = Shown(last.as_bytes());
                return Err(Usage(format!("missing destination file operand after '{shown}'")));
            }
            (last, operands.len() > 1)
        }
    };
    if operands.is_empty() {
        return Err(Usage("missing file operand".into()));
    }
    if let Some(empty) = operands.iter().chain([&destination]).find(|operand| operand.is_empty()) {
        return Err(Usage(format!("'{}' is no file's name", Shown(empty.as_bytes()))));
    }
    let parse = |text: &OsString| Location::parse(text).map_err(|error| Usage(error.to_string()));
    Ok((operands.iter().map(parse).collect::<Result<_, _>>()?, parse(&destination)?, below))
}

fn list(low: &Low, sources: &[Location], below: bool) -> Result<Option<List>, Unclear> {
    let Some(file) = low.files_from.clone() else {
        return if low.null { Err(Usage("-0 (--null) is about --files-from".into())) } else { Ok(None) };
    };
    if sources.len() > 1 || below {
        return Err(Usage("--files-from takes one SRC that its paths are relative to, and no -t".into()));
    }
    if low.delete.delete || low.delete.delete_excluded {
        return Err(Usage("--delete needs whole trees; it cannot be used with --files-from".into()));
    }
    Ok(Some(List { file, null: low.null }))
}

fn compare(low: &Low) -> Compare {
    match &low.compare {
        compare if compare.checksum => Compare::Bytes,
        compare if compare.size_only => Compare::Size,
        compare if compare.ignore_times => Compare::Never,
        _ => Compare::SizeAndTime,
    }
}

fn delete(low: &Low) -> Result<Option<Delete>, Unclear> {
    let flags = &low.delete;
    if !flags.delete && !flags.delete_excluded {
        let without = [(flags.max_delete.is_some(), "--max-delete"), (flags.ignore_errors, "--ignore-errors")];
        return match without.into_iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Usage(format!("{flag} is about --delete"))),
            None => Ok(None),
        };
    }
    // What was meant as the source would be the destination, and be cleared.
    if low.bundled_t {
        return Err(Usage(
            "a -t among other letters is not taken together with --delete: it is cp's, and its DIR is the destination. For rsync's -t \
             leave the t out, as times are kept; for cp's write --target-directory=DIR"
                .into(),
        ));
    }
    if low.check.verify_only {
        return Err(Usage("--verify-only changes nothing; what only DST has is a difference without --delete".into()));
    }
    Ok(Some(Delete { max: flags.max_delete, despite_errors: flags.ignore_errors, excluded: flags.delete_excluded }))
}

fn rules(given: &[RuleArg], list: Option<&List>, deletes: bool, warnings: &mut Vec<String>) -> Result<Rules, Unclear> {
    let stdin_taken = list
        .filter(|list| list.file == "-")
        .map(|_| "a file of patterns and --files-from cannot both read standard input");
    let mut rules = Vec::new();
    for RuleArg { include, is_file, value } in given {
        let patterns = match is_file {
            // -0 is about them too, as --from0 of rsync is.
            true => {
                let lines = lists::patterns(value, list.is_some_and(|list| list.null), stdin_taken)?;
                lines.into_iter().filter(|line| !is_comment(line)).collect()
            }
            false => vec![value.clone().into_vec()],
        };
        for pattern in patterns {
            if let Some(why) = matches_nothing(&String::from_utf8_lossy(&pattern), *include) {
                let what = if *include { "includes" } else { "excludes" };
                let why = format!("pattern '{}' {what} nothing: {why}", Shown(&pattern));
                // What it was to keep would be deleted.
                if deletes && !*include {
                    return Err(Usage(why));
                }
                warnings.push(why);
            } else {
                rules.push((*include, pattern));
            }
        }
    }
    Rules::new(&rules).map_err(|error| Usage(error.to_string()))
}

/// As in rsync's files of patterns.
fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b';'))
}

/// Why a pattern can match no path below the source, if that is so. What is left out may be named by an absolute path of the host, or as
/// a directory of its own, in lists of other programs than rsync; an include can mean only what it means to rsync.
fn matches_nothing(pattern: &str, include: bool) -> Option<&'static str> {
    if matches!(pattern, "" | "." | "/" | "./") {
        return Some("it names nothing");
    }
    if pattern == "!" || pattern.starts_with("- ") || pattern.starts_with("+ ") {
        return Some("it is a rule of rsync's; give the pattern alone to --exclude or --include");
    }
    if pattern.starts_with('/') && !include {
        return Some("it is an absolute path; patterns are names or shell patterns, matched anywhere below the source");
    }
    if pattern.ends_with('/') && !include {
        return Some("it ends in a slash; write the name without it");
    }
    if pattern.contains("//") || pattern.contains("/./") {
        return Some("no path has '//' or '/./' in it; write single slashes");
    }
    lists::doubtful(pattern)
}

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;
    use crate::jobs::copy::Existing;

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

    fn usage(line: &str) -> String {
        match high(line) {
            Err(Usage(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn one_source_is_mapped_and_several_go_below() {
        for (line, sources, below) in
            [("s d", 1, false), ("a b d", 2, true), ("-t d a", 1, true), ("a -t d b", 2, true)]
        {
            let high = high(line).unwrap();
            assert_eq!((high.sources.len(), high.below), (sources, below), "{line}");
            assert_eq!(high.destination, Location::Dir("d".into()), "{line}");
        }
        assert_eq!(usage(""), "missing file operand");
        assert_eq!(usage("a"), "missing destination file operand after 'a'");
        assert_eq!(usage("-t d"), "missing file operand");
        assert!(usage("nfs://h d").contains("nfs://h"));
    }

    fn options(line: &str) -> Options {
        high(line).unwrap().options
    }

    #[test]
    fn options_are_the_jobs() {
        let plain = options("s d");
        assert_eq!((plain.compare, plain.existing, plain.delete), (Compare::SizeAndTime, Existing::Replace, None));
        assert_eq!((plain.umask, plain.one_file_system, plain.reflink), (0o027, false, true));
        assert_eq!((options("-c s d").compare, options("-I s d").compare), (Compare::Bytes, Compare::Never));
        assert_eq!((options("-u s d").existing, options("-n s d").existing), (Existing::UnlessNewer, Existing::Keep));
        assert!(options("--restore s d").one_file_system && !options("-a s d").one_file_system);
        assert_eq!((options("-S s d").sparse, options("--sparse=never s d").sparse), (Sparse::Always, Sparse::Never));
        let delete = options("--delete-excluded --max-delete=7 --ignore-errors s d").delete;
        assert_eq!(delete, Some(Delete { max: Some(7), despite_errors: true, excluded: true }));
        assert!(high("s nfs://h/e?uid=0").unwrap().options.preserve.uid && !plain.preserve.uid);
        assert_eq!(
            (high("--bwlimit 2 s d").unwrap().bwlimit, high("--bwlimit 0 s d").unwrap().bwlimit),
            (Some(2048), None)
        );
    }

    fn allows(rules: &Rules, path: &str) -> bool {
        let allowed = rules.allow(path.as_bytes());
        allowed.dir && allowed.other
    }

    #[test]
    fn patterns_that_match_nothing_earn_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("list");
        std::fs::write(&file, "# comment\n; too\n\n*.log\n/abs/path\ncache/").unwrap();
        let high = high(&format!("--include keep.log --exclude-from {} s d", file.display())).unwrap();
        assert_eq!(high.warnings.len(), 2, "{:?}", high.warnings);
        assert!(high.warnings[0].starts_with("pattern '/abs/path' excludes nothing: it is an absolute path"));
        let rules = high.options.rules;
        assert!(allows(&rules, "keep.log") && !allows(&rules, "a/b.log") && allows(&rules, "abs/path"));
        let deletes = |pattern: &str| usage(&format!("--delete --exclude {pattern} s d"));
        for pattern in ["/keep", "keep/", "a//keep", "a/./keep", "../keep", "!"] {
            assert!(deletes(pattern).starts_with(&format!("pattern '{pattern}' excludes nothing")), "{pattern}");
        }
        assert!(usage("--delete --exclude= s d").starts_with("pattern '' excludes nothing: it names nothing"));
        assert!(deletes(".").contains("it names nothing"));
        // An include is what it is for rsync.
        let rules = options("--delete --include */ --include /a --exclude * s d").rules;
        assert!(allows(&rules, "a") && !allows(&rules, "b/a") && rules.allow(b"b").dir && !rules.allow(b"b").other);
        let rules = options("--delete --exclude **/keep s d").rules;
        assert!(!allows(&rules, "keep") && !allows(&rules, "a/b/keep") && allows(&rules, "a/keeper"));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert!(usage("-0 s d").contains("--files-from"));
        assert!(usage("--files-from l a b d").contains("one SRC"));
        assert!(usage("--files-from l -t d a").contains("one SRC"));
        assert!(usage("--files-from l --delete s d").contains("--delete"));
        assert!(usage("--files-from - --exclude-from - s d").contains("standard input"));
        for line in ["-xx s d", "-ax --one-file-system s d"] {
            assert!(usage(line).contains("-x once"), "{line}");
        }
        assert!(options("--restore -x s d").one_file_system);
        for line in ["-rt s d --delete", "--delete-excluded -avt s d"] {
            assert!(usage(line).contains("leave the t out"), "{line}");
        }
        assert_eq!(high("-rt d s").unwrap().destination, Location::Dir("d".into()));
        assert!(high("-rt s d").unwrap().below && high("-r -t d s --delete").unwrap().options.delete.is_some());
        assert!(usage("--max-delete 3 s d").contains("--max-delete"));
        assert!(usage("--ignore-errors s d").contains("--ignore-errors"));
        assert!(usage("--dry-run --verify s d").contains("--dry-run"));
        assert!(usage("--verify-only --delete s d").contains("--verify-only"));
        for option in ["-u", "-n", "--update=none", "--size-only"] {
            assert!(usage(&format!("--verify-only {option} s d")).contains("-u, -n and --size-only"));
        }
        assert!(usage("--exclude [a s d").contains("[a"));
    }
}
