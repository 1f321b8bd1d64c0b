//! Compiles the fake driver `fake_driver.c` with `cc`, controls it, and runs tests with it in their own processes.
//!
//! An environment variable selects the driver, and a process reads it only once. Therefore, [`alone`] runs each test
//! that needs the fake driver in a new process.

use std::any::type_name;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use panoweave::device::Counters;
use panoweave_tests::skip::{Need, skip};

/// The library of the fake driver in this process.
pub(crate) struct Fake(Library);

/// The number of live objects of each kind in the driver, and the number of retained contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) objects: Counters,
    pub(crate) contexts: i64,
}

impl Live {
    fn of(kinds: [i64; 8]) -> Self {
        let [device_bytes, pinned_bytes, streams, events, modules, textures, arrays, contexts] =
            kinds;
        let objects =
            Counters { device_bytes, pinned_bytes, streams, events, modules, textures, arrays };
        Self { objects, contexts }
    }

    /// Returns whether every count is at most the corresponding count of `other`.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let all = |live: &Self| {
            let Counters { device_bytes, pinned_bytes, streams, events, modules, textures, arrays } =
                live.objects;
            [device_bytes, pinned_bytes, streams, events, modules, textures, arrays, live.contexts]
        };
        all(self).iter().zip(all(other)).all(|(here, there)| *here <= there)
    }
}

/// A fault of the fake driver: `count` matching calls fail with the CUDA error `code`. The first to fail is the
/// `from`th matching call, counted from 1. If `count` is 0, this call and all later matching calls fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// A part of the name of a driver function or a launched kernel. It selects the matching calls. An empty string
    /// matches all calls.
    pub(crate) label: &'static str,
    pub(crate) from: i64,
    pub(crate) count: i64,
    pub(crate) code: u32,
}

/// Numbers of driver calls since the last call of [`Fake::fail`] or [`Fake::reset`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) calls: i64,
    /// The number of driver calls that failed because of [`Fake::fail`].
    pub(crate) failed: i64,
    /// The number of accesses to freed memory and of objects freed twice. Only [`Fake::reset`] sets it to 0.
    pub(crate) damage: i64,
}

impl Fake {
    /// Returns the library of the fake driver that [`alone`] selected for this process.
    pub(crate) fn loaded() -> Self {
        let path = env::var_os(cust::LIBRARY_VARIABLE).expect("started by `alone`");
        // SAFETY: loading the library of the fake driver runs no code, because the library has no initialisers.
        Self(unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.unwrap())
    }

    /// # Safety
    /// `F` must be the type of the C function `name`.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller guarantees that `F` is the type of the C function, and `self` keeps the library open.
        *unsafe { self.0.get::<F>(name) }.unwrap()
    }

    pub(crate) fn fail(&self, Fault { label, from, count, code }: Fault) {
        type Fail = unsafe extern "C" fn(*const c_char, i64, i64, c_int);
        let label = CString::new(label).unwrap();
        // SAFETY: `Fail` is the type of the C function `fake_fail`, which reads the label only during the call.
        unsafe { self.function::<Fail>("fake_fail")(label.as_ptr(), from, count, code as c_int) }
    }

    /// Removes the current fault, so that calls succeed again.
    pub(crate) fn heal(&self) {
        self.fail(Fault { label: "", from: 0, count: 0, code: 0 });
    }

    /// Makes launches of the kernel with this name hang until `hang` is called with another name.
    pub(crate) fn hang(&self, kernel: &str) {
        let kernel = CString::new(kernel).unwrap();
        // SAFETY: the type is that of the C function `fake_hang`, which reads the name only during the call.
        unsafe {
            self.function::<unsafe extern "C" fn(*const c_char)>("fake_hang")(kernel.as_ptr());
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = [0_i64; 3];
        // SAFETY: the type is that of the C function `fake_counts`, which writes three numbers to the array.
        unsafe {
            self.function::<unsafe extern "C" fn(*mut i64)>("fake_counts")(counts.as_mut_ptr());
        }
        let [calls, failed, damage] = counts;
        Counts { calls, failed, damage }
    }

    /// Returns the current numbers of live objects, and their maxima since the last [`reset`](Self::reset).
    pub(crate) fn live(&self) -> [Live; 2] {
        let (mut now, mut most) = ([0_i64; 8], [0_i64; 8]);
        type Read = unsafe extern "C" fn(*mut i64, *mut i64);
        // SAFETY: `Read` is the type of the C function `fake_live`, which writes eight numbers to each array.
        unsafe { self.function::<Read>("fake_live")(now.as_mut_ptr(), most.as_mut_ptr()) };
        [now, most].map(Live::of)
    }

    /// Returns whether this thread has a current context.
    pub(crate) fn has_context(&self) -> bool {
        // SAFETY: the type is that of the C function `fake_has_context`, which has no preconditions.
        unsafe { self.function::<unsafe extern "C" fn() -> c_int>("fake_has_context")() != 0 }
    }

    /// Frees all objects that a run left behind and removes the fault. The host must not use these objects afterwards.
    pub(crate) fn reset(&self) {
        // SAFETY: the type is that of the C function `fake_reset`, and no test uses objects of an earlier run.
        unsafe { self.function::<unsafe extern "C" fn()>("fake_reset")() }
    }
}

/// Returns the path of the fake driver's library, which is compiled at most once per process. If there is no C
/// compiler, reports a skip and returns `None`.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live_faults");
            fs::create_dir_all(&folder).unwrap();
            let library = folder.join("libfake_cuda.so");
            let source =
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/alone/live_faults/fake_driver.c");
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-fPIC", "-O2", "-pthread", source, "-o"]).arg(&library);
            match cc.status() {
                Ok(status) => {
                    assert!(status.success(), "cc could not build {source}");
                    Some(library)
                }
                Err(error) => {
                    skip(Need::Cc, error);
                    None
                }
            }
        })
        .as_deref()
}

/// Runs `body` in new processes with the fake driver. Each process runs this test executable with only the calling test
/// `_test` selected. A test can split its work between several processes: it prints [`LEFT`] and the size of the rest.
///
/// Does nothing if there is no C compiler.
pub(crate) fn alone<T>(_test: T, body: impl FnOnce()) {
    if env::var_os(PART).is_some() {
        return body();
    }
    // `type_name` begins with the crate's name, which the name for `--exact` must not contain.
    let path = type_name::<T>();
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    for part in 0.. {
        let Some(library) = library() else { return };
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--nocapture", name])
            .env(cust::LIBRARY_VARIABLE, library)
            .env(PART, part.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{text}\n{errors}", output.status);
        assert!(text.contains("1 passed"), "no test {name} was run:\n{text}");
        let left = text.lines().find_map(|line| line.strip_prefix(LEFT));
        if left.is_none_or(|left| left == "0") {
            return;
        }
    }
}

/// Returns the number of this process among those that [`alone`] starts for a test.
pub(crate) fn part() -> usize {
    env::var(PART).unwrap().parse().unwrap()
}

const PART: &str = "PANOWEAVE_TEST_PART";

/// Prefix of the output line with the amount of work that later processes must do.
pub(crate) const LEFT: &str = "work left: ";
