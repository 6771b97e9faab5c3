//! What names become, compared with GNU tar 1.34 (`tar -cvf /dev/null --transform EXPRESSION --show-transformed-names NAME`).

use super::*;

fn becomes(expression: &str, name: &str) -> String {
    let transform = Transform::parse(&[expression]).unwrap_or_else(|e| panic!("{expression}: {e}"));
    String::from_utf8(transform.apply(name.as_bytes(), Part::Member)).unwrap()
}

#[test]
fn names_become_what_gnu_tar_makes_of_them() {
    for (expression, name, expected) in [
        ("s/a/b/", "aaa", "baa"),
        ("s/a/b/g", "aaa", "bbb"),
        ("s/^a/b/g", "aaa", "baa"),
        (r"s/x\/y/z/", "ax/y", "az"),
        (r"s/a/x\/y/", "ab", "x/yb"),
        (r"s,a,x\,y,", "ab", "x,yb"),
        (r"s/\(a\)\(b\)/\2\1/", "abc", "bac"),
        ("s/a|b/X/x", "ba", "Xa"),
        (r"s/a\|ab/X/", "abc", "Xc"),
        ("s/(a|ab)*c/X/x", "aababc", "X"),
        ("s/.*/\\Uabc\\Edef&/", "q", "ABCdefq"),
        (r"s/.*/\ux\U&y\Ez/", "q", "XQYz"),
        (r"s/\(.*\)/\u\L\1/", "HELLO", "hello"),
        (r"s/\(.*\)/\L\u\1/", "HELLO", "HELLO"),
        (r"s/\(..\)\(..\)\(..\)/\l\1\U\2\3/", "ABcdef", "aBCDEF"),
        (r"s/\(..\)\(..\)\(..\)/\u\l\1\U\u\2\3/", "abcdef", "abCdEF"),
        (r"s/\(..\)\(..\)\(..\)/\U\1\E\2\u\3/", "abcdef", "ABcdEf"),
        (r"s/\(x\)*\(a\)/\u\1\2/", "abc", "Abc"),
        (r"s/a/\q\x41\n\cA/", "ab", "\\q\\x41\n\\cAb"),
        (r"s/a/\&\\/", "a", r"&\"),
        ("s/x*/-/", "abc", "-abc"),
        ("s/b*$/Z/", "abb", "aZ"),
        ("s/A/z/i", "abc", "zbc"),
        (r"s/a\+/z/", "aab", "zb"),
        (r"s/a\?b/z/", "aab", "az"),
        (r"s/a\{2\}/z/", "aaab", "zab"),
        (r"s/a\{,2\}/X/", "aaa", "Xa"),
        (r"s/a\{2,\}/X/", "aaa", "X"),
        ("s/a{1,2}/z/x", "aaa", "za"),
        ("s/a+*/X/x", "aa", "X"),
        ("s/*/z/", "a*", "az"),
        (r"s/\(*a\)/X/", "*a", "X"),
        (r"s/\(^*a\)/X/", "*a", "X"),
        (r"s/a\|*b/X/", "*b", "X"),
        ("s/a^b/z/", "a^b", "z"),
        ("s/a$b/z/", "a$b", "z"),
        (r"s/\(^a\)/z/", "ab", "zb"),
        (r"s/a\(b$\)/z/", "ab", "z"),
        ("s/a)/X/x", "a)", "X"),
        ("s/()/z/x", "a", "za"),
        ("s/a||b/z/x", "b", "z"),
        ("s/(a)(b)?/[\\2]/x", "ac", "[]c"),
        ("s/[[:alpha:]]*/z/", "ab\u{e9}1", "z1"),
        ("s/[]a]/z/g", "a]b", "zzb"),
        ("s/[^]a]/z/g", "a]b", "a]z"),
        (r"s/[a\]/z/g", r"a\b", "zzb"),
        ("s/[[.-.]]/X/", "a-", "aX"),
        ("s/./z/", "\u{e9}a", "za"),
        ("s/a.b/X/", "a\nb", "X"),
        (r"s/\<c/z/", "ab cd", "ab zd"),
        (r"s/\w\+/z/", "ab cd", "z cd"),
        (r"s/b\>/X/", "ab ab", "aX ab"),
        (r"s/a\'/X/", "aa", "aX"),
        (r"s/\q/X/", "aqb", "aXb"),
        (r"s/b/\a\b\f\n\r\t\v/", "abc", "a\x07\x08\x0c\n\r\t\x0bc"),
        (r"s/b/\q\x41\&\\/", "abc", r"a\q\x41&\c"),
        (r"sbxb\bb", "axc", "abc"),
        ("s/a/b/;s/b/c/", "aa", "ca"),
        ("s/a/b/;", "a", "b"),
        ("s/./X/3g", "abcdef", "abXXXX"),
        ("s/a/X/0", "aaa", "Xaa"),
        ("s/a/X/99999999999999999999999", "aaa", "aaa"),
        ("s/^/x\\//", "ab", "x/ab"),
        ("s/$/x/", "abc", "abcx"),
        ("s/.*//", "a", ""),
        ("", "a", "a"),
    ] {
        assert_eq!(becomes(expression, name), expected, "{expression} on {name}");
    }
}

/// Where GNU tar hangs, repeats or begins anew, sed is the measure.
#[test]
fn where_gnu_tar_goes_wrong_sed_is_right() {
    for (expression, name, expected) in [
        ("s/x*/-/g", "abc", "-a-b-c-"),
        ("s/x*/-/g", "axb\u{e9}", "-a-b-\u{e9}-"),
        ("s/a/b/2", "xaxaxa", "xaxbxa"),
        ("s/a/b/2g", "xaxaxa", "xaxbxb"),
        (r"s/\<a/b/g", "aaa", "baa"),
    ] {
        assert_eq!(becomes(expression, name), expected, "{expression} on {name}");
    }
}

#[test]
fn bytes_that_are_no_text_stay() {
    let apply = |expression: &[u8], name: &[u8]| Transform::parse(&[expression]).unwrap().apply(name, Part::Member);
    assert_eq!(apply(b"s/.*/z/", b"a\xffb"), b"z\xffb");
    assert_eq!(apply(b"s/a\xff/\xfe/", b"a\xffb"), b"\xfeb");
}

#[test]
fn scopes_say_which_names_are_meant() {
    let all = |expression: &str| {
        let transform = Transform::parse(&[expression]).unwrap();
        [Part::Member, Part::HardLink, Part::Symlink]
            .map(|part| String::from_utf8(transform.apply(b"a", part)).unwrap())
    };
    assert_eq!(all("s/a/b/"), ["b", "b", "b"]);
    assert_eq!(all("s/a/b/S"), ["b", "b", "a"]);
    assert_eq!(all("s/a/b/RH"), ["a", "a", "b"]);
    // The default flags replace all that were before; those of an expression change them.
    assert_eq!(all("flags=r;s/a/b/"), ["b", "a", "a"]);
    assert_eq!(all("flags=h;s/a/b/s"), ["a", "b", "b"]);
    assert_eq!(all("flags=R;s/a/b/"), ["a", "a", "a"]);
    assert_eq!(all("flags=S;s/a/b/;flags=s;s/a/c/"), ["a", "a", "c"]);
}

#[test]
fn what_cannot_be_used_is_said_in_gnu_tars_words() {
    for (expression, message) in [
        ("y/a/b/", "Invalid transform expression"),
        ("s/a", "Invalid transform expression"),
        ("s/a/b", "Invalid transform expression"),
        (r"s/a/b\/", "Invalid transform expression"),
        ("s/a/b/;;s/b/c/", "Invalid transform expression"),
        ("s/a/b/q", "Unknown flag in transform expression: q"),
        ("flags=q;s/a/b/", "Unknown transform flag: q"),
        (r"s/a/\3/", "Invalid transform replacement: back reference out of range"),
        ("s/(a/b/x", r"Invalid transform expression: Unmatched ( or \("),
        ("s/+/z/x", "Invalid transform expression: Invalid preceding regular expression"),
        ("s/(*b)/z/x", "Invalid transform expression: Invalid preceding regular expression"),
        ("s/a{x/z/x", r"Invalid transform expression: Unmatched \{"),
        (r"s/a\{3,2\}/X/", r"Invalid transform expression: Invalid content of \{\}"),
        ("s/[[:foo:]]/X/", "Invalid transform expression: Invalid character class name"),
        ("s/[z-a]/X/", "Invalid transform expression: Invalid range end"),
        ("s/[a/X/", "Invalid transform expression: Unmatched [, [^, [:, [., or [="),
        (r"s/\(a\)\1/z/", r"Invalid transform expression: back-references in the pattern (\1) are not in this version"),
    ] {
        assert_eq!(Transform::parse(&[expression]).unwrap_err().to_string(), message, "{expression}");
    }
    assert!(Transform::parse(&[r"s/\(a\{9999\}\)\{9999\}/z/"]).unwrap_err().to_string().ends_with("too big"));
}

/// What GNU tar 1.34 extracted these members to.
#[test]
fn the_slash_behind_a_directory_is_none_of_its_name() {
    for (expression, path, expected) in [
        ("s,.*/,,", "src/private/", "private/"),
        ("s,.*/,,", "src/", "src/"),
        ("s,$,.bak,", "a/b/", "a/b.bak/"),
        ("s,/,_,g", "a/b/", "a_b/"),
        ("s,^a$,Q,", "a/", "Q/"),
        ("s,/$,X,", "a/", "a/"),
        ("s,^a$,,", "a/", ""),
        ("s,a,/,", "a/", "/"),
        ("s,x,y,", "/", "/"),
        ("s,.*/,,", "src/private/f", "f"),
        ("s,a,b,", "", ""),
    ] {
        let transform = Transform::parse(&[expression.as_bytes()]).unwrap();
        assert_eq!(transform.apply_to_path(path.as_bytes()), expected.as_bytes(), "{expression} {path}");
    }
}
