//! Prints the settings, one table line per cycle, and the result of the run.

use panoweave::live::LiveCounters;

use crate::record::{Record, Row};
use crate::run::Settings;
use crate::verdict::Verdict;

/// Number of table lines after which the heading is repeated.
const PAGE: usize = 20;

/// Prints the settings of the run.
pub(crate) fn opening(settings: &Settings) {
    let Settings { device, plan, fps, seed, leak, .. } = settings;
    println!(
        "{device}, {fps} fps, {} cycles of {:.1} s, {} of them warm-up",
        plan.cycles,
        plan.cycle.as_secs_f64(),
        plan.warm_up
    );
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
        let (now, then, sample) = (&row.counters, &self.before, row.sample);
        let other = |c: &LiveCounters| c.dropped.sets() - c.dropped.unread;
        let gpu = sample.gpu.map_or("-".to_owned(), |bytes| (bytes >> 20).to_string());
        let cells = [
            ("s", format!("{:.0}", row.at)),
            ("panos", (now.panoramas - then.panoramas).to_string()),
            ("alone", (now.frames_dropped() - then.frames_dropped()).to_string()),
            ("unread", (now.dropped.unread - then.dropped.unread).to_string()),
            ("other", (other(now) - other(then)).to_string()),
            ("p50 ms", format!("{:.1}", now.latency_p50 * 1e3)),
            ("p99 ms", format!("{:.1}", now.latency_p99 * 1e3)),
            ("res KiB", (sample.resident >> 10).to_string()),
            ("heap KiB", (sample.heap >> 10).to_string()),
            ("dev MiB", (sample.objects.device_bytes >> 20).to_string()),
            ("pin MiB", (sample.objects.pinned_bytes >> 20).to_string()),
            ("GPU MiB", gpu),
            ("events", sample.objects.events.to_string()),
            ("files", sample.descriptors.to_string()),
            ("threads", sample.threads.to_string()),
        ];
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            println!("{}", cells.map(|cell| format!("{cell:>9}")).collect::<String>());
        };
        if self.lines.is_multiple_of(PAGE) {
            line(&mut cells.iter().map(|(name, _)| *name));
        }
        line(&mut cells.iter().map(|(_, value)| value.as_str()));
        self.lines += 1;
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
