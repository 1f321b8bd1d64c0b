//! Edits the text of the PTX: converts markers to launch bounds, counts barriers and removes line
//! tables.
//!
//! rustc has no attribute for launch bounds. `#[kernel]` therefore emits one comment per kernel,
//! its marker, through `global_asm!`. A marker reaches the PTX unchanged from any module and any
//! crate, and LLVM adds no comment around it:
//!
//! ```text
//! // cuda_std.kernel NAME maxntid=256 minnctapersm=4 barriers=1
//! ```
//!
//! [`finish`] converts markers to `.maxntid` and `.minnctapersm`, and rejects PTX whose number of
//! barriers differs from the declared one. It also declares the [shared memory arrays](shared) that
//! functions use.
//!
//! From Hopper on, a kernel also begins with [`LAUNCH_DEPENDENTS`] and [`WAIT`]. The GPU may then
//! launch the kernel before the preceding kernel of its stream has ended. The kernel itself waits
//! for the preceding one, which hides the launch latency. A kernel whose code contains [`WAIT`]
//! gets no second wait at its beginning. [`finish`] rejects such a kernel if any of its paths
//! returns without reaching the [`WAIT`].
//!
//! This module works on text only and touches no files. It does not verify PTX; `ptxas` does.

mod atomics;
mod ftz;
mod library;
mod local;
mod marker;
mod matrices;
mod paths;
mod scan;
mod shared;

use crate::{Arch, KernelReport};
pub(crate) use atomics::{has_unordered_atomics, order_atomics};
pub(crate) use ftz::flush_denormals;
pub(crate) use local::lower_local_swaps;
use marker::Marker;
pub(crate) use matrices::load_shared_matrices;
pub(crate) use scan::is_barrier;
use scan::{Function, Module};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Finished PTX and the kernels in it, which are not measured yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) text: String,
    pub(crate) kernels: Vec<KernelReport>,
}

/// The instruction that allows the next kernel of the stream to launch once every block of this
/// kernel has executed the instruction or ended.
const LAUNCH_DEPENDENTS: &str = "griddepcontrol.launch_dependents";

/// The instruction that waits until the preceding kernel of the stream has ended and all its writes
/// are visible. It does nothing if the kernel was launched without programmatic dependent launch.
const WAIT: &str = "griddepcontrol.wait";

/// Returns whether the architecture has [`LAUNCH_DEPENDENTS`] and [`WAIT`]. PTX 7.8, the oldest
/// version for such an architecture, supports both instructions.
fn waits_for_the_one_before(arch: Arch) -> bool {
    arch.capability() >= (9, 0)
}

/// Checks the PTX for an architecture and inserts the launch bounds.
///
/// `.file` and `.loc` lines are kept only if `keep_lines` is true. Functions in `external` need no
/// body.
pub(crate) fn finish(
    ptx: &str,
    arch: Arch,
    keep_lines: bool,
    external: &[String],
) -> Result<Finished, String> {
    let markers = marker::read_all(ptx)?;
    let module = scan::module(ptx)?;
    let entries: Vec<&Function> = module.functions.iter().filter(|f| f.is_entry).collect();

    for marker in &markers {
        if !entries.iter().any(|entry| entry.name == marker.name) {
            return Err(format!(
                "kernel `{}` has a marker but is not in the PTX; it must be `#[unsafe(no_mangle)] \
                 pub` and not generic",
                marker.name
            ));
        }
    }

    let mut kernels = Vec::with_capacity(entries.len());
    let (head, shared) = shared::declarations(ptx)?;
    let mut text = String::with_capacity(ptx.len() + shared.len() + 64 * entries.len());
    text.push_str(&ptx[..head]);
    text.push_str(&shared);
    let mut copied = head;
    for entry in entries {
        let marker = markers.iter().find(|marker| marker.name == entry.name).ok_or_else(|| {
            let name = &entry.name;
            format!("kernel `{name}` in the PTX has no marker; declare it with `#[kernel]`")
        })?;
        kernels.push(checked(marker, entry, &module, external)?);
        text.push_str(&ptx[copied..entry.head_end]);
        copied = entry.head_end;
        push_bounds(&mut text, marker);
        if waits_for_the_one_before(arch) {
            text.push_str(&ptx[copied..entry.body]);
            copied = entry.body;
            let _ = write!(text, "\n\t{LAUNCH_DEPENDENTS};");
            if !entry.names.contains(WAIT) {
                let _ = write!(text, "\n\t{WAIT};");
            }
        }
    }
    text.push_str(&ptx[copied..]);

    Ok(Finished { text: without_noise(&text, arch, keep_lines), kernels })
}

/// Checks a kernel's called functions, barriers and waits, and returns its properties.
fn checked(
    marker: &Marker,
    entry: &Function,
    module: &Module,
    external: &[String],
) -> Result<KernelReport, String> {
    let kernel = &entry.name;
    let called = reachable(entry, &module.functions);
    let is_there =
        |name: &&String| library::DRIVER.contains(&name.as_str()) || external.contains(name);
    for function in std::iter::once(entry).chain(called.iter().copied()) {
        if let Some(name) = function.names.intersection(&module.missing).find(|n| !is_there(n)) {
            let remedy = library::remedy(name);
            return Err(format!(
                "kernel `{kernel}` calls `{name}`, which is not in the PTX, so the kernel would not \
                 load; {remedy}"
            ));
        }
    }
    if let Some(function) = called.iter().find(|function| function.barriers > 0) {
        return Err(format!(
            "kernel `{kernel}` reaches the function `{}`, which is not inlined and contains {} \
             barriers: cuda_builder can check only barriers in the kernel's own body, and a \
             divergent call hangs the GPU; make the function `#[inline(always)]`",
            function.name, function.barriers
        ));
    }
    if entry.returns_early {
        return Err(format!(
            "kernel `{kernel}` calls `wait_for_kernel_before`, but one of its paths returns without \
             that call: later work in the stream waits only for this kernel and might not see the \
             writes of the preceding kernel; call `wait_for_kernel_before` on every path, even if \
             there is nothing to do"
        ));
    }
    let counted = entry.barriers;
    if let Some(declared) = marker.barriers.filter(|declared| *declared != counted) {
        return Err(format!(
            "kernel `{kernel}` declares {declared} barriers but its PTX has {counted}: a barrier \
             that the compiler duplicated into divergent branches hangs the GPU, and a removed \
             barrier causes a race; check the PTX, then correct the code, or the declaration if a \
             loop was unrolled"
        ));
    }
    Ok(KernelReport {
        name: kernel.clone(),
        max_threads: marker.max_threads,
        min_blocks: marker.min_blocks,
        barriers_declared: marker.barriers,
        barriers_counted: counted,
        resources: None,
    })
}

/// Returns every function that `entry` names, directly or through other functions.
///
/// A function that is named but not called counts, too, because it may be called through a pointer.
fn reachable<'a>(entry: &'a Function, functions: &'a [Function]) -> Vec<&'a Function> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut open = vec![entry];
    while let Some(function) = open.pop() {
        for next in functions {
            if !next.is_entry && function.names.contains(&next.name) && seen.insert(&next.name) {
                found.push(next);
                open.push(next);
            }
        }
    }
    found
}

/// Writes the launch bounds. In PTX they stand between the parameter list and the body.
fn push_bounds(text: &mut String, marker: &Marker) {
    if let Some(threads) = marker.max_threads {
        // The limit applies to the product of the three numbers: a kernel with `.maxntid 256, 1, 1`
        // may run in blocks of 16×16 threads.
        let _ = write!(text, "\n.maxntid {threads}, 1, 1");
    }
    if let Some(blocks) = marker.min_blocks {
        let _ = write!(text, "\n.minnctapersm {blocks}");
    }
}

/// Returns the text without markers, without wait instructions if the architecture does not support
/// them, and without line tables unless `keep_lines` is `true`.
fn without_noise(ptx: &str, arch: Arch, keep_lines: bool) -> String {
    let is_noise = |line: &str| {
        let line = line.trim_start();
        marker::is_marker(line)
            || shared::is_marker(line)
            || (!waits_for_the_one_before(arch)
                && line.strip_prefix(WAIT).is_some_and(|end| end.starts_with(';')))
            || (!keep_lines && is_of_lines(line))
    };
    ptx.split_inclusive('\n').filter(|line| !is_noise(line)).collect()
}

/// Returns whether the line belongs to a line table or is a label that only line tables use.
fn is_of_lines(line: &str) -> bool {
    let is_label = |name: &str| {
        let number =
            ["tmp", "func_begin", "func_end"].iter().find_map(|kind| name.strip_prefix(kind));
        number.is_some_and(|number| number.trim_end().ends_with(':'))
    };
    [".loc\t", ".file\t", ".section\t.debug_"].iter().any(|prefix| line.starts_with(prefix))
        || line.strip_prefix("$L__").is_some_and(is_label)
}

#[cfg(test)]
mod tests;
