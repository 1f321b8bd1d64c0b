//! The list of kernels with their resources.

use cuda_builder::KernelReport;

/// The headings of the columns after the name.
const HEADINGS: [&str; 5] = ["threads", "registers", "shared B", "stack B", "spills B"];

/// Returns a table with one line per kernel. Unknown numbers are `-`.
pub(super) fn table(kernels: &[KernelReport]) -> String {
    let names = kernels.iter().map(|kernel| kernel.name.len());
    let width = names.max().unwrap_or(0).max("kernel".len());
    let mut text = line("kernel", width, HEADINGS.map(str::to_owned));
    for kernel in kernels {
        text += &line(&kernel.name, width, numbers(kernel));
    }
    text
}

fn line(name: &str, width: usize, cells: [String; 5]) -> String {
    let mut line = format!("{name:width$}");
    for (cell, heading) in cells.iter().zip(HEADINGS) {
        line += &format!("  {cell:>0$}", heading.len());
    }
    line + "\n"
}

/// Returns the cells of a kernel: the largest block, and the resources that `ptxas` measured.
fn numbers(kernel: &KernelReport) -> [String; 5] {
    let number = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
    let used = kernel.resources;
    [
        number(kernel.max_threads),
        number(used.map(|used| used.registers)),
        number(used.map(|used| used.shared_bytes)),
        number(used.map(|used| used.stack_bytes)),
        number(used.map(|used| used.spill_store_bytes + used.spill_load_bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_builder::Resources;

    #[test]
    fn columns_are_aligned_and_unknown_numbers_are_dashes() {
        let kernel = |name: &str, resources| KernelReport {
            name: name.to_owned(),
            max_threads: Some(256),
            min_blocks: None,
            barriers_declared: None,
            barriers_counted: 0,
            resources,
        };
        let used = Resources {
            registers: 32,
            spill_store_bytes: 4,
            spill_load_bytes: 8,
            ..Resources::default()
        };
        let text = table(&[kernel("add", None), kernel("matmul_tiled", Some(used))]);
        let expected = "\
kernel        threads  registers  shared B  stack B  spills B
add               256          -         -        -         -
matmul_tiled      256         32         0        0        12
";
        assert_eq!(text, expected);
    }
}
