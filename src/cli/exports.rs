//! Exports that a command line names, each attached once, and what a URL leads to.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Once};

use crate::base::name::Shown;
use crate::base::{Name, Status};
use crate::mounts::nfs::{self, AttachError, GIDS_MAX, Host, NfsMount, Site, Url, Usage};
use crate::storage::{Attr, Call, Kind, Mount};

use super::console::Console;
use super::patience;

/// The mounts of one directory of an export, one for each target.
pub type Mounts = Vec<Arc<NfsMount>>;

/// Attached directories, each by the URL it was attached with and what was said to be done there.
#[derive(Default)]
pub struct Exports {
    attached: HashMap<Url, Vec<(Usage, Mounts)>>,
    /// By the URL without its path.
    sites: HashMap<Url, Site>,
    /// The same of URLs whose first host is asked alone.
    alone: HashSet<Url>,
    /// Where a long wait is told.
    console: Option<Arc<Console>>,
}

/// What a URL leads to.
pub enum Found {
    /// A directory.
    Dir(Mounts),
    /// Something else, by its directory and its name there.
    Other(Mounts, Name),
    /// A name that is free, in a directory that is there.
    Nothing(Mounts, Name),
}

/// The URL of the directory above, and the last name in it; none for the root.
pub fn above(url: &Url) -> Result<Option<(Url, Name)>, String> {
    let mut names = url.names().map_err(|error| error.to_string())?;
    let Some(last) = names.pop() else { return Ok(None) };
    let mut path: Vec<u8> = names.iter().flat_map(|name| [b"/", name.as_bytes()].concat()).collect();
    if path.is_empty() {
        path.push(b'/');
    }
    Ok(Some((Url { path, ..url.clone() }, last)))
}

/// The URL without its arguments.
fn shown(url: &Url) -> String {
    let hosts: Vec<String> = url.hosts.iter().map(Host::to_string).collect();
    format!("nfs://{}{}", hosts.join(","), Shown(&url.path))
}

fn cannot(url: &Url, error: &AttachError) -> String {
    format!("{}: Cannot mount: {error}", shown(url))
}

/// The mounts of the directory at `url`; one, of the first host, where what it removes is still shown by others. A server that refuses
/// connections or is silent is waited for as its mounts will be, which is told.
pub fn attach(console: Option<&Console>, url: &Url, usage: Usage) -> Result<Mounts, AttachError> {
    match telling(console, url, || nfs::attach(url, usage)) {
        Err(error @ AttachError::Remembers { .. }) => attach(console, &alone(console, url, &error), usage),
        attached => attached,
    }
}

/// The URL of its first host alone, which is told.
fn alone(console: Option<&Console>, url: &Url, error: &AttachError) -> Url {
    let hosts = url.hosts[..1].to_vec();
    if let Some(console) = console {
        console.message(format_args!(
            "{}: {error}; {} is used alone. Hosts that remember nothing share the work (nfs-ganesha: Attr_Expiration_Time = 0)",
            shown(url),
            hosts[0],
        ));
    }
    Url { hosts, ..url.clone() }
}

fn telling<T>(console: Option<&Console>, url: &Url, attach: impl FnOnce() -> T) -> T {
    /// Of a process it is the same for each export.
    static GROUPS_TOLD: Once = Once::new();
    if let (Some(console), Some(groups)) = (console, url.groups_untold()) {
        GROUPS_TOLD.call_once(|| {
            console.message(format_args!(
                "this user is in {groups} groups, and a server is told {GIDS_MAX} of them with each call (AUTH_SYS): what only \
                 the others may do, it may refuse; gids= in the URL says which it is told"
            ));
        });
    }
    let mut attached = None;
    let text = || format!("{}: waiting for an answer", shown(url));
    patience::told(console, patience::USUAL, text, || attached = Some(attach()));
    attached.expect("it was just done")
}

fn of_site(url: &Url) -> Url {
    Url { path: Vec::new(), ..url.clone() }
}

fn root_attr(mounts: &Mounts) -> Option<Attr> {
    let mount = mounts.first()?;
    let root = mount.root();
    let mut calls = [Call::get_attr(&root)];
    mount.perform(&mut calls);
    calls[0].attr().ok()
}

/// Is the name that of a symbolic link?
pub fn is_link(mounts: &Mounts, name: &Name) -> bool {
    kind(mounts, name) == Some(Kind::Symlink)
}

/// What has the name; none where nobody says so.
pub fn kind(mounts: &Mounts, name: &Name) -> Option<Kind> {
    let mount = mounts.first()?;
    let root = mount.root();
    let mut calls = [Call::lookup(&root, name)];
    mount.perform(&mut calls);
    let found = calls[0].found().ok()?;
    let mut calls = [Call::get_attr(&found.node)];
    let attr = found.attr.or_else(|| {
        mount.perform(&mut calls);
        calls[0].attr().ok()
    });
    attr.map(|attr| attr.kind)
}

impl Exports {
    /// None so far; long waits are told at the console.
    pub fn telling(console: Option<Arc<Console>>) -> Exports {
        Exports { console, ..Exports::default() }
    }

    /// The mounts of the directory at `url`; one, of the first host, where what it removes is still shown by others.
    pub fn attach(&mut self, url: &Url, usage: Usage) -> Result<Mounts, AttachError> {
        let is_such = |what: Usage| what == usage || what == Usage::Writes;
        let mut there = self.attached.get(url).into_iter().flatten().rev();
        if let Some((_, mounts)) = there.find(|(what, _)| is_such(*what)) {
            return Ok(mounts.clone());
        }
        // Known of one directory, it holds of the next.
        let hosts = if self.alone.contains(&of_site(url)) { 1 } else { url.hosts.len() };
        let mounts = self.mounts(&Url { hosts: url.hosts[..hosts].to_vec(), ..url.clone() }, usage)?;
        self.attached.entry(url.clone()).or_default().push((usage, mounts.clone()));
        Ok(mounts)
    }

    fn mounts(&mut self, url: &Url, usage: Usage) -> Result<Mounts, AttachError> {
        let site = self.sites.entry(of_site(url)).or_default();
        match telling(self.console.as_deref(), url, || site.attach(url, usage)) {
            Err(error @ AttachError::Remembers { .. }) => {
                self.alone.insert(of_site(url));
                self.mounts(&alone(self.console.as_deref(), url, &error), usage)
            }
            attached => attached,
        }
    }

    /// What is at `url`.
    pub fn find(&mut self, url: &Url, usage: Usage) -> Result<Found, String> {
        let error = match self.attach(url, usage) {
            Ok(mounts) => return Ok(Found::Dir(mounts)),
            Err(error) => error,
        };
        let is_there = match error {
            AttachError::NotADirectory { .. } => true,
            AttachError::Call { status: Status::NoEnt, .. } => false,
            _ => return Err(cannot(url, &error)),
        };
        let Some((parent, name)) = above(url)? else { return Err(cannot(url, &error)) };
        let mounts = self.attach(&parent, usage).map_err(|error| cannot(&parent, &error))?;
        Ok(if is_there { Found::Other(mounts, name) } else { Found::Nothing(mounts, name) })
    }

    /// The last name of the URL; none for the root of a server.
    pub fn name(&self, url: &Url) -> Result<Option<Name>, String> {
        Ok(above(url)?.map(|(_, name)| name))
    }

    /// True when the directory at `url`, attached as `mounts`, is the root of a file system: nothing above it is exported, or
    /// another file system is.
    pub fn is_fs_root(&mut self, url: &Url, mounts: &Mounts) -> Result<bool, String> {
        let Some((parent, _)) = above(url)? else { return Ok(true) };
        // One target can say so, and nothing has to be proved of the others.
        let parent = Url { hosts: parent.hosts[..1].to_vec(), nconnect: 1, ..parent };
        let Ok(parent) = attach(self.console.as_deref(), &parent, Usage::Reads) else { return Ok(true) };
        let fsid = |mounts: &Mounts| root_attr(mounts).map(|attr| attr.fsid);
        Ok(fsid(&parent).is_none() || fsid(&parent) != fsid(mounts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_above_a_url() {
        let of = |text: &str| {
            let above = above(&Url::parse(text).unwrap()).unwrap();
            above.map(|(url, name)| (String::from_utf8(url.path).unwrap(), name.to_string()))
        };
        assert_eq!(of("nfs://h/a/b/./c/"), Some(("/a/b".into(), "c".into())));
        assert_eq!(of("nfs://h/a"), Some(("/".into(), "a".into())));
        assert_eq!(of("nfs://h//"), None);
        assert!(above(&Url::parse("nfs://h/a/../b").unwrap()).unwrap_err().contains("'..' is not followed"));
    }
}
