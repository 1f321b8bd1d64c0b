//! Fuzz targets: functions that pass arbitrary bytes to a parser, a decoder or a kernel, and check the result.
//!
//! - `fuzz_targets/` has a program for each target. `cargo fuzz` and `cargo xtask fuzz` build it with libFuzzer.
//!   Without libFuzzer, the program runs the files that are its arguments, for debuggers.
//! - `corpus/NAME/` has inputs that together reach all code of a target that fuzzing has reached, and inputs that
//!   failed once (`found-…`). `tests/replay.rs` runs them.
//! - `dictionaries/NAME.dict` has the words of a text format.
//!
//! A target panics if the code under test breaks a promise. For valid input, the targets of parsers also check that the
//! value survives writing and reading. [`check`] adds limits on time and memory.
//!
//! Left out: the contents of encoded videos, which ffmpeg or the GPU's driver decodes.

mod bounds;
mod file;
mod targets;

use std::fs;
use std::path::Path;

pub use bounds::check;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its program, its corpus and its dictionary.
    pub name: &'static str,
    /// Runs the code under test on an input, and panics if it breaks a promise.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($system:ident: $($name:ident),+;)+) => {
        /// All targets.
        pub const TARGETS: &[Target] =
            &[$($(Target { name: stringify!($name), run: targets::$system::$name }),+),+];
    };
}

targets! {
    devices: cpu_paths;
    geometry: homography, intrinsics, rig;
    names: names;
    picture: jpeg, metadata, png;
    trajectory: times, track, trajectory;
    video: probe, raw_stream, transport_stream, y4m;
    warp: raw_planes, warp;
}

/// Runs every input in `corpus/NAME/` of the folder of a fuzz package. There must be at least five, so that the code
/// behind the first checks is reached.
///
/// # Panics
/// Panics if an input fails, a file cannot be read, or there are too few inputs.
pub fn replay(target: Target, package: &str) {
    let folder = Path::new(package).join("corpus").join(target.name);
    let entries = fs::read_dir(&folder).expect("the folder of the corpus");
    let inputs: Vec<_> = entries.map(|entry| entry.expect("an input").path()).collect();
    assert!(inputs.len() >= 5, "{} has only {} inputs", folder.display(), inputs.len());
    for input in inputs {
        println!("{}", input.display());
        check(target, &fs::read(&input).expect("an input"));
    }
}

/// Returns the target called `name`.
///
/// # Panics
/// Panics if there is none.
#[must_use]
pub fn find(targets: &[Target], name: &str) -> Target {
    *targets.iter().find(|target| target.name == name).expect("the name of a target")
}

/// Defines the program of a target in a list: a fuzzer, or without libFuzzer a `main` that runs the files in its
/// arguments.
#[macro_export]
macro_rules! program {
    ($targets:expr, $name:literal) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            $crate::check($crate::find($targets, $name), data)
        });

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for file in std::env::args_os().skip(1) {
                $crate::check($crate::find($targets, $name), &std::fs::read(file)?);
            }
            Ok(())
        }
    };
}
