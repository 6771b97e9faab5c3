//! Reads the repository itself: layers, sizes, forbidden words, reasons for dependencies, and documents that name what
//! exists. It judges text with comments and strings blanked out; it is no parser, and relies on rustfmt's layout.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of one file, and of one function, at most.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 80;

/// What the modules of one layer may use of parfs. `cli` may use all; nothing but `main` may use `cli`.
const LAYERS: [(&str, &[&str]); 11] = [
    ("base", &[]),
    ("storage", &["base"]),
    ("wire", &["base", "storage"]),
    ("archive", &["base"]),
    ("crew", &["base", "storage"]),
    ("jobs", &["base", "storage", "archive", "crew"]),
    ("mounts", &["base", "storage", "wire"]),
    ("sim", &["base", "storage", "wire"]),
    ("plan", &["base", "storage"]),
    ("load", &["base", "storage", "crew"]),
    ("cli", &["base", "storage", "wire", "archive", "crew", "jobs", "mounts", "sim", "plan", "load"]),
];

/// Parts of std and of crates that belong to some layers only: the path, and the beginnings of the files that may use it.
const OUTSIDE: [(&str, &str, &[&str]); 6] = [
    // Of load's kernel engines the system call itself is what is measured.
    ("std", "fs", &["src/mounts/local", "src/cli", "src/load/engine"]),
    ("rustix", "fs", &["src/mounts/local", "src/cli", "src/load/engine"]),
    // Besides NFS there is one socket, which Prometheus asks.
    ("std", "net", &["src/mounts/nfs", "src/sim", "src/cli/watch/endpoint.rs"]),
    ("socket2", "", &["src/mounts/nfs", "src/sim"]),
    // Load's clones are threads, and so is each I/O that waits, in posixaio and in the NFS engine. A rehearsal's time makes threads wait, and none.
    (
        "std",
        "thread",
        &[
            "src/base/pace.rs",
            "src/crew",
            "src/mounts",
            "src/sim",
            "src/cli",
            "src/storage/throttle.rs",
            "src/jobs",
            "src/load/engine",
            "src/load/run",
        ],
    ),
    ("nfs3_types", "", &["src/wire"]),
];

/// Addresses are values, not sockets: every layer may name them.
const ADDRESSES: [&str; 5] = ["SocketAddr", "IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddrV4"];

/// Files that may hold `unsafe`: a socket option and system calls that no safe crate has, and the kernel engines' buffers, rings and mappings, which the
/// kernel writes to by their addresses.
const UNSAFE_FILES: [&str; 7] = [
    "src/mounts/local/at_calls.rs",
    "src/mounts/nfs/lowat.rs",
    "src/load/engine/buffer.rs",
    "src/load/engine/aio.rs",
    "src/load/engine/uring.rs",
    "src/load/engine/mmap.rs",
    "src/load/run/prio.rs",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every text file below `dir` whose name ends so, as paths from the root with `/`; build output and history left out.
fn files(dir: &str, ends: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![root().join(dir)];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                if name != "target" && name != ".git" {
                    dirs.push(entry.path());
                }
            } else if ends.iter().any(|end| name.ends_with(end)) {
                let path = entry.path();
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file: its path, its text, and its code (comments and strings blanked).
fn sources(dirs: &[&str]) -> Vec<(String, String, String)> {
    let paths = dirs.iter().flat_map(|dir| files(dir, &[".rs"]));
    let found: Vec<_> = paths
        .map(|path| {
            let text = read(&path);
            let code = blank(&text);
            (path, text, code)
        })
        .collect();
    assert!(found.len() > 20, "the sources are not where this test looks");
    found
}

/// The text with comments, strings and character literals as blanks; newlines stay, so that lines keep their numbers.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        at = end.max(at + 1);
    }
    String::from_utf8(out).unwrap()
}

/// The end of the comment or literal that begins at `at`; `at` itself when none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let find = |from: usize, needle: &[u8]| {
        let found = bytes[from..].windows(needle.len()).position(|w| w == needle);
        found.map_or(bytes.len(), |i| from + i + needle.len())
    };
    let ident_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => find(at, b"\n").min(bytes.len()) - usize::from(find(at, b"\n") < bytes.len()),
        [b'/', b'*', ..] => find(at + 2, b"*/"),
        [b'r', b'"' | b'#', ..] if !ident_before || bytes[at - 1] == b'b' => {
            let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return at;
            }
            let close = [b"\"".as_slice(), "#".repeat(hashes).as_bytes()].concat();
            find(at + 2 + hashes, &close)
        }
        [b'"', ..] => quoted_end(bytes, at, b'"'),
        // A lifetime has no closing quote after one character.
        [b'\'', b'\\', ..] => quoted_end(bytes, at, b'\''),
        [b'\'', ..] => {
            let width = std::str::from_utf8(&rest[1..]).map_or(1, |s| s.chars().next().map_or(1, char::len_utf8));
            if rest.get(1 + width) == Some(&b'\'') { at + 2 + width } else { at }
        }
        _ => at,
    }
}

fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut i = at + 1;
    while i < bytes.len() && bytes[i] != quote {
        i += 1 + usize::from(bytes[i] == b'\\');
    }
    (i + 1).min(bytes.len())
}

/// The end of the block whose `{` is at `open`.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (i, b) in code.bytes().enumerate().skip(open) {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 1 => return i + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The code without its `#[cfg(test)]` modules.
fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(at) = out.find("#[cfg(test)]") {
        let end = match out[at..].find(['{', ';']).map(|i| at + i) {
            Some(open) if out.as_bytes()[open] == b'{' => block_end(&out, open),
            Some(semicolon) => semicolon + 1,
            None => out.len(),
        };
        out.replace_range(at..end, "");
    }
    out
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("_tests.rs")
}

/// Where `word` stands in `code` as a whole word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let ident = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = code.as_bytes();
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !ident(at.checked_sub(1).and_then(|i| bytes.get(i))) && !ident(bytes.get(at + word.len())))
}

fn ident_at(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The first two names of each path in `rest`, which stands after `root::`; groups are opened.
fn heads(rest: &str) -> Vec<(String, String)> {
    let rest = rest.trim_start();
    if !rest.starts_with('{') {
        let first = ident_at(rest);
        let after = &rest[first.len()..];
        let Some(after) = after.strip_prefix("::") else { return vec![(first.to_owned(), String::new())] };
        return match after.starts_with('{') {
            true => items(after).iter().map(|item| (first.to_owned(), ident_at(item).to_owned())).collect(),
            false => vec![(first.to_owned(), ident_at(after).to_owned())],
        };
    }
    items(rest).iter().flat_map(|item| heads(item)).collect()
}

/// The items of a `{a, b::{c, d}}` group, trimmed.
fn items(group: &str) -> Vec<&str> {
    let inner = &group[1..block_end(group, 0) - 1];
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (i, b) in inner.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(inner[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(inner[start..].trim());
    found.retain(|item| !item.is_empty());
    found
}

/// Every path in `code` that begins with `root::`, as its next two names.
fn paths(code: &str, root: &str) -> Vec<(String, String)> {
    let starts = words(code, root).filter(|&at| !code[..at].ends_with("::"));
    starts.filter_map(|at| code[at + root.len()..].strip_prefix("::")).flat_map(heads).collect()
}

/// Paths that reach parfs's root through `super::super::`, from the module of this file.
fn supers(path: &str, code: &str) -> Vec<(String, String)> {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    let chain = "super::".repeat(inside.split('/').count());
    code.match_indices(&chain)
        .filter(|(at, _)| !code[..*at].ends_with("super::"))
        .flat_map(|(at, _)| heads(&code[at + chain.len()..]))
        .collect()
}

#[test]
fn layers_hold() {
    let mut wrong = Vec::new();
    for (path, _, code) in sources(&["src"]) {
        let Some((layer, _)) = path.trim_start_matches("src/").split_once('/') else { continue };
        if is_test_file(&path) {
            continue;
        }
        let code = without_tests(&code);
        let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == layer).unwrap_or_else(|| panic!("{path}: no layer"));
        for (used, item) in paths(&code, "crate").into_iter().chain(supers(&path, &code)) {
            let is_layer = LAYERS.iter().any(|(name, _)| *name == used);
            if is_layer && used != layer && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{path} uses {used}"));
            }
            if layer == "crew" && used == "storage" && item != "Shape" {
                wrong.push(format!("{path} uses storage::{item}; crew knows no storage"));
            }
        }
        for (crate_name, module, homes) in OUTSIDE {
            let at_home = homes.iter().any(|home| path.starts_with(home));
            for (first, second) in paths(&code, crate_name) {
                let address = module == "net" && ADDRESSES.contains(&second.as_str());
                if !at_home && !address && (module.is_empty() || first == module) {
                    wrong.push(format!("{path} uses {crate_name}::{first}::{second}"));
                }
            }
        }
        // Protocol and format code reads no clock, nor does what computes a plan.
        if ["wire", "archive", "plan"].contains(&layer)
            && ["Instant", "SystemTime"].iter().any(|w| words(&code, w).count() > 0)
        {
            wrong.push(format!("{path} reads a clock"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_layers_is_what_is_held() {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == cells[0])?;
        Some((line, cells[2] == if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") }))
    });
    let (right, wrong): (Vec<_>, Vec<_>) = rows.partition(|(_, is_right)| *is_right);
    assert!(right.len() == LAYERS.len() && wrong.is_empty(), "{} rows; {wrong:?}", right.len());
}

#[test]
fn files_and_functions_are_short() {
    let mut wrong = Vec::new();
    for (path, text, code) in sources(&["src", "tests", "benches"]) {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            wrong.push(format!("{path}: {lines} lines"));
        }
        for at in words(&code, "fn") {
            let Some(open) = code[at..].find(['{', ';']).map(|i| at + i) else { continue };
            if code.as_bytes()[open] == b'{' {
                let lines = code[at..block_end(&code, open)].lines().count();
                if lines > FUNCTION_LINES_MAX {
                    wrong.push(format!("{path}: fn {}: {lines} lines", ident_at(code[at + 2..].trim_start())));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// True when the first line that is no attribute describes the file.
fn opens(text: &str) -> bool {
    text.lines().find(|line| !line.starts_with("#![")).is_some_and(|line| line.starts_with("//! "))
}

#[test]
fn files_say_what_they_promise() {
    let silent = sources(&["src", "tests", "benches"])
        .into_iter()
        .filter(|(path, text, _)| !opens(text) && (!is_test_file(path) || path.ends_with("/mod.rs")));
    let silent: Vec<String> = silent.map(|(path, _, _)| path).collect();
    assert!(silent.is_empty(), "files that do not open with a //! comment: {silent:?}");
}

#[test]
fn nothing_is_unsafe_or_unfinished() {
    let mut wrong = Vec::new();
    for (path, text, code) in sources(&["src", "tests", "benches"]) {
        if words(&code, "unsafe").count() > 0 && !UNSAFE_FILES.contains(&path.as_str()) {
            wrong.push(format!("{path}: unsafe"));
        }
        if code.contains("#[ignore") {
            wrong.push(format!("{path}: an ignored test"));
        }
        for word in ["todo", "unimplemented", "dbg"] {
            if words(&code, word).any(|at| code[at + word.len()..].starts_with('!')) {
                wrong.push(format!("{path}: {word}!"));
            }
        }
        for word in [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")] {
            if words(&text, word).count() > 0 {
                wrong.push(format!("{path}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_dependency_has_a_reason_and_is_used() {
    let used: HashSet<String> = sources(&["src"])
        .iter()
        .flat_map(|(_, _, code)| code.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .map(str::to_owned)
        .collect();
    let mut section = String::new();
    let mut seen = 0;
    for line in read("Cargo.toml").lines() {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if section.ends_with("dependencies]") && line.contains('=') {
            seen += 1;
            let reason = line.rsplit_once("# ").map_or("", |(_, reason)| reason);
            assert!(reason.len() >= 5, "no reason: {line}");
            // md-5's library is called md5.
            let name = line.split(' ').next().unwrap_or_default().replace('-', "_").replace("md_5", "md5");
            assert!(section != "[dependencies]" || used.contains(&name), "only tests use it, if any do: {line}");
        }
    }
    assert!(seen > 10, "the dependencies are not where this test looks");
}

/// The commands of README's block that .ci/run runs.
fn readme_commands() -> Vec<String> {
    let readme = read("README.md");
    let (_, after) = readme.split_once("<!-- .ci/run runs these -->\n```sh\n").expect("README marks its commands");
    let (block, _) = after.split_once("```").expect("the block ends");
    block.lines().map(|line| line.split('#').next().unwrap().trim().to_owned()).collect()
}

#[test]
fn ci_runs_what_readme_says() {
    assert_eq!(readme_commands(), ["cargo run --release -- demo", "cargo test"]);
    let ci = read(".ci/run");
    assert!(ci.contains("<!-- .ci/run runs these -->"), ".ci/run takes the commands from README");
    assert!(!ci.contains("cargo test"), ".ci/run repeats a command that it takes from README");
    for script in ["tests/servers/run --full", "cargo fmt --check", "cargo clippy --all-targets"] {
        assert!(ci.contains(script), ".ci/run does not run {script}");
    }
}

/// Paths of the repository that a document names in backticks must be there.
#[test]
fn documents_name_what_exists() {
    let mut wrong = Vec::new();
    let ours = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(String::from);
    for document in files("docs", &[".md"]).into_iter().chain(ours) {
        for name in read(&document).split('`').skip(1).step_by(2) {
            let top = name.split('/').next().unwrap_or_default();
            let is_path =
                ["src", "tests", "benches", ".ci", "man", "packaging", "docs"].contains(&top) && name.contains('/');
            let name = name.split_whitespace().next().unwrap_or_default();
            if is_path && !name.contains(['*', '{']) && !root().join(name).exists() {
                wrong.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "named, but not there: {}", wrong.join(", "));
}

#[test]
fn architecture_maps_every_module() {
    let text = read("ARCHITECTURE.md");
    for (layer, _) in LAYERS {
        assert!(text.contains(&format!("`src/{layer}/")), "ARCHITECTURE.md does not describe src/{layer}/");
    }
    for dir in ["src/jobs", "src/mounts"] {
        for entry in fs::read_dir(root().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap().to_owned();
            let skipped = ["mod", "tests"].contains(&stem.as_str());
            assert!(
                skipped || text.contains(&format!("{dir}/{stem}")),
                "ARCHITECTURE.md does not describe {dir}/{name}"
            );
        }
    }
}

#[test]
fn no_path_of_one_machine() {
    let needles = [concat!("/ho", "me/"), concat!("/Use", "rs/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];
    let ends = [".rs", ".md", ".toml", ".sh", ".c", ".lock", "run", ".snap", ".txt"];
    let mut wrong = Vec::new();
    for path in files(".", &ends) {
        for (number, line) in read(&path).lines().enumerate() {
            let hit = needles.iter().find(|needle| {
                line.match_indices(**needle).any(|(at, _)| {
                    // `$work/...` of a script and `host/home/...` of a URL are not paths from the root.
                    let before = line[..at].chars().next_back();
                    !before.is_some_and(|c| c.is_alphanumeric() || "}/$_.".contains(c))
                        && !line[at..].starts_with(concat!("/ho", "me/opc"))
                })
            });
            if let Some(needle) = hit {
                wrong.push(format!("{path}:{}: {needle}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn this_test_sees_what_it_should() {
    let code = blank("let a = \"crate::cli\"; // crate::cli\nlet b = 'x'; fn f<'a>() { r#\"}\"#; '}' }\n/* { */");
    assert!(!code.contains("crate") && code.contains("fn f<'a>()") && code.matches('}').count() == 1, "{code}");
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let code = "use crate::{base::{Name, Proc}, cli};\nuse crate::storage::Shape; std::crate::no; crate::x(1)";
    let expected =
        [pair("base", "Name"), pair("base", "Proc"), pair("cli", ""), pair("storage", "Shape"), pair("x", "")];
    assert_eq!(paths(code, "crate"), expected);
    let found = supers("src/mounts/nfs/url.rs", "use super::super::super::cli::X; use super::super::Url;");
    assert_eq!(found, [pair("cli", "X")]);
    assert_eq!(without_tests("a #[cfg(test)] mod t { { } } b #[cfg(test)]\nmod tests;c"), "a  b c");
    assert_eq!(words("unsafe_code unsafe", "unsafe").count(), 1);
}
