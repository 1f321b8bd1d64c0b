//! Parses the output of `ptxas -v` about each function.

use crate::report::Resources;

/// A function that `ptxas` compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) resources: Resources,
}

/// Returns whether `ptxas` failed because it is too old for the PTX version or the architecture.
/// `said` is its error output.
pub(super) fn is_too_old(said: &str) -> bool {
    said.contains("Unsupported .version") || said.contains("is not defined for option 'gpu-name'")
}

/// Returns the first warning that `ptxas` will ignore a directive.
pub(super) fn ignored(said: &str) -> Option<&str> {
    said.lines()
        .filter_map(|line| line.split_once("warning :"))
        .map(|(_, warning)| warning.trim())
        .find(|warning| warning.contains("will be ignored"))
}

/// Returns all functions in the output `said`, in the order of the output.
///
/// The properties of a function follow the line with its name. The number of registers follows on
/// another line, which exists only for kernels.
pub(super) fn functions(said: &str) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    for line in said.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            found.push(Function { name: name.trim().to_owned(), resources: Resources::default() });
        } else if let Some(function) = found.last_mut() {
            let resources = &mut function.resources;
            for part in line.split(',') {
                read(part.trim(), resources);
            }
        }
    }
    found
}

/// Parses one part of an output line, such as `Used 11 registers` or `16 bytes spill stores`, into
/// `resources`.
fn read(part: &str, resources: &mut Resources) {
    let Some((number, unit)) = quantity(part) else {
        return;
    };
    let slot = match unit {
        "registers" => &mut resources.registers,
        "bytes smem" => &mut resources.shared_bytes,
        "bytes stack frame" => &mut resources.stack_bytes,
        "bytes spill stores" => &mut resources.spill_store_bytes,
        "bytes spill loads" => &mut resources.spill_load_bytes,
        _ => return,
    };
    *slot = number;
}

/// Splits `part` into its number and the text after it.
fn quantity(part: &str) -> Option<(u32, &str)> {
    let start = part.split_once("Used ").map_or(part, |(_, quantity)| quantity);
    let (number, unit) = start.split_once(' ')?;
    Some((number.parse().ok()?, unit.trim()))
}
