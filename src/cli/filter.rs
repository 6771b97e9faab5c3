//! `-I CMD`: a program between the archive and us, in both directions.
//!
//! As GNU tar 1.34 does it, `/bin/sh -c` runs CMD for writing, and CMD with ` -d` behind it for reading (there GNU tar splits the words
//! itself, by the shell's rules for quotes and variables, so that pipelines do not work either way). The archive is whole only if
//! the program ended with status 0; what else it ends with is an error with its name. Dropped before its end, it is killed and
//! waited for: there is neither a zombie nor, for a reader that needs no more, an error.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::archive::{FinishWrite, Wrap};
use crate::crew::Stop;

use super::huge;

/// Bytes taken from the program at once.
const CHUNK_BYTES: usize = 128 * 1024;
/// Bytes that a pipe to or from the program holds, as far as the kernel allows it; 64 KiB else.
const PIPE_BYTES: usize = 1 << 20;
/// How often a writer that waits looks whether it was asked to stop.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A program that packs its input, and unpacks it with `-d`.
#[derive(Clone, Debug)]
pub struct Filter {
    command: OsString,
    stop: Stop,
}

impl Filter {
    /// `command` is for the shell.
    pub fn new(command: &OsStr, stop: &Stop) -> Filter {
        Filter { command: command.to_owned(), stop: stop.clone() }
    }

    fn start(&self, unpacks: bool, input: Stdio) -> io::Result<Running> {
        let mut line = self.command.clone();
        if unpacks {
            line.push(" -d");
        }
        let name = self.command.to_string_lossy().into_owned();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(input).stdout(Stdio::piped());
        let child = huge::restored(|| command.spawn())
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: /bin/sh: {error}")))?;
        Ok(Running { child, name })
    }

    /// What the program makes of `input` with `-d`.
    pub fn reader(&self, input: Stdio) -> io::Result<FilterReader> {
        let mut running = self.start(true, input)?;
        let stdout = running.child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        widen(&stdout);
        Ok(FilterReader { stdout: Some(stdout), running })
    }
}

/// Fewer waits; where it is refused, the pipe stays as it is.
fn widen(pipe: &impl std::os::fd::AsFd) {
    let _as_it_is = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

/// The program while it runs; killed and waited for when dropped.
struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Waits for its end, which is to be a good one.
    fn end(&mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("{}: {}", self.name, ending(status)))) }
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in a way that is not known".into(),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both do nothing where the end was waited for.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The program's output, and at its end how the program ended.
pub struct FilterReader {
    // Closed before the program is waited for.
    stdout: Option<ChildStdout>,
    running: Running,
}

impl Read for FilterReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(stdout) = &mut self.stdout else { return Ok(0) };
        let got = stdout.read(buf)?;
        if got == 0 && !buf.is_empty() {
            self.stdout = None;
            self.running.end()?;
        }
        Ok(got)
    }
}

impl Wrap for Filter {
    fn wrap<'w>(self: Box<Self>, out: Box<dyn Write + Send + 'w>) -> io::Result<Box<dyn FinishWrite + 'w>> {
        let mut running = self.start(false, Stdio::piped())?;
        let pipes = running.child.stdin.take().zip(running.child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| io::Error::other("no pipe"))?;
        widen(&stdin);
        widen(&stdout);
        rustix::io::ioctl_fionbio(&stdin, true)?;
        rustix::io::ioctl_fionbio(&stdout, true)?;
        let chunk = vec![0; CHUNK_BYTES];
        Ok(Box::new(FilterWriter { out, stdin: Some(stdin), stdout: Some(stdout), chunk, running, stop: self.stop }))
    }
}

/// Gives the program what is written and hands on what it says, whichever it is ready for: so neither waits for the other.
struct FilterWriter<'w> {
    out: Box<dyn Write + Send + 'w>,
    /// `None` once the program was told the end.
    stdin: Option<ChildStdin>,
    /// `None` once the program has said its end.
    stdout: Option<ChildStdout>,
    chunk: Vec<u8>,
    running: Running,
    stop: Stop,
}

impl FilterWriter<'_> {
    /// Waits until the program takes or says something, and hands on what it says.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("writing was stopped"));
            }
            let stdin = self.stdin.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT));
            let stdout = self.stdout.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN));
            let mut pipes: Vec<PollFd<'_>> = stdin.chain(stdout).collect();
            match poll(&mut pipes, Some(&LOOK_EVERY)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        match stdout.read(&mut self.chunk) {
            Ok(0) => self.stdout = None,
            Ok(n) => self.out.write_all(&self.chunk[..n])?,
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Tells the program the end and waits for its own.
    fn end(&mut self) -> io::Result<()> {
        self.stdin = None;
        while self.stdout.is_some() {
            self.wait()?;
        }
        self.running.end()
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Write for FilterWriter<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        loop {
            let Some(stdin) = &mut self.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
            match stdin.write(buf) {
                Ok(n) => return Ok(n),
                Err(error) if is_passing(&error) => self.wait()?,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    // Why it takes no more is in how it ends.
                    self.end()?;
                    let reason = format!("{}: ended before it had read the archive", self.running.name);
                    return Err(io::Error::other(reason));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What the program has said so far; it is not made to say all.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl FinishWrite for FilterWriter<'_> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    fn filter(command: &str) -> Filter {
        Filter::new(OsStr::new(command), &Stop::default())
    }

    fn written(command: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut writer = Box::new(filter(command)).wrap(Box::new(&mut out))?;
        writer.write_all(bytes)?;
        writer.finish()?;
        Ok(out)
    }

    fn input(bytes: &[u8]) -> Stdio {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file.into()
    }

    fn read(command: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        filter(command).reader(input(bytes))?.read_to_end(&mut out).map(|_| out)
    }

    fn lines(count: usize) -> Vec<u8> {
        (0..count).flat_map(|i| format!("line {i}\n").into_bytes()).collect()
    }

    #[test]
    fn all_goes_through_in_both_directions() {
        for count in [0, 1, 300_000] {
            let bytes = lines(count);
            assert!(written("cat", &bytes).unwrap() == bytes, "{count}");
            // The words behind the script are its arguments: `-d` among them.
            assert!(read("sh -c 'cat' x", &bytes).unwrap() == bytes, "{count}");
        }
    }

    #[test]
    fn reading_is_told_so_by_an_option_and_writing_by_none() {
        assert_eq!(read("echo a 'b  c'", b"").unwrap(), b"a b  c -d\n");
        assert_eq!(written("echo a 'b  c'; cat >/dev/null", b"x").unwrap(), b"a b  c\n");
    }

    #[test]
    fn a_program_that_says_more_than_it_reads_does_not_stop_us() {
        let bytes = lines(100_000);
        assert_eq!(written("sed 'p;p;p;p'", &bytes).unwrap().len(), 5 * bytes.len());
        // All of its output comes behind all of its input.
        assert_eq!(written("sort", &bytes).unwrap().len(), bytes.len());
    }

    #[test]
    fn a_bad_end_is_an_error_with_the_programs_name() {
        let bytes = lines(100_000);
        for (command, end) in [
            ("cat; exit 3", "ended with status 3"),
            ("cat >/dev/null; kill -9 $$", "was killed by signal 9"),
            ("no-such-program-here", "ended with status 127"),
            ("head -c 5 >/dev/null; exit 4", "ended with status 4"),
            ("head -c 5", "ended before it had read the archive"),
        ] {
            let error = written(&format!("{command} 2>/dev/null"), &bytes).unwrap_err().to_string();
            assert!(error.starts_with(command) && error.ends_with(end), "{error}");
        }
        for (command, end) in [
            ("sh -c 'cat; exit 3' x", "ended with status 3"),
            ("exec sh -c 'kill -9 $$' x", "was killed by signal 9"),
            ("2>/dev/null no-such-program-here", "ended with status 127"),
        ] {
            let error = read(command, &bytes).unwrap_err().to_string();
            assert!(error.starts_with(command) && error.ends_with(end), "{error}");
        }
    }

    #[test]
    fn who_needs_no_more_ends_the_program() {
        let mut reader = filter("sh -c 'exec yes' x").reader(input(b"")).unwrap();
        let mut some = [0; 4];
        reader.read_exact(&mut some).unwrap();
        assert_eq!(&some, b"y\ny\n");
        let child = rustix::process::Pid::from_child(&reader.running.child);
        drop(reader);
        // It was waited for, so no child of this id is left.
        let left = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::NOHANG);
        assert_eq!(left.unwrap_err(), rustix::io::Errno::CHILD);
    }

    #[test]
    fn a_writer_that_waits_notices_a_stop() {
        let stop = Stop::default();
        let mut writer =
            Box::new(Filter::new(OsStr::new("exec sleep 1000"), &stop)).wrap(Box::new(io::sink())).unwrap();
        stop.set();
        let error = writer.write_all(&vec![0; 4 << 20]).unwrap_err();
        assert_eq!(error.to_string(), "writing was stopped");
    }
}
