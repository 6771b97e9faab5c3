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
    insta::assert_snapshot!("help_sim", stdout(&["sim", "--help"]));
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
        "nonsense",
        "--nonsense",
        "parload",
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
        "-xf a.tar --owner root",
        "-xf a.tar --absolute-names",
        "-xf a.tar --xattrs",
        "-xf a.tar --max-iops 0",
        "-xf a.tar --bwlimit 1Q",
        "-xf a.tar --totals=3",
        "-xf - -X -",
    ];
    let mut all = String::new();
    for line in lines {
        let ran = bench.run(line);
        all += &format!("$ partar {line}\n{}{}= {}\n", ran.stdout, ran.stderr, ran.status.unwrap());
    }
    insta::assert_snapshot!(all);
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

#[test]
fn report_schema_1() {
    let bench = Bench::new();
    bench.run("xf a.tar -C out --report run.json").ok();
    let report: Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], Value::from(1));
    let mut lines = Vec::new();
    shape(&report, "", &mut lines);
    insta::assert_snapshot!(lines.join("\n"));
}
