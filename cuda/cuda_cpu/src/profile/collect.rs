//! Collects the counts of launches for the profiles that want them: the recordings of the launching
//! thread, and the profile of the process, which it writes when it exits.

use std::cell::RefCell;
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, fs, process};

use super::{KernelProfile, Profile, Trace};

/// The environment variable that contains the name of the file of the process's profile.
const VARIABLE: &str = "CUDA_CPU_PROFILE";

thread_local! {
    /// The profiles that this thread records, the innermost last.
    static RECORDINGS: RefCell<Vec<Profile>> = const { RefCell::new(Vec::new()) };
}

static PROCESS: Mutex<Option<Profile>> = Mutex::new(None);

unsafe extern "C" {
    /// Calls `function` when the process exits.
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Returns the name of the process's file, or `None` if no profile is wanted.
fn file() -> Option<&'static str> {
    static FILE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let name = env::var_os(VARIABLE)?.to_string_lossy().into_owned();
        (!name.is_empty()).then(|| name.replace("%p", &process::id().to_string()))
    };
    FILE.get_or_init(read).as_deref()
}

/// Calls `f` with the recordings of this thread. Returns the default while the thread ends, when a
/// destructor can still launch a kernel.
fn with_recordings<R: Default>(f: impl FnOnce(&mut Vec<Profile>) -> R) -> R {
    RECORDINGS.try_with(|all| f(&mut all.borrow_mut())).unwrap_or_default()
}

/// Ends the innermost recording, also if its closure panics.
struct Recording;

impl Recording {
    fn take() -> Profile {
        with_recordings(Vec::pop).unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        Self::take();
    }
}

/// Implements [`Profile::record`].
pub(super) fn record<R>(launches: impl FnOnce() -> R) -> (R, Profile) {
    with_recordings(|all| all.push(Profile::default()));
    let recording = Recording;
    let result = launches();
    std::mem::forget(recording);
    let profile = Recording::take();
    add_to_innermost(&profile);
    (result, profile)
}

fn add_to_innermost(profile: &Profile) {
    with_recordings(|all| {
        if let Some(innermost) = all.last_mut() {
            innermost.merge(profile.clone());
        }
    });
}

/// Returns whether launches of this thread are profiled: this thread records a profile, or the
/// process has one.
#[must_use]
pub fn is_wanted() -> bool {
    with_recordings(|all| !all.is_empty()) || file().is_some()
}

/// The counts of the blocks of one launch. The order of the blocks does not matter, because the
/// counts are sums.
#[derive(Default)]
pub(crate) struct Collector(Mutex<KernelProfile>);

impl Collector {
    /// Returns a collector if this thread records a profile, or if the process has one.
    pub(crate) fn if_wanted() -> Option<Self> {
        is_wanted().then(Self::default)
    }

    /// Adds the counts of a block whose threads have all returned.
    pub(crate) fn add(&self, trace: &Trace) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).merge(trace.total());
    }

    /// Adds the counts of a launch that succeeded to the profiles.
    pub(crate) fn finish(self, kernel: &str) {
        let counts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counts = KernelProfile { launches: 1, ..counts };
        let profile = Profile { kernels: [(kernel.to_owned(), counts)].into() };
        add_to_innermost(&profile);
        if file().is_some() {
            add_to_process(profile);
        }
    }
}

fn add_to_process(profile: Profile) {
    let mut all = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
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
    let Ok(profile) = PROCESS.try_lock() else { return };
    let (Some(profile), Some(file)) = (profile.as_ref(), file()) else { return };
    if file == "-" {
        return eprint!("{profile}");
    }
    let is_json = Path::new(file).extension().is_some_and(|extension| extension == "json");
    let text = if is_json { profile.to_json() } else { profile.to_string() };
    if let Err(error) = fs::write(file, text) {
        eprintln!(
            "cannot write the profile to `{file}`: {error}; correct {VARIABLE}, relative to the folder of the package"
        );
    }
}
