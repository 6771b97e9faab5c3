//! The tasks of a copy.

use std::sync::Arc;

use crate::base::{Name, Status};
use crate::crew::{Class, Due};
use crate::storage::{Attr, Entry, Node};

use super::TRIES_MAX;
use super::big::Big;
use super::dir::Dir;
use super::links::Key;
use super::whole::Files;

/// What is known of a name at the target.
#[derive(Clone, Debug)]
pub(super) enum At {
    Absent,
    Present(Option<Node>, Attr),
    /// It has to be looked up.
    Ask,
}

impl At {
    /// What a listing says of a name.
    pub fn of(entry: Option<Entry>) -> At {
        match entry {
            None => At::Absent,
            Some(Entry { node, attr: Some(attr), .. }) => At::Present(node, attr),
            Some(_) => At::Ask,
        }
    }
}

/// An object of the source that is no directory, as far as is known.
#[derive(Debug)]
pub(super) struct Object {
    pub dir: Arc<Dir>,
    pub name: Name,
    /// Its node and attributes; none: to be looked up.
    pub source: Option<(Node, Attr)>,
    pub at: At,
    /// It is the first name of a multiply linked file.
    pub first: Option<Key>,
    /// How often it was begun anew: it changed while it was read, or something kept coming in its way.
    pub tries: u8,
    /// Reading it was begun: that it is gone is told.
    pub begun: bool,
    /// Its bytes were compared and differ. Of a comparison: something that differs in it was told.
    pub differs: bool,
    /// What is there cannot be written into: it is removed first.
    pub unlink: bool,
    /// The storage has refused to copy it whole.
    pub refused: bool,
    /// Its name was not at the target, and then it was.
    pub appeared: bool,
    /// The copy is of this object alone; the directory stands for the source's object itself.
    pub single: bool,
}

/// An object in a box, so that tasks stay small.
pub(super) type Held = Box<Object>;

impl Object {
    /// An object met in a listing, or by name.
    pub fn new(dir: &Arc<Dir>, name: Name, source: Option<(Node, Attr)>, at: At) -> Box<Object> {
        Box::new(Object {
            dir: dir.clone(),
            name,
            source,
            at,
            first: None,
            tries: 0,
            begun: false,
            differs: false,
            unlink: false,
            refused: false,
            appeared: false,
            single: false,
        })
    }

    /// Says `status`, which a call to the source has ended with, that it is not what was listed any more, so that its LOOKUP has to say what it
    /// is? A link that is switched has become another one or a file, and on this host something else may be opened by its name by now.
    pub fn is_to_be_looked_up(&self, status: Status) -> bool {
        use Status::{BadType, Inval, IsDir, Loop, NoEnt, NotDir, NxIo, Stale};
        let is_another = matches!(status, NoEnt | Stale | Inval | IsDir | NotDir | Loop | NxIo | BadType);
        is_another && usize::from(self.tries) < TRIES_MAX
    }

    /// Was it told what differs in it but the content, before a comparison began it anew?
    pub fn was_told(&self) -> bool {
        self.differs && self.tries > 0
    }

    /// The same once more, with nothing known of it.
    pub fn again(mut self: Box<Object>) -> Task {
        (self.source, self.at) = (None, At::Ask);
        self.tries += 1;
        Task::Object(self)
    }
}

/// One piece of work.
pub(super) enum Task {
    /// Make or find a directory, and begin to list it.
    Enter(Arc<Dir>),
    /// List on.
    List(Arc<Dir>),
    /// Take more names from the list that was given.
    Feed,
    Object(Box<Object>),
    /// Copy files that are new at the target.
    Files(Files),
    /// Carry ranges of a large file.
    Carry(Arc<Big>),
    /// Nothing is open in a directory any more.
    Finish(Arc<Dir>),
    /// Something is to be removed from the target.
    Remove(super::delete::Removal),
}

impl Task {
    /// The target's directory that an object is made in.
    pub fn place(&self) -> Option<u64> {
        match self {
            Task::Object(object) => Some(Arc::as_ptr(&object.dir).addr() as u64),
            _ => None,
        }
    }

    /// The task with its place in the agenda.
    pub fn due(self) -> Due<Task> {
        let (class, depth) = match &self {
            Task::Enter(dir) | Task::List(dir) => (Class::List, dir.depth()),
            Task::Feed => (Class::List, 0),
            Task::Object(object) => (Class::Work, object.dir.depth() + 1),
            Task::Files(files) => (Class::Work, files.depth()),
            // Before what is at its depth: they hold memory and a place among the open files.
            Task::Carry(big) => (Class::Work, big.depth() + 2),
            Task::Finish(dir) => (Class::Work, dir.depth() + 1),
            Task::Remove(removal) => removal.place(),
        };
        Due { class, depth, task: self }
    }
}
