//! What is told of a job ahead of the run: fio's first line.

use super::super::output::number::{Of, shown};
use super::Settings;

impl Settings {
    /// The job's line, in the group `group`, and a line of dots if there are more clones; with a newline behind each.
    pub fn banner(&self, group: u32) -> String {
        let bytes = |bytes| shown(bytes, self.measures.digits, self.measures.binary, Of::Bytes);
        let blocks = self.load.blocks.iter().map(|(direction, (least, most))| {
            let letter = direction.name()[..1].to_ascii_uppercase();
            format!("({letter}) {}-{}", bytes(*least), bytes(*most))
        });
        let blocks = blocks.collect::<Vec<_>>().join(", ");
        format!(
            "{}: (g={group}): rw={}, bs={blocks}, ioengine={}, iodepth={}\n{}",
            self.name,
            self.load.rw,
            self.engine.name,
            self.engine.depth,
            if self.clones > 1 { "...\n" } else { "" },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::settle::tests::settled;

    #[test]
    fn as_fio_prints_it() {
        let banner = |line: &str, group| settled(line).unwrap().settings.banner(group);
        assert_eq!(
            banner("--name=iops-test-job --rw=randread --ioengine=libaio --iodepth=256 --numjobs=4", 0),
            "iops-test-job: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
             ioengine=libaio, iodepth=256\n...\n"
        );
        assert_eq!(
            banner("--name=b --readwrite=readwrite --bsrange=1k-4k,8k-1m --iodepth=32", 3),
            "b: (g=3): rw=rw, bs=(R) 1024B-4096B, (W) 8192B-1024KiB, (T) 8192B-1024KiB, ioengine=psync, iodepth=32\n"
        );
        assert_eq!(
            banner("--name=c --kb_base=1000 --bssplit=4k/50:64k/50 --ioengine=null", 0),
            "c: (g=0): rw=read, bs=(R) 4000B-64.0kB, (W) 4000B-64.0kB, (T) 4000B-64.0kB, ioengine=null, iodepth=1\n"
        );
    }
}
