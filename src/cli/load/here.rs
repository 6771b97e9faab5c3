//! What a job's options name on this host: logs that are replayed, patterns in files, directories of files, nodes of processors.
//!
//! Promises: what is not there or is not what it should be ends the run before any I/O, with its name.
//! Leaves out: what the options mean together (`load::settings`).

use std::collections::HashSet;
use std::fs::{DirEntry, File};
use std::io::{BufReader, Read};
use std::path::Path;

use crate::cli::console::reason;
use crate::load::general::General;
use crate::load::iolog::{Lines, Summary};
use crate::load::job::Job;
use crate::load::options::Value;
use crate::load::pattern::PATTERN_MAX;
use crate::load::settings::{Search, Settings};
use crate::load::value;

/// Files below an opendir= at most: their names are held.
const FILES_MAX: usize = 1 << 20;

/// Puts the bytes of `'file'` in its place, in the patterns of a job.
pub fn read_patterns(job: &mut Job) -> Result<(), String> {
    for given in job.globals.iter_mut().chain(&mut job.options) {
        if !["buffer_pattern", "verify_pattern"].contains(&given.spec.name) {
            continue;
        }
        if let Value::Text(text) = &mut given.value {
            let typed = text.clone();
            *text = expanded(&typed)
                .map_err(|error| format!("fio: {error}\nfio: failed parsing {}={typed}", given.spec.name))?;
        }
    }
    Ok(())
}

/// `text` with bytes as 0x... for each file in single quotes. As in fio, of a file no more than a pattern can hold.
fn expanded(text: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let quote = &quoted[..1];
        let Some((inside, after)) = quoted[1..].split_once(quote) else {
            return Err(format!("{quote} is missing in '{text}'"));
        };
        out += before;
        match quote {
            "'" => {
                let mut bytes = Vec::new();
                let file = File::open(inside).and_then(|file| file.take(PATTERN_MAX as u64).read_to_end(&mut bytes));
                file.map_err(|error| format!("{inside}: {}", reason(&error)))?;
                if bytes.is_empty() {
                    return Err(format!("{inside}: it is empty"));
                }
                out += " 0x";
                out.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
                out.push(' ');
            }
            _ => out += &format!("\"{inside}\""),
        }
        rest = after;
    }
    Ok(out + rest)
}

/// Looks up what settings name; `sys` is /sys.
pub fn look_up(settings: &mut Settings, general: &General, sys: &Path) -> Result<(), String> {
    follow_log(settings, general)?;
    if let Some(Search { dir, directory, ahead, used }) = settings.files.search.clone() {
        let room = used.map(|used| (used as usize).saturating_sub(ahead));
        let found = search(Path::new(&dir), room)
            .map_err(|error| format!("fio: {error}\nfio: failed parsing opendir={dir}"))?;
        settings.take_files(ahead, (found, directory), used);
    }
    if let Some((cpus, _)) = &settings.host.cpus {
        check_processors(cpus, sys)?;
    }
    let nodes = std::mem::take(&mut settings.host.nodes);
    if !nodes.is_empty() {
        let of_nodes = processors(&nodes, sys)?;
        let both = |(cpus, split): (Vec<usize>, bool)| {
            (cpus.into_iter().filter(|cpu| of_nodes.contains(cpu)).collect(), split)
        };
        let cpus = settings.host.cpus.take().map_or((of_nodes.clone(), false), both);
        if cpus.0.is_empty() {
            return Err("fio: none of cpus_allowed is in numa_cpu_nodes".into());
        }
        settings.host.cpus = Some(cpus);
    }
    Ok(())
}

/// Goes over the log that a job replays, for what the job has to know beforehand.
fn follow_log(settings: &mut Settings, general: &General) -> Result<(), String> {
    let Some(path) = settings.io_logs.replay.as_ref().map(|replay| replay.path.clone()) else { return Ok(()) };
    let file = File::open(&path).map_err(|error| format!("fio: {path}: {}", reason(&error)))?;
    settings.follow(Summary::of(Lines::new(BufReader::new(file), &path))?);
    if general.readonly && settings.load.writes() {
        return Err(format!("fio: {path}: writes are not allowed with the --readonly parameter."));
    }
    Ok(())
}

/// All regular files below `top`, sorted; symlinks are not followed, as in fio. Of `most` those that fio takes: the first as the
/// directories have them, one below another where it comes up.
fn search(top: &Path, most: Option<usize>) -> Result<Vec<String>, String> {
    let said = |path: &Path, error: std::io::Error| format!("{}: {}", path.display(), reason(&error));
    let entries = |dir: &Path| -> Result<std::vec::IntoIter<DirEntry>, String> {
        let entries =
            std::fs::read_dir(dir).and_then(|entries| entries.take(FILES_MAX + 1).collect::<Result<Vec<_>, _>>());
        entries.map(Vec::into_iter).map_err(|error| said(dir, error))
    };
    let (mut found, mut dirs) = (Vec::new(), vec![entries(top)?]);
    while let Some(dir) = dirs.last_mut() {
        let Some(entry) = dir.next() else {
            dirs.pop();
            continue;
        };
        let (path, kind) = (entry.path(), entry.file_type());
        let kind = kind.map_err(|error| said(&path, error))?;
        if kind.is_dir() {
            dirs.push(entries(&path)?);
        } else if kind.is_file() {
            let name = path.into_os_string().into_string();
            found.push(name.map_err(|name| format!("{}: its name is not UTF-8", name.display()))?);
        }
        if dirs.iter().map(ExactSizeIterator::len).sum::<usize>() + found.len() > FILES_MAX {
            return Err(format!("{}: there are more than {FILES_MAX} files", top.display()));
        }
    }
    if found.is_empty() {
        return Err(format!("{}: there is no file in it", top.display()));
    }
    found.truncate(most.unwrap_or(usize::MAX));
    found.sort_unstable();
    Ok(found)
}

/// One that this host does not have is told before files are laid out, as fio does; of those that are offline the kernel makes what it
/// can. Where the host does not say which it has, that judges, too.
fn check_processors(cpus: &[usize], sys: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(sys.join("devices/system/cpu/present")).unwrap_or_default();
    let Ok(present) = value::cpus(text.trim()) else { return Ok(()) };
    let max = present.iter().max().copied().unwrap_or_default();
    match cpus.iter().find(|cpu| **cpu > max) {
        Some(absent) => Err(format!("fio: cpus_allowed: CPU {absent} too large (max={max})")),
        None => Ok(()),
    }
}

/// The processors of these nodes, ascending.
fn processors(nodes: &[usize], sys: &Path) -> Result<Vec<usize>, String> {
    let mut all = Vec::new();
    for node in nodes {
        let path = sys.join(format!("devices/system/node/node{node}/cpulist"));
        let text = std::fs::read_to_string(&path);
        let text =
            text.map_err(|error| format!("fio: numa_cpu_nodes={node}: {}: {}", path.display(), reason(&error)))?;
        all.extend(value::cpus(text.trim()).map_err(|error| format!("fio: numa_cpu_nodes={node}: {error}"))?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// As the second of two jobs would begin the log of the first anew, each has one of its own.
pub fn check_logs(jobs: &[Settings]) -> Result<(), String> {
    let mut written = HashSet::new();
    match jobs.iter().filter_map(|job| job.io_logs.write.as_ref()).find(|path| !written.insert(path.as_str())) {
        Some(path) => Err(format!("fio: write_iolog={path} is of two jobs; give each a log of its own")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::commandline::{self, Asked};
    use crate::load::settings::settle;

    #[test]
    fn a_job_s_processors_are_those_of_its_nodes() {
        let sys = tempfile::tempdir().unwrap();
        let dir = sys.path().join("devices/system/node/node1");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("cpulist"), "2-3\n").unwrap();
        let cpus = |more: &[&str]| {
            let words: Vec<String> =
                ["--name=a", "--numa_cpu_nodes=1"].iter().chain(more).map(|word| word.to_string()).collect();
            let Asked::Run(line) = commandline::parse(&words).unwrap() else { panic!("{words:?}") };
            let mut settings = settle(&line.jobs[0], &line.general).unwrap().settings;
            look_up(&mut settings, &line.general, sys.path()).map(|()| settings.host.cpus.unwrap())
        };
        assert_eq!(cpus(&[]), Ok((vec![2, 3], false)));
        assert_eq!(cpus(&["--cpus_allowed=0-2", "--cpus_allowed_policy=split"]), Ok((vec![2], true)));
        assert!(cpus(&["--cpus_allowed=0"]).unwrap_err().contains("none of cpus_allowed"));
    }

    #[test]
    fn processors_that_the_host_does_not_have_are_told() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(check_processors(&[99], sys.path()), Ok(())); // it does not say
        let dir = sys.path().join("devices/system/cpu");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("present"), "0-1,4\n").unwrap();
        assert_eq!(check_processors(&[0, 1, 3, 4], sys.path()), Ok(()));
        assert_eq!(check_processors(&[0, 5], sys.path()).unwrap_err(), "fio: cpus_allowed: CPU 5 too large (max=4)");
    }

    #[test]
    fn processors_of_nodes() {
        let sys = tempfile::tempdir().unwrap();
        for (node, cpus) in [(0, "0-1,4\n"), (1, "2-3\n"), (2, "\n")] {
            let dir = sys.path().join(format!("devices/system/node/node{node}"));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("cpulist"), cpus).unwrap();
        }
        assert_eq!(processors(&[1, 0], sys.path()), Ok(vec![0, 1, 2, 3, 4]));
        assert!(processors(&[2], sys.path()).unwrap_err().contains("no processor"));
        assert!(processors(&[3], sys.path()).unwrap_err().starts_with("fio: numa_cpu_nodes=3: "));
    }
}
