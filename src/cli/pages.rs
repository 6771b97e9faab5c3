//! The command lines as data: what manual pages and completions are made of.
//!
//! Promises: the options are those of the parsers themselves. Options that are known and refused are not among them.
//! Leaves out: the texts of the pages, and the shells' languages.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::load::options::{Kind, TABLE};
use crate::load::{beyond, general};

use super::{HELP, demo, doctor, load, parcp, parrm, partar, plan, sim};

/// The program with its commands, for completions and as the page `parfs`.
pub fn parfs() -> Command {
    let about = HELP.lines().next().unwrap_or_default();
    let alias = |command: Command, name: &'static str| command.visible_alias(name);
    Command::new("parfs").about(about).version(env!("CARGO_PKG_VERSION")).subcommands([
        alias(partar::low::Low::command(), "tar"),
        alias(parcp::low::Low::command(), "cp"),
        alias(parrm::low::Low::command(), "rm"),
        plan::commands(),
        doctor::command().name("doctor"),
        alias(parload().name("load"), "parload"),
        sim::command().name("sim"),
        demo::command().name("demo"),
    ])
}

/// Each command that has a page of its own, by the page's name, and the name it is called by.
pub fn pages() -> Vec<(&'static str, Command)> {
    let named = |page: &'static str, called: &'static str, command: Command| {
        (page, command.display_name(page).bin_name(called).disable_help_subcommand(true))
    };
    let [forecast, capacity, volume, of_load] = plan::each();
    vec![
        named("partar", "partar", partar::low::Low::command()),
        named("parcp", "parcp", parcp::low::Low::command()),
        named("parrm", "parrm", parrm::low::Low::command()),
        named("parload", "parload", parload()),
        named("parfs-plan", "parfs plan", forecast),
        named("parfs-plan-capacity", "parfs plan capacity", capacity),
        named("parfs-plan-volume", "parfs plan volume", volume),
        named("parfs-plan-load", "parfs plan load", of_load),
        named("parfs-doctor", "parfs doctor", doctor::command()),
        named("parfs-sim", "parfs sim", sim::command()),
        named("parfs-demo", "parfs demo", demo::command()),
    ]
}

/// Commands that are called by names of their own.
pub fn programs() -> Vec<Command> {
    vec![parfs(), partar::low::Low::command(), parcp::low::Low::command(), parrm::low::Low::command(), parload()]
}

/// fio's options and those beyond them, from the tables that its own parser goes by.
fn parload() -> Command {
    let general = general::TABLE.iter().chain(beyond::TABLE).map(general_option);
    let options = TABLE.iter().map(job_option);
    let files = Arg::new("JOB FILE")
        .help("Jobs in sections; - for standard input")
        .action(ArgAction::Append)
        .value_hint(clap::ValueHint::FilePath);
    Command::new("parload")
        .about("Runs fio's command lines and job files on files and on NFS, over one or many mount targets")
        .override_usage("parload [OPTION...] [JOB FILE...]\nparload --name=JOB [JOB OPTION...]")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(general)
        .args(options)
        .arg(files)
}

fn general_option(spec: &general::Spec) -> Arg {
    let arg = Arg::new(spec.name).long(spec.name).help_heading("Of the run");
    let arg = if spec.letter == ' ' { arg } else { arg.short(spec.letter) };
    let arg = arg.help(load::words::general(spec.name).unwrap_or_default());
    match spec.argument {
        general::Argument::None => arg.action(ArgAction::SetTrue),
        general::Argument::Required => arg.value_name("VALUE"),
        general::Argument::Optional => arg.value_name("VALUE").num_args(0..=1).require_equals(true),
    }
}

fn job_option(spec: &crate::load::options::Spec) -> Arg {
    let arg = Arg::new(spec.name).long(spec.name).visible_aliases(spec.aliases).help_heading("Of a job");
    let arg = arg.help(load::words::about(spec)).value_name("VALUE");
    match spec.kind {
        Kind::Choice(words) | Kind::ChoiceMore(words) => {
            arg.value_parser(PossibleValuesParser::new(words)).hide_possible_values(true)
        }
        Kind::Flag => arg.num_args(0..=1),
        _ => arg,
    }
}
