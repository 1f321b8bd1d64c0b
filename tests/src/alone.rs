//! Running one test in a process of its own.

use std::any::type_name;
use std::env;
use std::process::Command;

const VARIABLE: &str = "PANOWEAVE_TEST_ALONE";

/// Runs `body` in a new process: this test executable again, with the calling test alone.
///
/// `test` is the test function itself; its path is the test's name.
///
/// # Panics
/// If `body` panics, or the process cannot be started.
pub fn alone<T>(_test: T, body: impl FnOnce()) {
    if env::var_os(VARIABLE).is_some() {
        return body();
    }
    // The path begins with the crate's name, the name of a test does not.
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
