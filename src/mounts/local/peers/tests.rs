//! The proof's logic over servers that are made up: what is taken for the same, what is not, and that nothing is left behind.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use super::proof::{self, NAME, Seen, Spot, Terms, View, Witness, is_slow};
use super::same::{self, Verdict};
use super::view::{self, Opened};
use super::*;

/// What a server has: names made in the job's directory, and how that looks.
struct Server {
    names: Mutex<HashMap<String, u64>>,
    dir: Mutex<Seen>,
    space: [u64; 4],
    /// Others write there: each look shows another time.
    busy: Option<AtomicU64>,
}

const ROOT: Seen =
    Seen { fileid: 1, mode: 0o040755, nlink: 3, uid: 0, gid: 0, size: 60, mtime: (7, 8), ctime: (9, 10) };

fn server() -> Arc<Server> {
    let dir = Mutex::new(Seen { fileid: 12, ..ROOT });
    Arc::new(Server { names: Mutex::default(), dir, space: [100, 50, 10, 5], busy: None })
}

/// One mount of a server.
#[derive(Clone)]
struct Fake {
    server: Arc<Server>,
    handle: Option<&'static str>,
    owner: (u32, u32),
    cannot: Option<ErrorKind>,
    stuck: bool,
    access: u8,
    /// How many names were made through it.
    made: Arc<AtomicU64>,
    /// Where it waits, twice, before it finds something.
    meets: Option<Arc<Barrier>>,
    /// Looks that are still held up.
    held: Arc<AtomicI64>,
}

/// How long a look is held up: above what seems slow.
const HELD: Duration = Duration::from_millis(50);

fn fake(server: &Arc<Server>) -> Fake {
    let (server, made, held) = (server.clone(), Arc::default(), Arc::default());
    Fake { server, handle: None, owner: (0, 0), cannot: None, stuck: false, access: 7, made, meets: None, held }
}

impl View for Fake {
    fn look(&self, spot: Spot) -> io::Result<Seen> {
        let dir = *self.server.dir.lock().unwrap();
        if self.held.fetch_sub(1, Ordering::Relaxed) > 0 {
            std::thread::sleep(HELD);
        }
        Ok(match (spot, &self.server.busy) {
            (Spot::Root, _) => ROOT,
            (Spot::Dir, None) => dir,
            (Spot::Dir, Some(time)) => Seen { mtime: (7, time.fetch_add(1, Ordering::Relaxed) as u32), ..dir },
        })
    }
    fn handle(&self, spot: Spot) -> Option<Vec<u8>> {
        Some(format!("{}{spot:?}", self.handle?).into_bytes())
    }
    fn access(&self, _: Spot) -> u8 {
        self.access
    }
    fn space(&self) -> io::Result<[u64; 4]> {
        Ok(self.server.space)
    }
    fn first_names(&self) -> io::Result<Vec<(Vec<u8>, u64)>> {
        let names = self.server.names.lock().unwrap();
        let mut names: Vec<_> = names.iter().map(|(name, id)| (name.clone().into_bytes(), *id)).collect();
        names.sort();
        Ok(names)
    }
    fn make(&self, name: &str) -> io::Result<Seen> {
        if let Some(kind) = self.cannot {
            return Err(kind.into());
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let mut names = self.server.names.lock().unwrap();
        let fileid = 100 + names.len() as u64;
        names.insert(name.into(), fileid);
        Ok(Seen { fileid, uid: self.owner.0, gid: self.owner.1, ..ROOT })
    }
    fn find(&self, name: &str) -> io::Result<Seen> {
        self.meets.iter().for_each(|meets| _ = (meets.wait(), meets.wait()));
        let names = self.server.names.lock().unwrap();
        Ok(Seen { fileid: *names.get(name).ok_or(ErrorKind::NotFound)?, ..ROOT })
    }
    fn unmake(&self, name: &str) -> io::Result<()> {
        if self.stuck {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.server.names.lock().unwrap().remove(name).map(|_| ()).ok_or(ErrorKind::NotFound.into())
    }
}

const WRITES: Terms = Terms { writes: true, one_server: false };
const READS: Terms = Terms { writes: false, one_server: false };

fn prove(ours: &Fake, theirs: &Fake, terms: Terms) -> Result<Duration, Reason> {
    proof::prove(&Witness::new(ours.clone()), theirs, terms)
}

fn why(ours: &Fake, theirs: &Fake, terms: Terms) -> String {
    let reason = prove(ours, theirs, terms).expect_err("it is not the same, or cannot be used");
    reason.to_string()
}

fn is_empty(server: &Server) -> bool {
    server.names.lock().unwrap().is_empty()
}

#[test]
fn a_name_seen_through_both_proves_and_is_gone() {
    let one = server();
    prove(&fake(&one), &fake(&one), WRITES).unwrap();
    assert!(is_empty(&one));
}

#[test]
fn peers_that_come_at_once_look_for_one_name_of_the_base() {
    let one = server();
    let base = fake(&one);
    let witness = Witness::new(base.clone());
    assert_eq!(witness.time(), None);
    let peer = Fake { meets: Some(Arc::new(Barrier::new(3))), ..fake(&one) };
    std::thread::scope(|s| {
        let prove = || proof::prove(&witness, &peer, WRITES).unwrap();
        (0..3).for_each(|_| _ = s.spawn(prove));
    });
    let made = |mount: &Fake| mount.made.load(Ordering::Relaxed);
    assert_eq!((made(&base), made(&peer)), (1, 3));
    assert!(is_empty(&one) && witness.time().is_some());
    // Who comes later gets another: what a mount remembers of a name that is gone proves nothing.
    proof::prove(&witness, &fake(&one), WRITES).unwrap();
    assert_eq!(made(&base), 2);
    assert!(is_empty(&one));
}

#[test]
fn the_name_that_a_silent_mount_holds_is_removed_and_no_more_are_made() {
    let one = server();
    let base = fake(&one);
    let witness = Witness::new(base.clone());
    let answers = Arc::new(Barrier::new(2));
    let silent = Fake { meets: Some(answers.clone()), ..fake(&one) };
    std::thread::scope(|s| {
        let late = s.spawn(|| proof::prove(&witness, &silent, WRITES));
        answers.wait();
        assert_eq!(one.names.lock().unwrap().len(), 2);
        witness.end().unwrap();
        assert_eq!(one.names.lock().unwrap().len(), 1, "its own can only be removed through itself");
        answers.wait();
        assert!(matches!(late.join().unwrap(), Err(Reason::NotSeen)));
    });
    assert!(is_empty(&one));
    let later = fake(&one);
    assert!(matches!(proof::prove(&witness, &later, WRITES), Err(Reason::Silent)));
    assert_eq!((base.made.load(Ordering::Relaxed), later.made.load(Ordering::Relaxed)), (1, 0));
}

#[test]
fn copies_of_one_disk_are_not_the_same_whatever_their_handles() {
    let (ours, theirs) = (server(), server());
    let with_handle = |server| Fake { handle: Some("h"), ..fake(server) };
    assert!(why(&with_handle(&ours), &with_handle(&theirs), WRITES).contains("another file system"));
    assert!(is_empty(&ours) && is_empty(&theirs));
}

#[test]
fn handles_of_one_server_prove_without_writing() {
    let one = server();
    let terms = Terms { writes: true, one_server: true };
    let ours = Fake { handle: Some("h"), cannot: Some(ErrorKind::PermissionDenied), ..fake(&one) };
    prove(&ours, &ours, terms).unwrap();
    // Others, or unknown ones, do not.
    for handle in [Some("other"), None] {
        assert!(why(&Fake { handle, ..ours.clone() }, &ours, terms).contains("making a name"));
        assert!(why(&ours, &Fake { handle, ..ours.clone() }, terms).contains("making a name"));
    }
    // A proof without handles on both sides is none either.
    let none = Fake { handle: None, ..ours };
    assert!(why(&none, &none, terms).contains("making a name"));
}

#[test]
fn another_directory_is_told_before_anything_is_made() {
    let (ours, theirs) = (server(), server());
    theirs.dir.lock().unwrap().fileid = 13;
    assert!(why(&fake(&ours), &fake(&theirs), WRITES).contains("file id 13, not 12"));
    theirs.dir.lock().unwrap().fileid = 12;
    theirs.dir.lock().unwrap().mode = 0o100_644;
    assert!(why(&fake(&ours), &fake(&theirs), WRITES).contains("another directory"));
}

#[test]
fn who_squashes_differently_or_cannot_write_is_left_out() {
    let one = server();
    let squashed = Fake { owner: (65534, 65534), ..fake(&one) };
    assert!(why(&fake(&one), &squashed, WRITES).contains("owned by 65534:65534, not 0:0"));
    let refused = Fake { cannot: Some(ErrorKind::ReadOnlyFilesystem), ..fake(&one) };
    assert!(why(&fake(&one), &refused, WRITES).contains("making a name through it"));
    assert!(why(&refused, &fake(&one), WRITES).contains("the operand's own mount"));
    assert!(is_empty(&one));
    let stuck = Fake { stuck: true, ..fake(&one) };
    let text = why(&fake(&one), &stuck, WRITES);
    assert!(text.contains(NAME) && text.contains("could not be removed"), "{text}");
}

#[test]
fn a_reader_compares_and_makes_nothing() {
    let one = server();
    let cannot = Fake { cannot: Some(ErrorKind::PermissionDenied), ..fake(&one) };
    prove(&cannot, &cannot, READS).unwrap();
    assert!(why(&cannot, &Fake { access: 5, ..cannot.clone() }, READS).contains("allows something else"));
    let other = server();
    other.dir.lock().unwrap().ctime = (9, 11);
    assert!(why(&cannot, &fake(&other), READS).contains("times or owners differ"));
    let fuller = Arc::new(Server { space: [100, 49, 10, 5], ..Arc::into_inner(server()).unwrap() });
    assert!(why(&cannot, &fake(&fuller), READS).contains("free blocks or files differ"));
    let named = server();
    named.names.lock().unwrap().insert("a".into(), 5);
    assert!(why(&cannot, &fake(&named), READS).contains("first names differ"));
    let busy = Arc::new(Server { busy: Some(AtomicU64::new(0)), ..Arc::into_inner(server()).unwrap() });
    assert!(why(&fake(&busy), &fake(&busy), READS).contains("keep changing"));
}

#[test]
fn names_cannot_be_guessed_and_say_whose_they_are() {
    let names: Vec<String> = (0..100).map(|_| proof::name()).collect();
    assert!(names.iter().all(|name| name.starts_with(NAME) && name.len() == NAME.len() + 32));
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
}

#[test]
fn who_was_held_up_once_is_asked_again() {
    let one = server();
    let answers_in = |held| {
        let peer = Fake { held: Arc::new(AtomicI64::new(held)), ..fake(&one) };
        prove(&fake(&one), &peer, READS).unwrap()
    };
    // Root and directory.
    assert!(answers_in(2) < HELD);
    assert!(answers_in(i64::MAX) >= HELD);
}

#[test]
fn slow_is_four_times_the_fastest_and_some() {
    let ms = Duration::from_millis;
    assert!(!is_slow(ms(2), ms(0)) && is_slow(ms(3), ms(0)));
    assert!(!is_slow(ms(42), ms(10)) && is_slow(ms(43), ms(10)));
    assert!(is_slow(Duration::MAX, ms(10)) && !is_slow(ms(0), Duration::MAX));
}

#[test]
fn what_may_be_one_object_is_taken_for_one() {
    let one = server();
    let verdict = |ours: &Fake, theirs: &Fake, one_server, writes| same::verdict(ours, theirs, one_server, writes);
    let plain = fake(&one);
    assert!(matches!(verdict(&plain, &plain, false, true), Verdict::One));
    assert!(matches!(verdict(&plain, &plain, false, false), Verdict::Maybe));
    let refused = Fake { cannot: Some(ErrorKind::PermissionDenied), ..plain.clone() };
    assert!(matches!(verdict(&plain, &refused, false, true), Verdict::Maybe));
    // Only through the target is anything made.
    assert!(matches!(verdict(&refused, &plain, false, true), Verdict::One));
    let stuck = Fake { stuck: true, ..fake(&server()) };
    assert!(matches!(verdict(&stuck.clone(), &stuck, false, true), Verdict::Left(_)));
    let handled = Fake { handle: Some("h"), ..refused };
    assert!(matches!(verdict(&handled, &handled, true, false), Verdict::One));
    assert!(matches!(verdict(&plain, &fake(&server()), false, true), Verdict::Two));
    let other = server();
    other.dir.lock().unwrap().ctime = (1, 1);
    assert!(matches!(verdict(&plain, &fake(&other), false, false), Verdict::Two));
    let busy = Arc::new(Server { busy: Some(AtomicU64::new(0)), ..Arc::into_inner(server()).unwrap() });
    assert!(matches!(verdict(&fake(&busy), &fake(&busy), false, true), Verdict::One));
    assert!(matches!(verdict(&fake(&busy), &fake(&busy), false, false), Verdict::Maybe));
    assert!(is_empty(&one) && is_empty(&busy));
}

#[test]
fn silent_mounts_are_not_waited_for() {
    let (send, receive) = channel();
    send.send((1, Ok(("fast", None)))).unwrap();
    // A sender lives on, as a thread that hangs in the kernel would.
    let answers = collect(&receive, 3, Duration::ZERO);
    let silent = |answer: &Timed<&str>| matches!(answer, Err(Reason::Silent));
    assert!(silent(&answers[0]) && answers[1].is_ok() && silent(&answers[2]));
    drop(send);
    assert!(collect(&receive, 1, Duration::from_secs(3600))[0].is_err());
}

#[test]
fn devices_of_one_file_system_have_one_id() {
    let mut finder = Finder::default();
    finder.join(5, 6);
    finder.join(8, 9);
    let ids = |finder: &Finder| {
        let mut known: Vec<_> = finder.classes.iter().map(|class| class.to_vec()).collect();
        known.sort();
        known
    };
    assert_eq!(ids(&finder), [vec![5, 6], vec![8, 9]]);
    finder.join(6, 5);
    finder.join(9, 6);
    assert_eq!(finder.classes.len(), 1);
    assert_eq!(finder.classes[0].len(), 4);
}

const TABLE: &str = "\
1 1 0:1 / / rw - tmpfs none rw
2 1 0:2 / /m/a rw - nfs h1:/e rw,sec=sys,addr=10.0.0.1
3 1 0:3 / /m/b rw - nfs h2:/e rw,sec=sys,addr=10.0.0.2
4 1 0:4 / /m/c rw - nfs h1:/e rw,sec=sys,addr=10.0.0.1
5 1 0:5 / /m/sub rw - nfs h1:/e/x rw,sec=krb5,addr=10.0.0.1
6 1 0:6 / /m/other rw - nfs h2:/f rw,sec=sys,addr=10.0.0.2
7 1 0:7 / /m/top rw - nfs h1:/ rw,sec=sys,addr=10.0.0.1
8 1 0:8 / /m/local rw - ext4 /dev/x rw
";

fn base(id: u64, way: &str) -> (Table, Base) {
    let table = Table::parse(TABLE.as_bytes());
    let entry = table.get(id).unwrap().clone();
    let export = entry.export().unwrap();
    let path = entry.point.join(way);
    let dir = Arc::new(OwnedFd::from(std::fs::File::open("/").unwrap()));
    (table, Base { entry, export, dir, way: way.into(), path })
}

fn ways(candidates: &[Candidate]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let way = |c: &Candidate| {
        format!("{} {}|{} {} {}", c.entry.id, text(&c.root[0]), text(&c.root[1]), text(&c.dir), c.terms.one_server)
    };
    candidates.iter().map(way).collect()
}

#[test]
fn mounts_of_one_export_come_into_question() {
    let mut out = Vec::new();
    let (table, here) = base(2, "x/y");
    let found = candidates(&table, &here, Among::All, &mut out);
    // Another path only of the same server; another security is another identity.
    assert_eq!(ways(&found), ["3 | x/y false", "4 | x/y true", "5 x| y false", "7 |e e/x/y true"]);
    assert!(out.is_empty());
    let (table, here) = base(5, "y");
    let found = candidates(&table, &here, Among::All, &mut out);
    assert_eq!(ways(&found), ["2 |x x/y false", "4 |x x/y false", "7 |e/x e/x/y false"]);
}

#[test]
fn named_mounts_come_into_question_whatever_their_path() {
    let mut out = Vec::new();
    let (table, here) = base(2, "x");
    let named: Vec<PathBuf> = ["/m/a", "/m/other", "/m/local", "/m/none"].map(PathBuf::from).into();
    let found = candidates(&table, &here, Among::Named(&named), &mut out);
    assert_eq!(ways(&found), ["6 | x false"]);
    let out: Vec<String> = out.iter().map(|(point, reason)| format!("{}: {reason}", point.display())).collect();
    assert_eq!(out, ["/m/local: it is not an NFS mount", "/m/none: it is not a mount point of this host"]);
    assert!(candidates(&table, &here, Among::Named(&[]), &mut Vec::new()).is_empty());
}

#[test]
fn a_mount_in_the_directory_leaves_the_others_out_unless_the_server_put_it_there() {
    let here = base(2, "").1;
    for (line, is_foreign) in [
        ("9 2 0:9 / /m/a/d/t rw - tmpfs none rw", true),
        ("9 3 0:9 / /m/b/d/t rw - nfs h2:/elsewhere rw", true),
        ("9 2 0:9 / /m/a/.snapshot rw - nfs h1:/e/.snapshot rw", false),
    ] {
        let table = Table::parse(format!("{TABLE}{line}\n").as_bytes());
        let mut out = Vec::new();
        let found = candidates(&table, &here, Among::All, &mut out);
        let is_out =
            out.iter().any(|(point, reason)| point == Path::new("/m/b") && matches!(reason, Reason::Within(_)));
        assert_eq!((is_out, found.iter().any(|c| c.entry.id == 3)), (is_foreign, !is_foreign), "{line}");
    }
}

#[test]
fn a_local_directory_is_looked_at_as_a_mount_would_be() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
    let top = view::locate(dir.path()).unwrap();
    assert_eq!(top.path, dir.path().canonicalize().unwrap());
    assert!(Table::read().unwrap().get(top.mount).is_some());
    assert!(view::descend(top.dir.as_fd(), b"link/b").is_err());
    let opened = Opened { root: top.dir.try_clone().unwrap(), dir: view::descend(top.dir.as_fd(), b"a/b").unwrap() };
    assert_ne!(opened.look(Spot::Root).unwrap().fileid, opened.look(Spot::Dir).unwrap().fileid);
    assert_eq!(opened.handle(Spot::Dir), opened.handle(Spot::Dir));
    assert!(opened.handle(Spot::Dir).is_none() || opened.handle(Spot::Dir) != opened.handle(Spot::Root));
    let again = || {
        let dir = |fd: &OwnedFd| fd.try_clone().unwrap();
        Witness::new(Opened { root: dir(&opened.root), dir: dir(&opened.dir) })
    };
    proof::prove(&again(), &opened, WRITES).unwrap();
    proof::prove(&again(), &opened, READS).unwrap();
    assert!(opened.first_names().unwrap().is_empty());
    let text = why_local(&again(), dir.path());
    assert!(text.contains("another directory"), "{text}");
    // Nothing here is NFS.
    assert!(Place::of(dir.path()).unwrap().is_none() && Place::of(&dir.path().join("absent")).is_err());
    let there = &opened.dir;
    assert!(opened.is_at(there).is_ok() && matches!(opened.is_at(&opened.root), Err(Reason::Other { .. })));
    assert!(!Finder::default().is_one(dir.path(), dir.path(), true).unwrap());
}

fn why_local(ours: &Witness, path: &Path) -> String {
    let top = view::locate(path).unwrap();
    let theirs = Opened { root: top.dir.try_clone().unwrap(), dir: view::descend(top.dir.as_fd(), b"a").unwrap() };
    proof::prove(ours, &theirs, WRITES).unwrap_err().to_string()
}

#[test]
fn it_is_kept_how_a_mount_is_mounted_where_that_changes_what_it_sends() {
    let line =
        b"36 1 0:22 / /m rw - nfs h:/e rw,vers=3,rsize=65536,wsize=32768,hard,proto=tcp,nconnect=4,addr=10.0.1.2";
    let table = Table::parse(line);
    let (entry, export) = table.nfs().next().unwrap();
    assert_eq!(Mounted::new(entry, &export).options, "vers=3,nconnect=4,rsize=65536,wsize=32768");
}
