//! The panic hook, which turns a kernel's panic into a fault with text and position instead of a
//! message on stderr.
//!
//! Only a panic hook gets the position of a panic, so the first launch installs a hook on top of
//! the program's own. It forwards panics outside kernels to the program's hook. It forwards a
//! kernel's panic only if `RUST_BACKTRACE` requests a backtrace, or if the thread panics again
//! while it unwinds, which ends the process.

use std::env;
use std::panic;
use std::sync::Once;

use crate::block;

/// Installs the hook, once.
pub(crate) fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let backtrace = env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !block::note_panic(info) || backtrace || cfg!(panic = "abort") {
                earlier(info);
            }
        }));
    });
}
