//! What this process has used of the machine: processor time and memory.

use std::time::Duration;

/// Processor time of all threads so far, user and system.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// The most memory that was resident at once, in bytes (VmHWM of proc(5)); none where /proc does not say.
pub fn memory_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
    kib.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_process_uses_something() {
        let block = vec![1u8; 64 << 20];
        assert_eq!(block.iter().map(|b| u64::from(*b)).sum::<u64>(), 64 << 20);
        assert!(cpu_time() > Duration::ZERO);
        assert!(memory_peak_bytes().unwrap() > 64 << 20);
    }
}
