//! `parfs load`'s inside: fio's language, its numbers and its output, for loads on one or many mount targets.
//!
//! Promises: the same seeds give the same offsets and the same data on every machine. Only `engine` makes calls: what is measured is the
//! system call itself, so the kernel's engines make it themselves, and the NFS engine through `storage`.
//! Leaves out: the process (argv, streams, exit status), which is the command line's.

pub(crate) mod arithmetic;
pub(crate) mod beyond;
pub(crate) mod commandline;
pub(crate) mod compare;
pub(crate) mod content;
pub(crate) mod depth;
pub(crate) mod distribution;
pub mod engine;
pub(crate) mod general;
pub(crate) mod histogram;
pub(crate) mod iolog;
pub(crate) mod job;
pub(crate) mod jobfile;
pub(crate) mod offsets;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod pace;
pub(crate) mod pattern;
pub(crate) mod random;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod scale;
pub mod settings;
pub(crate) mod steady;
pub(crate) mod timeline;
pub(crate) mod value;
pub(crate) mod verify;

/// What an I/O does: fio's data directions, in the order in which it lists and numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Direction {
    Read,
    Write,
    Trim,
}

impl Direction {
    /// All, in fio's order.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// As JSON keys and log files name it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// One of something for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Each<T> {
    pub read: T,
    pub write: T,
    pub trim: T,
}

impl<T> Each<T> {
    /// `make` for each direction, in order.
    pub fn of(mut make: impl FnMut(Direction) -> T) -> Each<T> {
        Each { read: make(Direction::Read), write: make(Direction::Write), trim: make(Direction::Trim) }
    }

    /// The three, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL.into_iter().map(|direction| (direction, &self[direction]))
    }
}

impl<T> std::ops::Index<Direction> for Each<T> {
    type Output = T;

    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl<T> std::ops::IndexMut<Direction> for Each<T> {
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }
}
