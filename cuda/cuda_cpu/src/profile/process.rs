//! The profile of a process, chosen with the environment variable `CUDA_CPU_PROFILE`.
//!
//! The variable names a file. The process writes it when it exits, if a kernel was launched. The
//! extension selects the format: `.html` is a page, `.json` is for programs, and any other file is
//! the table. `-` prints the table to stderr. `%p` in the name is replaced by the process id, so
//! that several processes write different files.
//!
//! A process that a signal ends writes no file.

use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, fs, process};

use super::Profile;

/// The environment variable that contains the name of the file.
const VARIABLE: &str = "CUDA_CPU_PROFILE";

static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);

unsafe extern "C" {
    /// Calls `function` when the process exits. A function of the C library on every platform.
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Returns the name of the file, or `None` if no profile is wanted.
fn file() -> Option<&'static str> {
    static FILE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let name = env::var_os(VARIABLE)?.to_string_lossy().into_owned();
        (!name.is_empty()).then(|| name.replace("%p", &process::id().to_string()))
    };
    FILE.get_or_init(read).as_deref()
}

/// Returns whether the launches of this process are profiled.
pub(super) fn is_wanted() -> bool {
    file().is_some()
}

/// Adds the profile of a launch, if the process is profiled.
pub(super) fn add(profile: Profile) {
    if !is_wanted() {
        return;
    }
    let mut all = PROFILE.lock().unwrap_or_else(PoisonError::into_inner);
    if all.is_none() {
        // SAFETY: the function is a C function without arguments that does not unwind, because
        // Rust aborts on a panic in it.
        let code = unsafe { atexit(write_at_exit) };
        if code != 0 {
            eprintln!("{VARIABLE} is ignored: the process cannot call a function when it exits");
        }
    }
    all.get_or_insert_default().merge(profile);
}

extern "C" fn write_at_exit() {
    // A lock that is held by another thread would never be released.
    let Ok(profile) = PROFILE.try_lock() else { return };
    let (Some(profile), Some(file)) = (profile.as_ref(), file()) else { return };
    if file == "-" {
        eprint!("{profile}");
    } else if let Err(error) = fs::write(file, text(profile, Path::new(file))) {
        eprintln!(
            "cannot write the profile to `{file}`: {error}; correct {VARIABLE}, relative to the folder of the package"
        );
    }
}

/// Returns the profile in the format that the extension of a file selects.
fn text(profile: &Profile, file: &Path) -> String {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => profile.to_html(),
        Some("json") => profile.to_json(),
        _ => profile.to_string(),
    }
}
