//! What /etc/fstab says of mounts of NFS (fstab(5)), and which other mount points it has.
//!
//! It promises: any text gives a list; a line that is none is passed over. Left out: systemd's mount units and automount maps.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::mounts::local::peers::mountinfo::{plain, tidy};

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
    /// The server and the directory as they were typed.
    pub source: Vec<u8>,
    /// `nfs` or `nfs4`.
    pub fs: String,
    options: Vec<String>,
}

/// The source, the mount point, and the fields behind them.
fn fields(text: &[u8]) -> Option<(Vec<u8>, PathBuf, impl Iterator<Item = &[u8]>)> {
    let mut fields = text.split(|b| b" \t".contains(b)).filter(|field| !field.is_empty());
    let source = plain(fields.next().filter(|field| !field.starts_with(b"#"))?);
    let point = PathBuf::from(std::ffi::OsString::from_vec(tidy(&plain(fields.next()?))));
    Some((source, point, fields))
}

fn line(text: &[u8]) -> Option<Line> {
    let (source, point, mut fields) = fields(text)?;
    let fs = fields.next().filter(|fs| matches!(*fs, b"nfs" | b"nfs4"))?;
    let fs = String::from_utf8_lossy(fs).into_owned();
    let options = String::from_utf8_lossy(&plain(fields.next().unwrap_or_default())).into_owned();
    let options = options.split(',').filter(|option| !option.is_empty()).map(str::to_string).collect();
    let colon = source.windows(2).position(|two| two == b":/")?;
    let (host, path) = (String::from_utf8_lossy(&source[..colon]).into_owned(), tidy(&source[colon + 1..]));
    Some(Line { host, path, point, source, fs, options })
}

/// All mount points in `text`, of whatever type: `mount POINT` finds what these are.
pub fn points(text: &[u8]) -> Vec<PathBuf> {
    text.split(|&b| b == b'\n').filter_map(|line| Some(fields(line)?.1)).take(LINES_MAX).collect()
}

/// The mounts of NFS in `text`.
pub fn parse(text: &[u8]) -> Vec<Line> {
    text.split(|&b| b == b'\n').filter_map(line).take(LINES_MAX).collect()
}

impl Line {
    /// All options, as they were typed.
    pub fn options(&self) -> &[String] {
        &self.options
    }

    /// The value that was typed for an option, the last time.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_nfs_are_read_and_others_passed_over() {
        let text = b"# comment\n\nUUID=1 / ext4 defaults 0 1\n10.0.0.5:/apps /mnt/a\\040b nfs vers=3,rsize=1024,rsize=65536,nconnect=16 0 0\n\
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
        assert_eq!(
            (&all[1].source[..], all[1].fs.as_str(), all[1].options()),
            (&b"[fd00::1]:/x/"[..], "nfs4", &[][..])
        );
        let found: Vec<_> = points(text).into_iter().map(|point| point.into_os_string()).collect();
        assert_eq!(found, ["/", "/mnt/a b", "/mnt/x", "/y", "/z"]);
    }
}
