//! `parcp` killed (SIGKILL) at random points and run again until it is done: at no point does a file look complete that is not, and
//! in the end the tree is the source's.
//!
//! A run is killed at a call of it that the simulated server sees, not after a time.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parfs::base::Status;
use parfs::mounts::MemoryMount;
use parfs::sim::Server;
use parfs::storage::{Call, Kind, Mount, Tap, Tapped};
use rustix::process::{Pid, Signal, kill_process};

use crate::ask::Ask;
use crate::cli_support::PARFS;
use crate::copies::{direct, local};
use crate::edits::Editor;
use crate::nasty::{past, put, set_time};
use crate::tree::{Tree, assert_same, dump, through_nfs};

/// Some files are carried in several ranges and WRITEs.
fn grow(editor: &mut Editor, mount: &dyn Mount) {
    for i in 0..4 {
        let file = mount.file(&mount.root(), format!("large {i}"), b"");
        let bytes = 5_000_000 + editor.random.below(5_000_000) as usize;
        put(mount, &file, 0, &editor.random.bytes(bytes));
        set_time(mount, &file, past(1000 + i));
    }
    set_time(mount, &mount.root(), past(2000));
}

/// Files that would pass for complete and are not.
fn impostors(want: &Tree, is: &Tree) -> Vec<String> {
    let pairs = want.iter().filter_map(|(path, object)| Some((path, object, is.get(path)?)));
    pairs
        .filter(|(_, a, b)| a.kind == Kind::File && b.kind == Kind::File)
        .filter(|(_, a, b)| (a.size, a.mtime) == (b.size, b.mtime) && a.hash != b.hash)
        .map(|(path, ..)| path.clone())
        .collect()
}

/// A server's tap that kills the client when so many more calls have come.
#[derive(Default)]
struct Killer {
    calls_left: AtomicU64,
    client: Mutex<Option<Pid>>,
}

impl Tap for Killer {
    fn admit(&self, _: &Call<'_>) -> Result<(), Status> {
        if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 1
            && let Some(client) = *self.client.lock().unwrap()
        {
            kill_process(client, Signal::KILL).unwrap();
        }
        Ok(())
    }
}

impl Killer {
    /// Runs the copy; kills it at call `k` of it that the server sees. True when it had ended by itself, and well.
    fn run(&self, paths: [&str; 2], more: &[&str], k: u64) -> bool {
        let mut command = Command::new(PARFS);
        command.args(["parcp", "-a", "--delete", "-P", "4", "--no-progress"]).args(more).args(paths);
        let child = {
            // The tap waits here for the client's id.
            let mut client = self.client.lock().unwrap();
            self.calls_left.store(k, Ordering::Relaxed);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            *client = Some(Pid::from_child(&child));
            child
        };
        let output = child.wait_with_output().unwrap();
        *self.client.lock().unwrap() = None;
        if output.status.signal() == Some(9) {
            return false;
        }
        assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        true
    }
}

/// Kills runs at random points between edits of `source`; `see` reads the target's tree.
fn kill_often(
    editor: &mut Editor,
    killer: &Killer,
    source: &dyn Mount,
    paths: [&str; 2],
    more: &[&str],
    see: &dyn Fn() -> Tree,
) {
    editor.plant(source, 120);
    grow(editor, source);
    let mut kills = 0;
    for round in 0..3 {
        let want = through_nfs(dump(source));
        for attempt in 0.. {
            assert!(attempt < 100, "it gets nowhere");
            let k = 1 + editor.random.below(if round == 0 { 120 } else { 60 });
            let ended = killer.run(paths, more, k);
            kills += u32::from(!ended);
            let found = impostors(&want, &see());
            assert!(found.is_empty(), "round {round}, attempt {attempt}, call {k}: {found:?}");
            if ended || attempt == 20 {
                break;
            }
        }
        assert!(killer.run(paths, more, u64::MAX));
        assert_same(&want, &see(), &format!("round {round}, after {kills} kills"));
        editor.edit(source, 15);
    }
    println!("{kills} runs were killed");
    assert!(kills >= 5, "only {kills} runs were killed");
}

fn served(mount: Arc<dyn Mount>) -> (Server, Arc<Killer>) {
    let killer = Arc::new(Killer::default());
    let (server, _) = direct(Arc::new(Tapped::new(mount, vec![killer.clone()])), 1);
    (server, killer)
}

const MORE: [&[&str]; 3] = [&[], &["--atomic"], &["--window", "1"]];

#[test]
fn a_killed_copy_to_nfs_goes_on_where_it_was() {
    for (seed, more) in (11..).zip(MORE) {
        let ((dir, source), target): (_, Arc<dyn Mount>) = (local(), Arc::new(MemoryMount::new()));
        let (server, killer) = served(target.clone());
        let paths = [&*format!("{}/", dir.path().display()), &server.url()];
        kill_often(&mut Editor::new(seed), &killer, &*source, paths, more, &|| dump(&*target));
    }
}

#[test]
fn a_killed_copy_from_nfs_to_a_directory_goes_on_where_it_was() {
    for (seed, more) in (21..).zip(MORE) {
        let ((_from, source), (dir, target)) = (local(), local());
        let (server, killer) = served(source.clone());
        let paths = [&*server.url(), &format!("{}/", dir.path().display())];
        kill_often(&mut Editor::new(seed), &killer, &*source, paths, more, &|| through_nfs(dump(&*target)));
    }
}
