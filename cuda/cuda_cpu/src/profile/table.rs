//! Writes a profile as a table of at most 100 columns: for each kernel its places, the worst first.

use std::collections::HashMap;
use std::fmt::{self, Formatter};
use std::path::PathBuf;
use std::{env, fs};

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
        if kernel.dropped > 0 {
            writeln!(
                f,
                "  {} accesses are not counted: their threads executed more than 65,536 without a barrier or warp operation",
                grouped(kernel.dropped)
            )?;
        }
    }
    Ok(())
}

fn row(f: &mut Formatter<'_>, site: &Site, counts: &Counts, sources: &mut Sources) -> fmt::Result {
    use Operation::{Barrier, SharedAtomic, SharedLoad, SharedStore, WarpOperation};
    let per_request = |number: u64| number as f64 / counts.requests.max(1) as f64;
    let costs = match site.operation {
        Barrier | WarpOperation => None,
        SharedLoad | SharedStore | SharedAtomic => {
            Some([counts.wavefronts, counts.ideal_wavefronts])
        }
        _ => Some([counts.sectors, counts.ideal_sectors]),
    };
    let [excess, each, ideal] = costs.map_or_else(Default::default, |[each, ideal]| {
        let [each, ideal] = [each, ideal].map(|number| format!("{:.1}", per_request(number)));
        [grouped(counts.excess()), each, ideal]
    });
    writeln!(
        f,
        "{excess:>15} {:>13} {each:>8} {ideal:>8} {:>7.1} {:>13}  {}{}",
        grouped(counts.requests),
        per_request(counts.lanes),
        grouped(counts.partial),
        site.operation.name(),
        if site.bytes > 0 { format!(" {} B", site.bytes) } else { String::new() },
    )?;
    let text = sources.line(&site.file, site.line);
    let line = format!("    {}:{}:{} {text}", site.file, site.line, site.column);
    if line.chars().count() <= WIDTH {
        return writeln!(f, "{}", line.trim_end());
    }
    writeln!(f, "{}…", line.chars().take(WIDTH - 1).collect::<String>())
}

/// Returns the launches, blocks and warps of a kernel as text.
fn size(kernel: &KernelProfile) -> String {
    let counts = [
        (kernel.launches, "launch", "launches"),
        (kernel.blocks, "block", "blocks"),
        (kernel.warps, "warp", "warps"),
    ];
    let text = counts.map(|(number, one, many)| {
        format!("{} {}", grouped(number), if number == 1 { one } else { many })
    });
    text.join(", ")
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
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

/// The source files that a profile refers to.
///
/// The compiler names the files of a workspace relative to its root, and `cargo test` runs a test
/// in the folder of its package. The root is therefore the nearest folder with a `Cargo.lock`.
struct Sources {
    root: PathBuf,
    /// The text of each file; empty if the file cannot be read.
    files: HashMap<String, String>,
}

impl Sources {
    fn new() -> Self {
        let here = env::current_dir().unwrap_or_default();
        let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
        Self { root: root.unwrap_or(&here).to_owned(), files: HashMap::new() }
    }

    /// Returns a line, counted from 1, without indentation. Returns an empty text if it is unknown.
    fn line(&mut self, file: &str, line: u32) -> &str {
        let text = self
            .files
            .entry(file.to_owned())
            .or_insert_with(|| fs::read_to_string(self.root.join(file)).unwrap_or_default());
        text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim()
    }
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
        assert!(rows[7].ends_with(":3:5 use std::collections::HashMap;"), "{table}");
        let long = table.lines().find(|line| line.chars().count() > WIDTH);
        assert_eq!(long, None);
    }
}
