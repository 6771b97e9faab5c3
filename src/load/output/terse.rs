//! fio's terse lines, versions 2 to 5: one line for each report block, fields separated by `;`, latencies in µs.

use super::super::Direction;
use super::super::histogram::{Moments, percent_of};
use super::super::results::{DirectionResult, DiskResult, JobResult, Latency, Unified, depth_percent};

/// Percentiles of a line; those that the list lacks are `0%=0`.
const PERCENTILES: usize = 20;

/// The line of `job`, with a newline; `version` is 2 to 5, `program` what fio's version is told as. The second version has no `disks`.
pub fn line(job: &JobResult, disks: &[DiskResult], version: u8, program: &str) -> String {
    let mut fields = vec![version.to_string()];
    if version > 2 {
        fields.push(program.to_owned());
    }
    fields.extend([job.name.clone(), job.group.to_string(), job.errors.error.to_string()]);
    let directions = &job.directions;
    let mut told = vec![(Direction::Read, &directions.read)];
    if job.unified != Unified::Mixed {
        told.push((Direction::Write, &directions.write));
        told.extend((version != 3).then_some((Direction::Trim, &directions.trim)));
    }
    for (which, result) in told {
        direction(&mut fields, result, job.share(which), &job.percentiles, version);
    }
    if let Some((sum, share)) = job.sum() {
        direction(&mut fields, &sum, share, &job.percentiles, version);
    }
    let (usr, sys) = job.cpu();
    fields.extend([
        format!("{usr:.6}%"),
        format!("{sys:.6}%"),
        job.ctx.to_string(),
        job.majf.to_string(),
        job.minf.to_string(),
    ]);
    fields.extend(job.depths.level.iter().map(|count| format!("{:3.1}%", depth_percent(*count, job.ios()))));
    // Nanoseconds have no fields of their own.
    let mut us = job.shares.us;
    us[0] += job.shares.ns.iter().sum::<u64>();
    let shares = us.iter().chain(&job.shares.ms);
    fields.extend(shares.map(|count| format!("{:3.2}%", percent_of(*count, job.ios()))));
    for disk in disks.iter().filter(|_| version > 2) {
        let named = [(disk.name.as_str(), disk)].into_iter().chain(disk.parts.iter().map(|parts| ("slaves", &**parts)));
        for (name, DiskResult { ios, merges, ticks, in_queue, util, .. }) in named {
            fields.push(name.to_owned());
            fields.extend([ios, merges, ticks].into_iter().flatten().chain([in_queue]).map(u64::to_string));
            fields.push(format!("{util:3.2}%"));
        }
    }
    if let Some((total, first)) = job.errors.continued {
        fields.extend([total.to_string(), first.to_string()]);
    }
    if version > 2 {
        fields.extend(job.description.clone());
    }
    fields.join(";") + "\n"
}

fn direction(fields: &mut Vec<String>, result: &DirectionResult, share: f64, percentiles: &[f64], version: u8) {
    let bytes_per_second = result.bytes_per_second();
    let numbers = [result.bytes >> 10, bytes_per_second >> 10, result.ios_per_second() as u64, result.runtime_ms];
    fields.extend(numbers.map(|number| number.to_string()));
    latency(fields, &result.slat.moments);
    latency(fields, &result.clat.moments);
    // As in fio the percentiles are those of the whole latency where these are asked for.
    values(fields, if result.lat.histogram.is_some() { &result.lat } else { &result.clat }, percentiles);
    latency(fields, &result.lat.moments);
    let bw = &result.bw;
    fields.extend([bw.least().to_string(), bw.max.to_string(), format!("{share:.6}%")]);
    fields.extend([bw.mean, bw.deviation()].map(|number| format!("{number:.6}")));
    if version == 5 {
        let iops = &result.iops;
        fields.push(bw.n.to_string());
        fields.extend([iops.least(), iops.max].map(|number| number.to_string()));
        fields.extend([iops.mean, iops.deviation()].map(|number| format!("{number:.6}")));
        fields.push(iops.n.to_string());
    }
}

fn latency(fields: &mut Vec<String>, moments: &Moments) {
    fields.extend([moments.least(), moments.max].map(|ns| (ns / 1000).to_string()));
    fields.extend([moments.mean, moments.deviation()].map(|ns| format!("{:.6}", ns / 1000.0)));
}

fn values(fields: &mut Vec<String>, latency: &Latency, percentiles: &[f64]) {
    let found = latency.histogram.as_ref().map_or_else(Vec::new, |histogram| histogram.percentiles(percentiles));
    fields.extend((0..PERCENTILES).map(|index| match (percentiles.get(index), found.get(index)) {
        (Some(percentile), Some(ns)) => format!("{percentile:.6}%={}", ns / 1000),
        _ => "0%=0".to_owned(),
    }));
}

#[cfg(test)]
mod tests {
    use super::super::super::histogram::Histogram;
    use super::super::sample;
    use super::*;

    /// The beginning of what Debian's fio 3.33 printed of the sample.
    const LINE: &str = "3;fio-3.33;one;0;0;3928;8149;2037;482;0;0;0.000000;0.000000;42;5396;371.221859;813.162894;1.000000%=48;5.000000%=51;\
        10.000000%=54;20.000000%=58;30.000000%=64;40.000000%=69;50.000000%=75;60.000000%=83;70.000000%=99;80.000000%=246;\
        90.000000%=1105;95.000000%=2375;99.000000%=4046;99.500000%=4489;99.900000%=5406;99.950000%=5406;99.990000%=5406;0%=0;0%=0;0%=0;\
        42;5396;371.283354;813.173188;0;0;0.000000%;0.000000;0.000000;4264;8846;2211;482;";

    #[test]
    fn as_fio_prints_it() {
        let text = line(&sample::job(), &[], 3, "fio-3.33");
        assert!(text.starts_with(LINE), "{text}");
        let middle = ";2;71;5.908295;5.697531;0;0;0.000000%;0.000000;0.000000;0.312826%;6.047967%;2019;0;27;124.6%;0.0%;0.0%;0.0%;0.0%;0.0%;0.0%;\
                      0.00%;30.03%;14.70%;5.62%;2.98%;32.32%;4.88%;1.86%;1.22%;";
        assert!(text.contains(middle), "{text}");
        assert!(text.ends_with(";text here\n"));
    }

    #[test]
    fn percentiles_of_the_whole_latency() {
        let mut sample = sample::job();
        let read = &mut sample.directions.read;
        read.lat.histogram = read.clat.histogram.take();
        assert!(line(&sample, &[], 3, "fio-3.33").starts_with(LINE));
        let mut whole = Histogram::default();
        whole.add(1_000_000);
        sample.directions.read.clat.histogram = sample.directions.read.lat.histogram.replace(whole);
        assert!(line(&sample, &[], 3, "fio-3.33").contains(";813.162894;1.000000%=1003;5.000000%=1003;"));
    }

    /// Without disks, as on NFS, and with one.
    #[test]
    fn fields() {
        let sample = JobResult { description: None, ..sample::job() };
        let count =
            |disks: &[DiskResult], version| line(&sample, disks, version, "fio-3.42").trim_end().split(';').count();
        assert_eq!([2, 3, 4, 5].map(|version| count(&[], version)), [161, 121, 162, 180]);
        let disks = [DiskResult::default()];
        assert_eq!([2, 3, 4, 5].map(|version| count(&disks, version)), [161, 130, 171, 189]);
        let made_of = DiskResult { parts: Some(Box::default()), ..DiskResult::default() };
        let text = line(&sample, std::slice::from_ref(&made_of), 3, "fio-3.42");
        assert!(text.ends_with(";;0;0;0;0;0;0;0;0.00%;slaves;0;0;0;0;0;0;0;0.00%\n"), "{text}");
        // The second version has no description either.
        let sample = sample::job();
        let count = |version| line(&sample, &[], version, "fio-3.42").trim_end().split(';').count();
        assert_eq!([2, 3].map(count), [161, 122]);
    }
}
