use super::super::options::Value;
use super::*;

/// Files and variables by name.
struct Imagined(Vec<(&'static str, &'static str)>);

impl Surroundings for Imagined {
    fn text(&self, path: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "No such file or directory".into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.text(name).ok()
    }

    fn facts(&self) -> [(&'static str, u64); 3] {
        [("$pagesize", 4096), ("$mb_memory", 1000), ("$ncpus", 2)]
    }
}

fn jobs(text: &'static str) -> Result<Vec<Job>, String> {
    with(text, vec![])
}

fn with(text: &'static str, mut others: Vec<(&'static str, &'static str)>) -> Result<Vec<Job>, String> {
    others.push(("d/a.fio", text));
    read("d/a.fio", 0, &[], &General::default(), &Imagined(others)).map_err(|error| error.to_string())
}

fn lines(text: &'static str) -> Vec<String> {
    jobs(text).unwrap().iter().map(|job| job::command_line(std::slice::from_ref(job)).trim_end().to_owned()).collect()
}

/// As Debian's fio 3.33 shows it with --showcmd.
#[test]
fn sections_inherit_what_stands_above_them() {
    let text = "; comment\n[global]\nbs = 8k   ; trailing\nioengine=null\nname=ignored\n\t\n[job one]\nrw=randread\n# x\n\
                blocksize_range=1k-4k\ngroup_reporting\nname=renamed\n[globalx]\nnumjobs=2\n[two]\nstonewall\n";
    assert_eq!(
        lines(text),
        [
            "--bs= 8k --ioengine=null --name=ignored --name=job one --rw=randread --bsrange=1k-4k --group_reporting --name=renamed",
            "--bs= 8k --ioengine=null --name=ignored --numjobs=2 --name=two --stonewall",
        ]
    );
    let jobs = jobs(text).unwrap();
    assert_eq!((jobs[0].name(), jobs[0].section.as_str()), ("renamed", "job one"));
    assert_eq!(jobs[1].name(), "two", "a global name names nothing");
    let Some(Value::Each(bs)) = jobs[1].given("bs").map(|given| &given.value) else { panic!("no bs") };
    assert_eq!(bs.read, Some(8192), "blanks around the sign are no part of the value");
}

#[test]
fn variables_and_facts() {
    let jobs =
        with("[j]\nfilename=${DIR}/x${NONE}\nsize=8*$pagesize\niodepth=$ncpus\n", vec![("DIR", "/mnt")]).unwrap();
    assert_eq!(job::command_line(&jobs[..1]), "--name=j --size=32768 --iodepth=2 --filename=/mnt/x ");
    let error = self::jobs("[global]\nnumjobs=${NJ}\n[j]\n").unwrap_err();
    assert!(error.ends_with("\nfio: failed parsing numjobs=${NJ}\nfio: job global dropped (d/a.fio:2)"), "{error}");
}

#[test]
fn files_that_are_included() {
    let common = ("d/common", "bs=16k\ninclude /more\n");
    let jobs = with("[global]\ninclude common\n[j]\n", vec![common, ("/more", "iodepth=4")]).unwrap();
    assert_eq!(job::command_line(&jobs[..1]), "--bs=16k --iodepth=4 --name=j ");
    let jobs = with("[j]\ninclude=common\n", vec![common, ("/more", "iodepth=4")]).unwrap();
    assert_eq!(job::command_line(&jobs), "--name=j --bs=16k --iodepth=4 ");
    assert!(self::jobs("[j]\ninclude=\n").unwrap_err().starts_with("fio: unable to open '' include file"));
    assert!(self::jobs("[j]\nincludes\n").unwrap_err().starts_with("Bad option <includes>"));
    assert!(
        self::jobs("[j]\ninclude gone\n")
            .unwrap_err()
            .starts_with("fio: unable to open 'gone' include file: No such file or directory (d/a.fio:2)")
    );
    assert!(with("[j]\ninclude x\n", vec![("x", "[k]")]).unwrap_err().contains("must not have sections"));
    assert!(with("[j]\ninclude x\n", vec![("x", "include x\ninclude x\ninclude x")]).unwrap_err().contains("16 deep"));
    assert!(with("[j]\ninclude x\n", vec![("x", "include x")]).unwrap_err().contains("16 deep"));
}

#[test]
fn kb_base_holds_for_the_whole_section() {
    let jobs = jobs("[a]\nsize=1k\nkb_base=1000\n[b]\nsize=1k\n").unwrap();
    let size = |job: &Job| format!("{:?}", job.given("size").unwrap().value);
    assert_eq!(jobs.iter().map(size).collect::<Vec<_>>(), ["Amount(Bytes(1000))", "Amount(Bytes(1024))"]);
}

#[test]
fn chosen_sections() {
    let general = General { sections: vec!["b".into()], ..General::default() };
    let around = Imagined(vec![("x", "[global]\nbs=8k\n[a]\nnonsense\n[b]\n")]);
    let jobs = read("x", 1, &[], &general, &around).unwrap();
    assert_eq!(jobs.iter().map(|job| (job.section.as_str(), job.input)).collect::<Vec<_>>(), [("b", 1)]);
    assert_eq!(jobs[0].globals.len(), 1);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert_eq!(jobs("x=1\n[j]\n").unwrap_err(), "fio: option <x=1> outside of [] job section (d/a.fio:1)");
    assert_eq!(
        jobs("[j]\nrunime=3\n").unwrap_err(),
        "Bad option <runime=3>\nDid you mean runtime?\nfio: job j dropped (d/a.fio:2)"
    );
    assert_eq!(
        jobs("[j]\ndirect\n").unwrap_err(),
        "Option direct requires an argument\nfio: job j dropped (d/a.fio:2)"
    );
    assert!(jobs("[j]\nhipri\nioengine=psync\n").unwrap_err().contains("Bad option <hipri>"));
    assert!(jobs("[j]\nioengine=io_uring\nhipri\n").is_ok());
    assert!(jobs("[j\nx=1").is_err());
    let gone = read("gone", 0, &[], &General::default(), &Imagined(vec![])).unwrap_err().to_string();
    assert_eq!(gone, "fio: unable to open 'gone' job file: No such file or directory");
}

#[test]
fn shown_as_one_line() {
    let shown = |text: &'static str| job::command_line(&jobs(text).unwrap());
    assert_eq!(
        shown("[global]\nfilename=f\nbs=4k\n[a]\nsize=1m\n[global]\nrw=write\n[b]\n[c]\nnumjobs=2\n"),
        "--bs=4k --filename=f --name=a --size=1m --bs=4k --rw=write --filename=f --name=b --name=c --numjobs=2 "
    );
    assert_eq!(shown("[a]\nblockalign=8k\n[b]\nba=4k\n"), "--name=a --ba=8k --name=b --ba=4k ");
    assert_eq!(
        shown("[a]\ndescription=one\nioengine=io_uring\nregisterfiles=1\nkb_base=1000\nrw=read\n"),
        "--name=a --kb_base=1000 --description=\"one\" --ioengine=io_uring --rw=read --registerfiles=1 "
    );
}
