//! The checks that a launch can turn on and off.
//!
//! Bounds, divergence, stack overflows and invalid addresses are always reported.

use std::env;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use thiserror::Error;

/// The environment variable that sets the checks of a process.
const VARIABLE: &str = "CUDA_CPU_CHECKS";

/// The checks of a launch.
///
/// The default depends on the build: a debug build checks shared memory, a release build does not.
/// The environment variable `CUDA_CPU_CHECKS` overrides it with a list of words, separated by
/// commas:
///
/// | word | effect |
/// |---|---|
/// | `none` | turns off every check |
/// | `shared` | turns on [`shared`](Self::shared) |
/// | `global` | turns on [`global`](Self::global) |
/// | `order=SEED` | sets [`order`](Self::order) |
/// | `limit=SECONDS` | sets [`limit`](Self::limit); 0 means no limit |
///
/// Words after the first one add to the checks before them; the list starts with the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Whether races on shared memory, and reads of shared memory that no thread has written, are
    /// reported.
    pub shared: bool,
    /// Whether races on global memory are reported. The blocks then run one after the other. The
    /// check sees accesses through `Slice`, `SliceMut`, `View`, `ViewMut` and atomics, but not
    /// accesses through Rust references and raw pointers.
    pub global: bool,
    /// The seed of the order in which blocks and threads run, or `None` for the usual order: blocks
    /// in parallel, threads by index. With a seed, blocks run one after the other. A kernel whose
    /// results differ between two seeds depends on an order that a GPU does not guarantee.
    pub order: Option<u64>,
    /// The maximum CPU time that a thread runs without waiting, or that a block runs, or `None` for
    /// no limit.
    pub limit: Option<Duration>,
}

impl Checks {
    /// No check that can be turned off.
    pub const NONE: Self = Self { shared: false, global: false, order: None, limit: None };

    /// The default of this build, without the environment: a limit of one minute and, in a debug
    /// build, [`shared`](Self::shared).
    pub const BUILD: Self =
        Self { shared: cfg!(debug_assertions), limit: Some(Duration::from_secs(60)), ..Self::NONE };

    /// Returns the checks of this process: those of the build, changed by `CUDA_CPU_CHECKS`.
    ///
    /// The variable is read once. A word that is not understood is reported on stderr, and the
    /// variable is then ignored.
    #[must_use]
    pub fn of_process() -> Self {
        static CHECKS: OnceLock<Checks> = OnceLock::new();
        *CHECKS.get_or_init(|| {
            let Some(text) = env::var_os(VARIABLE) else { return Self::BUILD };
            text.to_string_lossy().parse().unwrap_or_else(|error| {
                eprintln!("{VARIABLE} is ignored: {error}");
                Self::BUILD
            })
        })
    }

    /// Returns whether the blocks of a launch must run one after the other.
    pub(crate) fn is_sequential(&self) -> bool {
        self.global || self.order.is_some()
    }
}

impl Default for Checks {
    /// Returns [`Checks::of_process`].
    fn default() -> Self {
        Self::of_process()
    }
}

/// A word in a list of checks that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown check `{0}`; use none, shared, global, order=SEED or limit=SECONDS")]
pub struct UnknownCheck(String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let mut checks = Self::BUILD;
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let unknown = || UnknownCheck(word.to_owned());
            match word.split_once('=') {
                None if word == "none" => checks = Self::NONE,
                None if word == "shared" => checks.shared = true,
                None if word == "global" => checks.global = true,
                Some(("order", seed)) => {
                    checks.order = Some(seed.parse().map_err(|_| unknown())?);
                }
                Some(("limit", seconds)) => {
                    let seconds: f64 = seconds.parse().map_err(|_| unknown())?;
                    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| unknown())?;
                    checks.limit = Some(limit).filter(|limit| !limit.is_zero());
                }
                _ => return Err(unknown()),
            }
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_words_changes_the_defaults() {
        assert_eq!("".parse(), Ok(Checks::BUILD));
        assert_eq!("none".parse(), Ok(Checks::NONE));
        let all = Checks {
            shared: true,
            global: true,
            order: Some(7),
            limit: Some(Duration::from_millis(1500)),
        };
        assert_eq!(" shared, global,order=7,limit=1.5 ".parse(), Ok(all));
        assert_eq!("limit=0".parse(), Ok(Checks { limit: None, ..Checks::BUILD }));
        for text in ["races", "order", "order=x", "limit=-1", "limit=nan", "none=1", "shared=1"] {
            assert!(text.parse::<Checks>().is_err(), "{text}");
        }
    }
}
