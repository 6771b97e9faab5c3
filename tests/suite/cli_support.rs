//! What the command tests share: archives, directories, and runs of the binary.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

pub const PARFS: &str = env!("CARGO_BIN_EXE_parfs");

/// The members of the archive that most tests extract.
pub const NAMES: [&str; 5] = ["top/", "top/a.txt", "top/sub/", "top/sub/b.log", "top/link"];

pub fn header(path: &[u8], kind: tar::EntryType, mode: u32, size: usize) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(rustix::process::geteuid().as_raw().into());
    header.set_gid(rustix::process::getegid().as_raw().into());
    header.set_mtime(1_600_000_000);
    header.set_size(size as u64);
    header.set_cksum();
    header
}

/// `top/a.txt` ("alpha", 0666), `top/sub/b.log` (10,000 bytes of "b"), `top/link` to `a.txt`, and their directories.
pub fn sample_tar() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let data = vec![b'b'; 10_000];
    let mut add = |path: &str, kind, mode, data: &[u8]| {
        tar.append(&header(path.as_bytes(), kind, mode, data.len()), data).unwrap();
    };
    add(NAMES[0], tar::EntryType::Directory, 0o755, b"");
    add(NAMES[1], tar::EntryType::Regular, 0o666, b"alpha");
    add(NAMES[2], tar::EntryType::Directory, 0o755, b"");
    add(NAMES[3], tar::EntryType::Regular, 0o640, &data);
    let mut link = header(NAMES[4].as_bytes(), tar::EntryType::Symlink, 0o777, 0);
    link.set_link_name("a.txt").unwrap();
    link.set_cksum();
    tar.append(&link, &b""[..]).unwrap();
    tar.into_inner().unwrap()
}

/// Fails unless `dir` holds what `sample_tar` does.
#[track_caller]
pub fn assert_sample(dir: &Path) {
    assert_eq!(fs::read(dir.join("top/a.txt")).unwrap(), b"alpha");
    assert!(fs::read(dir.join("top/sub/b.log")).unwrap() == vec![b'b'; 10_000]);
    assert_eq!(fs::read_link(dir.join("top/link")).unwrap(), Path::new("a.txt"));
}

/// A directory with `a.tar`, an empty directory `out`, and links `partar`, `parcp` and `parrm` to the binary.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.tar"), sample_tar()).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        for name in ["partar", "parcp", "parrm"] {
            symlink(PARFS, dir.path().join(name)).unwrap();
        }
        Bench { dir }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// `partar` with its arguments separated by blanks, in the directory.
    pub fn command(&self, line: &str) -> Command {
        self.command_of(line.split_whitespace())
    }

    pub fn command_of(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.command_as("partar", args)
    }

    /// One of the links.
    pub fn command_as(&self, program: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(self.path(program));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().unwrap())
    }

    /// A program and its arguments, separated by blanks.
    pub fn run_as(&self, line: &str) -> Ran {
        let (program, args) = line.split_once(' ').unwrap_or((line, ""));
        Ran::of(self.command_as(program, args.split_whitespace()).output().unwrap())
    }

    /// Runs with `input` on a pipe.
    pub fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        run_with(self.command(line), input)
    }
}

/// Runs `command` with `input` on a pipe.
pub fn run_with(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let ran = Ran::of(child.wait_with_output().unwrap());
    // A command that ends early leaves the pipe broken; what matters is how it ended.
    let _how = writer.join().unwrap();
    ran
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub fn ok(self) -> Ran {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// Fails unless it ended with 2 and said this.
    #[track_caller]
    pub fn failed(self, said: &str) -> Ran {
        self.ended(2, said)
    }

    /// Fails unless it ended so and said this.
    #[track_caller]
    pub fn ended(self, status: i32, said: &str) -> Ran {
        assert_eq!(self.status, Some(status), "{self:?}");
        assert!(self.stderr.contains(said), "'{said}' is not in {self:?}");
        self
    }
}

pub fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A simulator in a process of its own; ends with the test.
pub struct Sim {
    child: Child,
    pub url: String,
    stdout: BufReader<ChildStdout>,
}

impl Sim {
    pub fn start(args: &[&str]) -> Sim {
        let mut child = Command::new(PARFS)
            .arg("sim")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("nfs://127.0.0.1:"), "{line:?}");
        Sim { child, url: line.trim_end().to_string(), stdout }
    }

    /// Ends it with SIGTERM; its exit status and the rest of its stdout.
    pub fn end(mut self) -> (Option<i32>, String) {
        send(&self.child, Signal::TERM);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.stdout, &mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
