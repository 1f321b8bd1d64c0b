//! Helpers that build libraries with `cc` and rerun tests in their own process.
//!
//! The driver is loaded once per process and selected by an environment variable, so each choice of
//! a driver needs its own process. A test that needs its own process is marked `#[ignore]`, and
//! [`run_alone`] starts it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cust_raw::driver_sys;

/// Returns the number of devices that the driver reports.
pub(crate) fn device_count() -> Result<i32, driver_sys::CUresult> {
    let mut count = 0;
    // SAFETY: `count` outlives the call.
    unsafe { driver_sys::cuDeviceGetCount(&raw mut count) }.to_result()?;
    Ok(count)
}

/// Returns the path of `tests/c/NAME`.
pub(crate) fn c_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Creates an empty folder for the files of one test, so that the test cannot load a stale library.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder under target/tmp");
    folder
}

/// Builds a shared library. If there is no C compiler, prints a message and returns `false`.
pub(crate) fn shared_library(output: &Path, arguments: &[&str]) -> bool {
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(output).args(arguments);
    match cc.status() {
        Ok(status) => {
            assert!(status.success(), "cc could not build {}", output.display());
            true
        }
        Err(error) => {
            eprintln!("SKIPPED: needs a C compiler: cc: {error}");
            false
        }
    }
}

/// Runs the ignored test `name` of the calling test file in a new process, with `library` as the
/// driver.
pub(crate) fn run_alone(name: &str, library: &Path) {
    let output = Command::new(env::current_exe().expect("the test's own path"))
        .args(["--ignored", "--exact", "--nocapture", name])
        .env(cust_raw::LIBRARY_VARIABLE, library)
        .output()
        .expect("the test starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "no test {name} was run:\n{text}");
}
