//! Options that are known from the tools a command stands in for, and not carried. Each is known to the parser, also inside
//! a cluster and as an abbreviation, and ends the run with a message that names it and says what to do instead. None is
//! silently ignored.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

/// Whether an option has a value, so that the parser does not take it for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Value {
    No,
    Required,
    Optional,
}
use Value::{No, Optional, Required};

/// An option that is known and not carried.
#[derive(Debug)]
pub struct Refused {
    letter_id: &'static str,
    short: Option<char>,
    /// The long name, and its other spellings.
    longs: &'static [&'static str],
    value: Value,
    instead: &'static str,
}

/// An option that is a letter only; `id` is any name that no other option has.
pub const fn letter(short: char, id: &'static str, instead: &'static str) -> Refused {
    Refused { letter_id: id, short: Some(short), longs: &[], value: Value::No, instead }
}

/// An option without a letter.
pub const fn long(longs: &'static [&'static str], value: Value, instead: &'static str) -> Refused {
    Refused { letter_id: "", short: None, longs, value, instead }
}

/// An option with a letter, which goes with the first spelling.
pub const fn both(short: char, longs: &'static [&'static str], value: Value, instead: &'static str) -> Refused {
    Refused { letter_id: "", short: Some(short), longs, value, instead }
}

/// One parser argument for each spelling that must keep its own name in the message.
struct Spelling {
    id: &'static str,
    short: Option<char>,
    long: Option<&'static str>,
    value: Value,
    instead: &'static str,
}

impl Spelling {
    fn shown(&self) -> String {
        match (self.short, self.long) {
            (Some(short), Some(long)) => format!("-{short} (--{long})"),
            (Some(short), None) => format!("-{short}"),
            (None, long) => format!("--{}", long.unwrap_or_default()),
        }
    }
}

fn spellings(table: &'static [Refused]) -> impl Iterator<Item = Spelling> {
    table.iter().flat_map(|refused| {
        let spelling = |short: Option<char>, long: Option<&'static str>| Spelling {
            id: long.unwrap_or(refused.letter_id),
            short,
            long,
            value: refused.value,
            instead: refused.instead,
        };
        let alone = refused.longs.is_empty().then(|| spelling(refused.short, None));
        let longs = refused.longs.iter().enumerate();
        longs.map(move |(i, &long)| spelling(refused.short.filter(|_| i == 0), Some(long))).chain(alone)
    })
}

/// `command` with the options of `table` known, hidden from its help.
pub fn add(command: Command, table: &'static [Refused]) -> Command {
    command.args(spellings(table).map(|spelling| {
        let arg = Arg::new(spelling.id).long(spelling.long).short(spelling.short).hide(true);
        match spelling.value {
            No => arg.action(ArgAction::Count),
            Required => arg
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .value_parser(clap::value_parser!(std::ffi::OsString)),
            Optional => arg
                .action(ArgAction::Append)
                .num_args(0..=1)
                .require_equals(true)
                .value_parser(clap::value_parser!(std::ffi::OsString)),
        }
    }))
}

/// The message for the first of these options that was given.
pub fn check(matches: &ArgMatches, table: &'static [Refused]) -> Result<(), String> {
    let given = spellings(table).find(|s| matches.value_source(s.id) == Some(ValueSource::CommandLine));
    let Some(spelling) = given else { return Ok(()) };
    Err(format!("{} is not in this version; {}", spelling.shown(), spelling.instead))
}

/// Fails unless every option of `table` is named by `parse`'s error, in each of its spellings.
#[cfg(test)]
pub fn assert_all_named(table: &'static [Refused], parse: impl Fn(Vec<std::ffi::OsString>) -> Option<String>) {
    for spelling in spellings(table) {
        let value = if spelling.value == Required { "=v" } else { "" };
        if let Some(long) = spelling.long {
            let message = parse(vec![format!("--{long}{value}").into()]).unwrap_or_else(|| panic!("--{long} is taken"));
            assert!(message.contains(&format!("--{long}")), "{message}");
            assert!(message.contains("is not in this version; "), "{message}");
        }
        if let Some(short) = spelling.short {
            let args = [format!("-v{short}"), "v".into()].map(std::ffi::OsString::from);
            let message = parse(args.into()).unwrap_or_else(|| panic!("-v{short} is taken"));
            assert!(message.starts_with(&format!("{} is not", spelling.shown())), "{message}");
        }
    }
}
