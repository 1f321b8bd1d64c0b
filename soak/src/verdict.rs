//! Judges a run: compares growth and counts with their limits.
//!
//! Each cycle after the warm-up gives one measurement, taken when no pair is in flight. A line is fitted to these
//! measurements. The lower end of the 95 % confidence interval of its slope must not exceed the limit.
//!
//! In a run of a few seconds, a single extra page would exceed the limit. Therefore, growth is a fault only if it also
//! exceeds the resolution of the measurement: the allocator takes memory from the system in steps of 128 KiB, and a
//! queue may hold one block more or less. In runs of an hour, the limits of resident memory and of the heap are larger
//! than this resolution. Object counts are exact, so they must be equal in all cycles.

use std::fmt;

use panoweave::device::Counters;
use panoweave::live::Dropped;
use serde::Serialize;

use crate::phase::Plan;
use crate::record::{Record, Row};
use crate::slope::Slope;

/// Maximum growth of resident memory and of the heap, in bytes per hour.
const RESIDENT: f64 = 200.0 * 1024.0;

/// The growth of a measured quantity, with the limits that it must not exceed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Growth {
    pub(crate) what: &'static str,
    pub(crate) slope: Slope,
    /// Maximum growth in bytes per hour.
    pub(crate) limit: f64,
    /// The resolution of the measurement in bytes. A smaller change over the whole run does not count as growth.
    pub(crate) resolution: f64,
}

impl Growth {
    fn is_leak(&self) -> bool {
        let allowed = (self.limit * self.slope.span / 3600.0).max(self.resolution);
        self.slope.least_growth() > allowed
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let an_hour = |rise: f64| rise * 3600.0 / 1024.0;
        let (rise, error) = (an_hour(self.slope.rise), an_hour(self.slope.error));
        let limit = self.limit / 1024.0;
        write!(f, "{:10} {rise:+12.1} ± {error:.1} KiB per hour, limit {limit:.0}", self.what)?;
        if error > limit { write!(f, ": the run is too short to tell") } else { Ok(()) }
    }
}

/// The result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) growth: Vec<Growth>,
    /// The reasons why the run failed; empty if it passed.
    pub(crate) faults: Vec<String>,
}

/// Judges a run.
pub(crate) fn judge(record: &Record, plan: Plan) -> Verdict {
    let measured = record.rows.get(plan.warm_up..).unwrap_or_default();
    let growth = growth(measured);
    let mut faults: Vec<_> = growth
        .iter()
        .filter(|growth| growth.is_leak())
        .map(|growth| format!("memory grows: {growth}"))
        .collect();
    if measured.len() < 3 {
        faults.push(format!(
            "the run has {} cycles after the warm-up; it must have 3 or more; run longer",
            measured.len()
        ));
    }
    faults.extend(record.failure.iter().cloned());
    faults.extend(held(measured));
    let all = record.rows.iter().chain([&record.last]);
    if let Some(row) = all.clone().find(|row| !row.balance().1) {
        faults.push(format!(
            "after {:.0} s, not every frame is in a panorama or counted as dropped: {row:?}",
            row.at
        ));
    }
    if record.last.balance().0 != 0 {
        faults.push(format!(
            "some frames still wait for a partner at the end: {:?}",
            record.last.counters
        ));
    }
    faults.extend(stalls(&record.rows));
    faults.extend(failures(&record.last, !record.faults.is_empty()));
    let never = record.faults.iter().filter(|(_, count)| *count == 0);
    faults
        .extend(never.map(|(fault, _)| format!("the fault {fault:?} never happened; run longer")));
    let [before, after] = record.objects;
    // The device keeps the modules that it has loaded for kernels.
    if (Counters { modules: after.modules, ..before }) != after {
        faults.push(format!("the session leaked objects: {before:?} before it was created, {after:?} after it was dropped"));
    }
    Verdict { growth, faults }
}

fn growth(rows: &[Row]) -> Vec<Growth> {
    let fit = |what, limit, resolution, of: fn(&Row) -> Option<f64>| {
        let points: Option<Vec<_>> = rows.iter().map(|row| Some((row.at, of(row)?))).collect();
        Slope::fit(&points?).map(|slope| Growth { what, slope, limit, resolution })
    };
    let (page, block) = (128.0 * 1024.0, 32.0 * 1024.0);
    [
        fit("resident", RESIDENT, page, |row| Some(row.sample.resident as f64)),
        fit("heap", RESIDENT, block, |row| Some(row.sample.heap as f64)),
        // The driver allocates device memory in steps of 2 MiB. The measurement includes all processes, so other
        // programs on the GPU can cause a fault.
        fit("GPU", 0.0, 2048.0 * 1024.0, |row| row.sample.gpu.map(|bytes| bytes as f64)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns a fault for each number of objects, file descriptors or threads that changes between the ends of the cycles
/// in `rows`. Textures are created when a frame's memory is first read through one, so their number may still grow in
/// the first half.
fn held(rows: &[Row]) -> Vec<String> {
    let count = |row: &Row, i: usize| counts(row)[i];
    let fault = |i: usize| {
        let is_late = count(rows.first()?, i).0 == "textures";
        let rows = if is_late { &rows[rows.len() / 2..] } else { rows };
        let first = rows.first()?;
        let row = rows.iter().find(|row| count(row, i) != count(first, i))?;
        let ((what, from), (_, to)) = (count(first, i), count(row, i));
        Some(format!(
            "the number of {what} changed from {from} after {:.0} s to {to} after {:.0} s",
            first.at, row.at
        ))
    };
    let many = rows.first().map_or(0, |row| counts(row).len());
    (0..many).filter_map(fault).collect()
}

fn counts(row: &Row) -> [(&'static str, i64); 9] {
    let objects = row.sample.objects;
    [
        ("bytes of device memory", objects.device_bytes),
        ("bytes of pinned memory", objects.pinned_bytes),
        ("streams", objects.streams),
        ("events", objects.events),
        ("modules", objects.modules),
        ("textures", objects.textures),
        ("arrays", objects.arrays),
        ("file descriptors", row.sample.descriptors as i64),
        ("threads", row.sample.threads as i64),
    ]
}

/// Returns a fault for each cycle in which no panorama was made, and for each cycle in which no colour analysis ended.
fn stalls(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for pair in rows.windows(2) {
        let (before, now) = (&pair[0].counters, &pair[1].counters);
        if now.panoramas == before.panoramas {
            faults.push(format!("no panorama in the cycle up to {:.0} s", pair[1].at));
        }
        if now.analyses == before.analyses {
            faults.push(format!("no colour analysis in the cycle up to {:.0} s", pair[1].at));
        }
    }
    faults
}

/// Returns a fault for each counter of failures that is not 0, and if the colour correction has switched itself off.
/// With random faults, single analyses may fail.
fn failures(last: &Row, with_faults: bool) -> Vec<String> {
    let counters = &last.counters;
    let Dropped { reader, failed, lost, closing, .. } = counters.dropped;
    let mut faults = Vec::new();
    for (count, what) in [
        (counters.strikes, "failed colour or seam analyses"),
        (counters.retries, "pairs stitched again"),
        (failed, "pairs that failed on the device"),
        (lost, "pairs lost with the device"),
        (closing, "pairs abandoned at the end"),
        (reader, "pairs dropped because the reader did not return the buffers of panoramas"),
    ] {
        // An analysis whose deadline passes while the process is suspended counts as failed.
        let expected = with_faults && what.starts_with("failed colour");
        if count > 0 && !expected {
            faults.push(format!("{count} {what}"));
        }
    }
    if !last.following {
        faults.push("the colour correction has switched itself off".to_owned());
    }
    faults
}
