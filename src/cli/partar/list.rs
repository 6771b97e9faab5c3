//! `-t`: members as GNU tar lists them, by their names or with `-v` in its columns.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::archive::{Archive, Label, Member, MemberKind};
use crate::base::Time;
use crate::base::name::Shown;
use crate::cli::Exit;
use crate::cli::bound::Flow;
use crate::cli::session::Session;
use crate::jobs::Live;
use crate::jobs::members::{Members, Names, lead};
use crate::jobs::select::Selection;
use crate::jobs::transform::Transform;
use crate::storage::Shape;

use super::high::High;
use super::{index, reading};

/// GNU tar's narrowest columns: of owner and size together, and of the time without seconds.
const OWNER_SIZE_WIDTH: usize = 19;
const DATE_WIDTH: usize = 16;

/// What to list and how.
#[derive(Debug)]
pub struct Options {
    /// Which members.
    pub select: Selection,
    /// Only members that are not older.
    pub newer: Option<Time>,
    /// Columns, not names alone.
    pub long: bool,
    /// Owners by number.
    pub numeric: bool,
    /// Times down to the nanosecond.
    pub full_time: bool,
    /// Times in UTC, not in local time.
    pub utc: bool,
    /// Changes where links lead, as of extracted ones; names are shown as they are.
    pub transform: Option<Transform>,
    /// Leading components taken off the targets of hard links.
    pub strip_components: usize,
    /// Whether what would lead out of a destination is told, and hard links lead where they would be made.
    pub names: Names,
}

#[derive(Serialize)]
struct Job {
    archive: String,
    codec: Option<String>,
    listed: Listed,
}

#[derive(Default, Serialize)]
struct Listed {
    members: u64,
}

/// Lists, and says how it ended.
pub fn run(high: &High, options: &Options, mut session: Session<'_>) -> Exit {
    let mut job = Job { archive: high.archive.to_string(), codec: None, listed: Listed::default() };
    let exit = list(high, options, &mut session, &mut job).unwrap_or_else(|fatal| reading::fatal(&mut session, fatal));
    session.conclude(&job, exit, Exit::Failure)
}

fn list(high: &High, options: &Options, session: &mut Session<'_>, job: &mut Job) -> Result<Exit, String> {
    let console = session.console.clone();
    let (crew, caught) = session.crew(Shape { lanes: 1, window: 1 })?;
    let mut opener = session.opener();
    let opened = reading::open(high, session, &mut opener, &crew, &mut job.codec)?;
    let mut archive = Archive::new(opened.input, high.reading());
    let keeper = index::prepare(high, &mut archive, &options.select, &console)?;
    let mut lines = Lines::new(options);
    let live = Arc::new(Live::default());
    let start = Instant::now();
    let read = session.with_progress(&live, &crew, || {
        let mut members = Members::new(&mut archive, &options.select, options.newer, options.names, (&crew, &live));
        let mut member = Member::default();
        while members.next(&mut member) {
            // Nobody wants the rest, unless an index is made of it.
            if keeper.is_none() && console.is_unread() {
                return Default::default();
            }
            if let Some(label) = members.take_label() {
                console.print(lines.label(&label, options.long));
            }
            if options.long {
                lead(&mut member, options.transform.as_ref(), options.strip_components, options.names);
                console.print(lines.long(&member));
            } else {
                console.print(Shown(&member.path));
            }
        }
        // Of an archive that has nothing else.
        if let Some(label) = members.take_label() {
            console.print(lines.label(&label, options.long));
        }
        members.end()
    });
    let elapsed = start.elapsed();
    job.listed.members = read.members;
    let stopped = read.stopped.then(|| format!("stopped: {} members were listed", read.members));
    let flow = Flow { source_wait: 1.0, storage_wait: 0.0, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    reading::ended(session, &crew, flow, reading::of_read(read, elapsed, stopped));
    let clean = session.tell_failures(&crew);
    let clean = keeper.is_none_or(|keeper| keeper.finish(&archive, clean, &console)) && clean;
    console.flush();
    if console.is_unread() {
        return Ok(Exit::UNREAD);
    }
    reading::totals(high, &console, &archive, elapsed);
    Ok(reading::exit(&console, &caught, clean && !archive.is_flawed(), false))
}

/// Makes lines whose columns grow as they must.
pub struct Lines {
    numeric: bool,
    full_time: bool,
    zone: TimeZone,
    owner_size_width: usize,
    date_width: usize,
}

impl Lines {
    /// Lines as `options` say.
    pub fn new(options: &Options) -> Lines {
        Lines {
            numeric: options.numeric,
            full_time: options.full_time,
            zone: if options.utc { TimeZone::UTC } else { TimeZone::system() },
            owner_size_width: OWNER_SIZE_WIDTH,
            date_width: DATE_WIDTH,
        }
    }

    /// A volume label's line.
    pub fn label(&mut self, label: &Label, long: bool) -> String {
        let name = Shown(&label.name);
        if !long {
            return name.to_string();
        }
        self.line("V---------", "0/0", "0", label.mtime, &format!("{name}--Volume Header--"))
    }

    /// A member's line: `-rw-r--r-- root/root     1234 2024-01-02 03:04 name`.
    pub fn long(&mut self, member: &Member) -> String {
        let size = match member.kind {
            MemberKind::Char | MemberKind::Block => format!("{},{}", member.dev.0, member.dev.1),
            MemberKind::File => member.size.to_string(),
            _ => "0".into(),
        };
        let owner = |name: &[u8], id: u32| match name {
            name if self.numeric || name.is_empty() => id.to_string(),
            name => Shown(name).to_string(),
        };
        let owners = format!("{}/{}", owner(&member.uname, member.uid), owner(&member.gname, member.gid));
        let mut line = self.line(&mode(member), &owners, &size, member.mtime, &Shown(&member.path).to_string());
        let arrow = match member.kind {
            MemberKind::Symlink => " -> ",
            MemberKind::HardLink => " link to ",
            _ => return line,
        };
        let _infallible = write!(line, "{arrow}{}", Shown(&member.link));
        line
    }

    fn line(&mut self, mode: &str, owners: &str, size: &str, time: Time, name: &str) -> String {
        // One blank between them, at least.
        let width = owners.chars().count() + 1 + size.len();
        self.owner_size_width = self.owner_size_width.max(width);
        let date = self.date(time);
        self.date_width = self.date_width.max(date.len());
        let (size_width, date_width) = (size.len() + self.owner_size_width - width, self.date_width);
        format!("{mode} {owners} {size:>size_width$} {date:<date_width$} {name}")
    }

    fn date(&self, time: Time) -> String {
        let nanos = i32::try_from(time.nanos).unwrap_or(0);
        let zoned = Timestamp::new(time.secs, nanos).map(|at| at.to_zoned(self.zone.clone()));
        // What no calendar has is shown in seconds, as GNU tar does.
        let Ok(at) = zoned else { return time.secs.to_string() };
        let mut date =
            format!("{:04}-{:02}-{:02} {:02}:{:02}", at.year(), at.month(), at.day(), at.hour(), at.minute());
        if self.full_time {
            let _infallible = write!(date, ":{:02}", at.second());
            if time.nanos > 0 {
                let _infallible = write!(date, ".{}", format!("{:09}", time.nanos).trim_end_matches('0'));
            }
        }
        date
    }
}

/// Type and permissions as `ls -l` shows them; `h` is a hard link.
fn mode(member: &Member) -> String {
    let mut shown = String::from(match member.kind {
        MemberKind::File => '-',
        MemberKind::HardLink => 'h',
        MemberKind::Symlink => 'l',
        MemberKind::Dir => 'd',
        MemberKind::Fifo => 'p',
        MemberKind::Char => 'c',
        MemberKind::Block => 'b',
    });
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = member.mode >> shift;
        shown.push(if bits & 4 != 0 { 'r' } else { '-' });
        shown.push(if bits & 2 != 0 { 'w' } else { '-' });
        shown.push(match (member.mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(path: &str, kind: MemberKind, mode: u32, size: u64) -> Member {
        let mut tar = tar::Header::new_gnu();
        tar.set_cksum();
        let mut archive =
            Archive::new(crate::archive::Input::Seekable(Arc::new(tar.as_bytes().to_vec())), Default::default());
        let blank = archive.next().unwrap().unwrap();
        Member { path: path.into(), kind, mode, size, ..blank }
    }

    /// The lines are those of GNU tar 1.34 for an archive of such members, in this order.
    #[test]
    fn lines_are_gnu_tars() {
        let options = |full_time| Options {
            select: Selection::default(),
            newer: None,
            long: true,
            numeric: false,
            full_time,
            utc: true,
            transform: None,
            strip_components: 0,
            names: Names::Inside,
        };
        let root = |member: Member| Member { uname: b"root".into(), gname: b"root".into(), ..member };
        let at = |secs, nanos| Time { secs, nanos };
        let of = |path: &str, kind, mode, size, mtime| Member { mtime, ..root(member(path, kind, mode, size)) };
        let members = [
            of("d/", MemberKind::Dir, 0o1777, 0, at(1_795_163_046, 148_898_303)),
            Member { link: b"a\nb".into(), ..of("d/s2", MemberKind::Symlink, 0o777, 0, at(1_795_163_046, 0)) },
            Member {
                uname: Vec::new(),
                gname: Vec::new(),
                uid: 123_456,
                gid: 7_654_321,
                ..of("d/sp", MemberKind::File, 0o644, 5_242_880, at(981_173_106, 123_456_789))
            },
            Member { dev: (1, 3), ..of("d/nul", MemberKind::Char, 0o644, 0, at(15_032_385_535, 0)) },
            of("d/new\nl", MemberKind::File, 0o4755, 6, at(-315_619_200, 120_000_000)),
            Member { link: b"d/f".into(), ..of("d/hard", MemberKind::HardLink, 0o6644, 0, at(0, 0)) },
            of("d/p", MemberKind::Fifo, 0, 0, at(i64::MAX, 0)),
        ];
        let lines = |full_time| {
            let mut lines = Lines::new(&options(full_time));
            members.iter().map(|member| lines.long(member)).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(false),
            [
                "drwxrwxrwt root/root         0 2026-11-20 08:24 d/",
                "lrwxrwxrwx root/root         0 2026-11-20 08:24 d/s2 -> a\\nb",
                "-rw-r--r-- 123456/7654321 5242880 2001-02-03 04:05 d/sp",
                "crw-r--r-- root/root          1,3 2446-05-10 22:38 d/nul",
                "-rwsr-xr-x root/root            6 1960-01-01 00:00 d/new\\nl",
                "hrwSr-Sr-- root/root            0 1970-01-01 00:00 d/hard link to d/f",
                "p--------- root/root            0 9223372036854775807 d/p",
            ]
        );
        let label = Label { name: b"lab".to_vec(), mtime: at(981_173_106, 0) };
        let mut labelled = Lines::new(&options(false));
        assert_eq!(labelled.label(&label, false), "lab");
        assert_eq!(
            labelled.label(&label, true),
            "V--------- 0/0               0 2001-02-03 04:05 lab--Volume Header--"
        );
        let full = lines(true);
        assert_eq!(full[0], "drwxrwxrwt root/root         0 2026-11-20 08:24:06.148898303 d/");
        assert_eq!(full[3], "crw-r--r-- root/root          1,3 2446-05-10 22:38:55           d/nul");
        assert_eq!(full[4], "-rwsr-xr-x root/root            6 1960-01-01 00:00:00.12        d/new\\nl");
    }
}
