//! Dates of `--newer` and `--mtime`: as GNU's tools take them (`2024-01-02 03:04:05`, `2 days ago`, `@1700000000`), in the local time
//! zone, or the time of a file whose name begins with `/` or `.`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use crate::base::Time;
use crate::base::name::Shown;
use crate::cli::console::reason;
use crate::cli::host::Unclear::{self, Usage};

/// What `text` says, as the value of `option`.
pub fn date(option: &str, text: &OsStr) -> Result<Time, Unclear> {
    let shown = Shown(text.as_bytes());
    if text.as_bytes().starts_with(b"/") || text.as_bytes().starts_with(b".") {
        let meta = std::fs::metadata(text)
            .map_err(|error| Usage(format!("{shown}: Cannot stat: {}; {option} takes its time", reason(&error))))?;
        return Ok(Time { secs: meta.mtime(), nanos: u32::try_from(meta.mtime_nsec()).unwrap_or(0) });
    }
    let parsed = text.to_str().and_then(|text| {
        // For GNU's tools the empty date is the midnight that today began with.
        let text = if text.trim_ascii().is_empty() { "00:00" } else { text };
        parse_datetime::parse_datetime(text).ok()
    });
    let parsed = parsed.ok_or_else(|| Usage(format!("{option}: '{shown}' is no date")))?;
    let nanos = u32::try_from(parsed.subsec_nanosecond()).unwrap_or(0);
    Ok(Time { secs: parsed.unix_epoch_second(), nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Time, Unclear> {
        date("--newer", OsStr::new(text))
    }

    #[test]
    fn dates_are_read_as_gnu_tools_read_them() {
        for (text, secs, nanos) in [
            ("@1700000000", 1_700_000_000, 0),
            ("@1.5", 1, 500_000_000),
            ("@-1", -1, 0),
            ("2001-02-03 04:05:06 UTC", 981_173_106, 0),
            ("2001-02-03T04:05:06Z", 981_173_106, 0),
            ("2001-02-03 04:05:06.25 +0100", 981_169_506, 250_000_000),
        ] {
            assert_eq!(of(text), Ok(Time { secs, nanos }), "{text}");
        }
        let (now, then) = (Time::now(), of("2 days ago").unwrap());
        assert_eq!((of(""), of(" ")), (of("today 00:00"), of("today 00:00")));
        // A change of daylight saving moves it by an hour.
        assert!((now.secs - then.secs - 2 * 86_400).abs() <= 3_660, "{then:?}");
    }

    #[test]
    fn a_files_time_is_a_date_and_nonsense_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 7);
        std::fs::File::create(&file).unwrap().set_modified(time).unwrap();
        assert_eq!(date("--mtime", file.as_os_str()), Ok(Time { secs: 1_000_000_000, nanos: 7 }));
        assert!(matches!(of("/does/not/exist"), Err(Usage(text)) if text.contains("Cannot stat")));
        assert_eq!(of("nonsense"), Err(Usage("--newer: 'nonsense' is no date".into())));
    }
}
