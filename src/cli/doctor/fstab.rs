//! What /etc/fstab says of mounts of NFS (fstab(5)), and the line that it should have.
//!
//! It promises: any text gives a list; a line that is none is passed over. Left out: systemd's mount units and automount maps.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::mounts::local::peers::mountinfo::{Entry, plain, tidy};

use super::words::fstab_field;

/// Lines taken at most; a host has some ten.
const LINES_MAX: usize = 10_000;

/// One mount of NFS as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The server's name or address.
    pub host: String,
    /// The directory there.
    pub path: Vec<u8>,
    /// Where it is to be mounted.
    pub point: PathBuf,
    options: Vec<String>,
}

fn line(text: &[u8]) -> Option<Line> {
    let mut fields = text.split(|b| b" \t".contains(b)).filter(|field| !field.is_empty());
    let source = plain(fields.next().filter(|field| !field.starts_with(b"#"))?);
    let point = PathBuf::from(std::ffi::OsString::from_vec(tidy(&plain(fields.next()?))));
    fields.next().filter(|fs| matches!(*fs, b"nfs" | b"nfs4"))?;
    let options = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    let colon = source.windows(2).position(|two| two == b":/")?;
    let (host, path) = (String::from_utf8_lossy(&source[..colon]).into_owned(), tidy(&source[colon + 1..]));
    Some(Line { host, path, point, options: options.split(',').map(str::to_string).collect() })
}

/// The mounts of NFS in `text`.
pub fn parse(text: &[u8]) -> Vec<Line> {
    text.split(|&b| b == b'\n').filter_map(line).take(LINES_MAX).collect()
}

impl Line {
    /// The value that was typed for an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Options of the kernel's table that a new line need not repeat: what the kernel found out, what is the default, and what should go.
const DROPPED: [&str; 26] = [
    "relatime",
    "rsize",
    "wsize",
    "namlen",
    "timeo",
    "retrans",
    "mountaddr",
    "mountvers",
    "mountport",
    "mountproto",
    "addr",
    "clientaddr",
    "local_lock",
    "proto",
    "vers",
    "nconnect",
    "hard",
    "soft",
    "softerr",
    "sync",
    "noac",
    "acregmin",
    "acregmax",
    "acdirmin",
    "acdirmax",
    "lookupcache",
];

/// The line of /etc/fstab that mounts `entry` as OCI advises: no rsize or wsize, nconnect=16, hard, and what else was asked for.
/// OCI File Storage Performance Characteristics, v2.0, August 2023.
pub fn advised(entry: &Entry, version: &str) -> String {
    let all = entry.options.iter().flat_map(|options| options.split(','));
    let version = format!("vers={version}");
    let mut options = vec![version.as_str(), "proto=tcp", "hard", "nconnect=16"];
    for option in all {
        let name = option.split('=').next().unwrap_or_default();
        let is_default = matches!(option, "" | "rw" | "sec=sys" | "port=2049" | "port=0");
        if !is_default && !DROPPED.contains(&name) && !options.contains(&option) {
            options.push(option);
        }
    }
    let point = entry.point.as_os_str().as_encoded_bytes();
    format!("/etc/fstab: {} {} nfs {} 0 0", fstab_field(&entry.source), fstab_field(point), options.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::local::peers::mountinfo::Table;

    #[test]
    fn lines_of_nfs_are_read_and_others_passed_over() {
        let text = b"# comment\n\nUUID=1 / ext4 defaults 0 1\n10.0.0.5:/apps /mnt/a\\040b nfs vers=3,rsize=65536,nconnect=16 0 0\n\
            [fd00::1]:/x/ /mnt/x/ nfs4\nhost:/y /y nfs hard\nshort\nhost /z nfs rw\n\xff\xff\n";
        let all = parse(text);
        let shown: Vec<_> = all.iter().map(|l| (l.host.as_str(), &l.path[..], l.point.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [("10.0.0.5", &b"/apps"[..], "/mnt/a b"), ("[fd00::1]", b"/x", "/mnt/x"), ("host", b"/y", "/y")]
        );
        assert_eq!(
            (all[0].option("rsize"), all[0].option("nconnect"), all[0].option("size")),
            (Some("65536"), Some("16"), None)
        );
        assert!(all[1].option("rsize").is_none());
    }

    #[test]
    fn the_advised_line_keeps_what_was_asked_for() {
        let text =
            b"36 1 0:22 / /mnt/a\\040b rw,nosuid,relatime - nfs 10.0.1.2:/mnt/export ro,sync,vers=3,rsize=65536,soft,\
            nolock,nosharecache,proto=tcp,port=2049,timeo=50,sec=krb5,addr=10.0.1.2\n";
        let table = Table::parse(text);
        assert_eq!(
            advised(table.get(36).unwrap(), "3"),
            "/etc/fstab: 10.0.1.2:/mnt/export /mnt/a\\040b nfs vers=3,proto=tcp,hard,nconnect=16,nosuid,ro,nolock,nosharecache,\
             sec=krb5 0 0"
        );
    }
}
