//! Text that both the HTML page and the Markdown tables contain: notes, the description of a machine, and formatted
//! numbers.

use std::collections::BTreeSet;

use crate::ORIN_GB_S;
use crate::figures::{Figure, Held, Section};
use crate::record::{Run, Timer};

/// The text of a cell whose value is unknown.
pub(crate) const NONE: &str = "–";

/// Returns the notes that explain the columns of the tables, one paragraph each.
pub(crate) fn notes() -> [String; 6] {
    [
        "Times are medians per launch in steady state, measured with device events. Launches rotate over enough \
         buffers that no data stays in a cache. Times marked * are by the host's clock and include the host's work."
            .to_owned(),
        "Bytes are those that must move, each counted once: pixels read and results written. Other data that a design \
         reads, such as the planes of a warp, lowers its rate."
            .to_owned(),
        "The share of the copy is the rate divided by the rate of a copy of the same size in the same run."
            .to_owned(),
        "The ratio is the time of the original design, rebuilt in CUDA C++, divided by this design's time in the same \
         run.".to_owned(),
        format!(
            "Targets apply to an {} and to no other GPU. A launch alone takes a few µs. The ratio in a target compares \
             with the original design with its own gamma method, “{}”.",
            crate::targets::GPU,
            crate::targets::ORIGINAL_METHOD
        ),
        format!(
            "“Orin, model” is a model, not a measurement: the time to move the bytes at the {ORIN_GB_S:.0} GB/s of Orin \
             NX's memory."
        ),
    ]
}

/// Returns the description of a section's machine as pairs of name and value, such as GPU, driver, clocks and commit.
pub(crate) fn facts(section: &Section) -> Vec<(&'static str, String)> {
    let each = |of: &dyn Fn(&Run) -> Option<String>| {
        let texts: BTreeSet<_> = section.runs.iter().filter_map(of).collect();
        if texts.is_empty() {
            "unknown".to_owned()
        } else {
            texts.into_iter().collect::<Vec<_>>().join(", ")
        }
    };
    let clock = |of: &dyn Fn(&Run) -> Option<u32>| {
        let clocks = || section.runs.iter().filter_map(of);
        match (clocks().min(), clocks().max()) {
            (Some(low), Some(high)) if low == high => format!("{low} MHz"),
            (Some(low), Some(high)) => format!("{low} to {high} MHz"),
            _ => "unknown".to_owned(),
        }
    };
    let gpu = |run: &Run| {
        let gib = run.memory? as f64 / f64::from(1 << 30);
        let (device, capability) = (&run.device, run.capability.as_ref()?);
        let multiprocessors = run.multiprocessors?;
        Some(format!(
            "{device}, compute capability {capability}, {multiprocessors} multiprocessors, {gib:.0} GiB"
        ))
    };
    let processor = |run: &Run| Some(format!("{}, {} threads", run.device, run.threads?));
    let bandwidth = |run: &Run| {
        Some(format!(
            "{} bits wide, {:.0} GB/s at the maximum clock",
            run.bus_bits?,
            run.peak_gb_s()?
        ))
    };
    let mut facts = if section.runs.iter().any(|run| run.threads.is_some()) {
        vec![("Processor (CPU backend)", each(&processor))]
    } else {
        vec![
            ("GPU", each(&gpu)),
            ("Driver", each(&|run| run.driver.clone())),
            ("CUDA version of the driver", each(&|run| run.cuda.clone())),
            ("SM clock, measured", clock(&|run| run.found.sm_mhz)),
            ("SM clock, maximum", clock(&|run| run.peak.sm_mhz)),
            ("Memory clock, measured", clock(&|run| run.found.memory_mhz)),
            ("Memory clock, maximum", clock(&|run| run.peak.memory_mhz)),
            ("Memory bus", each(&bandwidth)),
        ]
    };
    if let Some(mode) = &section.power_mode {
        facts.push(("Power mode", mode.clone()));
    }
    facts.push(("Commit", each(&|run| run.commit.clone())));
    facts.push(("Measured", each(&|run| Some(date(run.started)))));
    facts
}

/// Converts a Unix time in seconds to a UTC date. Uses `civil_from_days` from Howard Hinnant's “chrono-Compatible
/// Low-Level Date Algorithms”.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a number with three significant digits, or three decimals below 1.
pub(crate) fn digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Returns the cells of a figure's table row, in the order of [`HEAD`].
pub(crate) fn cells(section: &Section, figure: &Figure) -> [String; 12] {
    let Figure { row, gb_s, of_copy, original_us, ratio, target, model_orin_ms, run } = figure;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let star = if row.timer == Timer::Clock { "*" } else { "" };
    let commit = section.runs[*run].commit.as_deref().unwrap_or(NONE);
    let several =
        section.runs.iter().any(|other| other.commit.as_deref().unwrap_or(NONE) != commit);
    // If the rows come from several commits, add the commit to each variant.
    let variant = if several { format!("{} ({commit})", row.variant) } else { row.variant.clone() };
    [
        row.work.system.clone(),
        row.work.of.clone(),
        row.work.size.to_string(),
        variant,
        digits(row.median_us) + star,
        digits(row.work.bytes as f64 / 1e6),
        digits(*gb_s),
        or_none(of_copy.map(|share| format!("{:.0} %", 100.0 * share))),
        or_none(original_us.map(digits)),
        or_none(ratio.map(|ratio| digits(ratio) + "×")),
        or_none(target.as_ref().map(held)),
        or_none(model_orin_ms.map(digits)),
    ]
}

/// The names of the columns of [`cells`].
pub(crate) const HEAD: [&str; 12] = [
    "system",
    "work",
    "size",
    "variant",
    "µs",
    "MB",
    "GB/s",
    "share of copy",
    "original µs",
    "ratio",
    "target",
    "Orin, model: ms",
];

/// The number of text columns in [`cells`]. The text columns come first; all columns after them contain numbers.
pub(crate) const WORDS: usize = 4;

fn held(Held { most_us, least_ratio, ratio, met }: &Held) -> String {
    let found = ratio.map_or_else(String::new, |ratio| format!(" ({}×)", digits(ratio)));
    let method = crate::targets::ORIGINAL_METHOD;
    let ratio = least_ratio
        .map_or_else(String::new, |least| format!(", ≥ {least}× as fast as {method}{found}"));
    let met = match met {
        Some(true) => ": met",
        Some(false) => ": missed",
        None => "",
    };
    format!("≤ {most_us} µs{ratio}{met}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // The expected dates are the output of `date -u -d @SECONDS +%F`.
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (142.23, "142"),
            (99.96, "100"),
            (9.996, "10.0"),
            (9.99, "9.99"),
            (0.9996, "1.00"),
            (0.1234, "0.123"),
        ] {
            assert_eq!(digits(value), expected);
        }
    }
}
