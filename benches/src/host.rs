//! The host's free memory, and the processor time of this process, as reported by Linux.

use std::fs;
use std::time::Duration;

/// The number of clock ticks per second in the files of `/proc`: 100 on every supported architecture.
const TICKS: u64 = 100;

/// Returns the number of bytes that this process can still allocate: the machine's available memory or, if smaller, the
/// rest of the limit of this process's control group (cgroup v2, which containers use). Returns `None` if both are
/// unknown.
#[must_use]
pub fn free_memory() -> Option<u64> {
    let read = |file: &str| fs::read_to_string(file).ok();
    let machine = read("/proc/meminfo").and_then(|text| available(&text));
    let group = read("/sys/fs/cgroup/memory.max")
        .zip(read("/sys/fs/cgroup/memory.current"))
        .and_then(|(most, now)| left(&most, &now));
    machine.into_iter().chain(group).min()
}

/// Returns the number of bytes of available memory, from the text of `/proc/meminfo`.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the number of bytes that a control group may still allocate, from the texts of its `memory.max` and
/// `memory.current`. Returns `None` if the group has no limit.
fn left(most: &str, now: &str) -> Option<u64> {
    let [most, now] = [most, now].map(|text| text.trim().parse::<u64>().ok());
    Some(most?.saturating_sub(now?))
}

/// Returns the processor time that all threads of this process have used, or `None` if Linux does not report it.
#[must_use]
pub fn processor_time() -> Option<Duration> {
    ticks(&fs::read_to_string("/proc/self/stat").ok()?)
        .map(|ticks| Duration::from_millis(ticks * 1000 / TICKS))
}

/// Parses the text of `/proc/self/stat`. Returns the sum of field 14 (user ticks) and field 15 (system ticks). Field 2,
/// the program's name in parentheses, may contain spaces.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn files_of_the_kernel_are_read() {
        let text = "MemTotal:       24676836 kB\nMemAvailable:   23068672 kB\n";
        assert_eq!(available(text), Some(22 << 30));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert_eq!(left("2000\n", "500\n"), Some(1500));
        assert_eq!(left("max\n", "500\n"), None);
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 13 14";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("7 (a) S 1"), None);
    }

    #[test]
    fn this_process_takes_time_and_there_is_memory() {
        assert!(free_memory().expect("Linux") > 1 << 20);
        let (before, start) = (processor_time().expect("Linux"), Instant::now());
        let mut sum = 0_u64;
        while processor_time().expect("Linux") < before + Duration::from_millis(50) {
            sum = std::hint::black_box(sum + 1);
            assert!(start.elapsed() < Duration::from_secs(60), "time does not pass");
        }
    }
}
