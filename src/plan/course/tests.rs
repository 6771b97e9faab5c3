use super::*;
use crate::base::Name;
use crate::mounts::MemoryMount;
use crate::storage::{AttrChange, How, Stable, Tapped, Want};

fn watched() -> (Arc<Course>, Tapped) {
    let (course, memory) = (Arc::new(Course::default()), Arc::new(MemoryMount::new()));
    let tap = course.tap(memory.clone(), false);
    (course, Tapped::new(memory, vec![tap]))
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn made(mount: &Tapped, call: Call<'_>) -> Node {
    let mut calls = [call];
    mount.perform(&mut calls);
    calls[0].found().unwrap().node
}

fn seen(rounds: u64, chain: u64, busiest: u64) -> Seen {
    // Everything is made in one directory, and nothing was there before.
    Seen { rounds, chain, busiest, largest: busiest, ..Seen::default() }
}

#[test]
fn files_of_one_directory_are_one_chain_each_and_a_window_is_one_round() {
    let (course, mount) = watched();
    let dir = made(&mount, Call::mkdir(&mount.root(), &name("d"), AttrChange::default()));
    assert_eq!(course.seen(), seen(1, 1, 1));
    let names: Vec<Name> = (0..8).map(|i| name(&i.to_string())).collect();
    for names in names.chunks(4) {
        let create = |name| Call::create(&dir, name, How::Guarded, AttrChange::default());
        let mut calls: Vec<Call<'_>> = names.iter().map(create).collect();
        mount.perform(&mut calls);
        let nodes: Vec<Node> = calls.iter().map(|call| call.found().unwrap().node).collect();
        let write = |node| Call::write(node, 0, b"data", Stable::FileSync);
        let mut calls: Vec<Call<'_>> = nodes.iter().map(write).collect();
        mount.perform(&mut calls);
        let set = |node| Call::set_attr(node, AttrChange::default());
        let mut calls: Vec<Call<'_>> = nodes.iter().map(set).collect();
        mount.perform(&mut calls);
    }
    assert_eq!(course.seen(), seen(1 + 2 * 3, 4, 8));
    // The directory's own times come after the last CREATE in it, whatever became of the files.
    mount.perform(&mut [Call::set_attr(&dir, AttrChange::default())]);
    assert_eq!(course.seen(), seen(8, 4, 8));
}

#[test]
fn directories_get_their_attributes_upwards_one_after_the_other() {
    let (course, mount) = watched();
    let mut way = vec![mount.root()];
    for depth in 0..5 {
        let dir = &way[depth];
        // Files beside it are set while it is made.
        let file = made(&mount, Call::create(dir, &name("file"), How::Guarded, AttrChange::default()));
        mount.perform(&mut [Call::set_attr(&file, AttrChange::default())]);
        let below = made(&mount, Call::mkdir(dir, &name("dir"), AttrChange::default()));
        way.push(below);
    }
    assert_eq!(course.seen().chain, 6);
    way.iter().rev().for_each(|dir| mount.perform(&mut [Call::set_attr(dir, AttrChange::default())]));
    assert_eq!(course.seen().chain, 5 + 6);
    // So do those that were there before, and were looked up or listed.
    let mount: Arc<dyn Mount> = Arc::new(mount);
    for is_listed in [false, true] {
        let course = Arc::new(Course::default());
        let again = Tapped::new(mount.clone(), vec![course.tap(mount.clone(), false)]);
        for dir in &way[..5] {
            let listing = Call::read_dir(dir, Cookie::default(), Want::Attributes, 8192);
            again.perform(&mut [if is_listed { listing } else { Call::lookup(dir, &name("dir")) }]);
        }
        way[1..].iter().rev().for_each(|dir| again.perform(&mut [Call::set_attr(dir, AttrChange::default())]));
        assert_eq!(course.seen().chain, 5 + 5, "{is_listed}");
    }
}

#[test]
fn changes_of_one_directory_wait_at_its_lock_in_a_kernel_s_mount() {
    let (course, memory) = (Arc::new(Course::default()), Arc::new(MemoryMount::new()));
    let mount = Tapped::new(memory.clone(), vec![course.tap(memory, true)]);
    let mkdir = |at: &str| made(&mount, Call::mkdir(&mount.root(), &name(at), AttrChange::default()));
    let dirs = ["a", "b"].map(mkdir);
    // The second waits until the client knows the first: after 2, and ends after 3.
    assert_eq!((course.seen().chain, course.seen().locked), (1, 3));
    for at in 0..20 {
        let file = name(&at.to_string());
        let node = made(&mount, Call::create(&dirs[at % 2], &file, How::Guarded, AttrChange::default()));
        mount.perform(&mut [Call::set_attr(&node, AttrChange::default())]);
    }
    // Ten in each: those of b are made after 4 to 13, and then set.
    assert_eq!((course.seen().chain, course.seen().locked), (3, 14));
    // Nothing waits at a direct mount.
    let (course, mount) = watched();
    (0..9).for_each(|at| {
        made(&mount, Call::create(&mount.root(), &name(&at.to_string()), How::Guarded, AttrChange::default()));
    });
    assert_eq!((course.seen().chain, course.seen().locked), (1, 0));
}

#[test]
fn a_removal_waits_for_what_is_below_and_for_the_pages_before() {
    let (course, mount) = watched();
    let mut dir = mount.root();
    let mut way = vec![dir.clone()];
    for depth in 0..5 {
        dir = made(&mount, Call::mkdir(&dir, &name(&depth.to_string()), AttrChange::default()));
        way.push(dir.clone());
    }
    assert_eq!(course.seen().chain, 5);
    for depth in (0..5).rev() {
        mount.perform(&mut [Call::rmdir(&way[depth], &name(&depth.to_string()))]);
    }
    assert_eq!(course.seen(), Seen { largest: 1, ..seen(10, 10, 2) });
    let (course, mount) = watched();
    for i in 0..100 {
        made(&mount, Call::create(&mount.root(), &name(&i.to_string()), How::Guarded, AttrChange::default()));
    }
    let mut from = Cookie::default();
    let mut pages = 0;
    loop {
        let mut calls = [Call::read_dir(&mount.root(), from, Want::Names, 512)];
        mount.perform(&mut calls);
        pages += 1;
        let Op::ReadDir { out: Ok(page), .. } = &calls[0].op else { panic!("a page") };
        if page.end {
            break;
        }
        from = page.next;
    }
    assert!(pages > 3);
    assert_eq!(course.seen(), seen(100 + pages, pages, 100));
}

#[test]
fn names_are_removed_when_their_page_is_there_and_their_directory_when_they_are_gone() {
    let (course, mount) = watched();
    let dir = made(&mount, Call::mkdir(&mount.root(), &name("d"), AttrChange::default()));
    for i in 0..100 {
        made(&mount, Call::create(&dir, &name(&i.to_string()), How::Guarded, AttrChange::default()));
    }
    let (course_after, tapped) = (Arc::new(Course::default()), mount);
    let tap = course_after.tap(Arc::new(MemoryMount::new()), false);
    let again = Tapped::new(Arc::new(tapped), vec![tap]);
    again.perform(&mut [Call::lookup(&again.root(), &name("d"))]);
    let (mut from, mut pages) = (Cookie::default(), 0);
    loop {
        let mut calls = [Call::read_dir(&dir, from, Want::Names, 512)];
        again.perform(&mut calls);
        pages += 1;
        let Op::ReadDir { out: Ok(page), .. } = &calls[0].op else { panic!("a page") };
        if page.end {
            break;
        }
        from = page.next;
    }
    assert!(pages > 3 && course.seen().largest == 100);
    for i in 0..100 {
        again.perform(&mut [Call::remove(&dir, &name(&i.to_string()))]);
    }
    assert_eq!(course_after.seen().chain, 1 + pages + 1);
    again.perform(&mut [Call::rmdir(&again.root(), &name("d"))]);
    // Nothing is left, so nothing is too large.
    assert_eq!(course_after.seen(), Seen { largest: 0, ..seen(1 + pages + 100 + 1, 1 + pages + 2, 100) });
    // An empty one waits for its pages too.
    let (course, mount) = watched();
    let dir = made(&mount, Call::mkdir(&mount.root(), &name("d"), AttrChange::default()));
    mount.perform(&mut [Call::read_dir(&dir, Cookie::default(), Want::Names, 512)]);
    mount.perform(&mut [Call::rmdir(&mount.root(), &name("d"))]);
    assert_eq!(course.seen().chain, 3);
}

#[test]
fn a_move_within_a_directory_is_one_change_of_it_and_what_failed_is_none() {
    let (course, mount) = watched();
    let root = mount.root();
    made(&mount, Call::create(&root, &name("a"), How::Guarded, AttrChange::default()));
    mount.perform(&mut [Call::rename(&root, &name("a"), &root, &name("b"))]);
    assert_eq!((course.seen().busiest, course.seen().largest), (2, 1));
    mount.perform(&mut [Call::remove(&root, &name("a"))]);
    mount.perform(&mut [Call::rename(&root, &name("a"), &root, &name("c"))]);
    mount.perform(&mut [Call::create(&root, &name("b"), How::Guarded, AttrChange::default())]);
    assert_eq!((course.seen().busiest, course.seen().largest), (2, 1));
    let dir = made(&mount, Call::mkdir(&root, &name("d"), AttrChange::default()));
    mount.perform(&mut [Call::rename(&root, &name("b"), &dir, &name("b"))]);
    assert_eq!((course.seen().busiest, course.seen().largest), (4, 2));
    made(&mount, Call::create(&root, &name("e"), How::Guarded, AttrChange::default()));
    assert_eq!((course.seen().busiest, course.seen().largest), (5, 2));
}
