//! Copies of whole trees, compared field by field: the nasty tree between all sorts of mounts, and trees that are edited
//! between runs of a sync. And the books: what is asked depends on the trees alone, and a shadow is asked the same.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeMap;
use std::sync::Arc;

use parfs::base::{PriceList, Proc};
use parfs::jobs::copy::{Options, Verify};
use parfs::mounts::{MemoryMount, ShadowMount};
use parfs::storage::{Cookie, Ledger, Mount, Node, Spread, Tally, Tapped, Volume, Want};

use crate::ask::Ask;
use crate::copies::{Ran, asked, assert_asked, crew, direct, local, run, sync, volume};
use crate::edits::Editor;
use crate::nasty::{Nasty, past, set_time};
use crate::tree::{assert_same, differences, dump, dump_dir, through_nfs};

fn small() -> Nasty {
    Nasty { sparse_bytes: 20 << 20, ..Nasty::SMALL }.allowed()
}

fn memory() -> Arc<dyn Mount> {
    Arc::new(MemoryMount::new())
}

fn one(mount: &Arc<dyn Mount>) -> Volume {
    volume(vec![mount.clone()])
}

/// The procedures that change something.
const CHANGING: [Proc; 13] = [
    Proc::SetAttr,
    Proc::Write,
    Proc::Create,
    Proc::MkDir,
    Proc::Symlink,
    Proc::MkNod,
    Proc::Remove,
    Proc::RmDir,
    Proc::Rename,
    Proc::Link,
    Proc::Copy,
    Proc::SetXattr,
    Proc::RemoveXattr,
];

fn assert_no_change(asked: &Tally, context: &str) {
    for proc in CHANGING {
        assert_eq!(asked.get(proc).calls, 0, "{context}: {proc}");
    }
}

/// Asks for all pages of all directories, as a sync does; what that takes.
fn listing(mount: &Arc<dyn Mount>) -> Tally {
    let ledger = Arc::new(Ledger::default());
    let tapped = Tapped::new(mount.clone(), vec![ledger.clone()]);
    let mut todo: Vec<Node> = vec![tapped.root()];
    while let Some(dir) = todo.pop() {
        let mut from = Cookie::default();
        loop {
            let page = tapped.read_dir(&dir, from, Want::Attributes, 64 << 10).unwrap();
            let dirs = page.entries.iter().filter(|e| e.attr.unwrap().kind == parfs::storage::Kind::Dir);
            todo.extend(dirs.map(|entry| entry.node.clone().unwrap()));
            if page.end {
                break;
            }
            from = page.next;
        }
    }
    ledger.tally()
}

/// Runs a sync that has nothing to do.
fn assert_settled(source: &Arc<dyn Mount>, target: &Arc<dyn Mount>, context: &str) {
    let (read, written, ran) = asked(source, target, &sync(), (8, 4));
    let ran = ran.clean();
    assert_eq!(ran.deeds, Vec::<String>::new(), "{context}");
    assert_no_change(&read, context);
    assert_no_change(&written, context);
}

#[test]
fn the_nasty_tree_from_directory_to_directory() {
    let ((from, source), (to, target)) = (local(), local());
    small().build(&*source);
    run(&one(&source), &one(&target), &sync(), &crew(8, 4)).clean();
    let expected = dump_dir(from.path());
    assert_same(&expected, &dump_dir(to.path()), "local to local");
    assert_settled(&source, &target, "local to local");
    let verify = Options { verify: Verify::Only, ..sync() };
    let ran = run(&one(&source), &one(&target), &verify, &crew(8, 4)).clean();
    assert_eq!(ran.summary.differences, 0, "{:?}", ran.deeds);
    assert_same(&expected, &dump_dir(to.path()), "and after a comparison");
}

/// As issue 3 has it: 100,000 links to 10,000 files, 5 GiB with holes, everything else.
#[test]
fn the_whole_nasty_tree_locally() {
    let ((from, source), (to, target)) = (local(), local());
    Nasty::FULL.allowed().build(&*source);
    let ran = run(&one(&source), &one(&target), &sync(), &crew(8, 4)).clean();
    assert_eq!(ran.summary.passes, 1);
    assert_same(&dump_dir(from.path()), &dump_dir(to.path()), "local to local");
}

#[test]
fn the_whole_nasty_tree_from_memory_to_memory() {
    let (source, target) = (memory(), memory());
    Nasty::FULL.allowed().build(&*source);
    run(&one(&source), &one(&target), &sync(), &crew(8, 4)).clean();
    assert_same(&dump(&*source), &dump(&*target), "memory to memory");
}

/// To NFS, where the source's holes are asked for, so that 15 GiB of them are not read.
#[test]
fn the_whole_nasty_tree_through_nfs() {
    let ((from, source), target) = (local(), memory());
    Nasty::FULL.allowed().build(&*source);
    let (_server, views) = direct(target.clone(), 2);
    run(&one(&source), &volume(views), &sync(), &crew(8, 4)).clean();
    assert_same(&through_nfs(dump_dir(from.path())), &dump(&*target), "local to NFS");
}

#[test]
fn the_nasty_tree_through_nfs_and_back() {
    let (from, source) = local();
    small().build(&*source);
    let expected = through_nfs(dump_dir(from.path()));
    let (dir, served) = local();
    for (name, served) in [("memory", memory()), ("a directory", served)] {
        let (_server, views) = direct(served.clone(), 2);
        let middle = volume(views);
        run(&one(&source), &middle, &sync(), &crew(8, 4)).clean();
        assert_same(&expected, &dump(&middle), &format!("to NFS over {name}"));
        let (back, target) = local();
        run(&middle, &one(&target), &sync(), &crew(8, 4)).clean();
        assert_same(&expected, &dump_dir(back.path()), &format!("from NFS over {name}"));
        // What nfstime3 cannot say is as equal as it can be.
        for (source, target) in [(one(&source), &middle), (one(&target), &middle)] {
            let ran = run(&source, target, &sync(), &crew(8, 4)).clean();
            assert_eq!(ran.deeds, Vec::<String>::new(), "once more to NFS over {name}");
        }
    }
    drop(dir);
}

#[test]
fn the_nasty_tree_over_several_targets() {
    let source = memory();
    small().build(&*source);
    for targets in 1..=3 {
        let target = memory();
        let ((_from, from), (_to, to)) = (direct(source.clone(), targets), direct(target.clone(), targets));
        // To attach several targets takes a file for a moment, which the root's time shows.
        let expected = dump(&*source);
        run(&volume(from), &volume(to), &sync(), &crew(8, 4)).clean();
        assert_same(&through_nfs(expected), &dump(&*target), &format!("{targets} targets"));
    }
}

/// A sync after random edits gives the source's tree, and after it there is nothing to do.
fn synced(seed: u64, source: &Arc<dyn Mount>, target: &Arc<dyn Mount>, options: &Options) {
    let mut editor = Editor::new(seed);
    editor.plant(&**source, 50);
    let before = || -> Ran { run(&one(source), &one(target), options, &crew(4, 4)) };
    before().clean();
    assert_same(&dump(&**source), &dump(&**target), &format!("seed {seed}, the first run"));
    for round in 0..4 {
        editor.edit(&**source, 12);
        before().clean();
        let context = format!("seed {seed}, round {round}");
        assert_same(&dump(&**source), &dump(&**target), &context);
        assert_settled(source, target, &context);
    }
}

#[test]
fn edits_are_synced_in_memory() {
    for seed in 0..12 {
        synced(seed, &memory(), &memory(), &sync());
    }
}

#[test]
fn edits_are_synced_with_temporary_names() {
    for seed in 20..26 {
        synced(seed, &memory(), &memory(), &Options { atomic: true, ..sync() });
    }
}

#[test]
fn edits_are_synced_between_directories() {
    for seed in 40..44 {
        let ((_from, source), (_to, target)) = (local(), local());
        synced(seed, &source, &target, &sync());
    }
}

/// A node of a directory is a name: once the file is renamed, its other names are made from the new one.
#[test]
fn links_are_made_of_what_had_a_temporary_name() {
    let ((from, source), (to, target)) = (local(), local());
    let node = source.file(&source.root(), "a", b"shared");
    for i in 0..20 {
        source.link(&node, &source.root(), format!("b{i}")).unwrap();
    }
    run(&one(&source), &one(&target), &Options { atomic: true, ..sync() }, &crew(1, 1)).clean();
    assert_same(&dump_dir(from.path()), &dump_dir(to.path()), "21 names");
}

#[test]
fn edits_are_synced_with_temporary_names_between_directories() {
    for seed in 45..48 {
        let ((_from, source), (_to, target)) = (local(), local());
        synced(seed, &source, &target, &Options { atomic: true, ..sync() });
    }
}

#[test]
fn edits_are_synced_when_names_are_looked_up_one_by_one() {
    for seed in 60..64 {
        synced(seed, &memory(), &memory(), &Options { join_max: 3, ..sync() });
    }
}

#[test]
fn edits_are_synced_when_few_links_are_remembered() {
    for seed in 80..84 {
        synced(seed, &memory(), &memory(), &Options { links_max: 2, ..sync() });
    }
}

/// The trees that `build` makes differ in their links alone; each is synced onto each. Names that are one file at the source are one
/// at the target; as with rsync, names whose size and time are equal may stay one file that are several at the source.
#[test]
fn what_is_linked_at_the_source_is_linked_at_the_target() {
    let build = |groups: &[&[&str]]| {
        let mount = memory();
        let dir = mount.dir(&mount.root(), "d");
        for group in groups {
            let node = mount.file(&dir, group[0], b"the same");
            for name in &group[1..] {
                mount.link(&node, &dir, name).unwrap();
            }
            set_time(&*mount, &node, past(1));
        }
        set_time(&*mount, &dir, past(2));
        set_time(&*mount, &mount.root(), past(3));
        mount
    };
    let groupings: [&[&[&str]]; 6] = [
        &[&["a", "b"], &["c", "e"]],
        &[&["a", "c"], &["b", "e"]],
        &[&["a", "e", "b", "c"]],
        &[&["a"], &["b"], &["c"], &["e"]],
        &[&["a"], &["b", "c", "e"]],
        &[&["b", "a"], &["c"], &["e"]],
    ];
    let mut wrong = Vec::new();
    for (i, from) in groupings.iter().enumerate() {
        for (j, to) in groupings.iter().enumerate() {
            let (source, target) = (build(from), build(to));
            let ran = run(&one(&source), &one(&target), &sync(), &crew(1, 1)).clean();
            let (want, is) = (dump(&*source), dump(&*target));
            let found = differences(&want, &is);
            let content = found.iter().any(|line| !line.contains(": nlink: ") && !line.contains(": first: "));
            let apart = want.iter().any(|(path, object)| {
                let first = &object.first;
                !first.is_empty() && is[path].first != is[first].first
            });
            if content || apart {
                wrong.push(format!("{i} onto {j}: {found:?} after {:?}", ran.deeds));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One name of a linked file at the source becomes a file of its own: the others at the target must not get its data.
#[test]
fn a_broken_link_leaves_the_other_names_alone() {
    for atomic in [false, true] {
        let (source, target) = (memory(), memory());
        let root = source.root();
        let node = source.file(&root, "a", b"shared");
        source.link(&node, &root, "b").unwrap();
        set_time(&*source, &node, past(1));
        let options = Options { atomic, ..sync() };
        run(&one(&source), &one(&target), &options, &crew(1, 1)).clean();
        source.remove(&root, "b").unwrap();
        let own = source.file(&root, "b", b"its own content");
        set_time(&*source, &own, past(2));
        run(&one(&source), &one(&target), &options, &crew(1, 1)).clean();
        assert_same(&dump(&*source), &dump(&*target), &format!("atomic: {atomic}"));
    }
}

#[test]
fn what_is_equal_costs_the_listings_alone() {
    let (source, target) = (memory(), memory());
    for mount in [&source] {
        for i in 0..40 {
            let dir = mount.dir(&mount.root(), format!("d{i}"));
            for j in 0..50 {
                mount.file(&dir, format!("{j}"), b"x");
            }
        }
    }
    run(&one(&source), &one(&target), &sync(), &crew(8, 4)).clean();
    let listings = (listing(&source), listing(&target));
    let (read, written, ran) = asked(&source, &target, &sync(), (8, 4));
    assert_eq!(ran.clean().summary.unchanged, 2000 + 40 + 1, "files, directories, the root");
    let price = |tally: Tally| tally.price(&PriceList::oci());
    let beyond = (price(read) + price(written)).saturating_sub(price(listings.0) + price(listings.1));
    assert!(beyond * 5 < 2000, "{beyond} IOPS beyond the listings:\n{read:?}\n{written:?}");
    for (asked, listing) in [(read, listings.0), (written, listings.1)] {
        assert_eq!(asked.get(Proc::ReadDirPlus), listing.get(Proc::ReadDirPlus));
        // Extended attributes are asked for name by name; that NFSv3 has none spares it there.
        let beyond: Vec<_> = (asked - listing).iter().filter(|(proc, _)| proc.is_nfs3()).collect();
        assert!(beyond.iter().map(|(_, count)| count.calls).sum::<u64>() <= 2, "{beyond:?}");
    }
}

/// Trees of which a copy has something to do of every sort.
fn pair(editor: Editor) -> (Arc<dyn Mount>, Arc<dyn Mount>) {
    let (source, target) = (memory(), memory());
    let mut editor = editor;
    editor.plant(&*source, 60);
    run(&one(&source), &one(&target), &sync(), &crew(1, 1)).clean();
    editor.edit(&*source, 30);
    (source, target)
}

#[test]
fn law_1_asked_does_not_depend_on_lanes_window_or_spread() {
    for seed in [1, 2, 3] {
        for fresh in [false, true] {
            let mut first: Option<(Tally, Tally, Vec<String>)> = None;
            for (lanes, window, views) in [(1, 1, 1), (1, 4, 1), (4, 1, 2), (8, 4, 3), (32, 4, 1)] {
                // Which name of a file is met first depends on the order, and so does what there is to do for it.
                let (source, target) = pair(Editor::new(seed).without_links());
                let target = if fresh { memory() } else { target };
                let (from, read) = views_of(&source, views);
                let (to, written) = views_of(&target, views);
                let spread = if views == 3 { Spread::LeastLoaded } else { Spread::RoundRobin };
                let ran = run(&Volume::new(from, spread), &Volume::new(to, spread), &sync(), &crew(lanes, window));
                let said = (read.tally(), written.tally(), ran.clean().deeds);
                let first = first.get_or_insert_with(|| said.clone());
                let context = format!("seed {seed}, {lanes} lanes, window {window}, {views} views, fresh: {fresh}");
                assert_asked(first.0, said.0, &format!("{context}, source"));
                assert_asked(first.1, said.1, &format!("{context}, target"));
                assert_same(&dump(&*source), &dump(&*target), &context);
            }
        }
    }
}

fn views_of(mount: &Arc<dyn Mount>, views: usize) -> (Vec<Arc<dyn Mount>>, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::default());
    let view = || Arc::new(Tapped::new(mount.clone(), vec![ledger.clone()])) as Arc<dyn Mount>;
    ((0..views).map(|_| view()).collect(), ledger)
}

/// Through the shadow, and the shadow's own issue against the real mount's.
#[test]
fn laws_2_and_3_a_dry_run_asks_and_does_what_the_run_does() {
    for seed in [5, 6, 7] {
        for options in [sync(), Options { atomic: true, ..sync() }, Options { verify: Verify::Written, ..sync() }] {
            for fresh in [false, true] {
                let (source, target) = pair(Editor::new(seed).without_links());
                let target = if fresh { memory() } else { target };
                let before = dump(&*target);
                let shadows = [&source, &target].map(|mount| Arc::new(ShadowMount::new(mount.clone())));
                let [from, to] = shadows.clone().map(|shadow| shadow as Arc<dyn Mount>);
                let (read, written, plan) = asked(&from, &to, &options, (1, 4));
                let context =
                    format!("seed {seed}, atomic {}, verify {:?}, fresh: {fresh}", options.atomic, options.verify);
                assert_same(&before, &dump(&*target), &context);
                let issued = [&source, &target].map(|mount| mount.issued().unwrap());
                let (really_read, really_written, ran) = asked(&source, &target, &options, (1, 4));
                assert_asked(really_read, read, &format!("{context}, source"));
                assert_asked(really_written, written, &format!("{context}, target"));
                // Which name of a file is made and which are linked to it depends on the order.
                let any = |deeds: Vec<String>| deeds.iter().map(|deed| deed.replace("Linked ", "Made ")).collect();
                let (plan, ran) = (any(plan.clean().deeds), any(ran.clean().deeds));
                let differ = |a: &Vec<String>, b: &Vec<String>| -> Vec<String> {
                    a.iter().filter(|deed| !b.contains(deed)).cloned().collect()
                };
                assert_eq!((differ(&plan, &ran), differ(&ran, &plan)), (vec![], vec![]), "{context}");
                for ((shadow, real), before) in shadows.iter().zip([&source, &target]).zip(issued) {
                    assert_asked(real.issued().unwrap() - before, shadow.issued().unwrap(), &context);
                }
            }
        }
    }
}

#[test]
fn law_3_and_4_what_is_asked_is_issued_and_served() {
    let (source, target) = pair(Editor::new(8));
    let ((one_server, from), (other_server, to)) = (direct(source.clone(), 1), direct(target.clone(), 2));
    let clients = [from.clone(), to.clone()];
    let issued = |views: &[Arc<dyn Mount>]| views.iter().map(|view| view.issued().unwrap()).sum::<Tally>();
    let before = [issued(&clients[0]), issued(&clients[1])];
    let served = |server: &parfs::sim::Server| -> BTreeMap<&str, u64> {
        let mut served = BTreeMap::new();
        for target in server.report().targets {
            for (name, count) in target.procedures {
                *served.entry(name).or_insert(0) += count.calls;
            }
        }
        served
    };
    let served_before = [served(&one_server), served(&other_server)];
    let tap = |views: Vec<Arc<dyn Mount>>| -> (Vec<Arc<dyn Mount>>, Arc<Ledger>) {
        let ledger = Arc::new(Ledger::default());
        let taps = |view| Arc::new(Tapped::new(view, vec![ledger.clone()])) as Arc<dyn Mount>;
        (views.into_iter().map(taps).collect(), ledger)
    };
    let ((from, read), (to, written)) = (tap(from), tap(to));
    run(&volume(from), &volume(to), &sync(), &crew(8, 4)).clean();
    for (i, asked) in [read.tally(), written.tally()].into_iter().enumerate() {
        assert_asked(asked, issued(&clients[i]) - before[i], &format!("side {i}"));
    }
    for (i, server) in [one_server, other_server].iter().enumerate() {
        let mut served = served(server);
        for (name, count) in &served_before[i] {
            *served.get_mut(name).unwrap() -= count;
        }
        served.retain(|_, count| *count > 0);
        let issued = issued(&clients[i]) - before[i];
        assert_eq!(served, issued.iter().map(|(proc, count)| (proc.name(), count.calls)).collect(), "side {i}");
    }
    assert_same(&dump(&*source), &dump(&*target), "through the wire");
}

/// Between directories, where holes are asked for, the kernel copies, and attributes are extended.
#[test]
fn law_2_holds_between_directories() {
    for (seed, reflink, atomic) in [(15, true, false), (16, false, false), (17, true, true)] {
        for fresh in [true, false] {
            let ((_from, source), (_to, target)) = (local(), local());
            let options = Options { reflink, atomic, ..sync() };
            let mut editor = Editor::new(seed).without_links();
            editor.plant(&*source, 60);
            if !fresh {
                run(&one(&source), &one(&target), &sync(), &crew(1, 1)).clean();
                editor.edit(&*source, 30);
            }
            let before = dump(&*target);
            let [from, to] =
                [&source, &target].map(|mount| Arc::new(ShadowMount::new(mount.clone())) as Arc<dyn Mount>);
            let (read, written, plan) = asked(&from, &to, &options, (4, 4));
            plan.clean();
            let context = format!("seed {seed}, reflink {reflink}, atomic {atomic}, fresh: {fresh}");
            assert_same(&before, &dump(&*target), &context);
            let (really_read, really_written, ran) = asked(&source, &target, &options, (4, 4));
            ran.clean();
            assert_asked(really_read, read, &format!("{context}, source"));
            assert_asked(really_written, written, &format!("{context}, target"));
            assert_same(&dump(&*source), &dump(&*target), &context);
        }
    }
}
