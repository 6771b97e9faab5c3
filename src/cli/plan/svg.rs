//! A forecast as a picture: time and priced IOPS against mount targets, in one file that needs nothing else.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::base::price::Ceiling;
use crate::base::units::grouped;
use crate::cli::console::reason;
use crate::cli::host::file_mode;
use crate::cli::report;
use crate::plan::forecast::Point;

use super::forecast::seconds_shown;

/// Width and height of a chart's plane in pixels, and what is left around it.
const WIDE: f64 = 320.0;
const HIGH: f64 = 200.0;
const MARGIN: f64 = 60.0;

/// Bytes of a file in which an SVG has to begin: before that stand a declaration and comments.
const BEGINS_BYTES_MAX: u64 = 4096;

/// Where a picture goes.
#[derive(Debug)]
pub struct Canvas<'a> {
    path: &'a Path,
    mode: u32,
}

impl Canvas<'_> {
    /// Refuses what it may not replace. Comes before the job, which takes this process's umask away.
    pub fn at(path: &Path) -> Result<Canvas<'_>, String> {
        may_replace(path)?;
        Ok(Canvas { path, mode: file_mode() })
    }

    /// Writes the picture, whole or not at all.
    pub fn write(&self, text: &str) -> Result<(), String> {
        may_replace(self.path)?;
        report::write_whole(self.path, self.mode, |file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("{}: Cannot write: {}", self.path.display(), reason(&error)))
    }
}

/// Refuses a file that is there and no picture: a word misplaced on the command line must not cost an archive.
fn may_replace(path: &Path) -> Result<(), String> {
    if !fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0) {
        return Ok(());
    }
    let mut begins = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BEGINS_BYTES_MAX).read_to_end(&mut begins))
        .map_err(|error| format!("{}: Cannot read: {}", path.display(), reason(&error)))?;
    let text = begins.trim_ascii_start();
    let is_svg = text.starts_with(b"<") && begins.windows(4).any(|bytes| bytes == b"<svg");
    is_svg
        .then_some(())
        .ok_or_else(|| format!("{}: is there and no SVG, so it is not replaced (--svg)", path.display()))
}

/// The picture of these points.
pub fn draw(points: &[Point], ceiling: Ceiling) -> String {
    let (width, height) = (2.0 * (WIDE + 2.0 * MARGIN), HIGH + 2.0 * MARGIN);
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let time = points.iter().map(|point| (point.targets, point.seconds));
    let iops = points.iter().map(|point| (point.targets, point.iops_per_s * point.targets as f64));
    chart(&mut svg, 0.0, "Time", &time.collect::<Vec<_>>(), &seconds_shown, None);
    let shown = |value: f64| grouped(value as u64);
    chart(&mut svg, width / 2.0, "Priced IOPS, all targets", &iops.collect::<Vec<_>>(), &shown, Some(ceiling.iops));
    svg.push_str("</svg>\n");
    svg
}

/// One chart at `left`; `each` is a line of so much for each target.
fn chart(
    svg: &mut String,
    left: f64,
    title: &str,
    points: &[(usize, f64)],
    shown: &dyn Fn(f64) -> String,
    each: Option<f64>,
) {
    let most_targets = points.iter().map(|(n, _)| *n).max().unwrap_or(1) as f64;
    let most = points.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max) * 1.1;
    let x = |targets: f64| left + MARGIN + targets / most_targets * WIDE;
    let y = |value: f64| MARGIN + HIGH - (value / most).min(1.0) * HIGH;
    let (bottom, right) = (MARGIN + HIGH, left + MARGIN + WIDE);
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"14\">{title}</text>", x(0.0), MARGIN - 24.0);
    let axis = "stroke=\"black\" fill=\"none\"";
    let _ = writeln!(svg, "<path d=\"M{:.1} {MARGIN} V{bottom} H{right:.1}\" {axis}/>", x(0.0));
    if let Some(each) = each {
        // Up to where the ceiling leaves the plane.
        let end = most_targets.min(most / each);
        let (from, to) = ((x(0.0), y(0.0)), (x(end), y(end * each)));
        let dashed = "stroke=\"gray\" stroke-dasharray=\"4\"";
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {dashed}><title>ceiling</title></line>",
            from.0, from.1, to.0, to.1
        );
    }
    let line: Vec<String> = points.iter().map(|&(n, v)| format!("{:.1},{:.1}", x(n as f64), y(v))).collect();
    let _ =
        writeln!(svg, "<polyline points=\"{}\" stroke=\"#1f5fbf\" stroke-width=\"2\" fill=\"none\"/>", line.join(" "));
    for &(n, value) in points {
        let (x, y, text) = (x(n as f64), y(value), shown(value));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#1f5fbf\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{n}</text>",
            y - 8.0,
            bottom + 16.0
        );
    }
    let _ = writeln!(svg, "<text x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">mount targets</text>", bottom + 34.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_holds_every_point_and_ends() {
        let point = |targets, seconds| Point {
            targets,
            lanes: 16,
            seconds,
            bound: None,
            alone: Vec::new(),
            iops_per_s: 49_000.0,
            bytes_per_s: 0.0,
        };
        let svg = draw(&[point(1, 40.0), point(4, 10.5)], Ceiling::oci());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        for text in ["40.00 s", "10.50 s", "49,000", "196,000", ">4<"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(draw(&[], Ceiling::oci()).ends_with("</svg>\n"));
    }
}
