//! Tables of patterns and paths, compared with what GNU tar and rsync do.

use proptest::prelude::*;

use super::former::Former;
use super::*;

fn excluded(pattern: &str, path: &str) -> bool {
    let selection = Selection::new(&[pattern.into()], &[], false).unwrap();
    !selection.selects(path.as_bytes(), &mut selection.matched())
}

/// Each line was compared with what GNU tar 1.34 extracts.
#[test]
fn excludes_as_gnu_tar() {
    for (pattern, path, expected) in [
        ("*.log*", "mydir/a.log", true),
        ("*.log*", "mydir/a.log.d/x", true),
        ("*.log*", "mydir/alog", false),
        ("testing", "testing", true),
        ("testing", "a/testing/b/c", true),
        ("testing", "a/testing2", false),
        ("a/b", "x/a/b/c", true),
        ("a/b", "xa/b", false),
        ("a*c", "a/b/c", true),
        ("a**c", "a/b/c", true),
        ("?", "abc/d", true),
        ("[ab]", "x/b/y", true),
        ("{a,b}", "a", false),
        ("{a,b}", "{a,b}", true),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
        ("./a", "./a/x", true),
        ("./a", "a/x", false),
        ("./a", "a", false),
        ("./*", "./", false),
        ("a", "./a", true),
        ("/a/b", "/a/b/c", true),
        ("a/b", "/a/b", true),
        ("/a", "a", false),
        ("/a", "x/a", false),
        ("./a", "x/a", false),
        ("a/", "a/x", false),
        // Places are of paths as they are.
        ("*/a", "./a", true),
        ("*/a", "./a/x", true),
        ("*/a", "a", false),
        ("a/b", "./a/b/", true),
        ("a/b", "a//b", false),
        ("*/", "a/", false),
        ("?b", "a//b", false),
        ("/*", "a//b", false),
        ("[!a-z]*", "q//lib", false),
        ("[a-z]ib", "q//lib", true),
        // So is the dot that they begin with.
        ("?", ".", true),
        ("?", "./ab", true),
        ("?", "ab", false),
        (".*", "./", true),
        (".*", "./a", true),
        (".*", "a/b", false),
        (".?*", ".", false),
        (".?*", "./a", true),
        (".", "./a/b", true),
        ("./.", "././a", true),
        ("./a", "././a", true),
    ] {
        assert_eq!(excluded(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn operands_select_themselves_and_what_is_below() {
    let operands = [b"./a/b/".to_vec(), b"c*".to_vec(), b"no".to_vec()];
    let selection = Selection::new(&[], &operands, false).unwrap();
    let mut matched = selection.matched();
    let mut selected = |p: &str| selection.selects(p.as_bytes(), &mut matched);
    assert!(selected("a/b") && selected("./a/b/c/d") && selected("c*/x"));
    assert!(!selected("a") && !selected("a/bc") && !selected("cx") && !selected("x/a/b"));
    assert_eq!(selection.unmatched(&matched).collect::<Vec<_>>(), [b"no"]);

    let selection = Selection::new(&["x".into()], &operands, true).unwrap();
    let mut matched = selection.matched();
    assert!(selection.selects(b"cx/y", &mut matched) && !selection.selects(b"c/x", &mut matched));
    assert_eq!(selection.unmatched(&matched).count(), 2);

    // What is excluded is in the archive, as GNU tar has it.
    let selection = Selection::new(&["no".into()], &operands, false).unwrap();
    let mut matched = selection.matched();
    assert!(!selection.selects(b"no", &mut matched) && !selection.selects(b"a/b/no", &mut matched));
    assert_eq!(selection.unmatched(&matched).collect::<Vec<_>>(), [b"c*"]);
}

#[test]
fn an_empty_pattern_excludes_nothing() {
    for text in ["", "./"] {
        let selection = Selection::new(&[text.into()], &[], false).unwrap();
        let mut matched = selection.matched();
        assert!(["", ".", "./", "./a", "a/b"].iter().all(|path| selection.selects(path.as_bytes(), &mut matched)));
    }
}

/// GNU tar 1.34 finds the same, but for `.` and `./`, which are of archives whose members begin so.
#[test]
fn an_operand_without_a_name_selects_everything() {
    for wildcards in [false, true] {
        for (text, is_absolute) in [("", true), (".", true), ("./", true), ("/", false)] {
            let selection = Selection::new(&[], &[text.into()], wildcards).unwrap();
            let mut matched = selection.matched();
            assert_eq!(selection.selects(b"a/b", &mut matched), is_absolute, "{text} {wildcards}");
            assert!(selection.selects(b"/a", &mut matched), "{text} {wildcards}");
            assert_eq!(selection.unmatched(&matched).count(), 0, "{text} {wildcards}");
        }
    }
}

/// GNU tar looks names up, which begin behind any slash.
#[test]
fn names_in_any_case_begin_behind_each_of_several_slashes() {
    let of = |text: &str, wildcards| Pattern { wildcards, ignore_case: true, ..Pattern::exclude(text) };
    for (pattern, path) in [("/x", "t//ab//x"), ("/t", ".//T"), ("/X", "t//x")] {
        for wildcards in [false, true] {
            let selection = Selection::of(&[of(pattern, wildcards)], None).unwrap();
            assert!(!selection.selects(path.as_bytes(), &mut selection.matched()), "{pattern} {path} {wildcards}");
        }
    }
}

/// As `tar -c --anchored --exclude=a .` of GNU tar 1.34, which stores all.
#[test]
fn an_anchored_pattern_begins_where_the_path_does() {
    for (pattern, path, expected) in [
        ("a", "./a", false),
        ("./a", "./a/x", true),
        ("*/a", "./a/x", true),
        ("a", "a/", true),
        ("a*", "./a.b", false),
        ("./a", "././a", false),
        ("?", "./ab", true),
    ] {
        let anchored = Pattern { anchored: true, ..Pattern::exclude(pattern) };
        let selection = Selection::of(&[anchored], None).unwrap();
        assert_eq!(!selection.selects(path.as_bytes(), &mut selection.matched()), expected, "{pattern} {path}");
    }
}

/// Each line was compared with what GNU tar 1.34 lists, by `--exclude` and as an operand.
#[test]
fn switches_say_how_a_pattern_is_matched() {
    let base = Pattern::exclude("");
    let anchored = Pattern { anchored: true, ..base.clone() };
    let folded = Pattern { ignore_case: true, ..base.clone() };
    let plain = Pattern { wildcards: false, ..base.clone() };
    let within = Pattern { match_slash: false, ..base.clone() };
    let alone = Pattern { below: false, ..anchored.clone() };
    for (how, text, path, expected) in [
        (&anchored, "b", "a/b", false),
        (&anchored, "a", "a/b", true),
        (&anchored, "*b", "a/b", true),
        (&folded, "B", "a/b/c", true),
        (&folded, "[A]", "a", true),
        (&plain, "*", "a", false),
        (&plain, "*", "x/*/y", true),
        (&plain, "[a", "[a", true),
        (&within, "a*c", "a/b/c", false),
        (&within, "a*c", "x/y/abc/d/e", true),
        (&within, "?", "ab/c", true),
        (&alone, "a", "a/b", false),
        (&alone, "a", "a", true),
    ] {
        let pattern = Pattern { text: text.into(), ..how.clone() };
        let as_exclude = Selection::of(std::slice::from_ref(&pattern), None).unwrap();
        assert_eq!(!as_exclude.selects(path.as_bytes(), &mut as_exclude.matched()), expected, "{pattern:?} {path}");
        let as_member = Selection::of(&[], Some(&[pattern])).unwrap();
        let mut matched = as_member.matched();
        assert_eq!(as_member.selects(path.as_bytes(), &mut matched), expected, "{text} {path}");
        assert_eq!(as_member.unmatched(&matched).count(), usize::from(!expected));
    }
    let nothing = Selection::of(&[], Some(&[])).unwrap();
    assert!(!nothing.selects(b"a", &mut nothing.matched()) && !nothing.is_everything());
}

/// Each line was compared with what GNU tar 1.34 lists under `--exclude` in the C locale.
#[test]
fn brackets_are_fnmatch_s() {
    for (pattern, matched, not) in [
        ("*.[[:digit:]]", &["log.1", "d/log.1"][..], &["log.d", "log.:"][..]),
        ("[[:upper:]]", &["A"], &["a", "1"]),
        ("[[:alpha:]]*", &["a1"], &["1a", "[a"]),
        ("x[[:space:]]y", &["x y", "x\ty", "x\x0by"], &["xay"]),
        ("[[:punct:]]", &["-", "]", "^"], &["a", " "]),
        ("[[:alpha:][:digit:]_-]", &["a", "1", "_", "-"], &[":", "["]),
        ("[![:digit:]]", &["a", "]", "-"], &["1"]),
        ("[^a]", &["b", "^"], &["a"]),
        ("[a^!]", &["^", "!", "a"], &["b"]),
        ("[!]", &["[!]"], &["a", "!"]),
        ("a[\\]]b", &["a]b"], &["ab", "a\\]b", "a[]b"]),
        ("[\\a-\\c]", &["a", "b", "c"], &["\\", "-"]),
        ("[]-]", &["]", "-"], &["a"]),
        ("[]-a]", &["]", "^", "_", "a"], &["-", "b"]),
        ("[a-c-e]", &["a", "b", "c", "-", "e"], &["d"]),
        ("[[:digit:]-z]", &["1", "-", "z"], &["y"]),
        ("[--0]", &["-", "0"], &["a"]),
        ("[[:digit]", &["[", ":", "d"], &["1", "[[:digit]"]),
        ("[:digit:]", &[":", "d", "t"], &["1"]),
        ("[a", &["[a"], &["a"]),
        ("x[", &["x["], &["x"]),
        ("[]a", &["[]a"], &["]", "a"]),
        ("[a\\]", &["[a]"], &["a", "\\"]),
        ("[[:digit:]", &["[d", "[:"], &["1", "[1"]),
        ("[{,}]", &["{", "}", ","], &["a"]),
        ("{a,b}[,]", &["{a,b},"], &["a,"]),
    ] {
        matched.iter().for_each(|path| assert!(excluded(pattern, path), "{pattern} {path}"));
        not.iter().for_each(|path| assert!(!excluded(pattern, path), "{pattern} {path}"));
    }
    // What fnmatch matches with nothing, or by the locale.
    for pattern in ["[[.a.]]", "[[=a=]]", "[[:word:]]", "[[:Digit:]]", "[[::]]", "[b-a]", "a\\"] {
        let error = Selection::new(&["x".into(), pattern.into()], &[], false).unwrap_err();
        assert!(error.to_string().starts_with(&format!("pattern '{pattern}': ")), "{error}");
    }
}

/// Each line was compared with what GNU tar 1.34 lists under `--exclude` in the C locale.
#[test]
fn switches_hold_in_brackets() {
    let within = Pattern { match_slash: false, ..Pattern::exclude("") };
    let folded = Pattern { ignore_case: true, ..Pattern::exclude("") };
    for (how, text, path, expected) in [
        (&Pattern::exclude(""), "x[!a]y", "x/y", true),
        (&within, "x[!a]y", "x/y", false),
        (&within, "x[.-1]y", "x/y", false),
        (&within, "x[a/]y", "xay", true),
        (&within, "x[a/]y", "x/y", false),
        (&folded, "[A-C]x", "bX", true),
        (&folded, "[[:upper:]]", "a", false),
        (&folded, "[[:upper:]]", "A", true),
        (&folded, "[![:lower:]]", "A", true),
        (&folded, "[!a]", "A", false),
    ] {
        let pattern = Pattern { text: text.into(), ..how.clone() };
        let selection = Selection::of(&[pattern], None).unwrap();
        assert_eq!(!selection.selects(path.as_bytes(), &mut selection.matched()), expected, "{text} {path}");
    }
}

/// Each line was compared with what GNU tar 1.34 lists under `--exclude` in a UTF-8 locale, where what is UTF-8 is compared by characters,
/// and by bytes too.
#[test]
fn wildcards_match_characters() {
    let exclude = Pattern::exclude("");
    let within = Pattern { match_slash: false, ..exclude.clone() };
    let folded = Pattern { ignore_case: true, ..exclude.clone() };
    let plain = Pattern { wildcards: false, ..folded.clone() };
    let alone = Pattern { anchored: true, below: false, ..exclude.clone() };
    for (how, text, path, expected) in [
        (&exclude, "M?nchen", "x/M\u{fc}nchen/y", true),
        (&exclude, "M??nchen", "M\u{fc}nchen", true),
        (&exclude, "?", "\u{1f600}", true),
        (&exclude, "????", "\u{1f600}", true),
        (&exclude, "[\u{e4}\u{f6}]x", "\u{f6}x", true),
        (&exclude, "[\u{e4}\u{f6}]x", "\u{fc}x", false),
        (&exclude, "[!\u{e4}]x", "\u{fc}x", true),
        (&exclude, "[!a]", "\u{fc}", true),
        (&exclude, "??", "\u{1f600}", false),
        (&exclude, "[[:alpha:]]", "\u{fc}", true),
        (&exclude, "[[:upper:]]", "\u{dc}", true),
        (&exclude, "[[:upper:]]", "\u{fc}", false),
        (&exclude, "*\u{fc}?", "\u{e4}/\u{fc}\u{e4}", true),
        (&within, "\u{e4}?\u{fc}", "\u{e4}/\u{fc}", false),
        (&within, "\u{e4}[!x]\u{fc}", "\u{e4}/\u{fc}", false),
        (&within, "\u{e4}*\u{fc}", "\u{e4}/\u{fc}", false),
        (&exclude, "\u{e4}?\u{fc}", "\u{e4}/\u{fc}", true),
        (&folded, "\u{fc}ber?", "\u{dc}BERX", true),
        (&folded, "[\u{fc}]x", "\u{dc}X", true),
        (&plain, "\u{fc}b?r", "\u{dc}B?R", true),
        (&plain, "\u{fc}b?r", "\u{dc}BER", false),
        (&alone, "a?", "a\u{fc}", true),
        (&alone, "a?", "a\u{fc}/b", false),
        (&alone, "a?", "b/a\u{fc}", false),
    ] {
        let pattern = Pattern { text: text.into(), ..how.clone() };
        let others = [Pattern::exclude("other"), Pattern::exclude(""), pattern];
        let selection = Selection::of(&others, None).unwrap();
        assert_eq!(!selection.selects(path.as_bytes(), &mut selection.matched()), expected, "{text} {path}");
        let members = Selection::of(&[], Some(&others)).unwrap();
        let mut matched = members.matched();
        assert!(members.selects(path.as_bytes(), &mut matched), "the empty operand selects all");
        assert_eq!(members.unmatched(&matched).count(), 2 - usize::from(expected), "{text} {path}");
    }
    // A path that is no UTF-8 is compared byte by byte.
    let selection = Selection::of(&[Pattern::exclude("a??")], None).unwrap();
    assert!(!selection.selects(b"a\xff\xfe", &mut selection.matched()));
    assert!(selection.selects(b"a\xff\xc3\xbc/x", &mut selection.matched()));
}

/// A name in a pattern without wildcards may have a backslash.
#[test]
fn plain_names_have_nothing_special() {
    for name in ["a\\b", "a\\", "[", "{a,b}", "*", "[!a]"] {
        let pattern = Pattern { wildcards: false, ..Pattern::exclude(name) };
        let selection = Selection::of(&[pattern], None).unwrap();
        assert!(!selection.selects(name.as_bytes(), &mut selection.matched()), "{name}");
        assert!(selection.selects(b"a", &mut selection.matched()), "{name}");
    }
}

/// The paths of a tree that a walk meets; a directory's ends in a slash. `rules` are as `+ a` and `- b`.
fn met<'a>(rules: &[&str], tree: &[&'a str]) -> Vec<&'a str> {
    let rules: Vec<(bool, Vec<u8>)> = rules.iter().map(|rule| (rule.starts_with('+'), rule[2..].into())).collect();
    let rules = Rules::new(&rules).unwrap();
    let is_met = |path: &&&str| {
        let name = path.trim_end_matches('/');
        let above = name.rsplit_once('/').is_none_or(|(above, _)| rules.allow_way(above.as_bytes()));
        let allowed = rules.allow(name.as_bytes());
        above && if path.ends_with('/') { allowed.dir } else { allowed.other }
    };
    tree.iter().filter(is_met).copied().collect()
}

/// Each line was compared with what `rsync -a` 3.5 copies.
#[test]
fn rules_are_rsync_s() {
    let tree = ["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/k", "x.d/sub/f"];
    for (rules, expected) in [
        (&["+ x.d", "- *.d"][..], &tree[..]),
        (&["+ k*", "- *"], &["k", "keep/", "keep/keep2"]),
        (&["- *.d"], &["f", "k", "keep/", "keep/a", "keep/keep2"]),
        (&["- sub/k"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/f"]),
        (&["- *d/k"], &tree),
        (&["- x?d/s*/[k]"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/f"]),
        (&["- x.d/**"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/"]),
        (&["- x.d/***"], &["f", "k", "keep/", "keep/a", "keep/keep2"]),
        (&["- f/***", "- sub/***"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data"]),
        (&["- x**k"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/f"]),
        (&["- **/k"], &["f", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/f"]),
        (&["- x.d/**/k"], &["f", "k", "keep/", "keep/a", "keep/keep2", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/f"]),
        (&["- x.d/**/sub"], &tree),
        (&["+ */", "+ k", "- *"], &["k", "keep/", "x.d/", "x.d/sub/", "x.d/sub/k"]),
        (&["+ /k", "+ x.d/***", "- *"], &["k", "x.d/", "x.d/data", "x.d/sub/", "x.d/sub/k", "x.d/sub/f"]),
        (&["+ /x.d/", "+ /x.d/sub/***", "- *"], &["x.d/", "x.d/sub/", "x.d/sub/k", "x.d/sub/f"]),
        (&["- **"], &[]),
        (&["+ keep/a", "- *"], &[]),
    ] {
        assert_eq!(met(rules, &tree), expected, "{rules:?}");
    }
    // Without a wildcard a backslash is one.
    assert_eq!(met(&["- a\\b", "- \\[c*"], &["a\\b", "ab", "[c", "c"]), ["ab", "c"]);
    for pattern in ["[a", "[[:digit:]", "[[:word:]]", "*\\", "[a/b]"] {
        let error = Rules::new(&[(true, "x".into()), (false, pattern.into())]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("pattern '{pattern}': ")), "{error}");
    }
}

#[test]
fn kinds_matter_where_a_rule_is_about_directories() {
    use crate::storage::Kind;
    let rules = Rules::new(&[(true, "*/".into()), (false, "*".into())]).unwrap();
    let allowed = rules.allow(b"a");
    assert_eq!(
        (allowed.of(Some(Kind::Dir)), allowed.of(Some(Kind::Symlink)), allowed.of(None)),
        (Some(true), Some(false), None)
    );
    let rules = Rules::new(&[(false, "b".into())]).unwrap();
    assert_eq!((rules.allow(b"a").of(None), rules.allow(b"x/b").of(None)), (Some(true), Some(false)));
    assert!(!rules.allow_way(b"b/c/d") && rules.allow_way(b"c/d"));
}

/// What patterns and paths of the comparisons below are made of.
const LETTERS: &str = r"[ab/*?.\\\[\]!^\-A{,é\u{e4}Ä🙂]{0,9}|[ab/*]{0,12}|[ab?]\[[!^]?[ab/é\-äÄ]{0,4}\][ab*]?|[ab]\[\[:(alpha|upper|punct|digit):\]-?é?\]";
const PATHS: &str = r"[ab/.\-A{,éäÄ🙂!^*\[\]]{0,9}|[ab/]{0,14}|[ab/äÄé]{0,6}";

/// Those of the paths in which the former ones began a name where it begins: they did so behind each of several slashes, too, where GNU tar
/// does behind the last (`excludes_as_gnu_tar`).
fn steady(paths: &[String]) -> impl Iterator<Item = &String> {
    paths.iter().filter(|path| !path.contains("//"))
}

/// A range from a character beyond ASCII to itself was that character; by bytes, as GNU tar 1.34 and rsync compare them, there is more
/// between its last and its first.
fn has_range_of_one(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|c| *c != '\\').collect();
    plain.windows(3).any(|three| three[1] == '-' && three[0] == three[2] && !three[0].is_ascii())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn patterns_match_as_globset_and_regex_had_it(
        text in LETTERS, paths in proptest::collection::vec(PATHS, 8), switches in proptest::array::uniform5(any::<bool>()),
    ) {
        prop_assume!(!has_range_of_one(&text));
        let [wildcards, anchored, ignore_case, match_slash, below] = switches;
        let pattern = Pattern { text: text.clone().into(), wildcards, anchored, ignore_case, match_slash, below };
        match (Set::new(std::slice::from_ref(&pattern)), Former::new(&pattern)) {
            (Ok(set), Ok(former)) => for path in steady(&paths) {
                prop_assert_eq!(set.is_match(path.as_bytes()), former.is_match(path), "{:?} {}", pattern, path);
            },
            (Err(now), Err(former)) => prop_assert_eq!(now.reason, former),
            (now, former) => prop_assert!(false, "{pattern:?} {now:?} {:?}", former.err()),
        }
    }

    #[test]
    fn rules_match_as_globset_had_it(text in LETTERS, paths in proptest::collection::vec(PATHS, 8)) {
        prop_assume!(!has_range_of_one(&text) && !text.ends_with('/') && !text.ends_with("***") && !text.starts_with("./") && !matches!(&text[..], "" | "/"));
        match (Rules::new(&[(false, text.clone().into())]), Former::rule(&text)) {
            (Ok(rules), Ok(former)) => for path in steady(&paths) {
                prop_assert_eq!(!rules.allow(path.as_bytes()).other, former.is_match(path), "{} {}", text, path);
            },
            (Err(now), Err(former)) => prop_assert_eq!(now.reason, former),
            (now, former) => prop_assert!(false, "{text} {now:?} {:?}", former.err()),
        }
    }

    /// Others in the set change nothing, whatever is in them.
    #[test]
    fn a_pattern_matches_among_others_as_alone(
        texts in proptest::collection::vec((LETTERS, proptest::array::uniform5(any::<bool>())), 4..8),
        paths in proptest::collection::vec(PATHS, 8),
    ) {
        let pattern = |(text, [wildcards, anchored, ignore_case, match_slash, below]): (String, [bool; 5])| {
            Pattern { text: text.into(), wildcards, anchored, ignore_case, match_slash, below }
        };
        let patterns: Vec<Pattern> = texts.into_iter().map(pattern).collect();
        if let Ok(set) = Set::new(&patterns) {
            for path in &paths {
                let alone = |at: &usize| Set::new(&patterns[*at..*at + 1]).unwrap().is_match(path.as_bytes());
                let mut found = set.matches(path.as_bytes());
                found.sort();
                found.dedup();
                prop_assert_eq!(found, (0..patterns.len()).filter(alone).collect::<Vec<_>>(), "{:?} {}", patterns, path);
            }
        }
    }

    /// One by one, and all in one set.
    #[test]
    fn each_of_many_patterns_matches_as_alone(
        texts in proptest::collection::vec(("[ab/]{1,4}|[ab/*]{1,4}", any::<bool>(), any::<bool>()), 1..20), path in "[ab/]{0,9}",
    ) {
        let pattern = |(text, anchored, below): &(String, bool, bool)| {
            Pattern { anchored: *anchored, below: *below, ..Pattern::exclude(text.as_bytes()) }
        };
        let patterns: Vec<Pattern> = texts.iter().map(pattern).collect();
        let alone = |at: &usize| Set::new(&patterns[*at..*at + 1]).unwrap().is_match(path.as_bytes());
        let expected: Vec<usize> = (0..patterns.len()).filter(alone).collect();
        let mut found = Set::new(&patterns).unwrap().matches(path.as_bytes());
        found.sort();
        found.dedup();
        prop_assert_eq!(found, expected);
    }
}

/// 10,000 were too many for globset, and the message had them all.
#[test]
fn hundreds_of_thousands_of_patterns_are_taken() {
    let texts = (0..200_000).map(|n| format!("d{n}/name{n}.log"));
    let wild = (0..20_000).map(|n| format!("w{n}/*.[ab]?"));
    let patterns: Vec<Pattern> = texts.chain(wild).map(Pattern::exclude).collect();
    let selection = Selection::of(&patterns, None).unwrap();
    let mut matched = selection.matched();
    let mut selects = |path: &str| selection.selects(path.as_bytes(), &mut matched);
    assert!(!selects("x/d199999/name199999.log/below") && !selects("w19999/x.bc") && !selects("./d0/name0.log"));
    assert!(selects("d1/name2.log") && selects("w1/x.cc") && selects("xd1/name1.log"));

    let rules: Vec<(bool, Vec<u8>)> = patterns.iter().map(|pattern| (false, pattern.text.clone())).collect();
    let rules = Rules::new(&rules).unwrap();
    assert!(!rules.allow(b"x/d7/name7.log").other && !rules.allow(b"w7/y.a7").other && rules.allow(b"w7/y/z.a7").other);

    let bad = Selection::of(&[patterns, vec![Pattern::exclude("bad[b-a]")]].concat(), None).unwrap_err();
    assert_eq!(bad.to_string(), "pattern 'bad[b-a]': the range 'b-a' ends before it begins");
}

/// Each line was compared with what GNU tar 1.34 lists under `--exclude` in a UTF-8 locale.
#[test]
fn patterns_are_bytes() {
    let folded = Pattern { ignore_case: true, ..Pattern::exclude("") };
    for (how, text, path, expected) in [
        (&Pattern::exclude(""), &b"caf\xe9*"[..], &b"caf\xe9.txt"[..], true),
        (&Pattern::exclude(""), b"caf\xe9*", "caf\u{e9}.txt".as_bytes(), false),
        (&Pattern::exclude(""), b"caf\xe9", b"x/caf\xe9/y", true),
        (&Pattern::exclude(""), b"caf?", b"caf\xe9", true),
        (&Pattern::exclude(""), b"[\xe0-\xef]", b"\xe9", true),
        (&Pattern::exclude(""), b"[!\xe0-\xef]", b"\xe9", false),
        (&Pattern::exclude(""), b"?\xff", "\u{e9}\u{fc}".as_bytes(), false),
        (&folded, b"CAF\xe9", b"caf\xe9", true),
        (&Pattern::exclude(""), "?[\u{c4}-\u{c4}]".as_bytes(), "\u{e4}".as_bytes(), true),
    ] {
        let pattern = Pattern { text: text.into(), ..how.clone() };
        let selection = Selection::of(std::slice::from_ref(&pattern), None).unwrap();
        assert_eq!(!selection.selects(path, &mut selection.matched()), expected, "{pattern:?} {path:?}");
        let members = Selection::of(&[], Some(&[Pattern { anchored: false, ..pattern }])).unwrap();
        assert_eq!(members.selects(path, &mut members.matched()), expected, "{path:?}");
    }
    assert!(!Rules::new(&[(false, b"caf\xe9*".into())]).unwrap().allow(b"x/caf\xe9.txt").other);
    assert!(!Rules::new(&[(false, b"caf\xe9".into())]).unwrap().allow(b"x/caf\xe9").other);
    let bad = Selection::of(&[Pattern::exclude(*b"\xe9[b-a]")], None).unwrap_err();
    assert!(bad.to_string().starts_with(r"pattern '\351[b-a]': "), "{bad}");
}
