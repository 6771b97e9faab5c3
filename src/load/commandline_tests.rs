use super::super::general::{Eta, Format, IdleProf, Traces};
use super::*;

fn line(text: &str) -> Result<CommandLine, String> {
    let words: Vec<String> = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    match parse(&words) {
        Ok(Asked::Run(line)) => Ok(*line),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

fn shown(text: &str) -> Vec<String> {
    line(text)
        .unwrap()
        .jobs
        .iter()
        .map(|job| crate::load::job::command_line(std::slice::from_ref(job)).trim_end().to_owned())
        .collect()
}

#[test]
fn one_dash_or_two_and_an_equals_sign_or_a_word() {
    for text in ["-name=a -size=8G", "--name=a --size=8G", "-name a -size 8G", "--name a --size 8G"] {
        assert_eq!(shown(text), ["--name=a --name=a --size=8G"], "{text}");
    }
}

#[test]
fn beginnings_of_names() {
    assert_eq!(line("--output-fo=terse --name=a").unwrap().general.formats, [Format::Terse]);
    assert!(line("--parse-onl --name=a").unwrap().general.parse_only);
    assert!(line("--rand=1").unwrap_err().contains("ambiguous; possibilities: '--randrepeat'"));
    let exact = line("--name=a --sync=1").unwrap();
    assert_eq!(exact.jobs[0].options[1].spec.name, "sync", "though sync_file_range begins so");
}

#[test]
fn letters() {
    let words = |text: &str| parse(&[text.to_owned()]);
    assert_eq!(words("-v"), Ok(Asked::Version));
    assert_eq!(words("-h"), Ok(Asked::Help));
    assert_eq!(words("--version"), Ok(Asked::Version));
    assert_eq!(words("--cmdhelp=bs"), Ok(Asked::CommandHelp(Some("bs".into()))));
    assert_eq!(words("--enghelp"), Ok(Asked::EngineHelp(None)));
    assert_eq!(line("-o out -m --name=a").unwrap().general.output, Some("out".into()));
}

#[test]
fn flags_take_values_only_behind_an_equals_sign() {
    let parsed = line("--name=a --group_reporting 1").unwrap();
    assert_eq!(parsed.files, ["1"], "fio takes it for a job file too");
    assert_eq!(shown("--name=a --group_reporting=0 --thread"), ["--name=a --name=a --group_reporting=0 --thread"]);
    assert!(line("--name=a --direct --thread").unwrap_err().ends_with("fio: failed parsing direct=--thread"));
    assert_eq!(line("--readonly=1 --name=a").unwrap_err(), "fio: option '--readonly' doesn't allow an argument");
    assert_eq!(line("--name=a --size").unwrap_err(), "fio: option '--size' requires an argument");
}

#[test]
fn globals_jobs_and_operands() {
    let parsed = line("--bs=8k --name=a --rw=write x.fio --name=b - -- --odd").unwrap();
    assert_eq!(parsed.files, ["x.fio", "-", "--odd"]);
    assert_eq!(parsed.jobs.iter().map(|job| job.section.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        shown("--bs=8k --name=a --rw=write --name=b"),
        ["--bs=8k --name=a --name=a --rw=write", "--bs=8k --name=b --name=b"]
    );
    assert_eq!(shown("--name=global --bs=4k --name=x"), ["--name=global --bs=4k --name=x --name=x"]);
    assert_eq!(line("--bs=8k x.fio").unwrap().globals.len(), 1);
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(line("").unwrap_err(), "No job(s) defined");
    assert!(line("--rw=read --bs=4k").unwrap_err().contains("add --name=JOB"), "as Azure's published lines");
    assert_eq!(
        line("--name=a --runime=1").unwrap_err(),
        "fio: unrecognized option '--runime=1'\nDid you mean runtime?"
    );
    assert!(line("--client=host --name=a").unwrap_err().contains("there is no client/server mode"));
    assert!(line("--name=a --zonemode=zbd").unwrap_err().contains("option 'zonemode=zbd' is not supported here"));
    assert!(line("--name=a --cmdprio_percentage=5").unwrap_err().contains("is not supported here"));
    assert!(line("--name=a --hipri").unwrap_err().contains("Bad option <hipri>"));
    assert!(line("--name=a --ioengine=io_uring --hipri").is_ok());
}

#[test]
fn general_options() {
    let general = |text: &str| line(&format!("{text} --name=a")).map(|line| line.general);
    assert_eq!(
        general("--output-format=normal,json,terse").unwrap().formats,
        [Format::Terse, Format::Json, Format::Normal]
    );
    assert_eq!(general("--output-format=json+,json").unwrap().formats, [Format::JsonPlus]);
    assert_eq!(general("--eta=always").unwrap().eta, Eta::Always);
    assert_eq!(general("--idle-prof=system").unwrap().idle_prof, Some(IdleProf::System));
    assert_eq!(general("--idle-prof percpu").unwrap().idle_prof, Some(IdleProf::PerCpu));
    assert_eq!(general("--idle-prof=all"), Err("fio: incorrect idle-prof option: all".into()));
    assert_eq!(general("--debug=random").unwrap().traces, Traces { io: false, random: true });
    assert_eq!(general("--debug=random --debug=io").unwrap().traces, general("--debug=all").unwrap().traces);
    assert_eq!(general("--debug=io,mem"), Err("fio: debug mask mem not found; there are io, random, all".into()));
    assert_eq!(general("--bandwidth-log").unwrap().bandwidth_log.as_deref(), Some("agg"));
    assert_eq!(general("--bandwidth-log=all").unwrap().bandwidth_log.as_deref(), Some("all"));
    assert_eq!(general("--eta-interval=100ms"), Err("fio: eta interval time too short (250msec min)".into()));
    assert_eq!(general("--status-interval=1us"), Err("fio: status interval too small".into()));
    assert!(general("--output-format=foo").unwrap_err().starts_with("fio: invalid output format foo"));
    assert_eq!(general("--terse-version=9"), Err("fio: bad terse version format".into()));
    assert!(general("--eta=foo").is_err() && general("--max-jobs=x").is_err());
    let chosen = line("--section=b --name=a --bs=4k --name=b").unwrap();
    assert_eq!(chosen.jobs.len(), 1);
}

/// FIO.md, section 14, with the variable replaced.
#[test]
fn published_lines() {
    let lines = [
        "--name=read_throughput --directory=/fss --numjobs=8 -size=8G --time_based --runtime=180 -ioengine=libaio --direct=1 --verify=0 \
         --bs=32k --iodepth=32 --rw=randread --group_reporting=1",
        "--name=write_throughput --directory=/d --numjobs=16 --size=10G --time_based --runtime=60s --ramp_time=2s --ioengine=libaio \
         --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write --group_reporting=1 --iodepth_batch_submit=64 \
         --iodepth_batch_complete_max=64",
        "--ioengine=libaio --filesize=32G --ramp_time=2s --runtime=5m --numjobs=16 --direct=1 --verify=0 --randrepeat=0 --group_reporting \
         --directory=/mnt/nfs --buffer_compress_percentage=50 --name=read --blocksize=1m --iodepth=64 --readwrite=read",
        "--name=x --directory=/mnt/efs1:/mnt/efs2 --rw=randrw --bsrange=100k-1M,1M-4M --size=4G --numjobs=16 --end_fsync=1",
        "-direct=1 -iodepth=1 -rw=randread -ioengine=libaio -bs=4k -size=10G -numjobs=1 -runtime=60 -group_reporting -filename=/f -name=n",
        "--name=a --blocksize=4k --rw=randwrite --direct=1 --buffered=0 --iodepth=16 --loops=1000 --runtime=30 --filename=/f --size=99G",
        "--name=a -thread=1 -eta=always -eta-newline=1 -eta-interval=1",
        "--directory=/d --name fio_test_file --direct=1 --rw=randwrite --bs=16k --size=1G --numjobs=16 --time_based --runtime=180 \
         --group_reporting --norandommap",
    ];
    for text in lines {
        assert_eq!(line(text).map(|line| line.jobs.len()), Ok(1), "{text}");
    }
}

#[test]
fn options_that_fio_has_not() {
    let swept = line("--sweep bs=4k,8k rwmix=100,0 --scale 1,2 --name=j --rw=randrw jobs.fio").unwrap();
    assert_eq!((swept.files, swept.general.beyond.combinations().len()), (vec!["jobs.fio".to_owned()], 4));
    assert_eq!(swept.general.beyond.scale, [1, 2]);
    // In full only: fio's beginnings stay what they are.
    assert!(line("--name=j --scal=1").is_err() && line("--name=j --comp=x").is_err());
    let asked = |text: &str| parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(asked("--compare a.json b.json"), Ok(Asked::Compare("a.json".into(), "b.json".into())));
    for text in ["--compare a.json", "--compare a b c", "--compare a b --name=j", "--compare a b --bs=4k"] {
        assert_eq!(asked(text), Err(LineError::Compare), "{text}");
    }
}
