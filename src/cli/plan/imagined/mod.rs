//! Forecasts of trees that do not exist: `parfs plan --files 10M --size 100k JOB`. The job itself runs, on shadows of imagined
//! mounts and through the same taps as a rehearsal of a real one, with the options that its program has by default.
//!
//! A uniform tree is linear in its directories, and a large file in its bytes: so of a large tree two small ones are
//! run, and the rest is what the second has more than the first. Procedures come out exactly so, as if all had been run; round trips
//! nearly, for how full windows are depends on the moment. Where the tree is small it is run whole.

mod archive;
mod line;
mod run;

use std::time::Duration;

use clap::Parser;

use crate::base::units::{bytes_shown, grouped};
use crate::cli::flags::{threads, window};
use crate::cli::planned::Planned;
use crate::mounts::imagined::{ENTRIES_MAX, Tree};
use crate::plan::ServerProfile;
use crate::plan::forecast::Side;

use super::counted;
use super::forecast::What;
use archive::ImaginedArchive;
use line::{Line, Rehearsed};
use run::Run;

/// Files of the larger sample: enough that the windows at a job's two ends do not count.
const SAMPLE_FILES: u64 = 8_000;
/// Bytes of the larger sample, while it has more than two directories: some seconds of one processor.
const SAMPLE_BYTES: u64 = 4 << 30;
/// Bytes of all sample runs together at most: a minute or two of one processor.
const RUNS_BYTES_MAX: u64 = 256 << 30;
/// What a file counts for there besides its bytes: in the time of its calls so many could be rehearsed.
const FILE_COST_BYTES: u64 = 26_000;
/// Files in a directory at most: of its names a shadow remembers some, so that memory is bounded, but all are run.
const DIR_FILES_MAX: u64 = 10_000_000;
/// Bytes of all files together at most, and so of one: offsets are signed 64-bit numbers.
const BYTES_MAX: u64 = i64::MAX as u64;
/// Files larger than twice this are run at two sizes. A multiple of what any job asks for at once: a range of 4 MiB.
const FILE_STEP_BYTES: u64 = 8 << 20;

/// What may stand behind the job's name.
#[derive(Clone, Copy, Debug, Default, Parser)]
#[command(name = "parfs plan --files N --size SIZE JOB", disable_help_flag = true)]
struct Typed {
    #[arg(short = 'P', long, alias = "lanes", value_parser = threads)]
    parallel: Option<usize>,
    #[arg(long, value_parser = window)]
    window: Option<usize>,
}

/// A job on a tree that does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Imagined {
    what: What,
    tree: Tree,
    latency: Duration,
    transfer_bytes_max: u64,
    typed: Typed,
}

impl Imagined {
    /// The job `what` on so many files of `size` bytes, so many in a directory; `typed` is what stands behind the job's name.
    pub fn new(
        what: What,
        (files, per_dir, size): (u64, u64, u64),
        (latency, profile): (Option<Duration>, &ServerProfile),
        typed: &[std::ffi::OsString],
    ) -> Result<Imagined, String> {
        let line = std::iter::once("parfs".into()).chain(typed.iter().cloned());
        let typed = Typed::try_parse_from(line).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("{}; with --files a job takes -P and --window alone", first.trim_start_matches("error: "))
        })?;
        let tree = Tree::new(files, per_dir, size);
        // Beyond this neither offsets of a file nor sums of bytes can be told.
        if tree.bytes_all() > BYTES_MAX || size > BYTES_MAX {
            return Err(format!(
                "{} of {}: a tree may have {}, and so may a file",
                counted(tree.files_all(), "file"),
                bytes_shown(size),
                bytes_shown(BYTES_MAX)
            ));
        }
        if tree.files > DIR_FILES_MAX || tree.dirs > ENTRIES_MAX {
            return Err(format!(
                "{} of {}: a directory may have {} files and a tree {} directories; --per-dir says how many files each has",
                dirs_shown(tree.dirs),
                counted(tree.files, "file"),
                grouped(DIR_FILES_MAX),
                grouped(ENTRIES_MAX)
            ));
        }
        let runs = runs(what, &tree);
        let cost = runs.1.saturating_add(runs.0.saturating_mul(FILE_COST_BYTES));
        if cost > RUNS_BYTES_MAX {
            return Err(format!(
                "to be rehearsed are {} with {} in all, which takes too long: say fewer in a directory with --per-dir, \
                 which costs little more",
                counted(runs.0, "file"),
                bytes_shown(runs.1)
            ));
        }
        // The samples' archives are small: whether the whole one could be is asked here.
        if matches!(what, What::Extract | What::Create) {
            ImaginedArchive::new(tree).map_err(archive_error)?;
        }
        let latency = latency.unwrap_or(profile.ceiling.latency);
        Ok(Imagined { what, tree, latency, transfer_bytes_max: profile.transfer_bytes_max, typed })
    }

    /// Lanes, where they were asked for.
    pub fn lanes(&self) -> Option<usize> {
        self.typed.parallel
    }

    /// The tree, in a line.
    pub fn summary(&self) -> String {
        let tree = &self.tree;
        format!(
            "a tree of {} of {}, {} in a directory: {}, {}",
            counted(tree.files_all(), "file"),
            bytes_shown(tree.size),
            grouped(tree.files),
            dirs_shown(tree.dirs),
            bytes_shown(tree.bytes_all())
        )
    }

    /// What the forecast stands on.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.what == What::Copy {
            notes.push("source and destination are on mount targets of their own".into());
        }
        notes
    }

    /// What would be asked of each side.
    pub fn sides(&self) -> Result<Vec<Side>, String> {
        Ok(self.sized(self.tree)?.sides)
    }

    /// Large files: they are run at two smaller sizes.
    fn sized(&self, tree: Tree) -> Result<Rehearsed, String> {
        let Some([small, large]) = sizes(&tree) else { return self.counted(tree) };
        let runs = [self.counted(small)?, self.counted(large)?];
        let more = (tree.size - small.size) / FILE_STEP_BYTES;
        Ok(Line { runs: [&runs[0], &runs[1]], step: 1, more }.sides([&small, &large], &tree))
    }

    /// Many directories: two smaller numbers of them are run.
    fn counted(&self, tree: Tree) -> Result<Rehearsed, String> {
        numbers(&tree).map_or_else(|| self.rehearse(tree), |dirs| self.extrapolated(tree, dirs))
    }

    /// From two numbers of directories, of which the second is larger.
    fn extrapolated(&self, tree: Tree, dirs: [u64; 2]) -> Result<Rehearsed, String> {
        let [few, more] = dirs.map(|dirs| tree.with_dirs(dirs));
        let runs = [self.rehearse(few)?, self.rehearse(more)?];
        let line = Line { runs: [&runs[0], &runs[1]], step: more.dirs - few.dirs, more: tree.dirs - few.dirs };
        Ok(line.sides([&few, &more], &tree))
    }

    /// Runs the job on all of `tree`.
    fn rehearse(&self, tree: Tree) -> Result<Rehearsed, String> {
        let planned = Planned::default();
        let mut run = Run::new(self, &planned);
        let files = run.job(tree)?;
        // What is forecast has to be the whole of it.
        if files != tree.files_all() {
            return Err(format!(
                "the rehearsal went through {} files of {}",
                grouped(files),
                grouped(tree.files_all())
            ));
        }
        let sides = planned.sides(self.latency);
        Ok(Rehearsed { sides, tops: run.tops.iter().map(|top| top.listed()).collect() })
    }
}

/// The trees of two smaller sizes that tell of one with large files; none where the files are not large.
fn sizes(tree: &Tree) -> Option<[Tree; 2]> {
    let steps = (tree.size / FILE_STEP_BYTES).saturating_sub(1);
    let small = Tree { size: tree.size - steps * FILE_STEP_BYTES, ..*tree };
    (steps >= 2).then_some([small, Tree { size: small.size + FILE_STEP_BYTES, ..small }])
}

/// The numbers of directories that tell of a tree with many; none where it is run whole.
fn numbers(tree: &Tree) -> Option<[u64; 2]> {
    let by_files = SAMPLE_FILES / tree.files.max(1);
    let by_bytes = SAMPLE_BYTES / tree.files.saturating_mul(tree.size).max(1);
    let most = by_files.min(by_bytes).max(2);
    (tree.dirs > most).then_some([(most / 2).max(1), most])
}

/// Files, and bytes that are read or written, of all runs that tell of `tree`.
fn runs(what: What, tree: &Tree) -> (u64, u64) {
    let sized = sizes(tree).map_or_else(|| vec![*tree], Vec::from);
    let run = |tree: Tree| numbers(&tree).map_or_else(|| vec![tree], |dirs| dirs.map(|n| tree.with_dirs(n)).into());
    sized.into_iter().flat_map(run).fold((0_u64, 0_u64), |(files, bytes), run| {
        // What is removed is not read.
        let more = if what == What::Remove { 0 } else { run.bytes_all() };
        (files.saturating_add(run.files_all()), bytes.saturating_add(more))
    })
}

fn archive_error(error: std::io::Error) -> String {
    format!("the archive of this tree: {error}")
}

fn dirs_shown(dirs: u64) -> String {
    if dirs == 1 { "1 directory".into() } else { format!("{} directories", grouped(dirs)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Proc;

    const ALL: [What; 4] = [What::Extract, What::Create, What::Copy, What::Remove];

    fn imagined(what: What, tree: Tree) -> Imagined {
        Imagined {
            what,
            tree,
            latency: ServerProfile::oci().ceiling.latency,
            transfer_bytes_max: 1 << 20,
            typed: Typed::default(),
        }
    }

    /// What two small runs tell of `tree` beside what a run of all of it tells.
    #[track_caller]
    fn same(what: What, tree: Tree, told: &Rehearsed) {
        let whole = imagined(what, tree).rehearse(tree).unwrap();
        assert_eq!(told.sides.len(), whole.sides.len());
        for (told, whole) in told.sides.iter().zip(&whole.sides) {
            let calls = |side: &Side| side.tally.iter().map(|(proc, n)| (proc.name(), n)).collect::<Vec<_>>();
            assert_eq!(calls(told), calls(whole), "{what:?} of {tree:?}, {:?}", told.role);
            assert!(whole.tally.calls() >= tree.files_all(), "{what:?} of {tree:?}, {:?}", told.role);
            assert_eq!(told.seen.chain, whole.seen.chain, "{what:?} of {tree:?}, {:?}", told.role);
            assert_eq!(told.seen.largest, whole.seen.largest, "{what:?} of {tree:?}, {:?}", told.role);
            assert_eq!(told.seen.busiest, whole.seen.busiest, "{what:?} of {tree:?}, {:?}", told.role);
            // How full windows are depends on the moment; they hold one call to four.
            let calls = told.tally.calls();
            let rounds = calls.div_ceil(4)..=calls;
            assert!(rounds.contains(&told.seen.rounds), "{what:?} of {tree:?}: {} not in {rounds:?}", told.seen.rounds);
        }
    }

    #[test]
    fn a_tree_is_told_from_two_small_ones_as_if_it_had_been_run() {
        // Many small directories, so that the top has several pages; and few large ones of several pages, with a READ or
        // WRITE of several blocks.
        for (tree, dirs) in [(Tree::new(4_003, 10, 5_000), [20, 60]), (Tree::new(3_999, 700, 40_000), [1, 3])] {
            for what in ALL {
                same(what, tree, &imagined(what, tree).extrapolated(tree, dirs).unwrap());
            }
        }
    }

    #[test]
    fn a_large_file_is_told_from_two_smaller_ones_as_if_it_had_been_run() {
        for size in [40 << 20, (33 << 20) + 12_345] {
            for what in ALL {
                let tree = Tree::new(8, 3, size);
                same(what, tree, &imagined(what, tree).sized(tree).unwrap());
            }
        }
    }

    #[test]
    fn a_hundred_million_files_are_told_from_some_thousand() {
        for what in ALL {
            let plan = Imagined::new(what, (100_000_000, 1000, 4096), (None, &ServerProfile::oci()), &[]).unwrap();
            let side = plan.sides().unwrap().pop().unwrap();
            let proc = match what {
                What::Create => Proc::Read,
                What::Remove => Proc::Remove,
                _ => Proc::Create,
            };
            assert_eq!(side.tally.get(proc).calls, 100_000_000, "{what:?}");
            assert!(side.seen.rounds >= 25_000_000, "{what:?} {}", side.seen.rounds);
        }
    }

    #[test]
    fn the_smallest_trees_are_trees() {
        for what in ALL {
            for (files, size) in [(1, 0), (1, 1), (2, 0)] {
                let plan = Imagined::new(what, (files, 1, size), (None, &ServerProfile::oci()), &[]).unwrap();
                assert!(plan.sides().unwrap().iter().all(|side| side.tally.calls() > 0), "{what:?} {files} {size}");
            }
        }
    }

    #[test]
    fn a_job_takes_lanes_and_a_window_and_nothing_else() {
        let new = |typed: &[&str]| {
            let typed: Vec<_> = typed.iter().map(Into::into).collect();
            Imagined::new(What::Remove, (10, 10, 0), (None, &ServerProfile::oci()), &typed)
        };
        let plan = new(&["-P", "3", "--window=2"]).unwrap();
        assert_eq!((plan.lanes(), plan.typed.window), (Some(3), Some(2)));
        for (typed, named) in [(vec!["-rf", "x"], "-r"), (vec!["nfs://h/x"], "nfs://h/x"), (vec!["-P", "0"], "threads")]
        {
            let refused = new(&typed).unwrap_err();
            assert!(refused.contains(named) && refused.contains("-P and --window"), "{refused}");
        }
        assert_eq!(plan.summary(), "a tree of 10 files of 0 B, 10 in a directory: 1 directory, 0 B");
        let refused = |shape| Imagined::new(What::Copy, shape, (None, &ServerProfile::oci()), &[]).unwrap_err();
        assert!(refused((1_000_000_000_000, 1000, 1 << 40)).contains("a tree may have 9223372 TB"));
        assert!(refused((2, 1, 1 << 62)).contains("a tree may have"));
        assert!(refused((1, 1, 1 << 63)).contains("1 file of 9223372 TB: a tree may have"));
        assert!(Imagined::new(What::Remove, (1, 1, i64::MAX as u64), (None, &ServerProfile::oci()), &[]).is_ok());
        assert!(refused((1 << 40, 1 << 40, 1)).contains("--per-dir"));
        assert!(refused((1 << 40, 1, 1)).contains("--per-dir"));
        assert!(refused((1_000_000, 1_000_000, 1 << 40)).contains("--per-dir"));
    }

    /// What is rehearsed ends in a minute or two: all sample runs count, not the largest directory alone.
    #[test]
    fn samples_are_bounded_all_together() {
        let new = |what, shape| Imagined::new(what, shape, (None, &ServerProfile::oci()), &[]);
        let refused = new(What::Create, (30_000, 10_900, 24 << 20)).unwrap_err();
        assert!(refused.contains("54,600 files with 687 GB in all") && refused.contains("--per-dir"), "{refused}");
        assert!(new(What::Create, (10_900, 10_900, 24 << 20)).is_ok());
        assert!(new(What::Create, (30_000, 1_000, 24 << 20)).is_ok());
        assert!(new(What::Remove, (30_000, 10_900, 24 << 20)).is_ok());
        assert!(new(What::Extract, (10_000_000, 10_000_000, 0)).is_ok());
        assert!(new(What::Extract, (30_000_000, 10_000_000, 0)).unwrap_err().contains("--per-dir"));
        // The runs are those that are counted.
        let tree = Tree::new(40, 4, 40 << 20);
        assert_eq!(sizes(&tree).map(|pair| pair.map(|tree| tree.size >> 20)), Some([8, 16]));
        assert_eq!(runs(What::Copy, &Tree::new(8, 8, 40 << 20)), (16, 8 * (24 << 20)));
    }
}
