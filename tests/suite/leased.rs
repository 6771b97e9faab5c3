//! A file that another program has a lease on, and gives back a moment after it was asked to.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::cli_support::Bench;

const HOLDER: &str = "
import fcntl, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR if sys.argv[2] == 'write' else os.O_RDONLY)
def give_back(*_):
    time.sleep(0.3)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    print('given back', flush=True)
signal.signal(signal.SIGIO, give_back)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK if sys.argv[2] == 'write' else fcntl.F_RDLCK)
signal.alarm(30)
print('held', flush=True)
while True:
    signal.pause()
";

struct Holder(Child, BufReader<std::process::ChildStdout>);

impl Holder {
    fn new(of: &Path, what: &str) -> Holder {
        let mut command = Command::new("python3");
        command.args(["-c", HOLDER, of.to_str().unwrap(), what]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut holder = Holder(child, output);
        assert_eq!(holder.line(), "held\n");
        holder
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_lease_is_waited_for() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name);
    for dir in ["from", "to"] {
        fs::create_dir(at(dir)).unwrap();
    }
    let data = vec![7; 3 << 20];
    for (name, data) in [("large", &data[..]), ("small", b"few")] {
        fs::write(at("from").join(name), data).unwrap();
    }
    for name in ["large", "small"] {
        fs::remove_dir_all(at("to")).unwrap();
        for command in ["parcp from to", "partar cf archive.tar from"] {
            let mut holder = Holder::new(&at("from").join(name), "write");
            bench.run_as(command).ok();
            assert_eq!(holder.line(), "given back\n", "{command}");
        }
        // What is written to, or replaced.
        fs::write(at("to").join(name), "old").unwrap();
        let _holder = Holder::new(&at("to").join(name), "read");
        bench.run_as("parcp from to").ok();
        assert_eq!(fs::read(at("to").join(name)).unwrap(), fs::read(at("from").join(name)).unwrap());
    }
    let _holder = Holder::new(&at("to/large"), "read");
    bench.run("xf archive.tar --overwrite --strip-components=1 -C to").ok();
    assert!(fs::read(at("to/large")).unwrap() == data);
}
