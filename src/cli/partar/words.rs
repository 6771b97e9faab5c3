//! Names, lists and patterns in the order they were typed, with what the options before them say: in GNU tar such options are about what
//! follows them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::ArgMatches;

use crate::base::name::Shown;
use crate::cli::host::Unclear::{self, Fatal, Usage};
use crate::cli::lists;
use crate::jobs::select::Pattern;

use super::line::{self, Line, unquoted};

/// Bytes of all names of lists that are held at once: those that select members.
const HELD_BYTES_MAX: usize = 64 << 20;

/// What GNU tar 1.34 leaves out under --exclude-vcs.
const VCS: [&str; 21] = [
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
    ".svn",
];
/// The same under --exclude-backups.
const BACKUPS: [&str; 3] = [".#*", "*~", "#*#"];

/// One word of the command line that stands in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A name as it was typed.
    Name(OsString),
    /// A name that is none but a name (`--add-file`).
    File(OsString),
    /// `-C`.
    Dir(OsString),
    /// `-T`.
    List(OsString),
    /// `--exclude`.
    Exclude(OsString),
    /// `-X`.
    ExcludeFrom(OsString),
    /// `--exclude-vcs`.
    ExcludeVcs,
    /// `--exclude-backups`.
    ExcludeBackups,
    /// A switch, on or off.
    Switch(Switch, bool),
}

/// What options say of the words behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the options' names
pub enum Switch {
    Wildcards,
    Anchored,
    IgnoreCase,
    MatchSlash,
    Recursion,
    Null,
    Verbatim,
    Unquote,
}

impl Word {
    /// A name, or a list of some.
    fn is_name(&self) -> bool {
        matches!(self, Word::Name(_) | Word::File(_) | Word::List(_))
    }

    /// A switch as it is typed.
    fn option(&self) -> String {
        let typed = SWITCHES.iter().find(|(_, switch, on)| *self == Word::Switch(*switch, *on));
        typed.map_or_else(String::new, |(id, ..)| format!("--{}", id.replace('_', "-")))
    }
}

const SWITCHES: [(&str, Switch, bool); 16] = [
    ("wildcards", Switch::Wildcards, true),
    ("no_wildcards", Switch::Wildcards, false),
    ("anchored", Switch::Anchored, true),
    ("no_anchored", Switch::Anchored, false),
    ("ignore_case", Switch::IgnoreCase, true),
    ("no_ignore_case", Switch::IgnoreCase, false),
    ("wildcards_match_slash", Switch::MatchSlash, true),
    ("no_wildcards_match_slash", Switch::MatchSlash, false),
    ("recursion", Switch::Recursion, true),
    ("no_recursion", Switch::Recursion, false),
    ("null", Switch::Null, true),
    ("no_null", Switch::Null, false),
    ("verbatim_files_from", Switch::Verbatim, true),
    ("no_verbatim_files_from", Switch::Verbatim, false),
    ("unquote", Switch::Unquote, true),
    ("no_unquote", Switch::Unquote, false),
];

type ToWord = fn(OsString) -> Word;

/// The words of a command line, in order.
pub fn in_order(matches: &ArgMatches) -> Vec<Word> {
    let mut words: Vec<(usize, Word)> = Vec::new();
    let valued: [(&str, ToWord); 6] = [
        ("members", Word::Name),
        ("add_file", Word::File),
        ("directory", Word::Dir),
        ("files_from", Word::List),
        ("exclude", Word::Exclude),
        ("exclude_from", Word::ExcludeFrom),
    ];
    for (id, word) in valued {
        let values = matches.get_many::<OsString>(id).into_iter().flatten();
        let indices = matches.indices_of(id).into_iter().flatten();
        words.extend(indices.zip(values.map(|value| word(value.clone()))));
    }
    let flags = SWITCHES.map(|(id, switch, on)| (id, Word::Switch(switch, on)));
    let lists = [("exclude_vcs", Word::ExcludeVcs), ("exclude_backups", Word::ExcludeBackups)];
    for (id, word) in flags.into_iter().chain(lists) {
        let indices = matches.indices_of(id).into_iter().flatten();
        words.extend(indices.map(|index| (index, word.clone())));
    }
    words.sort_by_key(|(index, _)| *index);
    words.into_iter().map(|(_, word)| word).collect()
}

/// The state of the switches at a word.
#[derive(Clone, Copy, Debug)]
pub struct State {
    wildcards: Option<bool>,
    anchored: bool,
    /// What names begin with, unless `anchored`.
    names_anchored: bool,
    ignore_case: bool,
    match_slash: bool,
    /// Enter directories.
    pub recursion: bool,
    /// Lists end their names with NUL.
    pub null: bool,
    /// Lists have names alone, and those as they are.
    pub verbatim: bool,
    unquote: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            wildcards: None,
            anchored: false,
            names_anchored: true,
            ignore_case: false,
            match_slash: true,
            recursion: true,
            null: false,
            verbatim: false,
            unquote: true,
        }
    }
}

impl State {
    /// The state behind a switch.
    pub fn switch(&mut self, switch: Switch, on: bool) {
        match switch {
            Switch::Wildcards => self.wildcards = Some(on),
            Switch::Anchored => {
                self.anchored = on;
                self.names_anchored &= on;
            }
            Switch::IgnoreCase => self.ignore_case = on,
            Switch::MatchSlash => self.match_slash = on,
            Switch::Recursion => self.recursion = on,
            // GNU tar: --null implies --verbatim-files-from, and --no-null takes that back, also where it was asked for by itself.
            Switch::Null => (self.null, self.verbatim) = (on, on),
            Switch::Verbatim => self.verbatim = on,
            Switch::Unquote => self.unquote = on,
        }
    }

    fn pattern(&self, text: Vec<u8>, wildcards: bool, anchored: bool) -> Pattern {
        let State { ignore_case, match_slash, recursion, .. } = *self;
        Pattern { text, wildcards, anchored, ignore_case, match_slash, below: recursion }
    }

    fn exclude(&self, text: Vec<u8>) -> Pattern {
        self.pattern(text, self.wildcards != Some(false), self.anchored)
    }

    fn member(&self, name: Vec<u8>) -> Pattern {
        self.pattern(name, self.wildcards == Some(true), self.anchored || self.names_anchored)
    }

    /// A name as it is meant: without its escapes, unless they are to stay.
    pub fn name(&self, typed: &[u8]) -> Vec<u8> {
        if self.unquote { unquoted(typed) } else { typed.to_vec() }
    }
}

/// What else reads standard input already.
pub type Taken = Option<&'static str>;

/// The names of a command line, one after the other, each with where it is; lists are read as they are come to.
///
/// A `-C` is about the names behind it and begins where the last one led. One behind all names, with none before, is about all of
/// them: GNU tar refuses that, and other tools' users type it.
pub struct Names {
    words: std::vec::IntoIter<Word>,
    state: State,
    dir: OsString,
    /// The list that is being read, and whether its directories are entered.
    list: Option<(Lines, bool)>,
    /// Names and lists so far.
    met: usize,
    failed: bool,
}

type Lines = Box<dyn Iterator<Item = Result<Line, String>>>;

/// A name to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The directory or URL that the name begins in; empty: the one that the run began in.
    pub dir: OsString,
    /// As it is meant, its escapes taken off.
    pub name: Vec<u8>,
    /// Enter it, if it is a directory.
    pub recursion: bool,
    /// How many names and lists of the command line stand before its own.
    pub before: usize,
}

/// Does it say where it is by itself?
fn is_whole(place: &[u8]) -> bool {
    place.starts_with(b"/") || place.starts_with(b"nfs://")
}

impl Named {
    /// Its directory says nothing of it.
    pub fn is_whole(&self) -> bool {
        is_whole(&self.name)
    }
}

impl Names {
    /// The names of `words`.
    pub fn new(words: &[Word]) -> Names {
        let is_dir = |word: &Word| matches!(word, Word::Dir(_));
        let mut words = words.to_vec();
        let last_name = words.iter().rposition(Word::is_name);
        if let (Some(last_name), Some(first_dir)) = (last_name, words.iter().position(is_dir))
            && first_dir > last_name
        {
            words.rotate_left(first_dir);
        }
        let (words, state, dir) = (words.into_iter(), State::default(), OsString::new());
        Names { words, state, dir, list: None, met: 0, failed: false }
    }

    /// True when there is no name and no list.
    pub fn is_empty(&self) -> bool {
        !self.words.as_slice().iter().any(Word::is_name)
    }

    /// True when there may be more than one name.
    pub fn is_several(&self) -> bool {
        let names = self.words.as_slice().iter().map(|word| match word {
            Word::List(_) => 2,
            Word::Name(_) | Word::File(_) => 1,
            _ => 0,
        });
        names.sum::<usize>() > 1
    }

    fn enter(&mut self, dir: &OsStr) {
        if self.dir.is_empty() || is_whole(dir.as_bytes()) {
            self.dir = dir.to_os_string();
        } else {
            self.dir.push("/");
            self.dir.push(dir);
        }
    }

    fn named(&self, name: Vec<u8>, recursion: bool) -> Named {
        Named { dir: self.dir.clone(), name, recursion, before: self.met - 1 }
    }

    /// The next name, or a line that is none; another error is the last.
    fn step(&mut self) -> Result<Option<Result<Named, String>>, String> {
        loop {
            if let Some((lines, recursion)) = &mut self.list {
                let recursion = *recursion;
                match lines.next().transpose()? {
                    Some(Line::Name(name)) => return Ok(Some(Ok(self.named(name, recursion)))),
                    Some(Line::Refused(text)) => return Ok(Some(Err(text))),
                    Some(Line::Dir(dir)) => self.enter(OsStr::from_bytes(&dir)),
                    None => self.list = None,
                }
                continue;
            }
            let word = self.words.next();
            self.met += usize::from(word.as_ref().is_some_and(Word::is_name));
            match word {
                None => return Ok(None),
                Some(Word::Switch(switch, on)) => self.state.switch(switch, on),
                Some(Word::Dir(dir)) => self.enter(&dir),
                Some(Word::Name(name) | Word::File(name)) => {
                    let name = self.state.name(name.as_bytes());
                    return Ok(Some(Ok(self.named(name, self.state.recursion))));
                }
                Some(Word::List(file)) => {
                    let lines = line::all(&file, self.state, None).map_err(|(Usage(text) | Fatal(text))| text)?;
                    self.list = Some((Box::new(lines), self.state.recursion));
                }
                Some(_) => {}
            }
        }
    }
}

impl Iterator for Names {
    type Item = Result<Named, String>;

    /// Ends after an error, but for lines of lists that are no names.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.unwrap_or_else(|error| Some(Err(error)))
    }
}

/// The first `-C` that leads elsewhere behind a name or a list.
pub fn late_dir(words: &[Word]) -> Option<&OsStr> {
    words.iter().skip_while(|word| !word.is_name()).find_map(|word| match word {
        Word::Dir(dir) if dir.as_bytes() != b"." => Some(dir.as_os_str()),
        _ => None,
    })
}

/// The first option of the words that would be about what follows it and is behind all of that. A `--exclude` behind all names is about
/// all of them, so what says how patterns match may stand before one.
pub fn idle(words: &[Word]) -> Option<String> {
    let is_pattern = |word: &Word| matches!(word, Word::Exclude(_) | Word::ExcludeFrom(_));
    let last = words.iter().rposition(Word::is_name)?;
    let has_dir = words[..last].iter().any(|word| matches!(word, Word::Dir(_)));
    words.iter().enumerate().skip(last).find_map(|(at, word)| match word {
        Word::Dir(dir) if has_dir => Some(format!("-C '{}'", Shown(dir.as_bytes()))),
        Word::Switch(Switch::Null | Switch::Verbatim | Switch::Unquote, _) => Some(word.option()),
        Word::Switch(..) if !words[at..].iter().any(is_pattern) => Some(word.option()),
        _ => None,
    })
}

/// All exclude patterns of the words.
pub fn excludes(words: &[Word], stdin_taken: Taken) -> Result<Vec<Pattern>, Unclear> {
    Ok(placed_excludes(words, stdin_taken, true)?.into_iter().map(|(_, pattern)| pattern).collect())
}

/// Patterns where names are stored.
pub struct Excludes {
    /// About all names.
    pub all: Vec<Pattern>,
    /// About those with so many names and lists before them, or more.
    pub behind: Vec<(usize, Vec<Pattern>)>,
}

/// The exclude patterns of the words where names are stored. As for GNU tar a pattern is about the names behind it. One behind all names is
/// about none there, and about all in other tools, whose users type it. What version control and editors keep is found by its own name: a directory of that is not
/// entered, and a name below it that is typed is stored, as by GNU tar.
pub fn excludes_of_stored(words: &[Word]) -> Result<Excludes, Unclear> {
    let names = words.iter().filter(|word| word.is_name()).count();
    let mut excludes = Excludes { all: Vec::new(), behind: Vec::new() };
    for (before, pattern) in placed_excludes(words, None, false)? {
        match excludes.behind.last_mut() {
            _ if before == 0 || before == names => excludes.all.push(pattern),
            Some((last, patterns)) if *last == before => patterns.push(pattern),
            _ => excludes.behind.push((before, vec![pattern])),
        }
    }
    Ok(excludes)
}

/// All exclude patterns of the words, each with how many names and lists stand before it; those of lists that partar has itself are about what is
/// `below` directories, too.
fn placed_excludes(words: &[Word], stdin_taken: Taken, below: bool) -> Result<Vec<(usize, Pattern)>, Unclear> {
    let (mut state, mut names) = (State::default(), 0);
    let mut patterns = Vec::new();
    for word in words {
        let mut push = |pattern| patterns.push((names, pattern));
        match word {
            Word::Switch(switch, on) => state.switch(*switch, *on),
            Word::Exclude(text) => push(state.exclude(text.clone().into_vec())),
            Word::ExcludeFrom(file) => {
                for text in lists::patterns(file, false, stdin_taken)? {
                    // As GNU tar: blanks at the end of a line, and what DOS has there, are none of the pattern.
                    let end = text.iter().rposition(|byte| !matches!(byte, b'\t'..=b'\r' | b' '));
                    if let Some(last) = end {
                        push(state.exclude(text[..=last].to_vec()));
                    }
                }
            }
            // As GNU tar: whatever the switches say.
            Word::ExcludeVcs => {
                for name in VCS {
                    push(State { wildcards: Some(false), recursion: below, ..State::default() }.exclude(name.into()));
                }
            }
            Word::ExcludeBackups => {
                for pattern in BACKUPS {
                    push(State { recursion: below, ..State::default() }.exclude(pattern.into()));
                }
            }
            Word::Name(_) | Word::File(_) | Word::List(_) => names += 1,
            Word::Dir(_) => {}
        }
    }
    Ok(patterns)
}

/// The members that the words name, with those of lists; all when there are none and no list.
pub fn members(words: &[Word], stdin_taken: Taken) -> Result<Option<Vec<Pattern>>, Unclear> {
    let mut state = State::default();
    let (mut members, mut held) = (Vec::new(), 0);
    for word in words {
        match word {
            Word::Switch(switch, on) => state.switch(*switch, *on),
            Word::Name(name) | Word::File(name) => {
                members.push(state.member(state.name(name.as_bytes())));
            }
            Word::List(file) => {
                for line in line::all(file, state, stdin_taken)? {
                    match line.map_err(Fatal)? {
                        Line::Name(name) => {
                            held += name.len();
                            if held > HELD_BYTES_MAX {
                                let shown = Shown(file.as_bytes());
                                return Err(Fatal(format!(
                                    "{shown}: has more than {HELD_BYTES_MAX} bytes of members' names"
                                )));
                            }
                            members.push(state.member(name));
                        }
                        Line::Refused(text) => return Err(Fatal(text)),
                        Line::Dir(_) => {
                            let shown = Shown(file.as_bytes());
                            return Err(Usage(format!("{shown}: '-C' in a list of members is not in this version")));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    // As GNU tar: a list without names selects everything.
    Ok((!members.is_empty()).then_some(members))
}

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        low::parse(line.split_whitespace().map(OsString::from).collect()).unwrap().words
    }

    fn names(line: &str) -> Vec<(String, String, bool)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let named = Names::new(&words(line)).map(Result::unwrap);
        named.map(|n| (text(n.dir.as_bytes()), text(&n.name), n.recursion)).collect()
    }

    fn name(dir: &str, name: &str, recursion: bool) -> (String, String, bool) {
        (dir.into(), name.into(), recursion)
    }

    #[test]
    fn a_directory_is_about_the_names_behind_it() {
        let all = [name("", "a", true), name("d", "b", true), name("d/e", "c", true), name("/f", "d", true)];
        assert_eq!(names("cf o a -C d b -C e c -C /f d"), all);
        assert_eq!(names("pcf example.tar example -C /test"), [name("/test", "example", true)]);
        assert_eq!(names("-c -C nfs://h/e a -C b c"), [name("nfs://h/e", "a", true), name("nfs://h/e/b", "c", true)]);
    }

    #[test]
    fn options_behind_all_that_they_are_about_are_found() {
        for (line, is) in [
            ("a --no-recursion", "--no-recursion"),
            ("-T l --null", "--null"),
            ("--exclude=x a --ignore-case", "--ignore-case"),
            ("a --no-unquote --exclude=x", "--no-unquote"),
            ("a -C q --no-recursion", "--no-recursion"),
            ("-C d a b -C none", "-C 'none'"),
        ] {
            assert_eq!(idle(&words(&format!("-c {line}"))).as_deref(), Some(is), "{line}");
        }
        for line in
            ["--no-recursion a", "a --exclude=x", "a --anchored --exclude=x", "a -C q", "-C d a -C e b", "--null"]
        {
            assert_eq!(idle(&words(&format!("-c {line}"))), None, "{line}");
        }
    }

    #[test]
    fn switches_are_about_what_follows() {
        let all = [name("", "a\tb", true), name("", "d", false), name("", r"a\tb", false), name("", "-x", true)];
        assert_eq!(names(r"-c a\tb --no-recursion d --no-unquote a\tb --recursion --add-file=-x"), all);
        let excluded = excludes(&words("-c --exclude a --anchored --exclude b --no-anchored --exclude c x"), None);
        let anchored: Vec<bool> = excluded.unwrap().iter().map(|pattern| pattern.anchored).collect();
        assert_eq!(anchored, [false, true, false]);
        let members = members(&words("-x a* --wildcards b* --no-anchored --ignore-case c"), None).unwrap().unwrap();
        let how: Vec<_> = members.iter().map(|m| (m.wildcards, m.anchored, m.ignore_case)).collect();
        assert_eq!(how, [(false, true, false), (true, true, false), (true, false, true)]);
    }

    #[test]
    fn lists_are_read_where_they_stand() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("list");
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        let names_of = |options: &str| names(&format!("-c x {options} -T {} y", file.display()));
        write("a\n-C d\nb\\tc\n--add-file=-e\n");
        let listed = [name("", "x", true), name("", "a", true), name("d", "b\tc", true), name("d", "-e", true)];
        assert_eq!(names_of(""), [&listed[..], &[name("d", "y", true)]].concat());
        assert_eq!(names_of("--verbatim-files-from")[2], name("", "-C d", true));
        // What tells no options tells no escapes either (GNU tar 1.34).
        assert_eq!(names_of("--verbatim-files-from")[3], name("", r"b\tc", true));
        let members = members(&words(&format!("-x --verbatim-files-from -T {}", file.display())), None);
        assert_eq!(members.unwrap().unwrap()[2].text, br"b\tc");
        write("-C \"d e\"\nb\n-Cf\\ g\nc\n-C h  i\nd\n");
        assert_eq!(
            names_of("")[1..4],
            [name("d e", "b", true), name("d e/f g", "c", true), name("d e/f g/h  i", "d", true)]
        );
        write("*.key\r\n \t\ncache \t\n a\n");
        let excluded = excludes(&words(&format!("-c -X {} x", file.display())), None).unwrap();
        let texts: Vec<&[u8]> = excluded.iter().map(|pattern| &pattern.text[..]).collect();
        assert_eq!(texts, [&b"*.key"[..], b"cache", b" a"], "as GNU tar reads them");
        write("a\0-C d\0");
        assert_eq!(names_of("--null")[1..3], [name("", "a", true), name("", "-C d", true)]);
        write("-C d\na\n");
        for (options, verbatim) in [
            ("--null --no-null", false),
            ("--null --verbatim-files-from --no-null", false),
            ("--verbatim-files-from --no-null", false),
            ("--no-null --verbatim-files-from", true),
        ] {
            let first = if verbatim { name("", "-C d", true) } else { name("d", "a", true) };
            assert_eq!(names_of(options)[1], first, "{options}");
        }
        write("a\n--exclude=b\nc\n");
        let mut read = Names::new(&words(&format!("-c -T {} d", file.display())));
        assert!(read.next().unwrap().is_ok());
        assert!(read.next().unwrap().unwrap_err().contains("--verbatim-files-from"));
        // What follows is stored all the same, as by GNU tar.
        assert!([b"c", b"d"].iter().all(|name| read.next().unwrap().unwrap().name == *name));
        assert!(read.next().is_none());
        assert!(Names::new(&words("-c -T none")).next().unwrap().unwrap_err().contains("Cannot open"));
        assert!(Names::new(&words("-c -C d")).is_empty() && !Names::new(&words("-c -T none")).is_empty());
        assert_eq!(super::members(&words("-x -T /dev/null"), None), Ok(None));
        assert!(matches!(super::members(&words("-x -T -"), Some("taken")), Err(Usage(text)) if text == "taken"));
    }
}
