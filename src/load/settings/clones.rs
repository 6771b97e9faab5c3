//! The names of one clone's files.
//!
//! Promises: fio's rules. Clones have a directory each in turn for names that are generated; files that are named are in one.
//! Leaves out: whether they are there. fio takes a job whose name is that of a device as working on it (`[/dev/vdb]`); who can look says so.

use std::path::PathBuf;

use super::Settings;

/// fio's, if the format is empty.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

/// The files of the clone `clone` (from 0), in order. `is_device`: the section's name is that of a device, a fifo or a socket.
pub fn file_names(settings: &Settings, clone: u32, is_device: bool) -> Vec<PathBuf> {
    let files = &settings.files;
    // As in fio, a directory goes ahead of absolute names too.
    let within = |directory: Option<&String>, name: &str| match directory {
        Some(directory) => PathBuf::from(format!("{directory}/{name}")),
        None => PathBuf::from(name),
    };
    if !files.names.is_empty() {
        return files.names.iter().map(|file| within(file.directory.as_ref(), &file.name)).collect();
    }
    let directory = match files.directories.len() {
        0 => None,
        count => files.directories.get(clone as usize % count),
    };
    if is_device && files.count == 1 {
        return vec![within(directory, &settings.section)];
    }
    let format = if files.format.is_empty() { FORMAT } else { &files.format };
    (0..files.count).map(|file| within(directory, &filled(format, &settings.section, clone, file))).collect()
}

/// `format` with its variables replaced, in either case; what replaces one is not looked at again.
fn filled(format: &str, section: &str, clone: u32, file: u32) -> String {
    // Of fio's client mode; nothing without it.
    let client = String::new();
    let variables = [
        ("$jobname", section.to_owned()),
        ("$jobnum", clone.to_string()),
        ("$filenum", file.to_string()),
        ("$clientuid", client),
    ];
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        let (before, variable) = rest.split_at(at);
        out.push_str(before);
        let begins = |name: &str| variable.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        let (taken, text) = match variables.iter().find(|(name, _)| begins(name)) {
            Some((name, text)) => (name.len(), text.as_str()),
            None => (1, "$"),
        };
        out.push_str(text);
        rest = &variable[taken..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::super::settle::tests::settled;
    use super::*;

    fn names(line: &str, clone: u32) -> Vec<String> {
        let settings = settled(line).unwrap().settings;
        file_names(&settings, clone, false).iter().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn generated_names() {
        assert_eq!(names("--name=j --numjobs=4", 3), ["j.3.0"]);
        assert_eq!(names("--name=j --nrfiles=2 --directory=/a", 1), ["/a/j.1.0", "/a/j.1.1"]);
        let spread = |clone| names("--name=j --directory=/a:/b --numjobs=4", clone);
        assert_eq!([0, 1, 2, 3].map(|clone| spread(clone).remove(0)), ["/a/j.0.0", "/b/j.1.0", "/a/j.2.0", "/b/j.3.0"]);
        let line = "--name=j --filename_format=d$FileNum/$jobname-$JOBNUM$clientuid.$x$ --nrfiles=2";
        assert_eq!(names(line, 5), ["d0/j-5.$x$", "d1/j-5.$x$"]);
        assert_eq!(names("--name=$jobnum --filename_format=$jobname", 1), ["$jobnum"], "replaced once");
    }

    #[test]
    fn given_names() {
        let line = "--name=j --directory=/a:/b --filename=f1:f\\:2 --nrfiles=7";
        assert_eq!(names(line, 1), ["/a/f1", "/a/f:2"]);
        assert_eq!(names("--name=j --filename=/x/f", 0), ["/x/f"]);
    }

    #[test]
    fn a_job_that_is_called_as_a_device() {
        let settings = settled("--name=/dev/vdb").unwrap().settings;
        assert_eq!(file_names(&settings, 0, true), [PathBuf::from("/dev/vdb")]);
        assert_eq!(file_names(&settings, 0, false), [PathBuf::from("/dev/vdb.0.0")]);
    }
}
