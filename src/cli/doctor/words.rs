//! Figures and names as findings print them: commands that can be pasted, lines of /etc/fstab, durations, sizes.

use std::time::Duration;

/// A word of a shell's command line; in quotes where it must be, in bash's `$'...'` where it is no plain text.
pub fn shell(word: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(b);
    match std::str::from_utf8(word) {
        Ok(text) if !word.is_empty() && word.iter().all(plain) => text.to_string(),
        Ok(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let escaped = word.iter().map(|b| match b {
                b if b.is_ascii_graphic() && !b"'\\".contains(b) => char::from(*b).to_string(),
                b => format!("\\{b:03o}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
    }
}

/// A field of /etc/fstab (fstab(5)): blanks and what is no printable ASCII as `\ooo`, which getmntent(3) reads.
pub fn fstab_field(field: &[u8]) -> String {
    let escaped = field.iter().map(|b| match b {
        b'\\' | b'#' => format!("\\{b:03o}"),
        b if b.is_ascii_graphic() => char::from(*b).to_string(),
        b => format!("\\{b:03o}"),
    });
    escaped.collect()
}

/// Bytes in the kernel's units where they come out even: `1 MiB`, `128 KiB`.
pub fn binary(bytes: u64) -> String {
    match bytes {
        0 => "0".into(),
        n if n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// A time in milliseconds.
pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// `1 path`, `2 paths`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::base::units::grouped(n), if n == 1 { one } else { many })
}

/// How many of `part` are in `whole`, in percent; 0 of nothing.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// What goes through something that holds `bytes` for the time `rtt`, in bytes a second.
pub fn rate(bytes: u64, rtt: Duration) -> u64 {
    (bytes as f64 / rtt.as_secs_f64().max(1e-6)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_shell_and_fstab() {
        for (word, shown) in [
            (&b"/mnt/a-b_1.c"[..], "/mnt/a-b_1.c"),
            (b"", "''"),
            (b"/mnt/a b", "'/mnt/a b'"),
            (b"/mnt/a[b]", "'/mnt/a[b]'"),
            (b"/mnt/it's $HOME", "'/mnt/it'\\''s $HOME'"),
            (b"/mnt/\xff\n'x", "$'/mnt/\\377\\012\\047x'"),
        ] {
            assert_eq!(shell(word), shown);
            let ran = std::process::Command::new("bash").args(["-c", &format!("printf %s {shown}")]).output().unwrap();
            assert_eq!(ran.stdout, word);
        }
        assert_eq!(fstab_field(b"/mnt/a b\\#\t\xc3"), "/mnt/a\\040b\\134\\043\\011\\303");
        assert_eq!(crate::mounts::local::peers::mountinfo::plain(fstab_field(b"/a \\ \xff").as_bytes()), b"/a \\ \xff");
    }

    #[test]
    fn figures() {
        assert_eq!([0, 5, 1024, 131_072, 1 << 20].map(binary), ["0", "5 B", "1 KiB", "128 KiB", "1 MiB"]);
        assert_eq!((ms(Duration::from_micros(1230)), percent(1, 8), percent(1, 0)), ("1.23 ms".into(), 12.5, 0.0));
        assert_eq!(
            (counted(1, "path", "paths"), counted(2000, "path", "paths")),
            ("1 path".into(), "2,000 paths".into())
        );
        assert_eq!(rate(131_072, Duration::from_millis(1)), 131_072_000);
        assert!(rate(u64::MAX, Duration::ZERO) > 0);
    }
}
