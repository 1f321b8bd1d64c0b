//! Returns the version, the path and the missing functions of the installed driver. Works without a
//! device.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use crate::driver_sys as sys;
use crate::error::DriverError;
use crate::library::{Library, find, library};

/// The loaded driver library.
///
/// ```
/// if let Ok(driver) = cust_raw::driver() {
///     println!("{:?}, loaded from {:?}", driver.library(), driver.path());
///     if let Some((major, minor)) = driver.cuda_version() {
///         println!("supports CUDA {major}.{minor}");
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct DriverInfo {
    library: &'static Library,
}

/// Returns the loaded driver, or the reason why there is none.
///
/// Loads the library on the first call but does not initialise it. A loaded library does not imply
/// that there is a device; `cuInit` reports that.
///
/// ```
/// match cust_raw::driver() {
///     Ok(driver) => println!("{driver:?}"),
///     // The message names a remedy.
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
/// Returns a [`DriverError`], which contains the loader's message and a remedy.
pub fn driver() -> Result<DriverInfo, DriverError> {
    match library() {
        Ok(library) => Ok(DriverInfo { library }),
        Err(error) => Err(error.clone()),
    }
}

/// Returns the names in [`sys::FUNCTIONS`] that the driver does not have. Calls of these functions
/// return `CUDA_ERROR_NOT_FOUND`.
///
/// Without a driver, returns all names. Call [`driver`] first to check that there is a driver.
///
/// ```
/// use cust_raw::driver_sys::FUNCTIONS;
///
/// let missing = cust_raw::missing_symbols();
/// assert!(missing.iter().all(|name| FUNCTIONS.contains(name)));
/// if cust_raw::driver().is_err() {
///     assert_eq!(missing, FUNCTIONS);
/// }
/// ```
pub fn missing_symbols() -> Vec<&'static str> {
    sys::FUNCTIONS.iter().copied().filter(|name| find(name).is_err()).collect()
}

impl DriverInfo {
    /// Returns the name or path that was passed to the loader: [`crate::DEFAULT_LIBRARY`], or the
    /// value of the environment variable [`crate::LIBRARY_VARIABLE`].
    pub fn library(&self) -> &OsStr {
        &self.library.asked_for
    }

    /// Returns the newest CUDA version that the driver supports, as (major, minor), or `None` if
    /// the driver does not report it.
    pub fn cuda_version(&self) -> Option<(u32, u32)> {
        let mut version = 0;
        // SAFETY: the call writes one int. It works before `cuInit` and without a device.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.to_result().ok()?;
        let version = u32::try_from(version).ok()?;
        Some((version / 1000, version % 1000 / 10))
    }

    /// Returns the path of the file that contains `cuInit`, from `/proc/self/maps`. Returns `None`
    /// if it cannot be found there.
    pub fn path(&self) -> Option<PathBuf> {
        let address = self.library.symbol("cuInit")?.addr();
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines().find_map(|line| file_mapped_at(line, address))
    }
}

impl std::fmt::Debug for DriverInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriverInfo").field("library", &self.library()).finish_non_exhaustive()
    }
}

/// Returns the file of a line of `/proc/self/maps` if `address` is within the line's range. The
/// format is `START-END PERMISSIONS OFFSET DEVICE INODE   PATH`, with hexadecimal numbers.
fn file_mapped_at(line: &str, address: usize) -> Option<PathBuf> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let path = &rest[rest.find('/')?..];
    (start..end).contains(&address).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_its_file() {
        let line = "7f00-7f80 r-xp 00001000 08:01 42                 /usr/lib/a dir/libcuda.so.1";
        let file = Some(PathBuf::from("/usr/lib/a dir/libcuda.so.1"));
        assert_eq!(file_mapped_at(line, 0x7f00), file);
        assert_eq!(file_mapped_at(line, 0x7f7f), file);
        assert_eq!(file_mapped_at(line, 0x7f80), None);
        assert_eq!(file_mapped_at("7f00-7f80 rw-p 00000000 00:00 0", 0x7f00), None);
    }
}
