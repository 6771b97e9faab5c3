//! On which files a job works: names, directories, numbers, sizes, and how they are made.
//!
//! Promises: x_targets= stands for directory= or nfs_url=, never beside them.
//! Leaves out: the names of one clone's files, and what is there already.

use super::super::distribution;
use super::super::job::BadJob;
use super::super::options::Value;
use super::super::value;
use super::asked::Asked;
use super::{Advice, Allocate, FileName, Files, Search, Service};

/// Where clones work: directories of the host, or URLs.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) directories: Vec<String>,
    pub(super) urls: Vec<String>,
}

const URL: &str = "nfs://";

/// What `engine` works on.
pub(super) fn targets(asked: &Asked<'_>, engine: &str) -> Result<Targets, BadJob> {
    let mut targets = Targets { directories: asked.names("directory"), urls: Vec::new() };
    let takes_urls = super::how::takes_urls(engine);
    // A global nfs_url= may stand above a job with another engine; fio gives such a job none.
    if let Some(text) = asked.text("nfs_url").filter(|_| takes_urls) {
        targets.urls = urls(&text).map_err(|reason| asked.bad("nfs_url", reason))?;
    }
    let Some(text) = asked.text("x_targets") else { return Ok(targets) };
    if text.contains(URL) {
        if !takes_urls {
            return Err(asked.together(format!(
                "fio: x_targets={text} has URLs, which ioengine={engine} does not reach; use ioengine=nfs, or mount them"
            )));
        }
        if !targets.urls.is_empty() {
            return Err(asked.together("fio: x_targets and nfs_url are mutually exclusive"));
        }
        targets.urls = urls(&text).map_err(|reason| asked.bad("x_targets", reason))?;
    } else {
        if engine == "nfs" {
            return Err(asked.bad("x_targets", format!("ioengine=nfs needs URLs that begin with {URL}")));
        }
        if !targets.directories.is_empty() {
            return Err(asked.together("fio: x_targets and directory are mutually exclusive"));
        }
        targets.directories = value::names(&text);
    }
    Ok(targets)
}

/// `nfs://a/x nfs://b/x`, `nfs://a/x,nfs://b/x`: entries between blanks, or commas ahead of the next URL. A comma elsewhere is a URL's own:
/// `nfs://a,b/x` is one entry with two hosts.
fn urls(text: &str) -> Result<Vec<String>, String> {
    let spaced = text.replace(&format!(",{URL}"), &format!(" {URL}"));
    let entries: Vec<String> = spaced
        .split_whitespace()
        .map(|entry| entry.trim_matches(',').to_owned())
        .filter(|entry| !entry.is_empty())
        .collect();
    let is_url = |entry: &str| entry.strip_prefix(URL).is_some_and(|rest| rest.find('/').unwrap_or(rest.len()) > 0);
    match entries.iter().find(|entry| !is_url(entry)) {
        Some(wrong) => Err(format!("'{wrong}' is not {URL}HOST/PATH")),
        None if entries.is_empty() => Err("there is no URL".into()),
        None => Ok(entries),
    }
}

/// What filename= and opendir= name together.
struct Named {
    names: Vec<FileName>,
    search: Option<Search>,
    /// How many of all of them the job works on, if not on all.
    used: Option<u32>,
}

/// As in fio (measured with 3.33): names of a global section and of the job's are all used, the same name also twice, each in the directory
/// of a directory= ahead of it; an nrfiles= behind them is how many of those ahead of it are used, and one ahead of them is of generated
/// names alone. `all_in` is where all of them are, whatever stands where.
fn named(asked: &Asked<'_>, all_in: Option<&String>) -> Named {
    let (mut names, mut search, mut used, mut directory) = (Vec::new(), None, None::<u32>, all_in);
    for given in asked.job.all() {
        match (given.spec.name, &given.value) {
            ("directory", Value::Names(list)) if all_in.is_none() => directory = list.first(),
            ("filename", Value::Names(more)) => {
                used = used.map(|used| used.saturating_add(u32::try_from(more.len()).unwrap_or(u32::MAX)));
                names.extend(more.iter().map(|name| FileName { directory: directory.cloned(), name: name.clone() }));
            }
            ("opendir", Value::Text(dir)) => {
                used = None;
                search =
                    Some(Search { dir: dir.clone(), directory: directory.cloned(), ahead: names.len(), used: None });
            }
            ("nrfiles", Value::Int(count)) if search.is_some() || !names.is_empty() => {
                used = u32::try_from(*count).ok()
            }
            _ => {}
        }
    }
    if let Some(search) = &mut search {
        search.used = used;
    } else if let Some(used) = used {
        names.truncate(used as usize);
    }
    Named { names, search, used }
}

pub(super) fn files(asked: &mut Asked<'_>, directories: Vec<String>) -> Result<Files, BadJob> {
    let has_targets = asked.has("x_targets");
    let Named { names, search, used } = named(asked, directories.first().filter(|_| has_targets));
    // In a directory it is a file's name, as in fio.
    if names.iter().any(|file| file.directory.is_none() && file.name == "-") {
        return Err(asked
            .refused("filename", "standard input and output are streams without offsets; name a file (./- is one)"));
    }
    if let Some(file) = names.iter().find(|file| file.directory.as_ref() != directories.first()) {
        let place = file.directory.as_deref().unwrap_or("no directory");
        asked.note(format!(
            "fio: filename={} stands ahead of directory={}: as in fio that file is in {place}",
            file.name, directories[0]
        ));
    } else if !names.is_empty() && directories.len() > 1 {
        let option = if has_targets { "x_targets" } else { "directory" };
        asked.note(format!(
            "fio: filename is given, so that all files are in {}; other entries of {option} are for generated names",
            directories[0]
        ));
    }
    let count = match (names.len(), asked.count("nrfiles")) {
        (_, Some(0)) if used == Some(0) || names.is_empty() => return Err(asked.bad("nrfiles", "a job without files")),
        (0, count) => count.unwrap_or(1),
        (count, _) => u32::try_from(count).unwrap_or(u32::MAX),
    };
    let size = match asked.value("filesize") {
        Some(Value::BytesRange((0, 0))) | None => None,
        Some(Value::BytesRange((0, _))) => return Err(asked.bad("filesize", "the smallest file has 0 bytes")),
        Some(Value::BytesRange(range)) => Some(range),
        Some(_) => None,
    };
    if search.is_some() && (asked.has("nfs_url") || asked.text("x_targets").is_some_and(|text| text.contains(URL))) {
        return Err(asked.refused("opendir", "an export is not searched for files; name them with filename="));
    }
    let pre_read = asked.is("pre_read");
    Ok(Files {
        count,
        open_max: asked.count("openfiles").filter(|open| (1..=count).contains(open)).unwrap_or(count),
        size,
        service: service(asked)?,
        names,
        search,
        directories,
        format: asked.text("filename_format").unwrap_or_default(),
        create_fsync: asked.is("create_fsync"),
        create_on_open: asked.is("create_on_open"),
        create_only: asked.is("create_only"),
        allow_create: asked.is("allow_file_create"),
        overwrite: asked.is("overwrite"),
        append: asked.is("file_append"),
        pre_read,
        // What was read first is to be found in the cache, as in fio.
        invalidate: asked.is("invalidate") && !pre_read,
        unlink: asked.is("unlink"),
        unlink_each_loop: asked.is("unlink_each_loop"),
        allocate: match asked.word("fallocate") {
            "none" | "0" => Allocate::None,
            "posix" | "1" => Allocate::Posix,
            "keep" => Allocate::Keep,
            "truncate" => Allocate::Truncate,
            _ => Allocate::Native,
        },
        advice: match asked.word("fadvise_hint") {
            "0" => Advice::None,
            "random" => Advice::Random,
            "sequential" => Advice::Sequential,
            "noreuse" => Advice::NoReuse,
            _ => Advice::ByLoad,
        },
    })
}

/// file_service_type=: behind the colon a number of I/Os, or the distribution's number.
fn service(asked: &Asked<'_>) -> Result<(Service, u64), BadJob> {
    let (word, more) = asked.choice("file_service_type");
    let plain = match word {
        "roundrobin" => Service::RoundRobin,
        "sequential" => Service::Sequential,
        "random" => Service::Random,
        _ => {
            let word = if word == "gauss" { "normal" } else { word };
            let base = super::super::job::base(asked.job.all());
            let each = distribution::parse(word, more.as_deref(), base);
            return match each {
                Ok(each) => Ok((Service::By(each.read), 1)),
                Err(error) => Err(asked.bad("file_service_type", error.0)),
            };
        }
    };
    match more.as_deref().map(|more| (more, more.trim().parse())) {
        None => Ok((plain, 1)),
        Some((_, Ok(ios))) if ios > 0 => Ok((plain, ios)),
        Some((more, _)) => Err(asked.bad("file_service_type", format!("'{more}' is not a number of I/Os, 1 or more"))),
    }
}
