//! Where a job's calls go: a volume, in windows.

use crate::base::{Name, Proc, Status};
use crate::storage::{Attr, Call, Node, Route, Volume};

/// A volume and how many independent calls a lane has in flight to it.
#[derive(Clone, Copy)]
pub(super) struct Port<'a> {
    pub volume: &'a Volume,
    pub window: usize,
}

impl<'a> Port<'a> {
    pub fn new(volume: &'a Volume, window: usize) -> Port<'a> {
        Port { volume, window: window.max(1) }
    }

    /// The mount for calls that belong together.
    pub fn route(&self) -> Route {
        self.volume.route()
    }

    /// Carries out calls in windows through one mount.
    pub fn perform(&self, route: Route, calls: &mut [Call<'_>]) {
        for window in calls.chunks_mut(self.window) {
            self.volume.perform_on(route, window);
        }
    }

    /// Carries out one call.
    pub fn one<'c>(&self, route: Route, call: Call<'c>) -> Call<'c> {
        let mut calls = [call];
        self.volume.perform_on(route, &mut calls);
        let [call] = calls;
        call
    }

    /// Looks a name up.
    pub fn look_up(&self, route: Route, dir: &Node, name: &Name) -> Result<(Node, Attr), (Proc, Status)> {
        self.found(route, &self.one(route, Call::lookup(dir, name)))
    }

    /// The object and attributes that a LOOKUP found; asks for the attributes where it gave none.
    pub fn found(&self, route: Route, lookup: &Call<'_>) -> Result<(Node, Attr), (Proc, Status)> {
        let found = lookup.found().map_err(|s| (lookup.proc(), s))?;
        let attr = match found.attr {
            Some(attr) => attr,
            None => self.one(route, Call::get_attr(&found.node)).attr().map_err(|s| (Proc::GetAttr, s))?,
        };
        Ok((found.node, attr))
    }
}
