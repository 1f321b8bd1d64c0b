//! Writes a profile as a table of at most 100 columns: for each kernel its places, the worst first.

use std::fmt::{self, Formatter};

use super::source::Sources;
use super::{Counts, KernelProfile, Operation, Profile, Site};

/// The width of the table in characters.
const WIDTH: usize = 100;

/// The explanation of the columns.
const LEGEND: &str = "\
each      sectors (32 bytes) per request to global memory, wavefronts per request to shared memory
ideal     the same without uncoalesced accesses and bank conflicts
excess    all sectors or wavefronts above the ideal
lanes     active lanes per request
partial   requests without some threads of the warp
";

/// Implements [`Profile`]'s `Display`.
pub(super) fn write(profile: &Profile, f: &mut Formatter<'_>) -> fmt::Result {
    if profile.kernels.is_empty() {
        return writeln!(f, "no kernel was launched on the CPU");
    }
    let mut sources = Sources::new();
    f.write_str(LEGEND)?;
    for (name, kernel) in profile.worst_first() {
        writeln!(f, "\nkernel {name}: {}", size(kernel))?;
        writeln!(
            f,
            "{:>15} {:>13} {:>8} {:>8} {:>7} {:>13}  access",
            "excess", "requests", "each", "ideal", "lanes", "partial"
        )?;
        for (site, counts) in kernel.worst_first() {
            row(f, site, counts, &mut sources)?;
        }
        if let Some(warning) = dropped(kernel) {
            writeln!(f, "  {warning}")?;
        }
    }
    Ok(())
}

fn row(f: &mut Formatter<'_>, site: &Site, counts: &Counts, sources: &mut Sources) -> fmt::Result {
    let [each, ideal] = each(site.operation, counts)
        .map_or(["", ""].map(str::to_owned), |pair| pair.map(|value| format!("{value:.1}")));
    writeln!(
        f,
        "{:>15} {:>13} {each:>8} {ideal:>8} {:>7.1} {:>13}  {}",
        if each.is_empty() { String::new() } else { grouped(counts.excess()) },
        grouped(counts.requests),
        per_request(counts.lanes, counts),
        grouped(counts.partial),
        access(site),
    )?;
    let text = sources.line(&site.file, site.line).unwrap_or_default();
    let line = format!("    {}:{}:{} {text}", site.file, site.line, site.column);
    if line.chars().count() <= WIDTH {
        return writeln!(f, "{}", line.trim_end());
    }
    writeln!(f, "{}…", line.chars().take(WIDTH - 1).collect::<String>())
}

/// Returns the launches, blocks and warps of a kernel as text.
pub(super) fn size(kernel: &KernelProfile) -> String {
    let count = |number: u64, what: &str| {
        format!("{} {what}{}", grouped(number), if number == 1 { "" } else { plural(what) })
    };
    let [launches, blocks] = [count(kernel.launches, "launch"), count(kernel.blocks, "block")];
    format!("{launches}, {blocks}, {}", count(kernel.warps, "warp"))
}

fn plural(noun: &str) -> &'static str {
    if noun.ends_with("ch") { "es" } else { "s" }
}

/// Returns a warning if some accesses are not counted.
pub(super) fn dropped(kernel: &KernelProfile) -> Option<String> {
    (kernel.dropped > 0).then(|| {
        format!(
            "{} accesses are not counted: their threads executed more than 65,536 without a barrier or warp operation",
            grouped(kernel.dropped)
        )
    })
}

/// Returns the operation and the size of an access as text.
pub(super) fn access(site: &Site) -> String {
    match site.bytes {
        0 => site.operation.name().to_owned(),
        bytes => format!("{} {bytes} B", site.operation.name()),
    }
}

/// Returns the sectors or wavefronts per request and their ideal number, or `None` for a wait.
pub(super) fn each(operation: Operation, counts: &Counts) -> Option<[f64; 2]> {
    let [actual, ideal] = match operation {
        Operation::GlobalLoad | Operation::GlobalStore | Operation::GlobalAtomic => {
            [counts.sectors, counts.ideal_sectors]
        }
        Operation::SharedLoad | Operation::SharedStore | Operation::SharedAtomic => {
            [counts.wavefronts, counts.ideal_wavefronts]
        }
        Operation::Barrier | Operation::WarpOperation => return None,
    };
    Some([actual, ideal].map(|number| per_request(number, counts)))
}

/// Divides a number by the number of requests.
pub(super) fn per_request(number: u64, counts: &Counts) -> f64 {
    number as f64 / counts.requests.max(1) as f64
}

/// Returns a number with commas between groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let all = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn the_worst_place_comes_first_and_lines_are_short() {
        let site = |line, operation| Site {
            file: file!().to_owned(),
            line,
            column: 5,
            operation,
            bytes: if operation == Operation::Barrier { 0 } else { 4 },
        };
        let counts = |sectors: u64| Counts {
            requests: 1 << 40,
            lanes: 32 << 40,
            sectors: sectors << 40,
            ideal_sectors: 4 << 40,
            ..Counts::default()
        };
        let sites = [
            (site(1, Operation::GlobalLoad), counts(4)),
            (site(2, Operation::GlobalStore), counts(32)),
            (site(3, Operation::Barrier), Counts { requests: 1, lanes: 32, ..Counts::default() }),
        ];
        let kernel = KernelProfile { launches: 1, sites: sites.into(), ..KernelProfile::default() };
        let profile = Profile { kernels: [("k".to_owned(), kernel)].into() };
        let table = profile.to_string();
        let rows: Vec<_> = table.lines().skip_while(|line| !line.starts_with("kernel")).collect();
        assert_eq!(rows[0], "kernel k: 1 launch, 0 blocks, 0 warps");
        let words: Vec<_> = rows[2].split_whitespace().collect();
        let excess = "30,786,325,577,728";
        assert_eq!(words[..4], [excess, "1,099,511,627,776", "32.0", "4.0"], "{table}");
        assert!(rows[3].contains("table.rs:2"), "{table}");
        assert!(rows[4].ends_with("global load 4 B") && rows[6].ends_with("barrier"), "{table}");
        let long = table.lines().find(|line| line.chars().count() > WIDTH);
        assert_eq!(long, None);
    }
}
