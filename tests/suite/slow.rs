//! The direct client before a server that takes its time: no reason to take it for gone, nor to send again what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parfs::base::{Proc, Status};
use parfs::mounts::nfs::{NfsMount, Url, Usage, attach};
use parfs::storage::{AttrChange, Call, Mount, Stable};

use crate::ask::Ask;
use crate::scripted::{Act, Scripted, name};

fn mount(server: &Scripted, patience: &str) -> Arc<NfsMount> {
    let url = server.url.replace("timeo=3&retrans=3&away=1", patience);
    attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap().remove(0)
}

/// It answers five times a second, one call after the other; the last of 24 waits for 4.8 s, longer than `timeo`.
#[test]
fn a_server_that_answers_slowly_is_not_sent_the_same_again() {
    let server = Scripted::start(|proc, _| {
        if proc == Proc::Write {
            std::thread::sleep(Duration::from_millis(200));
        }
        Act::Send
    });
    let mount = mount(&server, "timeo=30&retrans=3&away=10");
    let file = server.memory.file(&server.memory.root(), "f", b"");
    std::thread::scope(|scope| {
        // Lanes whose windows wait for each other's, and one whose own calls are many.
        for window in [1, 1, 1, 1, 20] {
            let (mount, file) = (&mount, &file);
            scope.spawn(move || {
                let mut calls: Vec<Call<'_>> =
                    (0..window).map(|i| Call::write(file, i, b"x", Stable::FileSync)).collect();
                mount.perform(&mut calls);
                assert!(calls.iter().all(|call| call.status().is_ok()), "{calls:?}");
            });
        }
    });
    assert_eq!((mount.retransmitted(), mount.reconnects()), (0, 0));
    assert_eq!(server.carried_out(Proc::Write), 24);
}

/// One call takes five times `timeo`, longer than `away`: a NULL beside it is answered, and is in the books (law 4).
#[test]
fn a_target_that_works_at_one_call_is_not_gone() {
    let server = Scripted::start(|proc, n| if proc == Proc::MkDir && n < 5 { Act::Drop } else { Act::Send });
    let mount = mount(&server, "timeo=10&retrans=20&away=3");
    let mut calls = [Call::mkdir(&mount.root(), &name(1), AttrChange::default())];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()), "a repeated MKDIR finds its own work");
    assert!(mount.retransmitted() >= 5);
    let issued = mount.issued().unwrap();
    assert!(issued.get(Proc::Null).calls >= 4, "{issued:?}");
    assert_eq!(issued.get(Proc::Null).calls, server.carried_out(Proc::Null));
}

/// As a tape library does: what is put off fills no room that others need.
#[test]
fn what_is_put_off_does_not_hold_up_the_rest() {
    let is_ready = Arc::new(AtomicBool::new(false));
    let ready = is_ready.clone();
    let server = Scripted::start(move |proc, _| match proc {
        Proc::Write if !ready.load(Ordering::Relaxed) => Act::Fail(Status::Jukebox),
        _ => Act::Send,
    });
    let mount = server.patient_mount();
    let put_off = server.memory.file(&server.memory.root(), "on tape", b"");
    let other = server.memory.file(&server.memory.root(), "on disk", b"here");
    std::thread::scope(|scope| {
        let data = vec![7; 1 << 20];
        let (mount, server, put_off) = (&mount, &server, &put_off);
        // As much as may be in flight.
        let waits = scope.spawn(move || {
            let mut calls: Vec<Call<'_>> =
                (0..16).map(|i| Call::write(put_off, i << 20, &data, Stable::Unstable)).collect();
            mount.perform(&mut calls);
            calls.iter().all(|call| call.status().is_ok())
        });
        while server.counts.lock().unwrap()[Proc::Write as usize] < 16 {
            std::thread::yield_now();
        }
        let mut calls = [Call::read(&other, 0, 4, Vec::new())];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Ok(()));
        is_ready.store(true, Ordering::Relaxed);
        assert!(waits.join().unwrap(), "they were put off for longer than is waited, or failed");
    });
}

/// Answers nothing from when `asleep` is set until somebody asks for it by a NULL that does not go beside a call; `never` not even then.
fn sleeper(asleep: &Arc<AtomicBool>, never: Option<Proc>) -> Arc<Scripted> {
    let (asleep, nulls) = (asleep.clone(), AtomicUsize::new(0));
    Scripted::start(move |proc, _| {
        let wakes = || proc == Proc::Null && nulls.fetch_add(1, Ordering::SeqCst) == 1;
        if asleep.load(Ordering::SeqCst) && !wakes() {
            return Act::Drop;
        }
        asleep.store(false, Ordering::SeqCst);
        if never == Some(proc) { Act::Drop } else { Act::Send }
    })
}

/// It was silent for as long as `timeo` and `retrans` say, and is there again when that is over.
#[test]
fn a_target_that_wakes_is_sent_once_more_what_it_slept_through() {
    for (proc, ends) in [(Proc::MkDir, Ok(())), (Proc::Lookup, Err(Status::NoEnt))] {
        let asleep = Arc::default();
        let server = sleeper(&asleep, None);
        let mount = mount(&server, "timeo=10&retrans=1&away=60");
        asleep.store(true, Ordering::SeqCst);
        let before = server.carried_out(proc);
        let mut calls = [match proc {
            Proc::MkDir => Call::mkdir(&mount.root(), &name(1), AttrChange::default()),
            _ => Call::lookup(&mount.root(), &name(1)),
        }];
        mount.perform(&mut calls);
        assert_eq!((calls[0].status(), calls[0].repeated), (ends, true), "{proc}");
        // Law 4. A LOOKUP for the judgement of a repeated MKDIR is none of these.
        let issued = mount.issued().unwrap();
        assert_eq!(issued.get(proc).calls - before, 1, "{proc}");
        let sent = issued.get(proc).calls + issued.get(Proc::Null).calls + mount.retransmitted();
        assert_eq!(sent, server.carried_out(proc) + server.carried_out(Proc::Null), "{proc}");
    }
}

/// Once more, and not for ever.
#[test]
fn a_target_that_wakes_and_never_answers_one_call_is_not_sent_it_without_end() {
    for (proc, ends) in [(Proc::MkDir, Status::NoReply), (Proc::Lookup, Status::Unanswered)] {
        let asleep = Arc::default();
        let server = sleeper(&asleep, Some(proc));
        let mount = mount(&server, "timeo=5&retrans=1&away=60");
        asleep.store(true, Ordering::SeqCst);
        let mut calls = [match proc {
            Proc::MkDir => Call::mkdir(&mount.root(), &name(1), AttrChange::default()),
            _ => Call::lookup(&mount.root(), &name(1)),
        }];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(ends), "{proc}");
        assert_eq!(server.carried_out(proc), 4, "twice while it slept, twice since");
        let mut calls = [Call::get_attr(&mount.root())];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Ok(()), "the mount is of use afterwards");
    }
}
