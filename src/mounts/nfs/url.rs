//! `nfs://host[:port][,host2[:port2]...]/export/dir?uid=&gid=&...`: where a volume is and how to drive it.
//! Argument names are libnfs's where it has them. Unknown arguments are errors.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use thiserror::Error;

use crate::base::Name;
use crate::base::name::BadName;
use crate::base::units::parse_bytes;

/// One mount target as written: host and, where given, its NFS port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// A name or an address.
    pub name: String,
    /// The port after the host; none means "as the portmapper says".
    pub port: Option<u16>,
}

impl fmt::Display for Host {
    /// As it is written in a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = self.name.contains(':');
        let (open, close) = if bracketed { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// A parsed NFS URL. Times and sizes have their defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Url {
    /// The targets, at least one; all serve the same export.
    pub hosts: Vec<Host>,
    /// The export and the directory in it, with a leading slash.
    pub path: Vec<u8>,
    /// AUTH_SYS user; none means the process's.
    pub uid: Option<u32>,
    /// AUTH_SYS group; none means the process's.
    pub gid: Option<u32>,
    /// Supplementary groups, at most 16 (RFC 5531, appendix A).
    pub gids: Option<Vec<u32>>,
    /// NFS port for hosts without one.
    pub nfsport: Option<u16>,
    /// MOUNT port; none means the host's explicit NFS port, or as the portmapper says.
    pub mountport: Option<u16>,
    /// Connections to each target.
    pub nconnect: usize,
    /// Upper bound of READ sizes in bytes; the server's limit applies too.
    pub rsize: u32,
    /// Upper bound of WRITE sizes in bytes; the server's limit applies too.
    pub wsize: u32,
    /// How long a reply may take before the connection is made anew (`timeo`, tenths of a second in the URL, as in nfs(5)).
    pub reply_timeout: Duration,
    /// How often one call is sent again before it fails (`retrans`).
    pub retrans: u32,
    /// How long a target may stay away before it is left out (`away`, seconds).
    pub away_max: Duration,
}

/// Why a text is not an NFS URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum UrlError {
    #[error("'{0}' does not begin with nfs://")]
    Scheme(String),
    #[error("'{0}' names no export path; write nfs://host/export")]
    NoPath(String),
    #[error("the path of a URL: '..' is not followed; write the path without it")]
    Up,
    #[error("the path of a URL: {0}")]
    Name(BadName),
    #[error("'{0}' is not a host[:port]")]
    Host(String),
    #[error(
        "argument '{0}' is not known; known are uid, gid, gids, nfsport, mountport, nconnect, rsize, wsize, timeo, retrans, away, version"
    )]
    UnknownArgument(String),
    #[error("argument {0}={1} is not {2}")]
    BadArgument(String, String, &'static str),
    #[error("host '{0}' has no address: {1}")]
    Resolve(String, String),
}

/// How long silence is borne, as (timeo, away). A volume of several targets can go on without one, so it asks soon; with one
/// target a failover of the server is worth waiting for. 60 s is nfs(5)'s timeo for TCP.
const PATIENCE_ALONE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(300));
const PATIENCE_TOGETHER: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(30));

/// Groups beside the first that AUTH_SYS carries (RFC 5531, appendix A).
pub const GIDS_MAX: usize = 16;
/// Connections to each target unless `nconnect=` says otherwise. Two keep metadata off a bulk WRITE's connection;
/// more did not raise rates in the project's measurements of pipelined connections.
const NCONNECT: usize = 2;
/// The most that Linux's nconnect takes as well.
const NCONNECT_MAX: usize = 16;
/// NFSv3 over TCP works best with 1 MiB; servers that advertise more (nfs-ganesha: 64 MiB) gain nothing by it.
const IO_BYTES_MAX: u32 = 1 << 20;

impl Url {
    /// Parses `text`; see the module's first line for the form.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        let rest = text.strip_prefix("nfs://").ok_or_else(|| UrlError::Scheme(text.into()))?;
        let (place, arguments) = rest.split_once('?').unwrap_or((rest, ""));
        let slash = place.find('/').ok_or_else(|| UrlError::NoPath(text.into()))?;
        let (hosts, path) = place.split_at(slash);
        let hosts: Vec<Host> = hosts.split(',').map(parse_host).collect::<Result<_, _>>()?;
        let (reply_timeout, away_max) = if hosts.len() == 1 { PATIENCE_ALONE } else { PATIENCE_TOGETHER };
        let mut url = Url {
            hosts,
            path: percent_decoded(path),
            uid: None,
            gid: None,
            gids: None,
            nfsport: None,
            mountport: None,
            nconnect: NCONNECT,
            rsize: IO_BYTES_MAX,
            wsize: IO_BYTES_MAX,
            reply_timeout,
            retrans: 8,
            away_max,
        };
        for argument in arguments.split('&').filter(|a| !a.is_empty()) {
            let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
            url.set(key, value)?;
        }
        Ok(url)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), UrlError> {
        let bad = |what| UrlError::BadArgument(key.into(), value.into(), what);
        let number = |what| value.parse::<u32>().map_err(|_| bad(what));
        match key {
            "uid" => self.uid = Some(number("a user id")?),
            "gid" => self.gid = Some(number("a group id")?),
            "gids" => {
                let gids: Result<Vec<u32>, _> = value.split(',').map(str::parse).collect();
                let gids = gids.map_err(|_| bad("a list of group ids such as 10,20"))?;
                if gids.len() > GIDS_MAX {
                    return Err(bad("at most 16 groups, which is all that AUTH_SYS carries"));
                }
                self.gids = Some(gids);
            }
            // As in nfs(5), 0 is the one that the portmapper tells.
            "nfsport" => self.nfsport = Some(value.parse().map_err(|_| bad("a port"))?).filter(|port| *port != 0),
            "mountport" => self.mountport = Some(value.parse().map_err(|_| bad("a port"))?).filter(|port| *port != 0),
            "nconnect" => {
                self.nconnect = number("a number of connections")? as usize;
                if !(1..=NCONNECT_MAX).contains(&self.nconnect) {
                    return Err(bad("between 1 and 16"));
                }
            }
            "rsize" => self.rsize = io_size(value).ok_or_else(|| bad("a size from 4k to 1M"))?,
            "wsize" => self.wsize = io_size(value).ok_or_else(|| bad("a size from 4k to 1M"))?,
            "timeo" => {
                let tenths = number("tenths of a second")?;
                if tenths == 0 {
                    return Err(bad("at least 1, tenths of a second"));
                }
                self.reply_timeout = Duration::from_millis(u64::from(tenths) * 100);
            }
            "retrans" => self.retrans = number("a number of tries")?,
            "away" => self.away_max = Duration::from_secs(u64::from(number("a number of seconds")?)),
            "version" if value == "3" => {}
            "version" => return Err(bad("3, the only version spoken")),
            _ => return Err(UrlError::UnknownArgument(key.into())),
        }
        Ok(())
    }

    /// The names of its path.
    pub fn names(&self) -> Result<Vec<Name>, UrlError> {
        let parts = self.path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".");
        let name =
            |part: &[u8]| if part == b".." { Err(UrlError::Up) } else { Name::new(part).map_err(UrlError::Name) };
        parts.map(name).collect()
    }

    /// The addresses of one of the URL's hosts, at least one, in the order to be tried in, with the interfaces of link-local ones and
    /// no ports.
    pub fn addresses(&self, host: &Host) -> Result<Vec<SocketAddr>, UrlError> {
        let failed = |e: String| UrlError::Resolve(host.name.clone(), e);
        let found = (host.name.as_str(), 0).to_socket_addrs().map_err(|e| failed(e.to_string()))?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() { Err(failed("none found".into())) } else { Ok(found) }
    }

    /// Do both name one host, by its name or an address? What does not resolve is only itself.
    pub fn shares_host(&self, other: &Url) -> bool {
        let addresses = |url: &Url| -> Vec<(SocketAddr, Option<u16>)> {
            let of = |host: &Host| {
                let port = host.port.or(url.nfsport);
                url.addresses(host).into_iter().flatten().map(move |address| (address, port))
            };
            url.hosts.iter().flat_map(of).collect()
        };
        let are_one = |(ours, port): &(SocketAddr, Option<u16>), (theirs, other): &(SocketAddr, Option<u16>)| {
            ours == theirs && (port == other || port.is_none() || other.is_none())
        };
        // No name is looked up where that is not needed.
        self.hosts.iter().any(|host| other.hosts.contains(host)) || {
            let theirs = addresses(other);
            addresses(self).iter().any(|ours| theirs.iter().any(|theirs| are_one(ours, theirs)))
        }
    }
}

fn io_size(value: &str) -> Option<u32> {
    let bytes = u32::try_from(parse_bytes(value).ok()?).ok()?;
    (4096..=IO_BYTES_MAX).contains(&bytes).then_some(bytes)
}

fn parse_host(text: &str) -> Result<Host, UrlError> {
    let bad = || UrlError::Host(text.into());
    let (name, port) = match text.strip_prefix('[') {
        Some(v6) => {
            let (name, after) = v6.split_once(']').ok_or_else(bad)?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(bad)?) };
            (name, port)
        }
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() {
        return Err(bad());
    }
    let port = port.map(|p| p.parse().ok().filter(|port| *port != 0).ok_or_else(bad)).transpose()?;
    Ok(Host { name: name.into(), port })
}

/// `%41` to `A`; a percent sign that no two hex digits follow stands for itself.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|pair| first == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        let value = pair.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        out.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_reads_as_it_is_written() {
        for text in ["nas", "10.0.0.5:2049", "[::1]", "[fe80::1]:2050"] {
            assert_eq!(parse_host(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_interface_of_a_link_local_address_is_kept() {
        let url = Url::parse("nfs://[fe80::1%lo],[::1],127.0.0.1:2050/e").unwrap();
        let addresses: Vec<_> = url.hosts.iter().map(|host| url.addresses(host).unwrap()[0]).collect();
        let SocketAddr::V6(local) = addresses[0] else { panic!("{addresses:?}") };
        assert_eq!(local.scope_id(), 1, "lo is the first interface of a host");
        assert_eq!(addresses[1], "[::1]:0".parse().unwrap());
        assert_eq!(addresses[2], "127.0.0.1:0".parse().unwrap());
    }

    #[test]
    fn hosts_ports_and_arguments() {
        let url =
            Url::parse("nfs://10.0.0.1,10.0.0.2:2050,[::1]:99/fss/a%20b?uid=7&gids=1,2&wsize=64k&timeo=5&nconnect=4")
                .unwrap();
        let host = |name: &str, port| Host { name: name.into(), port };
        assert_eq!(url.hosts, [host("10.0.0.1", None), host("10.0.0.2", Some(2050)), host("::1", Some(99))]);
        assert_eq!(url.path, b"/fss/a b");
        assert_eq!((url.uid, url.gid, url.gids), (Some(7), None, Some(vec![1, 2])));
        assert_eq!((url.wsize, url.nconnect, url.reply_timeout), (65536, 4, Duration::from_millis(500)));
        assert_eq!(url.away_max, PATIENCE_TOGETHER.1);
        assert_eq!(Url::parse("nfs://h/e").unwrap().reply_timeout, PATIENCE_ALONE.0);
        let asks = Url::parse("nfs://h/e?nfsport=0&mountport=0").unwrap();
        assert_eq!((asks.nfsport, asks.mountport), (None, None));
    }

    #[test]
    fn wrong_urls_are_named() {
        for (text, part) in [
            ("/mnt", "nfs://"),
            ("nfs://host", "export path"),
            ("nfs:///x", "host"),
            ("nfs://h:x/e", "host"),
            ("nfs://h:0/e", "host"),
            ("nfs://h/e?colour=red", "colour"),
            ("nfs://h/e?uid=me", "uid=me"),
            ("nfs://h/e?wsize=1", "wsize=1"),
            ("nfs://h/e?nconnect=0", "nconnect=0"),
            ("nfs://h/e?version=4", "version=4"),
            ("nfs://h/e?timeo=0", "at least 1"),
            ("nfs://[::1/e", "host"),
            ("nfs://[::1]2049/e", "host"),
            ("nfs://[::1]:/e", "host"),
        ] {
            let message = Url::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert_eq!(Url::parse("nfs://h/100%?").unwrap().path, b"/100%");
        let names = |text: &str| Url::parse(text).unwrap().names().map(|names| names.len());
        assert_eq!(names("nfs://h/e/..x/./.../x..//"), Ok(4));
        for text in ["nfs://h/e/../x", "nfs://h/%2e%2e?uid=1"] {
            assert!(names(text).unwrap_err().to_string().contains("'..' is not followed"), "{text}");
        }
        assert!(matches!(names("nfs://h/%00"), Err(UrlError::Name(_))));
    }
}
