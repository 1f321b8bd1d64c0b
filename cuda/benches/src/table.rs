//! The results as text: a line for each case while the bench runs, and a table at its end.

use std::fmt::{self, Write as _};

use cust::typed::Device;

use crate::timing::Times;
use crate::{Variant, Work};

/// The results of one case.
pub struct Row {
    pub(crate) name: String,
    pub(crate) work: Work,
    pub(crate) times: Vec<(Variant, Times)>,
    /// The time in µs of a copy that moves the same number of bytes.
    pub(crate) copy: Option<f64>,
}

impl Row {
    /// Returns the times of the first implementation that `is` accepts.
    fn times(&self, is: impl Fn(Variant) -> bool) -> Option<(Variant, Times)> {
        self.times.iter().copied().find(|&(variant, _)| is(variant))
    }

    fn median(&self, variant: Variant) -> Option<f64> {
        self.times(|other| other == variant).map(|(_, times)| times.median)
    }

    /// Returns the rate of the work at a time in µs, with its unit.
    fn rate(&self, us: f64) -> String {
        match self.work {
            Work::Bytes(bytes) => format!("{:.0} GB/s", bytes as f64 / us / 1e3),
            Work::Operations(count, name) => match count / us * 1e6 {
                rate if rate >= 1e12 => format!("{:.1} T{name}/s", rate / 1e12),
                rate if rate >= 1e9 => format!("{:.2} G{name}/s", rate / 1e9),
                rate => format!("{:.1} M{name}/s", rate / 1e6),
            },
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        for (variant, times) in &self.times {
            let Times { median, range: [min, max] } = times;
            write!(f, " {variant:?} {median:.2} µs ({min:.2} to {max:.2}),")?;
        }
        if let Some(copy) = self.copy {
            write!(f, " copy {copy:.2} µs")?;
        }
        Ok(())
    }
}

/// Returns the table in Markdown. A ratio above 1 means that Rust is faster.
pub(crate) fn markdown(device: &Device, rows: &[Row]) -> String {
    let mut text = format!(
        "{device}\n\n\
         | computation | Rust µs | nvcc µs | nvcc ÷ Rust | library µs | library ÷ Rust | Rust's rate | copy µs |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    let cell = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    for row in rows {
        let rust = row.median(Variant::Rust);
        let nvcc = row.median(Variant::Nvcc);
        let library = row.times(|variant| matches!(variant, Variant::Library(_)));
        let ratio = |other: Option<f64>| match (other, rust) {
            (Some(other), Some(rust)) => format!("{:.3}", other / rust),
            _ => "–".to_owned(),
        };
        let named = library.map_or("–".to_owned(), |(variant, times)| match variant {
            Variant::Library(name) => format!("{name} {:.1}", times.median),
            _ => String::new(),
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {named} | {} | {} | {} |",
            row.name,
            cell(rust),
            cell(nvcc),
            ratio(nvcc),
            ratio(library.map(|(_, times)| times.median)),
            rust.map_or("–".to_owned(), |us| row.rate(us)),
            cell(row.copy),
        );
    }
    text
}
