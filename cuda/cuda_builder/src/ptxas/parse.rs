//! Reads what `ptxas -v` says about each function.

use crate::report::Resources;

/// One function that `ptxas` compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) resources: Resources,
}

/// Whether the complaint is about the age of `ptxas`, not about the PTX.
pub(super) fn is_too_old(said: &str) -> bool {
    said.contains("Unsupported .version") || said.contains("is not defined for option 'gpu-name'")
}

/// The warning, if there is one, that a directive has no effect.
pub(super) fn ignored(said: &str) -> Option<&str> {
    said.lines()
        .filter_map(|line| line.split_once("warning :"))
        .map(|(_, warning)| warning.trim())
        .find(|warning| warning.contains("will be ignored"))
}

/// All functions of the output, in its order.
///
/// A function's properties follow its name; its registers follow on a line of their own, which
/// called functions do not have.
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

/// Reads one part such as `Used 11 registers` or `16 bytes spill stores`.
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

/// The number of `part` and what follows it.
fn quantity(part: &str) -> Option<(u32, &str)> {
    let start = part.split_once("Used ").map_or(part, |(_, quantity)| quantity);
    let (number, unit) = start.split_once(' ')?;
    Some((number.parse().ok()?, unit.trim()))
}
