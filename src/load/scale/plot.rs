//! Lines over a plane, as inline SVG.

use std::fmt::Write;

use crate::base::units::grouped;

use super::html::escaped;

/// Width and height of the plane in pixels, and what is left around it.
const WIDE: f64 = 380.0;
const HIGH: f64 = 220.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const BELOW: f64 = 50.0;

/// From one name to the next.
const LINE: f64 = 14.0;

/// What lines are drawn in, again from the first when there are more.
const COLORS: [&str; 8] = ["#1f5fbf", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#117a8b", "#7b5e3b", "#555555"];

/// Points of lines that are few enough to be marked and told.
const MARKED_MAX: usize = 16;

/// Parts of an axis at most.
const TICKS: f64 = 5.0;

/// A name, and points by ascending x.
pub type Line = (String, Vec<(f64, f64)>);

/// The plot of these lines; nothing when there are no points.
pub fn lines(title: &str, (x_name, y_name): (&str, &str), lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points);
    if points().next().is_none() {
        return String::new();
    }
    let x_axis = Axis::over(points().map(|(x, _)| *x));
    let y_axis = Axis::over(points().map(|(_, y)| *y));
    let x = |value: f64| LEFT + x_axis.share(value) * WIDE;
    let y = |value: f64| TOP + HIGH - y_axis.share(value) * HIGH;
    let (bottom, right) = (TOP + HIGH, LEFT + WIDE);
    // The names beside the plane may be more than it is high.
    let names = TOP + LINE * lines.len() as f64;
    let (width, height) = (right + 130.0, (bottom + BELOW).max(names));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    // Writing to a String cannot fail.
    for tick in x_axis.ticks() {
        let at = x(tick);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            x_axis.mark(tick)
        );
    }
    for tick in y_axis.ticks() {
        let at = y(tick);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            y_axis.mark(tick)
        );
    }
    let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" stroke=\"black\" fill=\"none\"/>");
    let _ = writeln!(svg, "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>", bottom + 34.0, escaped(x_name));
    let _ =
        writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", LEFT - 6.0, TOP - 10.0, escaped(y_name));
    for (at, (name, points)) in lines.iter().enumerate() {
        let color = COLORS[at % COLORS.len()];
        let drawn: Vec<String> = points.iter().map(|&(px, py)| format!("{:.1},{:.1}", x(px), y(py))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" stroke=\"{color}\" stroke-width=\"1.5\" fill=\"none\"/>",
            drawn.join(" ")
        );
        if points.len() <= MARKED_MAX {
            for &(px, py) in points {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"><title>{}: {}</title></circle>",
                    x(px),
                    y(py),
                    shown(px),
                    shown(py)
                );
            }
        }
        let height = TOP + LINE * at as f64;
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{height}\" fill=\"{color}\">{}</text>", right + 8.0, escaped(name));
    }
    if let [(_, points)] = lines
        && points.len() <= MARKED_MAX
    {
        for &(px, py) in points {
            let (px, py, text) = (x(px), y(py) - 8.0, shown(py));
            let _ = writeln!(svg, "<text x=\"{px:.1}\" y=\"{py:.1}\" text-anchor=\"middle\">{text}</text>");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// From where to where, and how far its marks are apart.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// Over these values, from 0 where none is below it, in steps of 1, 2 or 5 times a power of ten.
    fn over(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let low = values.clone().fold(0.0, f64::min);
        let high = values.fold(low, f64::max);
        let high = if high > low { high } else { low + 1.0 };
        let rough = (high - low) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
        let step = factor * power;
        Axis { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    /// What a mark says; those of small steps have as many digits as they differ in.
    fn mark(&self, tick: f64) -> String {
        let digits = (-self.step.log10()).ceil().clamp(0.0, 9.0) as usize;
        if digits > 3 && tick.abs() > self.step / 2.0 { format!("{tick:.digits$}") } else { shown(tick) }
    }

    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count).map(|at| self.low + f64::from(at) * self.step)
    }
}

/// A number of an axis: whole ones with thousands separated, others with three digits.
fn shown(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || (size - size.round()).abs() < 1e-9 {
        let sign = if value <= -0.5 { "-" } else { "" };
        return format!("{sign}{}", grouped(size.round() as u64));
    }
    if size >= 1.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_marks() {
        let ticks = |values: &[f64]| {
            let axis = Axis::over(values.iter().copied());
            axis.ticks().map(|tick| axis.mark(tick)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ticks(&[1.0, 2.0, 4.0, 8.0]), "0 2 4 6 8");
        assert_eq!(ticks(&[25_018.0, 200_144.0]), "0 50,000 100,000 150,000 200,000 250,000");
        assert_eq!(ticks(&[-1.2, 0.9]), "-1.5 -1 -0.500 0 0.500 1");
        assert_eq!(ticks(&[0.0]), "0 0.200 0.400 0.600 0.800 1");
        assert_eq!(ticks(&[0.000_31, 0.000_35]), "0 0.0001 0.0002 0.0003 0.0004");
    }

    #[test]
    fn every_point_is_on_the_plane() {
        let svg = lines("t", ("x", "y"), &[("a & b".into(), vec![(1.0, 10.0), (2.0, 20.0)])]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("points=\"260.0,150.0 450.0,40.0\"") && svg.contains("a &amp; b"), "{svg}");
        assert_eq!(lines("t", ("x", "y"), &[("a".into(), Vec::new())]), "");
    }
}
