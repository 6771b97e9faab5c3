//! The options of a mount of NFS as they were asked for (nfs(5)), and the one change in them that a finding is about.
//!
//! It promises: of what was typed in /etc/fstab nothing is lost but what is changed; of a mount that is not there, what the kernel
//! found out by itself is no wish. Left out: what an option is good for, which the checks know.

use crate::mounts::local::peers::mountinfo::{Entry, plain};

use super::fstab::Line;
use super::nfs::IO_BYTES_MAX;
use super::words::{fstab_field, shell};

/// Options of the kernel's table that nobody asked for: what it found out, or shows and does not take.
const FOUND_OUT: [&str; 9] =
    ["relatime", "seclabel", "namlen", "addr", "clientaddr", "mountaddr", "mountvers", "mountport", "mountproto"];

/// Options that say the version (nfs(5)).
const VERSIONS: [&str; 8] = ["vers", "nfsvers", "v2", "v3", "v4", "v4.0", "v4.1", "v4.2"];

/// Options that only a line of /etc/fstab has use for (mount(8), systemd.mount(5)), besides those that begin with `x-`.
const OF_BOOT: [&str; 7] = ["defaults", "auto", "noauto", "nofail", "_netdev", "bg", "comment"];

/// Options, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options(Vec<String>);

fn name(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}

/// The version that a mount speaks: `3`, `4.1`.
pub fn version(entry: &Entry) -> &str {
    entry.option("vers").unwrap_or(if entry.fs == "nfs4" { "4" } else { "3" })
}

/// The kernel shows it of a mount for which it was not asked for.
fn is_default(entry: &Entry, option: &str) -> bool {
    let is_udp = entry.option("proto").is_some_and(|proto| proto.starts_with("udp"));
    match (name(option), option) {
        (_, "" | "rw" | "sec=sys" | "port=2049" | "port=0" | "local_lock=none" | "xprtsec=none") => true,
        // nfs(5); of UDP as the kernel has them (NFS_DEF_UDP_TIMEO, NFS_DEF_UDP_RETRANS).
        ("timeo" | "retrans", _) if is_udp => matches!(option, "timeo=11" | "retrans=3"),
        ("timeo" | "retrans", _) => matches!(option, "timeo=600" | "retrans=2"),
        // What client and server agree on where nothing is asked for.
        ("rsize" | "wsize", _) => {
            entry.option(name(option)).and_then(|bytes| bytes.parse().ok()).is_none_or(|n: u64| n >= IO_BYTES_MAX)
        }
        // noac brings these along.
        ("sync", _) => entry.has("noac"),
        (_, "acregmin=0" | "acregmax=0" | "acdirmin=0" | "acdirmax=0") => entry.has("noac"),
        _ => false,
    }
}

/// What the kernel's table says was asked for.
fn recorded(entry: &Entry) -> Vec<String> {
    let mut options = vec![format!("vers={}", version(entry))];
    for option in entry.options.iter().flat_map(|options| options.split(',')) {
        let is_wish = !FOUND_OUT.contains(&name(option)) && !is_default(entry, option);
        let option = String::from_utf8_lossy(&plain(option.as_bytes())).into_owned();
        if is_wish && !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

impl Options {
    /// Those of a mount: as they were typed, or as the kernel shows them where /etc/fstab does not have it.
    pub fn of(entry: &Entry, typed: Option<&Line>) -> Options {
        Options(typed.map_or_else(|| recorded(entry), |line| line.options().to_vec()))
    }

    /// Without those of these names.
    pub fn without(mut self, names: &[&str]) -> Options {
        self.0.retain(|option| !names.contains(&name(option)));
        self
    }

    /// With this one, in the place of that of its name.
    pub fn with(mut self, option: &str) -> Options {
        let at = self.0.iter().position(|other| name(other) == name(option)).unwrap_or(self.0.len());
        self = self.without(&[name(option)]);
        self.0.insert(at.min(self.0.len()), option.to_string());
        self
    }

    /// With what keeps others out of `entry` and is not among them: it was mounted by hand, or /etc/fstab changed since.
    pub fn guarded(mut self, entry: &Entry) -> Options {
        for option in entry.options.iter().flat_map(|options| options.split(',')) {
            let is_guard = matches!(option, "ro" | "nosuid" | "nodev" | "noexec");
            let is_flavor = name(option) == "sec" && option != "sec=sys";
            if (is_guard || is_flavor) && !self.0.iter().any(|other| name(other) == name(option)) {
                self.0.push(option.to_string());
            }
        }
        self
    }

    /// Of this version of NFS.
    pub fn version(self, version: &str) -> Options {
        let mut options = self.without(&VERSIONS);
        if !version.starts_with('4') {
            options = options.without(&["minorversion", "clientaddr"]);
        }
        options.0.insert(0, format!("vers={version}"));
        options
    }

    /// Over TCP what goes over UDP, of the same family of addresses. Times that were chosen for datagrams are left out: over TCP they
    /// would break connections.
    pub fn over_tcp(self) -> Options {
        let mut options = self.without(&["timeo", "retrans"]);
        for option in &mut options.0 {
            match option.as_str() {
                "udp" | "udp6" | "proto=udp" | "proto=udp6" => *option = option.replace("udp", "tcp"),
                _ => {}
            }
        }
        if !options.0.iter().any(|option| matches!(name(option), "proto" | "tcp" | "tcp6" | "rdma")) {
            options.0.push("proto=tcp".into());
        }
        options
    }

    fn text(&self) -> String {
        if self.0.is_empty() { "defaults".into() } else { self.0.join(",") }
    }

    /// The line of /etc/fstab that mounts `entry` with them; what was typed keeps its source and type.
    pub fn line(&self, entry: &Entry, typed: Option<&Line>) -> String {
        let source = typed.map_or(&entry.source, |line| &line.source);
        let is_older = self.0.iter().any(|option| option.strip_prefix("vers=").is_some_and(|v| !v.starts_with('4')));
        let fs = typed.filter(|_| !is_older).map_or("nfs", |line| &line.fs);
        let options = self.text();
        let fields = [source, entry.point.as_os_str().as_encoded_bytes(), fs.as_bytes(), options.as_bytes()];
        format!("/etc/fstab: {} 0 0", fields.map(fstab_field).join(" "))
    }

    /// The command that mounts `source` with them.
    pub fn command(&self, source: &[u8], point: &[u8]) -> String {
        let is_of_boot = |option: &&String| OF_BOOT.contains(&name(option)) || option.starts_with("x-");
        let options = Options(self.0.iter().filter(|option| !is_of_boot(option)).cloned().collect());
        format!("mount -t nfs -o {} {} {}", shell(options.text().as_bytes()), shell(source), shell(point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::fstab;
    use crate::mounts::local::peers::mountinfo::Table;

    fn entry(options: &str) -> Entry {
        let line = format!("36 1 0:22 / /mnt/a\\040b rw,nosuid,relatime - nfs 10.0.1.2:/mnt/export {options}\n");
        Table::parse(line.as_bytes()).get(36).unwrap().clone()
    }

    fn typed(options: &str) -> Line {
        fstab::parse(format!("10.0.1.2:/mnt/export /mnt/a\\040b nfs4 {options} 0 0\n").as_bytes()).remove(0)
    }

    #[test]
    fn what_the_kernel_shows_is_what_was_asked_for() {
        let of = |options: &str| Options::of(&entry(options), None).text();
        let shown = "ro,sync,vers=3,rsize=65536,wsize=1048576,namlen=255,soft,nolock,nosharecache,proto=rdma,port=20049,timeo=50,\
            retrans=2,sec=krb5,mountport=2048,local_lock=all,lookupcache=pos,acregmax=1,addr=10.0.1.2";
        assert_eq!(
            of(shown),
            "vers=3,nosuid,ro,sync,rsize=65536,soft,nolock,nosharecache,proto=rdma,port=20049,timeo=50,sec=krb5,local_lock=all,\
             lookupcache=pos,acregmax=1"
        );
        assert_eq!(of("rw,sync,vers=4.1,noac,acregmin=0,acdirmax=0,proto=tcp6"), "vers=4.1,nosuid,noac,proto=tcp6");
        assert_eq!(of("rw,proto=udp,timeo=11,retrans=2"), "vers=3,nosuid,proto=udp,retrans=2");
    }

    #[test]
    fn only_what_is_to_change_changes() {
        let line = typed("_netdev,nofail,x-systemd.automount,bg,mountport=2048,rsize=8192,soft,udp6,timeo=14,v4.1");
        let entry = entry("rw,vers=3,proto=tcp");
        let options = || Options::of(&entry, Some(&line));
        assert_eq!(
            options().without(&["rsize", "wsize"]).line(&entry, Some(&line)),
            "/etc/fstab: 10.0.1.2:/mnt/export /mnt/a\\040b nfs4 _netdev,nofail,x-systemd.automount,bg,mountport=2048,soft,udp6,\
             timeo=14,v4.1 0 0"
        );
        assert_eq!(
            options().version("3").over_tcp().line(&entry, Some(&line)),
            "/etc/fstab: 10.0.1.2:/mnt/export /mnt/a\\040b nfs vers=3,_netdev,nofail,x-systemd.automount,bg,mountport=2048,\
             rsize=8192,soft,tcp6 0 0"
        );
        assert_eq!(
            options().with("nconnect=16").with("rsize=4096").without(&["timeo"]).command(b"[fd00::1]:/x", b"/m"),
            "mount -t nfs -o mountport=2048,rsize=4096,soft,udp6,v4.1,nconnect=16 '[fd00::1]:/x' /m"
        );
        assert_eq!(options().guarded(&entry).text(), options().text() + ",nosuid");
        assert_eq!(Options(vec!["soft".into()]).without(&["soft"]).text(), "defaults");
    }
}
