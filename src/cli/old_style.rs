//! tar's oldest habit: a first argument without a dash is a bundle of letters, whose values follow in the letters' order
//! (`partar pxf - -P 32`, `partar xfC a.tar dir`). Rewritten here to the dashed form, before anything else is parsed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The arguments after the program's name, in dashed form. An error names the letter whose value is missing.
pub fn rewrite(args: Vec<OsString>, takes_value: impl Fn(u8) -> bool) -> Result<Vec<OsString>, String> {
    match args.first() {
        Some(first) if !first.is_empty() && !first.as_bytes().starts_with(b"-") => {}
        _ => return Ok(args),
    }
    let mut rest = args.into_iter();
    let letters = rest.next().expect("there is a first argument");
    let mut dashed = Vec::new();
    for &letter in letters.as_bytes() {
        dashed.push(OsString::from_vec(vec![b'-', letter]));
        if takes_value(letter) {
            let shown = char::from(letter);
            dashed.push(rest.next().ok_or_else(|| format!("Old option '{shown}' requires an argument."))?);
        }
    }
    // A letter that is not ASCII leaves bytes that are no option; they are refused as they were typed.
    if !letters.is_ascii() {
        return Err(format!("unrecognized key bundle '{}'", OsStr::display(&letters)));
    }
    dashed.extend(rest);
    Ok(dashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(args: &[&str]) -> Result<Vec<String>, String> {
        let args = args.iter().map(OsString::from).collect();
        let dashed = rewrite(args, |letter| b"fCXP".contains(&letter))?;
        Ok(dashed.into_iter().map(|arg| arg.into_string().unwrap()).collect())
    }

    #[test]
    fn values_are_taken_in_the_order_of_the_letters() {
        assert_eq!(rewritten(&["pxf", "-", "-P", "32"]).unwrap(), ["-p", "-x", "-f", "-", "-P", "32"]);
        assert_eq!(rewritten(&["xCvf", "d", "a.tar", "m"]).unwrap(), ["-x", "-C", "d", "-v", "-f", "a.tar", "m"]);
        assert_eq!(rewritten(&["xfP", "a", "8"]).unwrap(), ["-x", "-f", "a", "-P", "8"]);
    }

    #[test]
    fn only_a_first_argument_without_a_dash_is_a_bundle() {
        for args in [&["-xf", "a"][..], &["--extract"], &["-", "xf"], &["", "xf"], &[]] {
            assert_eq!(rewritten(args).unwrap(), args);
        }
    }

    #[test]
    fn a_missing_value_names_its_letter() {
        assert_eq!(rewritten(&["xfC", "a"]).unwrap_err(), "Old option 'C' requires an argument.");
    }

    #[test]
    fn letters_beyond_ascii_are_refused() {
        let bad = rewrite(vec![OsString::from_vec(b"x\xfff".to_vec())], |_| false);
        assert!(bad.unwrap_err().starts_with("unrecognized key bundle"));
    }
}
