//! Prints the settings, one table line per cycle, and the result of the run.

use panoweave::live::LiveCounters;

use crate::record::{Record, Row};
use crate::run::Settings;
use crate::verdict::Verdict;

/// Number of table lines after which the heading is repeated.
const PAGE: usize = 20;

/// Prints the settings of the run.
pub(crate) fn opening(settings: &Settings) {
    let Settings { device, plan, fps, crew, seed, leak, .. } = settings;
    println!(
        "{device}, {fps} fps, {} cycles of {:.1} s, {} of them warm-up",
        plan.cycles,
        plan.cycle.as_secs_f64(),
        plan.warm_up
    );
    if let Some(crew) = crew {
        println!(
            "{} cameras; the second clock drifts by {:.0} ppm",
            crew.cameras,
            crew.drift * 1e6
        );
    }
    if let Some(seed) = seed {
        println!("random faults with seed {seed}");
    }
    if let Some(leak) = leak {
        println!("leak on purpose: {leak:?}");
    }
}

/// Prints one line per cycle, with the panoramas and the dropped frames since the previous line.
#[derive(Default)]
pub(crate) struct Table {
    before: LiveCounters,
    lines: usize,
}

impl Table {
    pub(crate) fn line(&mut self, row: &Row) {
        if self.lines.is_multiple_of(PAGE) {
            println!(
                "{:>6} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>4} {:>4} {:>4}",
                "s",
                "panos",
                "alone",
                "unread",
                "other",
                "p50 ms",
                "p99 ms",
                "res KiB",
                "peak KiB",
                "heap KiB",
                "dev MiB",
                "pin MiB",
                "GPU MiB",
                "evts",
                "fds",
                "thr"
            );
        }
        self.lines += 1;
        let (now, then, sample) = (&row.counters, &self.before, row.sample);
        let other = |c: &LiveCounters| c.dropped.sets() - c.dropped.unread;
        let gpu = sample.gpu.map_or("-".to_owned(), |bytes| (bytes >> 20).to_string());
        println!(
            "{:>6.0} {:>6} {:>6} {:>6} {:>5} {:>6.1} {:>6.1} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>4} {:>4} {:>4}",
            row.at,
            now.panoramas - then.panoramas,
            now.alone() - then.alone(),
            now.dropped.unread - then.dropped.unread,
            other(now) - other(then),
            now.latency_p50 * 1e3,
            now.latency_p99 * 1e3,
            sample.resident >> 10,
            row.peak >> 10,
            sample.heap >> 10,
            sample.objects.device_bytes >> 20,
            sample.objects.pinned_bytes >> 20,
            gpu,
            sample.objects.events,
            sample.descriptors,
            sample.threads,
        );
        self.before = now.clone();
    }
}

/// Prints the counters of the whole run, the growth rates and the faults. Without faults, prints that the run passed.
pub(crate) fn closing(record: &Record, verdict: &Verdict) {
    let counters = &record.last.counters;
    let LiveCounters { sets, panoramas, dropped, analyses, dark, strikes, .. } = counters;
    let frames = counters.frames_in();
    println!("{frames} frames, {sets} sets, {panoramas} panoramas; {dropped:?}");
    println!(
        "{analyses} colour analyses, {dark} of too dark or too bright scenes; {strikes} failed analyses"
    );
    if !record.faults.is_empty() {
        println!("faults: {:?}", record.faults);
    }
    for growth in &verdict.growth {
        println!("{growth}");
    }
    for fault in &verdict.faults {
        println!("FAILED: {fault}");
    }
    if verdict.faults.is_empty() {
        println!("passed: no resource grows, no frame was lost");
    }
}
