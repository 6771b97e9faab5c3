//! What a kernel's client knows of a file by one of its names, and so does not ask for by another: for counts (`lower`) alone, nothing is
//! answered from it.
//!
//! What a lane asks for while another's question is under way it asks as well; so it is counted where a rehearsal's time is followed. Bounded:
//! of what was forgotten it is counted that it is asked for again. Left out: what the client drops for want of memory.

use std::sync::{Mutex, PoisonError};

use crate::base::{Memo, Status};
use crate::storage::{Beyond, Call, Chain, Entry, Errand, Kind, Node, Op};

/// Files remembered of each sort at least; some 40 bytes each.
const FILES_MAX: usize = 16_384;

/// A file with several names: the numbers of the chains by which it was first opened, and by which the client has got its data; 0: none.
#[derive(Clone, Copy, Default)]
struct Named {
    opened: u64,
    read: u64,
}

struct Memory {
    /// By file id, as listings told them.
    named: Memo<Named>,
    /// By file the first link to it that could not be made.
    in_vain: Memo<u64>,
}

/// What one mount's client knows.
pub(super) struct Remembered(Mutex<Memory>);

impl Default for Remembered {
    fn default() -> Remembered {
        Remembered(Mutex::new(Memory { named: Memo::new(FILES_MAX), in_vain: Memo::new(FILES_MAX) }))
    }
}

/// The file id of a listed file that has several names.
fn named(entry: &Entry) -> Option<u64> {
    entry.attr.filter(|attr| attr.kind == Kind::File && attr.nlink > 1)?;
    match &entry.node {
        Some(Node::Chain(chain)) => chain.met_as(),
        _ => None,
    }
}

impl Remembered {
    /// Does the client have in memory what this call asks for: a file's data, or whether the file may get a name more? Each time the same, so
    /// that a call can be counted before and after it.
    pub fn spares(&self, call: &Call<'_>) -> bool {
        match &call.op {
            Op::ReadDir { out: Ok(page), .. } => {
                page.entries.iter().filter_map(named).for_each(|file| {
                    self.with(|memory| *memory.named.renew(file, Named::default));
                });
                false
            }
            Op::Read { node: Node::Chain(chain), offset: 0, out, .. } => self.open(chain, out.is_ok(), |named| {
                let is_held = named.read != 0 && named.read != chain.id;
                if *out == Ok(true) && !is_held {
                    named.read = chain.id;
                }
                is_held
            }),
            Op::Beyond(Beyond::IoAdvise { node: Node::Chain(chain), out }) => self.open(chain, out.is_ok(), |named| {
                named.read = 0;
                false
            }),
            // The answer brought what the file is, which has not changed: whether it may is known from here on.
            Op::Link { node, dir, name, out: Err(Status::Exist) } => {
                let (file, link) = (node.key(), dir.key_of(name));
                self.with(|memory| *memory.in_vain.renew(file, || link) != link)
            }
            _ => false,
        }
    }

    /// Notes that a file is opened, if it has several names; what the client remembers of those that were opened before is not asked.
    fn open(&self, chain: &Chain, is_done: bool, used: impl FnOnce(&mut Named) -> bool) -> bool {
        let Some(file) = chain.met_as() else { return false };
        self.with(|memory| {
            let Some(named) = memory.named.get_mut(file) else { return false };
            if named.opened != 0 && named.opened != chain.id {
                chain.is_first_asked(Errand::Named);
            } else if is_done {
                named.opened = chain.id;
            }
            used(named)
        })
    }

    fn with<R>(&self, what: impl FnOnce(&mut Memory) -> R) -> R {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Name;
    use crate::storage::{Attr, Cookie, Page, Want};

    use super::super::convert::attr;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).unwrap()
    }

    /// A listing of files by name and file id, each with this many names; and their nodes.
    fn listed(files: &[(&str, u64)], nlink: u32) -> (Call<'static>, Vec<Node>) {
        let root = Node::root_chain(0);
        let Node::Chain(dir) = &root else { unreachable!() };
        let any = attr(&rustix::fs::stat(".").unwrap());
        let entry = |&(text, fileid): &(&str, u64)| {
            let node = Node::child(dir, name(text));
            let Node::Chain(chain) = &node else { unreachable!() };
            chain.note_met(fileid);
            let attr = Attr { kind: Kind::File, nlink, fileid, ..any };
            Entry { name: name(text), fileid, kind: Some(Kind::File), attr: Some(attr), node: Some(node), position: 0 }
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        let nodes = entries.iter().filter_map(|entry| entry.node.clone()).collect();
        let mut call = Call::read_dir(&root, Cookie::default(), Want::Attributes, 4096);
        if let Op::ReadDir { out, .. } = &mut call.op {
            *out = Ok(Page { above: None, entries, next: Cookie::default(), end: true });
        }
        (call, nodes)
    }

    fn is_first_asked(node: &Node, by: Errand) -> bool {
        let Node::Chain(chain) = node else { unreachable!() };
        chain.is_first_asked(by)
    }

    fn read(node: &Node, done: bool) -> Call<'static> {
        let mut call = Call::read(node, 0, 9, Vec::new());
        if let (Op::Read { out, .. }, true) = (&mut call.op, done) {
            *out = Ok(true);
        }
        call
    }

    fn advised(node: &Node) -> Call<'static> {
        let mut call = Call::io_advise(node);
        if let Op::Beyond(Beyond::IoAdvise { out, .. }) = &mut call.op {
            *out = Ok(());
        }
        call
    }

    #[test]
    fn a_file_is_read_and_asked_about_by_the_first_of_its_names() {
        let known = Remembered::default();
        let (list, nodes) = listed(&[("f", 7), ("g", 7), ("h", 7), ("other", 8)], 3);
        assert!(!known.spares(&list));
        let [f, g, h, other] = &nodes[..] else { unreachable!() };
        // Before and after it is the same call.
        assert!(!known.spares(&read(f, false)) && is_first_asked(f, Errand::Read));
        // Another lane asks as well: it has no answer yet.
        assert!(!known.spares(&read(g, false)) && is_first_asked(g, Errand::Read));
        for _ in 0..2 {
            assert!(!known.spares(&read(f, true)) && is_first_asked(f, Errand::Read));
        }
        assert!(known.spares(&read(g, true)) && is_first_asked(g, Errand::Read));
        for done in [false, true] {
            assert!(known.spares(&read(h, done)) && !is_first_asked(h, Errand::Read));
        }
        assert!(!known.spares(&read(other, true)) && is_first_asked(other, Errand::Read));
        // What the client was told to forget is read again, by whichever name.
        assert!(!known.spares(&advised(g)) && !known.spares(&read(h, true)) && known.spares(&read(f, true)));
    }

    #[test]
    fn files_of_one_name_are_each_asked_about() {
        let known = Remembered::default();
        let (list, nodes) = listed(&[("f", 7), ("g", 7)], 1);
        known.spares(&list);
        assert!(nodes.iter().all(|node| !known.spares(&read(node, true)) && is_first_asked(node, Errand::Read)));
    }

    #[test]
    fn of_links_in_vain_to_a_file_the_first_asks_whether_it_may_have_them() {
        let (known, dir) = (Remembered::default(), Node::root_chain(0));
        let link = |file: &Node, text: &str, status| {
            let mut call = Call::link(file, &dir, &name(text));
            call.fail(status);
            known.spares(&call)
        };
        let (_, nodes) = listed(&[("f", 7), ("g", 8)], 1);
        for _ in 0..2 {
            assert!(!link(&nodes[0], "a", Status::Exist));
            assert!(link(&nodes[0], "b", Status::Exist));
        }
        assert!(!link(&nodes[1], "c", Status::Exist) && !link(&nodes[0], "b", Status::NoSpc));
    }
}
