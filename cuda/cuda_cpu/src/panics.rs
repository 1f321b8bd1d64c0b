//! The panic hook: a kernel's panic is a fault with text and place, not a message on stderr.
//!
//! The place of a panic is known to the panic hook alone, so the first launch installs one over the
//! program's own. For panics outside of kernels it calls the program's; for a kernel's panic it calls that
//! only if `RUST_BACKTRACE` asks for a backtrace, or if the thread panics again while it unwinds, which
//! ends the process.

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
