//! Texts that users and their scripts see: helps, messages, and the shape of the JSON.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::cli_support::{Bench, PARFS};

fn stdout(args: &[&str]) -> String {
    let output = Command::new(PARFS).args(args).env_remove("COLUMNS").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn helps() {
    insta::assert_snapshot!("help_parfs", stdout(&["--help"]));
    insta::assert_snapshot!("help_partar", stdout(&["partar", "--help"]));
    insta::assert_snapshot!("help_parcp", stdout(&["parcp", "--help"]));
    insta::assert_snapshot!("help_parrm", stdout(&["parrm", "--help"]));
    insta::assert_snapshot!("help_doctor", stdout(&["doctor", "--help"]));
    insta::assert_snapshot!("help_sim", stdout(&["sim", "--help"]));
    insta::assert_snapshot!("help_plan", stdout(&["plan", "--help"]));
    insta::assert_snapshot!("help_plan_capacity", stdout(&["plan", "capacity", "--help"]));
    insta::assert_snapshot!("help_plan_load", stdout(&["plan", "load", "--help"]));
    insta::assert_snapshot!("help_plan_volume", stdout(&["plan", "volume", "--help"]));
    insta::assert_snapshot!("help_demo", stdout(&["demo", "--help"]));
}

#[test]
fn messages_of_the_other_commands() {
    let mut all = String::new();
    for line in [
        "sim --targets 0",
        "sim --fault nonsense",
        "sim --dir /does/not/exist",
        "sim more",
        "demo --files many",
        "plan",
        "plan load",
        "plan extract -xf a.tar",
        "plan nonsense",
        "plan --nonsense",
        "plan capacity",
        "plan capacity --iops 1000",
        "plan capacity --iops 1000 --io-size 32k",
        "plan capacity --iops 0",
        "plan capacity --targets 4 --latency 1ms",
        "plan capacity --targets 4 --profile /does/not/exist",
        "plan volume",
        "plan volume --vpu 10 --size 256",
        "plan volume --vpu 15 --size 256G",
        "plan volume --vpu 10 --size 10G",
        "plan volume --vpu 10 --size 256G --hosts 3",
        "plan volume --vpu 10 --size 256G --sharing",
        "nonsense",
        "--nonsense",
    ] {
        let output = Command::new(PARFS).args(line.split(' ')).env_remove("COLUMNS").output().unwrap();
        assert!(output.stdout.is_empty(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        all += &format!("$ parfs {line}\n{said}= {}\n", output.status.code().unwrap());
    }
    insta::assert_snapshot!(all);
}

#[test]
fn messages() {
    let bench = Bench::new();
    let lines = [
        "",
        "-c",
        "xtf a.tar",
        "--create",
        "-rf - out",
        "-rzf a.tar out",
        "-czjf o.tar out",
        "-cf o.tar none",
        "-cf o.tar out --format=v7",
        "-cf o.tar out --format=odd",
        "-cf o.tar out --sort=inode",
        "-cf o.tar out --mode=q",
        "-cf o.tar out --mtime=nonsense",
        "-cf o.tar out --clamp-mtime",
        "-cf o.tar out --owner=nobody-of-this-name",
        "-cf o.tar out --group=x:y",
        "-cf o.tar out -b 0",
        "-cf o.tar out --record-size=1000",
        "-cf o.tar out --transform=y/a/b/",
        "-cf o.tar out -o",
        "-tf a.tar nothing",
        "-tf none.tar",
        "-df a.tar",
        "xf",
        "xf none.tar",
        "xf a.tar -f b.tar",
        "-xf a.tar --ex=3",
        "-xf a.tar --foo",
        "-xPf a.tar",
        "-xf a.tar -P 0",
        "-xf a.tar --strip-components=x",
        "-xQf a.tar",
        "-xzjf a.tar",
        "-xf a.tar -C",
        "-xf a.tar -C nfs://h",
        "-xf a.tar -C nfs://h/e?colour=red",
        "-xf a.tar -C out -C out",
        "-xf a.tar -T list",
        "-xf a.tar --level 3",
        "-xf a.tar --absolute-names",
        "-xf a.tar --xattrs-include=[[=a=]]",
        "-xf a.tar --transform=s/a",
        "-xf a.tar --newer=nonsense",
        "-xf a.tar --listed-incremental=x",
        "-xf a.tar --max-iops 0",
        "-xf a.tar --bwlimit 1Q",
        "-xf a.tar --totals=3",
        "-xf - -X -",
    ];
    let lines: Vec<String> = lines.iter().map(|line| format!("partar {line}")).collect();
    insta::assert_snapshot!(said(&bench, &lines));
}

/// What each command line says, and how it ends.
fn said(bench: &Bench, lines: &[impl AsRef<str>]) -> String {
    let mut all = String::new();
    for line in lines.iter().map(AsRef::as_ref) {
        let ran = bench.run_as(line);
        all += &format!("$ {line}\n{}{}= {}\n", ran.stdout, ran.stderr, ran.status.unwrap());
    }
    all
}

#[test]
fn messages_of_parcp_and_parrm() {
    let bench = Bench::new();
    let lines = [
        "parrm",
        "parrm -i x",
        "parrm --no-preserve-root /",
        "parrm --interactive=always x",
        "parrm --preserve-root=some x",
        "parrm --older-than soon x",
        "parrm --files-from list a b",
        "parrm --null x",
        "parrm --ex=3",
        "parrm --dereference x",
        "parrm -P 0 x",
        "parrm / . .. none none/x",
        "parrm --files-from none",
        "parrm -d out/.. out",
        "parcp",
        "parcp a.tar",
        "parcp -t out",
        "parcp none out",
        "parcp a.tar none out",
        "parcp out out",
        "parcp out a.tar",
        "parcp a.tar out/new/",
        "parcp -L a b",
        "parcp -R a b",
        "parcp -f a b",
        "parcp --link-dest=x a b",
        "parcp -avz a b",
        "parcp --reflink=always a b",
        "parcp --preserve=context a b",
        "parcp --bwlimit=1Q a b",
        "parcp --max-delete 3 a b",
        "parcp --files-from list --delete a b",
        "parcp --foo a b",
        "parcp --exclude [a a b",
        "parcp nfs://h b",
    ];
    insta::assert_snapshot!(said(&bench, &lines));
}

/// Each leaf as `path: type`; of a list, its first element.
fn shape(value: &Value, path: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| shape(value, &format!("{path}/{key}"), lines)),
        Value::Array(items) if items.is_empty() => lines.push(format!("{path}: []")),
        Value::Array(items) => shape(&items[0], &format!("{path}[]"), lines),
        Value::Null => lines.push(format!("{path}: null")),
        Value::Bool(_) => lines.push(format!("{path}: bool")),
        Value::Number(_) => lines.push(format!("{path}: number")),
        Value::String(_) => lines.push(format!("{path}: string")),
    }
}

/// The report's leaves, of a run of this command line.
fn report_of(line: &str) -> String {
    let bench = Bench::new();
    bench.run_as(&format!("{line} --report run.json")).ok();
    let report: Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], Value::from(1));
    let mut lines = Vec::new();
    shape(&report, "", &mut lines);
    lines.join("\n")
}

#[test]
fn report_schema_1() {
    insta::assert_snapshot!(report_of("partar xf a.tar -C out"));
    insta::assert_snapshot!("report_schema_1_of_parcp", report_of("parcp a.tar out"));
    insta::assert_snapshot!("report_schema_1_of_parrm", report_of("parrm out"));
}
