use std::sync::Mutex;

use super::*;

fn entry(job: usize) -> Entry {
    Entry {
        job,
        group: 0,
        stonewall: false,
        wait_for: None,
        delay: Duration::ZERO,
        exitall: None,
        exitall_on_error: None,
    }
}

/// Runs `entries`; a clone of a job in `long` ends when it is told to, others at once. What began and ended, in order.
fn ran(entries: &[Entry], long: &[usize], fails: &[usize]) -> (Vec<String>, Vec<bool>) {
    let lives: Vec<Live> = entries.iter().map(|_| Live::default()).collect();
    let told = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    let schedule = Schedule { entries, lives: &lives, clock: Clock::start(), stop: &stop };
    let clone = |index: usize, go: &dyn Fn()| {
        lives[index].set_state(State::Initialized);
        go();
        told.lock().unwrap().push(format!("+{index}"));
        while long.contains(&entries[index].job) && !lives[index].is_ending() {
            std::thread::yield_now();
        }
        told.lock().unwrap().push(format!("-{index}"));
        lives[index].failed.store(fails.contains(&index), Ordering::Relaxed);
        JobResult::default()
    };
    let results = schedule.run(&clone, &|_, error| panic!("{error}"), &mut || Duration::from_secs(3600));
    (told.into_inner().unwrap(), results.iter().map(Option::is_some).collect())
}

#[test]
fn a_stonewall_waits_for_all_before_it_and_holds_up_all_behind_it() {
    let entries = [entry(0), Entry { stonewall: true, ..entry(1) }, entry(2)];
    let (told, results) = ran(&entries, &[], &[]);
    assert_eq!(told[..2], ["+0", "-0"]);
    assert_eq!((told.len(), results), (6, vec![true; 3]));
}

#[test]
fn wait_for_waits_for_all_clones_of_a_job() {
    let entries = [entry(0), entry(0), Entry { wait_for: Some(0), ..entry(1) }];
    let (told, _) = ran(&entries, &[], &[]);
    assert_eq!(told[4..], ["+2", "-2"]);
}

/// What waits for a job holds up nobody else: the last would end only with the first, which ends only when it is told to.
#[test]
fn others_do_not_wait_with_what_waits() {
    let ends = Entry { exitall: Some(ExitWhat::All), ..entry(2) };
    let (told, results) = ran(&[entry(0), Entry { wait_for: Some(0), ..entry(1) }, ends], &[0], &[]);
    assert!(told.contains(&"+2".to_owned()));
    assert_eq!(results, [true, false, true]);
}

/// Without exitall this would not end: job 1 ends only when it is told to.
#[test]
fn exitall_ends_the_group_and_what_was_not_started() {
    let wait = Entry { wait_for: Some(1), ..entry(2) };
    let entries = [Entry { exitall: Some(ExitWhat::Group), ..entry(0) }, entry(1), wait];
    let (told, results) = ran(&entries, &[1], &[]);
    assert!(told.contains(&"-1".to_owned()));
    assert_eq!(results, [true, true, false]);
    let on_error = [Entry { exitall_on_error: Some(ExitWhat::All), ..entry(0) }, entry(1)];
    assert_eq!(ran(&on_error, &[1], &[0]).1, [true, true]);
}

#[test]
fn a_delay_is_waited_for() {
    let entries = [Entry { delay: Duration::from_millis(20), ..entry(0) }, entry(1)];
    let (told, _) = ran(&entries, &[], &[]);
    assert_eq!(told, ["+1", "-1", "+0", "-0"]);
}

/// A signal that came while files were laid out: nothing is begun on what may be half there.
#[test]
fn a_run_that_was_stopped_before_it_begins_starts_nothing() {
    let entries = [entry(0), entry(1)];
    let lives: Vec<Live> = entries.iter().map(|_| Live::default()).collect();
    let stop = AtomicBool::new(true);
    let schedule = Schedule { entries: &entries, lives: &lives, clock: Clock::start(), stop: &stop };
    let results = schedule
        .run(&|index, _| panic!("{index} began"), &|_, error| panic!("{error}"), &mut || Duration::from_secs(3600));
    assert!(results.iter().all(Option::is_none));
}

/// Reading files ahead takes as long as the files are large: others are shown meanwhile, and a signal ends it.
#[test]
fn a_batch_that_prepares_is_watched_and_can_be_stopped() {
    let entries = [entry(0), entry(1)];
    let lives: Vec<Live> = entries.iter().map(|_| Live::default()).collect();
    let stop = AtomicBool::new(false);
    let schedule = Schedule { entries: &entries, lives: &lives, clock: Clock::start(), stop: &stop };
    // Without an end of its own the test would not fail but hang.
    let until = std::time::Instant::now() + Duration::from_secs(60);
    let clone = |index: usize, go: &dyn Fn()| {
        lives[index].set_state(State::PreReading);
        while index == 0 && !lives[index].is_ending() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        lives[index].set_state(State::Initialized);
        go();
        JobResult::default()
    };
    let mut looks = 0;
    let results = schedule.run(&clone, &|_, error| panic!("{error}"), &mut || {
        looks += 1;
        stop.fetch_or(looks == 3, Ordering::Relaxed);
        Duration::from_millis(1)
    });
    assert!(std::time::Instant::now() < until, "the signal was not seen");
    assert!(looks >= 3 && results.iter().all(Option::is_some));
}

/// What was done before, as files are laid out, is no part of a delay.
#[test]
fn a_delay_begins_when_clones_may_start() {
    let delay = Duration::from_millis(40);
    let entries = [Entry { delay, ..entry(0) }];
    let (lives, stop, clock) = ([Live::default()], AtomicBool::new(false), Clock::start());
    std::thread::sleep(delay);
    let schedule = Schedule { entries: &entries, lives: &lives, clock, stop: &stop };
    let clone = |_: usize, go: &dyn Fn()| {
        lives[0].set_state(State::Initialized);
        go();
        assert!(clock.now() >= 2 * ns(delay));
        JobResult::default()
    };
    assert!(schedule.run(&clone, &|_, error| panic!("{error}"), &mut || Duration::from_secs(3600))[0].is_some());
}

/// `watch` does not want to be called again for an hour.
#[test]
fn a_stop_is_seen_soon() {
    let (entries, lives, stop) = ([entry(0)], [Live::default()], AtomicBool::new(false));
    let schedule = Schedule { entries: &entries, lives: &lives, clock: Clock::start(), stop: &stop };
    let clone = |_: usize, go: &dyn Fn()| {
        lives[0].set_state(State::Initialized);
        go();
        // The schedule waits by now, or will see it before it does.
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        while !lives[0].is_ending() {
            std::thread::yield_now();
        }
        JobResult::default()
    };
    assert!(schedule.run(&clone, &|_, error| panic!("{error}"), &mut || Duration::from_secs(3600))[0].is_some());
}
