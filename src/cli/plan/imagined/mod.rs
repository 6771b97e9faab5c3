//! Forecasts of trees that do not exist: `parfs plan --files 10M --size 100k JOB`. The job itself runs, on shadows of imagined
//! mounts and through the same taps as a rehearsal of a real one, with the options that its program has by default.
//!
//! A uniform tree is linear in its directories, and a large file in its bytes: so of a large tree two small ones are
//! run, and the rest is what the second has more than the first. Procedures come out exactly so, as if all had been run; round trips
//! nearly, for how full windows are depends on the moment. Where the tree is small it is run whole.

mod archive;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;

use crate::archive::{self as tar, Archive, Input};
use crate::base::Name;
use crate::base::units::{bytes_shown, grouped};
use crate::cli::flags::{threads, window};
use crate::cli::host::Host;
use crate::cli::location::Location;
use crate::cli::meter::{Meters, Role};
use crate::cli::open::Opener;
use crate::cli::owners::HostOwners;
use crate::cli::parrm::operands::{Parent, Rule};
use crate::cli::parrm::plan::{Group, Wanted, checked};
use crate::cli::partar::high::Mode;
use crate::cli::planned::Planned;
use crate::cli::session::BUDGET_BYTES;
use crate::cli::{parcp, parrm, partar};
use crate::crew::Crew;
use crate::jobs::copy::{self, What as Copied};
use crate::jobs::{Live, create, extract, remove};
use crate::mounts::ImaginedMount;
use crate::mounts::imagined::{ENTRIES_MAX, Tree, top_name};
use crate::plan::course::Seen;
use crate::plan::forecast::Side;
use crate::storage::{Call, Cookie, Mount, Node, Op, Shape, Tally, Tap, Tapped, Volume, Want};

use super::counted;
use super::forecast::{LATENCY, What};
use archive::ImaginedArchive;

/// Files of the larger sample: enough that the windows at a job's two ends do not count.
const SAMPLE_FILES: u64 = 8_000;
/// Bytes of the larger sample, while it has more than two directories: some seconds of one processor.
const SAMPLE_BYTES: u64 = 4 << 30;
/// Bytes of a directory in a sample at most: two of them are run, in about a minute.
const DIR_BYTES_MAX: u64 = 256 << 30;
/// Files in a directory at most: of its names a shadow remembers some, so that memory is bounded, but all are run.
const DIR_FILES_MAX: u64 = 10_000_000;
/// Bytes of all files together at most, and so of one: offsets are signed 64-bit numbers.
const BYTES_MAX: u64 = i64::MAX as u64;
/// Files larger than twice this are run at two sizes. A multiple of what any job asks for at once: a range of 4 MiB.
const FILE_STEP_BYTES: u64 = 8 << 20;

/// Who runs the job: root, who may give files to others, as tar and cp do.
const HOST: Host =
    Host { uid: 0, umask: 0o022, stdin_is_terminal: false, stdout_is_terminal: false, stderr_is_terminal: false };

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
    typed: Typed,
}

/// What one run of the job on a small tree found.
struct Rehearsed {
    sides: Vec<Side>,
    /// Of each side the listings of the tree's top, whose pages do not grow as evenly as the rest.
    tops: Vec<Listed>,
}

/// Pages in which the directory `tree` was listed.
#[derive(Clone, Copy, Debug)]
struct Listed {
    pages: u64,
    want: Want,
    bytes_max: u32,
}

/// Counts them; a tap.
struct TopWatch {
    top: Node,
    pages: AtomicU64,
    /// The page's size, and a bit for READDIR.
    asked: AtomicU64,
}

impl TopWatch {
    fn new(top: Node) -> TopWatch {
        TopWatch { top, pages: AtomicU64::new(0), asked: AtomicU64::new(0) }
    }

    fn listed(&self) -> Listed {
        let asked = self.asked.load(Ordering::Relaxed);
        let want = if asked & 1 == 1 { Want::Names } else { Want::Attributes };
        Listed { pages: self.pages.load(Ordering::Relaxed), want, bytes_max: (asked >> 1) as u32 }
    }
}

impl Tap for TopWatch {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            if let Op::ReadDir { dir, want, bytes_max, .. } = &call.op
                && *dir == self.top
            {
                self.pages.fetch_add(1, Ordering::Relaxed);
                self.asked.store(u64::from(*bytes_max) << 1 | u64::from(*want == Want::Names), Ordering::Relaxed);
            }
        }
    }
}

impl Listed {
    fn tally(&self, pages: u64) -> Tally {
        let call = Call::read_dir(&Node::root_chain(0), Cookie::default(), self.want, self.bytes_max);
        Tally::of(&call).scaled(pages, 1)
    }

    /// Its pages where `tree` is listed as often.
    fn pages_of(&self, ran: &Tree, tree: &Tree) -> u64 {
        let pages = |tree: &Tree| tree.top_pages(self.want, self.bytes_max);
        if self.pages == 0 { 0 } else { self.pages / pages(ran) * pages(tree) }
    }
}

/// Two runs of which the second does `step` more, and how much more than the first the whole does.
struct Line<'a> {
    runs: [&'a Rehearsed; 2],
    step: u64,
    more: u64,
}

impl Line<'_> {
    /// The sides of the whole. `ran` are the trees that were run, `tree` is the whole.
    fn sides(&self, ran: [&Tree; 2], tree: &Tree) -> Rehearsed {
        let [first, second] = self.runs;
        let pairs = first.sides.iter().zip(&second.sides).zip(first.tops.iter().zip(&second.tops));
        let (sides, tops) = pairs
            .map(|((a, b), (top_a, top_b))| {
                let pages = top_b.pages_of(ran[1], tree);
                let even = |side: &Side, top: &Listed| side.tally - top.tally(top.pages);
                let (less, most) = (even(a, top_a), even(b, top_b));
                let tally = less + (most - less).scaled(self.more, self.step) + top_b.tally(pages);
                // Windows are as full as in the larger run: the difference of two runs would be that of two moments.
                let rounds = u128::from(b.seen.rounds) * u128::from(tally.calls()) / u128::from(b.tally.calls().max(1));
                let seen = Seen {
                    rounds: u64::try_from(rounds).unwrap_or(u64::MAX),
                    // A page is asked for when the one before it is there.
                    chain: b.seen.chain + pages.saturating_sub(top_b.pages),
                    // Where directories are made or removed, each is a change of the top.
                    busiest: if b.seen.busiest > 0 { b.seen.busiest.max(tree.dirs) } else { 0 },
                    has_holes: false,
                };
                (Side { tally, seen, ..b.clone() }, Listed { pages, ..*top_b })
            })
            .unzip();
        Rehearsed { sides, tops }
    }
}

impl Imagined {
    /// The job `what` on so many files of `size` bytes, so many in a directory; `typed` is what stands behind the job's name.
    pub fn new(
        what: What,
        (files, per_dir, size): (u64, u64, u64),
        latency: Option<Duration>,
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
        let run = tree.files.saturating_mul(size.min(3 * FILE_STEP_BYTES));
        if run > DIR_BYTES_MAX {
            return Err(format!(
                "a directory of {} files has {} to be rehearsed, more than {}: say fewer with --per-dir, which costs little more",
                grouped(tree.files),
                bytes_shown(run),
                bytes_shown(DIR_BYTES_MAX)
            ));
        }
        // The samples' archives are small: whether the whole one could be is asked here.
        if matches!(what, What::Extract | What::Create) {
            ImaginedArchive::new(tree).map_err(archive_error)?;
        }
        Ok(Imagined { what, tree, latency: latency.unwrap_or(LATENCY), typed })
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
        let steps = (tree.size / FILE_STEP_BYTES).saturating_sub(1);
        if steps < 2 {
            return self.counted(tree);
        }
        let small = Tree { size: tree.size - steps * FILE_STEP_BYTES, ..tree };
        let large = Tree { size: small.size + FILE_STEP_BYTES, ..tree };
        let runs = [self.counted(small)?, self.counted(large)?];
        let line = Line { runs: [&runs[0], &runs[1]], step: 1, more: steps };
        Ok(line.sides([&small, &large], &tree))
    }

    /// Many directories: two smaller numbers of them are run.
    fn counted(&self, tree: Tree) -> Result<Rehearsed, String> {
        let by_files = SAMPLE_FILES / tree.files.max(1);
        let by_bytes = SAMPLE_BYTES / tree.files.saturating_mul(tree.size).max(1);
        let most = by_files.min(by_bytes).max(2);
        if tree.dirs <= most {
            return self.rehearse(tree);
        }
        self.extrapolated(tree, [(most / 2).max(1), most])
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
        let mut run = Run {
            imagined: self,
            opener: Opener::new(None, Meters::default()).planned(Some(&planned)),
            tops: Vec::new(),
        };
        let files = match self.what {
            What::Extract => run.extract(tree),
            What::Create => run.create(tree),
            What::Copy => run.copy(tree),
            What::Remove => run.remove(tree),
        }?;
        // What is forecast has to be the whole of it.
        if files != tree.files_all() {
            return Err(format!(
                "the rehearsal went through {} files of {}",
                grouped(files),
                grouped(tree.files_all())
            ));
        }
        let sides = planned.sides(Some(self.latency), LATENCY);
        Ok(Rehearsed { sides, tops: run.tops.iter().map(|top| top.listed()).collect() })
    }
}

/// One run of a job.
struct Run<'a> {
    imagined: &'a Imagined,
    opener: Opener,
    tops: Vec<Arc<TopWatch>>,
}

impl Run<'_> {
    /// A volume of one imagined mount target.
    fn volume(&mut self, mount: ImaginedMount, role: Option<Role>) -> Volume {
        let top = mount.clone().at_top().root();
        let watch = Arc::new(TopWatch::new(top));
        self.tops.push(watch.clone());
        self.opener.imagined(Arc::new(Tapped::new(Arc::new(mount), vec![watch])), role)
    }

    fn mount(&self, tree: Tree, fsid: u64, label: &str) -> ImaginedMount {
        ImaginedMount::new(tree, self.imagined.latency, fsid, label)
    }

    fn crew(&self, suggested: Shape) -> Result<Crew, String> {
        let Typed { parallel, window } = self.imagined.typed;
        let shape = Shape { lanes: parallel.unwrap_or(suggested.lanes), window: window.unwrap_or(suggested.window) };
        Crew::new(shape, BUDGET_BYTES).map_err(|error| error.to_string())
    }

    /// As `partar -xf tree.tar -C nfs://...`.
    fn extract(&mut self, tree: Tree) -> Result<u64, String> {
        let high = partar::program().means(&["-xf", "tree.tar", "-C", "nfs://imagined/"], &HOST)?;
        let Mode::Extract { options, .. } = &high.mode else { return Err("partar -x does not extract".into()) };
        let volume = self.volume(self.mount(Tree::NONE, 1, "imagined"), None);
        let crew = self.crew(volume.limits().shape)?;
        let source = ImaginedArchive::new(tree).map_err(archive_error)?;
        let mut archive = Archive::new(Input::Seekable(Arc::new(source)), tar::Options::default());
        let live = Live::default();
        let done = extract::extract(&volume, &mut archive, options, &HostOwners::default(), &crew, &live, &|_| ());
        ended(&crew, done.archive_error.or(done.stopped)).map(|()| done.files)
    }

    /// As `partar -cf tree.tar -C nfs://... tree`; the archive goes nowhere.
    fn create(&mut self, tree: Tree) -> Result<u64, String> {
        let high = partar::program().means(&["-cf", "tree.tar", "-C", "nfs://imagined/", "tree"], &HOST)?;
        let Mode::Create(creation) = &high.mode else { return Err("partar -c does not create".into()) };
        let volume = Arc::new(self.volume(self.mount(tree, 1, "imagined"), Some(Role::Source)));
        let crew = self.crew(volume.limits().shape)?;
        let operand = create::Operand {
            volume,
            way: vec![top_name()],
            name: top_name().as_bytes().to_vec(),
            fs_root: false,
            recursive: true,
            follow: None,
        };
        let (mut sink, live) = (std::io::sink(), Live::default());
        let done = create::create(
            &mut std::iter::once(Ok(operand)),
            create::Output::Stream(&mut sink),
            None,
            &creation.options,
            &HostOwners::default(),
            &crew,
            &live,
            &|_| (),
        );
        ended(&crew, done.archive_error.or(done.stopped)).map(|()| done.files)
    }

    /// As `parcp -a nfs://.../tree nfs://.../tree`.
    fn copy(&mut self, tree: Tree) -> Result<u64, String> {
        let high = parcp::program().means(&["-a", "nfs://imagined/tree", "nfs://imagined-too/tree"], &HOST)?;
        let source = self.volume(self.mount(tree, 1, "imagined").at_top(), Some(Role::Source));
        let target = self.volume(self.mount(Tree::NONE, 2, "imagined-too"), Some(Role::Destination));
        let shapes = [&source, &target].map(|volume| volume.limits().shape);
        // Two exports wait for each other's answers.
        let crew = self.crew(Shape { lanes: shapes[0].lanes + shapes[1].lanes, window: shapes[0].window })?;
        let side = |volume, way: Vec<Name>| copy::Side { volume, way, fs_root: false, shown: b"tree".to_vec() };
        let (from, to) = (side(&source, Vec::new()), side(&target, vec![top_name()]));
        let done = copy::copy(&from, &to, Copied::Tree, &high.options, &crew, &Live::default(), &|_, _| ());
        ended(&crew, done.stopped).map(|()| done.files)
    }

    /// As `parrm -rf nfs://.../tree`.
    fn remove(&mut self, tree: Tree) -> Result<u64, String> {
        let high = parrm::program().means(&["-rf", "nfs://imagined/tree"], &HOST)?;
        let volume = self.volume(self.mount(tree, 1, "imagined"), None);
        let crew = self.crew(volume.limits().shape)?;
        // As the program does, it looks at the operand before it removes.
        let Location::Nfs(url, _) = Location::parse("nfs://imagined/".as_ref()).map_err(|error| error.to_string())?
        else {
            return Err("nfs://imagined/ is no URL".into());
        };
        let wanted = Wanted { name: Some(top_name()), shown: b"tree".to_vec(), fs_root: false, slash: false };
        let group = Group { parent: Parent::Nfs(url), mounts: Some(Vec::new()), operands: vec![wanted] };
        let rule = Rule { contents: high.contents, same_device: high.same_device };
        let (wanted, _) = checked(&volume, group, rule);
        let mut operands = wanted.into_iter().map(|wanted| Ok(wanted.operand(&volume, rule.contents)));
        let done = remove::remove(&volume, &mut operands, &high.options, &crew, &Live::default(), &|_, _| ());
        ended(&crew, done.stopped).map(|()| done.files)
    }
}

fn archive_error(error: std::io::Error) -> String {
    format!("the archive of this tree: {error}")
}

fn dirs_shown(dirs: u64) -> String {
    if dirs == 1 { "1 directory".into() } else { format!("{} directories", grouped(dirs)) }
}

/// An error where the rehearsal was not clean: its figures would be those of something else.
fn ended(crew: &Crew, stopped: Option<String>) -> Result<(), String> {
    let failed = crew.report().failures().first().map(ToString::to_string);
    match failed.or(stopped) {
        Some(why) => Err(format!("the rehearsal on an imagined tree failed: {why}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Proc;

    const ALL: [What; 4] = [What::Extract, What::Create, What::Copy, What::Remove];

    fn imagined(what: What, tree: Tree) -> Imagined {
        Imagined { what, tree, latency: LATENCY, typed: Typed::default() }
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
            let plan = Imagined::new(what, (100_000_000, 1000, 4096), None, &[]).unwrap();
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
                let plan = Imagined::new(what, (files, 1, size), None, &[]).unwrap();
                assert!(plan.sides().unwrap().iter().all(|side| side.tally.calls() > 0), "{what:?} {files} {size}");
            }
        }
    }

    #[test]
    fn a_job_takes_lanes_and_a_window_and_nothing_else() {
        let new = |typed: &[&str]| {
            let typed: Vec<_> = typed.iter().map(Into::into).collect();
            Imagined::new(What::Remove, (10, 10, 0), None, &typed)
        };
        let plan = new(&["-P", "3", "--window=2"]).unwrap();
        assert_eq!((plan.lanes(), plan.typed.window), (Some(3), Some(2)));
        for (typed, named) in [(vec!["-rf", "x"], "-r"), (vec!["nfs://h/x"], "nfs://h/x"), (vec!["-P", "0"], "threads")]
        {
            let refused = new(&typed).unwrap_err();
            assert!(refused.contains(named) && refused.contains("-P and --window"), "{refused}");
        }
        assert_eq!(plan.summary(), "a tree of 10 files of 0 B, 10 in a directory: 1 directory, 0 B");
        let refused = |shape| Imagined::new(What::Copy, shape, None, &[]).unwrap_err();
        assert!(refused((1_000_000_000_000, 1000, 1 << 40)).contains("a tree may have 9223372 TB"));
        assert!(refused((2, 1, 1 << 62)).contains("a tree may have"));
        assert!(refused((1, 1, 1 << 63)).contains("1 file of 9223372 TB: a tree may have"));
        assert!(Imagined::new(What::Remove, (1, 1, i64::MAX as u64), None, &[]).is_ok());
        assert!(refused((1 << 40, 1 << 40, 1)).contains("--per-dir"));
        assert!(refused((1 << 40, 1, 1)).contains("--per-dir"));
        assert!(refused((1_000_000, 1_000_000, 1 << 40)).contains("--per-dir"));
    }
}
