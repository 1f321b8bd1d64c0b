//! Loads the driver library once per process.
//!
//! The library is opened with `RTLD_NOW | RTLD_LOCAL`: all its symbols are bound at once, and other
//! libraries cannot use them. The library is never closed because the functions of
//! [`driver_sys`](crate::driver_sys) keep addresses from it.

use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use libloading::os::unix;

use crate::driver_sys::CUresult;
use crate::error::DriverError;

/// The file name of the driver library on every Linux system.
///
/// ```
/// if let Ok(driver) = cust_raw::driver()
///     && std::env::var_os(cust_raw::LIBRARY_VARIABLE).is_none()
/// {
///     assert_eq!(driver.library(), cust_raw::DEFAULT_LIBRARY);
/// }
/// ```
pub const DEFAULT_LIBRARY: &str = "libcuda.so.1";

/// The environment variable that names a library to load instead of [`DEFAULT_LIBRARY`], for tests.
///
/// ```
/// assert_eq!(cust_raw::LIBRARY_VARIABLE, "CUDA_DRIVER_LIBRARY");
/// ```
pub const LIBRARY_VARIABLE: &str = "CUDA_DRIVER_LIBRARY";

/// A loaded driver library.
pub(crate) struct Library {
    /// The requested library: a file name for the loader to find, or a path.
    pub(crate) asked_for: OsString,
    handle: unix::Library,
}

/// Returns the driver library. The first call loads it.
///
/// `open` runs before `OnceLock::set`, not inside `get_or_init`: a constructor in the loaded
/// library may call `cu*` functions and so re-enter this function on the same thread, which would
/// deadlock in `get_or_init`. Concurrent first calls open the same library; the loader counts
/// references, and the extra handles stay open.
pub(crate) fn library() -> Result<&'static Library, &'static DriverError> {
    static LIBRARY: OnceLock<Result<Library, DriverError>> = OnceLock::new();
    if LIBRARY.get().is_none()
        && let Err(unused) = LIBRARY.set(open())
    {
        std::mem::forget(unused);
    }
    LIBRARY.wait().as_ref()
}

/// Returns the address of the driver's function `name`, or the error code that a call of the
/// function returns instead.
pub(crate) fn find(name: &str) -> Result<*mut (), CUresult> {
    match library() {
        Ok(library) => library.symbol(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND),
        Err(_) => Err(CUresult::CUDA_ERROR_NO_DEVICE),
    }
}

fn open() -> Result<Library, DriverError> {
    // musl's `dlopen` fails in a static program. glibc's would load a second C library.
    if cfg!(target_feature = "crt-static") {
        return Err(DriverError(
            "this program is linked statically and cannot load a CUDA driver; use a build that is \
             linked with the system's C library"
                .to_owned(),
        ));
    }
    let named = env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty());
    let overridden = named.is_some();
    let asked_for = named.unwrap_or_else(|| DEFAULT_LIBRARY.into());
    let library = Library::open(asked_for).map_err(|message| {
        DriverError(if overridden {
            format!(
                "cannot load the library named in {LIBRARY_VARIABLE}: {message}; correct the \
                 variable, or unset it to use the installed driver"
            )
        } else {
            format!(
                "cannot load a CUDA driver ({message}); install NVIDIA's driver, or start the \
                 container with `--gpus all`"
            )
        })
    })?;
    if library.symbol("cuInit").is_none() {
        let library = std::mem::ManuallyDrop::new(library);
        return Err(DriverError(format!(
            "{} is not a CUDA driver: it has no cuInit; remove the file of that name from the \
             loader's path (LD_LIBRARY_PATH), or correct {LIBRARY_VARIABLE} if it is set",
            library.asked_for.to_string_lossy()
        )));
    }
    Ok(library)
}

impl Library {
    fn open(asked_for: OsString) -> Result<Self, String> {
        let name: &OsStr = &asked_for;
        // SAFETY: loading runs the library's constructors. The library is NVIDIA's driver, which is
        // designed to be loaded this way, or one that the user who started the process chose.
        let opened = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        match opened {
            Ok(handle) => Ok(Self { asked_for, handle }),
            Err(error) => Err(match error.source() {
                Some(loader) => loader.to_string(),
                None => format!("{}: {error}", asked_for.to_string_lossy()),
            }),
        }
    }

    /// Returns the address of `name` in this library or one of its dependencies.
    pub(crate) fn symbol(&self, name: &str) -> Option<*mut ()> {
        // SAFETY: the symbol is only looked up and kept as an address. Code that calls it must use
        // the right function type.
        let symbol = unsafe { self.handle.get::<*mut ()>(name) }.ok()?;
        Some(symbol.as_raw_ptr().cast())
    }
}
