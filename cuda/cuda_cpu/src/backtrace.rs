//! The position in the source at which a signal stopped a thread.
//!
//! A checked access knows its position. A raw pointer, a stack overflow and an endless loop do not,
//! so the signal handler captures a backtrace. The first frame that belongs neither to Rust's
//! libraries nor to the simulator is a line of the kernel. Without debug information, the frame has
//! only the name of the function.

use std::backtrace::Backtrace;

/// The first parts of the names of functions that belong to Rust's libraries or to this kit.
const LIBRARIES: [&str; 8] = [
    "core::",
    "std::",
    "alloc::",
    "cuda_cpu::",
    "cuda_std::",
    "cust::",
    "corosensei::",
    "rayon_core::",
];

/// Parts of the paths of files that belong to Rust's libraries or to this kit.
const FOLDERS: [&str; 11] = [
    "/rustc/",
    "/library/core/",
    "/library/std/",
    "/library/alloc/",
    "cuda_cpu/src/",
    "cuda_std/src/",
    "cust/src/",
    "/stable-cust-",
    "/stable-cuda-cpu-",
    "/stable-cuda-std-",
    "/corosensei-",
];

/// The function of the simulator that calls the kernel. No frame after it belongs to the kernel.
const ROOT: &str = "::run_threads";

/// The stack of a stopped thread.
pub(crate) struct StackTrace(Option<Backtrace>);

impl StackTrace {
    /// Captures the stack of the calling thread. The caller is a signal handler, which must not
    /// have interrupted the C library's allocator.
    pub(crate) fn capture() -> Self {
        Self(Some(Backtrace::force_capture()))
    }

    /// Returns an unknown stack.
    pub(crate) fn unknown() -> Self {
        Self(None)
    }

    /// Returns whether the thread was printing, so that it holds the lock of stdout or stderr.
    pub(crate) fn is_printing(&self) -> bool {
        let trace = self.0.as_ref().map(ToString::to_string).unwrap_or_default();
        let kernel = trace.split(ROOT).next().unwrap_or_default();
        kernel.contains("std::io::") || kernel.contains("/std/src/io/")
    }

    /// Returns the position in the kernel's source: file, line and column if there is debug
    /// information, otherwise the function's name.
    pub(crate) fn place(&self) -> Option<String> {
        place(&self.0.as_ref()?.to_string())
    }
}

/// Returns the position of the first frame of a backtrace's text that belongs to a kernel.
fn place(trace: &str) -> Option<String> {
    let mut lines = trace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, name)) = line.split_once(": ").filter(|(number, _)| is_number(number)) else {
            continue;
        };
        if name.contains(ROOT) {
            return None;
        }
        match lines.peek().and_then(|line| line.strip_prefix("at ")) {
            // A function that is inlined has a name without a path.
            Some(file) if is_file_of_kernel(file) => {
                return Some(file.strip_prefix("./").unwrap_or(file).to_owned());
            }
            None if is_name_of_kernel(name) => return Some(format!("`{name}`")),
            _ => {}
        }
    }
    None
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_file_of_kernel(file: &str) -> bool {
    // `cust/src/` is a part of `x/cust/src/lib.rs`, but not of `x/locust/src/lib.rs`.
    let contains = |folder: &str| {
        let mut found = file.match_indices(folder);
        found.any(|(at, _)| folder.starts_with('/') || at == 0 || file[..at].ends_with('/'))
    };
    file.contains(".rs:") && !FOLDERS.iter().any(|folder| contains(folder))
}

/// Returns whether a function is one of a kernel crate. A function of C has no path.
fn is_name_of_kernel(name: &str) -> bool {
    let start = name.trim_start_matches(['<', '&', '*']);
    let path = start.split('<').next().unwrap_or_default();
    path.contains("::") && !LIBRARIES.iter().any(|library| start.starts_with(library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_a_kernel_is_the_position() {
        let with_lines = "\
   0: cuda_cpu::backtrace::StackTrace::capture
             at ./cuda/cuda_cpu/src/backtrace.rs:320:9
   1: on_signal
             at /registry/stable-cuda-cpu-0.1.0/src/signals.rs:9:1
   2: <unknown>
   3: __memcpy_avx512
             at ./string/memmove.S:662:0
   4: read_volatile<u32>
             at /rustc/1/library/core/src/ptr/const_ptr.rs:1:1
   5: step
             at ./src/lib.rs:12:34
   6: kernels::sum
             at ./src/lib.rs:40:5
";
        assert_eq!(place(with_lines), Some("src/lib.rs:12:34".into()));
        let without = "   0: <core::slice::Iter<T> as core::iter::Iterator>::next\n   1: __memcpy\n   \
                       2: kernels::sum\n   3: main";
        assert_eq!(place(without), Some("`kernels::sum`".into()));
        let root = "   0: cuda_cpu::block::Block::run_threads\n   1: tests::main";
        assert_eq!(place(root), None);
        assert_eq!(place("disabled backtrace"), None);
        assert!(is_file_of_kernel("/home/a/locust/src/lib.rs:1:1"));
        assert!(!is_file_of_kernel("/home/a/cust/src/lib.rs:1:1"));
        assert!(!is_file_of_kernel("./cuda/cuda_std/src/shared.rs:1:1"));
    }
}
