//! Runs a test in its own process. Tests need this if they measure the process's memory or object counts, or if they
//! make the GPU unusable for their process.

use std::any::type_name;
use std::env;
use std::process::Command;

use cust::typed::Counters;

const VARIABLE: &str = "PANOWEAVE_TEST_ALONE";

/// Runs `body` in a new process. The process runs this test executable with only the calling test selected.
///
/// `_test` is the calling test function. The path of its type contains the name of the test.
///
/// # Panics
/// Panics if `body` panics, or if the process cannot be started.
pub fn alone<T>(_test: T, body: impl FnOnce()) {
    if env::var_os(VARIABLE).is_some() {
        return body();
    }
    // `type_name` begins with the crate's name, which the name for `--exact` must not contain.
    let path = type_name::<T>();
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let executable = env::current_exe().expect("the path of this executable");
    let output = Command::new(executable)
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .unwrap_or_else(|e| panic!("{name}: cannot start a process: {e}"));
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}", output.status);
    assert!(text.contains("1 passed"), "no test is called `{name}`");
}

/// Returns the counts of the process's objects on devices, except modules: a device keeps the kernels that it has loaded
/// at their first launches.
#[must_use]
pub fn objects() -> Counters {
    Counters { modules: 0, ..Counters::now() }
}
