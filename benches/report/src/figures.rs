//! Values derived from the measurements in bench records:
//!
//! - the memory rate, and its ratio to the rate of a copy of the same size
//! - the speedup over the original system, reimplemented in CUDA C++
//! - whether the measurement meets its performance target
//! - the time that a model predicts for a Jetson Orin
//!
//! Only measurements of the same run are compared, because in another run the GPU may have had other clocks.

use serde::Serialize;

use crate::ORIN_GB_S;
use crate::record::{Recorded, Role, Row, Run, Scale, Timer};
use crate::targets::{self, target};

/// The newest measurements on one type of GPU or processor in one power mode.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// The product name of the GPU or the processor.
    pub device: String,
    /// The power mode of a Jetson. `None` on other machines.
    pub power_mode: Option<String>,
    /// The runs that contain the measurements.
    pub runs: Vec<Run>,
    /// The newest measurement of each variant and size, in the order of the records.
    pub figures: Vec<Figure>,
    /// The newest measurements of the number of live pairs that the machine sustains, in the order of the records.
    pub scales: Vec<Scale>,
}

/// A row of a bench record, which contains one measured time, and the values derived from this row.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The row of the bench record, which contains one measurement.
    pub row: Row,
    /// The index of the row's run in [`Section::runs`].
    pub run: usize,
    /// The achieved memory rate in GB/s: [`Work::bytes`](crate::record::Work::bytes) divided by the median time.
    pub gb_s: f64,
    /// The achieved memory rate divided by the rate of a copy of the same size in the same run. `None` if no such copy
    /// was measured.
    pub of_copy: Option<f64>,
    /// The median time in µs of the original system's kernel, reimplemented in CUDA C++ and measured in the same run.
    /// `None` if it was not measured.
    pub original_us: Option<f64>,
    /// The speedup over the original system's kernel: its median time divided by that of this row. `None` if the
    /// original was not measured.
    pub ratio: Option<f64>,
    /// The performance target of this row, and whether the row meets it. `None` if the row has no target.
    pub target: Option<Held>,
    /// The time in ms that a Jetson Orin would need to move the same bytes at its memory bandwidth, [`ORIN_GB_S`]. This
    /// is a model, not a measurement. `None` if the row was timed by the host's clock, because such a time includes
    /// more than memory traffic.
    pub model_orin_ms: Option<f64>,
}

/// A performance target, and whether a row meets it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The maximum median time in µs that meets the target.
    pub most_us: f64,
    /// The minimum speedup over the original system's kernel with the gamma method `exact`. `None` if the target has no
    /// minimum speedup.
    pub least_ratio: Option<f64>,
    /// The measured speedup. `None` if the target has no minimum speedup or the original kernel was not measured.
    pub ratio: Option<f64>,
    /// Whether the row meets the target. `None` if the target is for another GPU, or if it has a minimum speedup but
    /// the original kernel was not measured.
    pub met: Option<bool>,
}

/// Returns whether two rows measure the same variant of the same work, with the same timer.
fn same(a: &Row, b: &Row) -> bool {
    let key = |row: &Row| (row.role, row.timer);
    (&a.work.system, &a.work.of, a.work.size, &a.variant)
        == (&b.work.system, &b.work.of, b.work.size, &b.variant)
        && key(a) == key(b)
}

/// Returns the device and power mode of a run.
fn machine_of(recorded: &Recorded, run: usize) -> (&String, &Option<String>) {
    let run: &Run = &recorded.runs[run];
    (&run.device, &run.power_mode)
}

/// Removes measurements that were repeated later on the same machine. Each element of `all` is a measurement with the
/// index of its run. `is_same` returns whether two measurements measure the same thing.
fn newest<'a, T>(
    all: &'a [(usize, T)],
    recorded: &Recorded,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<&'a (usize, T)> {
    let machine = |run| machine_of(recorded, run);
    let mut newest: Vec<&(usize, T)> = Vec::new();
    for found in all {
        let kept = newest
            .iter_mut()
            .find(|(run, kept)| machine(*run) == machine(found.0) && is_same(kept, &found.1));
        match kept {
            Some(kept) if recorded.runs[kept.0].started > recorded.runs[found.0].started => {}
            Some(kept) => *kept = found,
            None => newest.push(found),
        }
    }
    newest
}

/// Returns a section for each machine, with the newest measurement of each variant on this machine.
pub(crate) fn sections(recorded: &Recorded) -> Vec<Section> {
    let machine = |run| machine_of(recorded, run);
    let rows = newest(&recorded.rows, recorded, same);
    let scales = newest(&recorded.scales, recorded, Scale::is_same);
    let runs = rows.iter().map(|(run, _)| *run).chain(scales.iter().map(|(run, _)| *run));
    let mut machines: Vec<_> = runs.map(machine).collect();
    let mut seen = Vec::new();
    machines.retain(|machine| {
        let new = !seen.contains(machine);
        seen.push(*machine);
        new
    });
    let section = |of: (&String, &Option<String>)| {
        let rows: Vec<_> = rows.iter().filter(|(run, _)| machine(*run) == of).collect();
        let scales: Vec<_> = scales.iter().filter(|(run, _)| machine(*run) == of).collect();
        let runs = rows.iter().map(|(run, _)| *run).chain(scales.iter().map(|(run, _)| *run));
        let mut runs: Vec<_> = runs.collect();
        runs.sort_unstable();
        runs.dedup();
        let figure = |(run, row): &(usize, Row)| {
            let peers = rows.iter().filter(|(other, _)| other == run).map(|(_, row)| row);
            let run = runs.iter().position(|kept| kept == run).unwrap_or_default();
            Figure::new(run, row, peers, of.0)
        };
        let figures = rows.iter().map(|row| figure(row)).collect();
        let scales = scales.iter().map(|(_, scale)| scale.clone()).collect();
        let runs = runs.iter().map(|run| recorded.runs[*run].clone()).collect();
        Section { device: of.0.clone(), power_mode: of.1.clone(), runs, figures, scales }
    };
    machines.into_iter().map(section).collect()
}

/// Returns the memory rate of a row in GB/s: its number of bytes divided by its median time.
fn rate(row: &Row) -> f64 {
    row.work.bytes as f64 / row.median_us / 1e3
}

impl Figure {
    /// Derives the values of `row`, which was measured on `device` in the run with the index `run`. `peers` yields all
    /// rows of this run.
    fn new<'a>(
        run: usize,
        row: &Row,
        peers: impl Iterator<Item = &'a Row> + Clone,
        device: &str,
    ) -> Self {
        let gb_s = rate(row);
        let beside = move |role| {
            let peers = peers.clone();
            peers.filter(move |peer| {
                let key = |row: &Row| (row.work.size, row.timer);
                (&peer.work.system, &peer.work.of) == (&row.work.system, &row.work.of)
                    && key(peer) == key(row)
                    && peer.role == role
            })
        };
        let copy = (row.role != Role::Copy).then(|| beside(Role::Copy).next()).flatten();
        // Prefer the row of the original kernel with the same gamma method to one without a gamma method.
        let of = |method| beside(Role::Original).find(move |peer| peer.method() == method);
        let original =
            (row.role == Role::Ours).then(|| of(row.method()).or_else(|| of(""))).flatten();
        let original_us = original.map(|original| original.median_us);
        let times = |original: &Row| original.median_us / row.median_us;
        let ratio = original.map(times);
        let held = target(row).map(|target| {
            let in_time = row.median_us <= target.most_us;
            let exact = of(targets::ORIGINAL_METHOD).filter(|_| target.least_ratio.is_some());
            let to_exact = exact.map(times);
            let faster = target.least_ratio.map(|least| to_exact.map(|ratio| ratio >= least));
            let met = match (in_time, faster) {
                (false, _) | (_, Some(Some(false))) => Some(false),
                (true, None | Some(Some(true))) => Some(true),
                (true, Some(None)) => None,
            };
            let met = if device.contains(targets::GPU) { met } else { None };
            Held { most_us: target.most_us, least_ratio: target.least_ratio, ratio: to_exact, met }
        });
        Self {
            run,
            gb_s,
            of_copy: copy.map(|copy| gb_s / rate(copy)),
            original_us,
            ratio,
            target: held,
            model_orin_ms: (row.timer == Timer::Events)
                .then(|| row.work.bytes as f64 / (ORIN_GB_S * 1e6)),
            row: row.clone(),
        }
    }
}
