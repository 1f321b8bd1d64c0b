//! Text from kernels: [`print!`](crate::print), [`println!`](crate::println) and panic messages.
//!
//! On the GPU, a thread formats the text into its own buffer and passes it to the driver's
//! `vprintf` in one piece, so lines of different threads do not mix. The driver's buffer has one
//! megabyte, and new text overwrites the oldest. The driver prints the buffer when the host waits
//! for the stream or the device, or unloads the module. On the CPU the macros are the standard
//! library's.
//!
//! A text of more than [`PIECE`] bytes is printed in several pieces, and other threads may print
//! between them.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Device, LaunchConfig};
//!
//! #[kernel(dims(1))]
//! pub fn greet() {
//!     println!("thread {} of block {}", thread::thread_idx_x(), thread::block_idx_x());
//! }
//!
//! let stream = Device::cpu().stream()?;
//! stream.launch(&LaunchConfig::for_1d(4, 2), &Greet {})?;
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

#[cfg(target_arch = "nvptx64")]
use core::{
    ffi::c_void,
    fmt::{self, Write},
    panic::PanicInfo,
};

/// The maximum number of bytes that are printed in one piece.
pub const PIECE: usize = 511;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Prints `format` with the arguments at `valist`, which have the layout of a C struct.
    ///
    /// # Safety
    /// `format` must be NUL-terminated. `valist` must have an argument of the right type for each
    /// conversion in `format`.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Ends the launch with `CUDA_ERROR_ASSERT`. The driver prints the message with the source
    /// location, block and thread.
    ///
    /// # Safety
    /// `message`, `file` and `function` must be NUL-terminated.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// A buffer for NUL-terminated text.
#[cfg(target_arch = "nvptx64")]
struct Text {
    bytes: [u8; PIECE + 1],
    len: usize,
    /// Whether a full buffer is printed to make room. Otherwise the rest of the text is dropped.
    prints: bool,
}

#[cfg(target_arch = "nvptx64")]
impl Text {
    fn new(prints: bool) -> Self {
        Self { bytes: [0; PIECE + 1], len: 0, prints }
    }

    fn as_ptr(&mut self) -> *const u8 {
        self.bytes[self.len] = 0;
        self.bytes.as_ptr()
    }

    fn flush(&mut self) {
        if self.len > 0 {
            let argument = self.as_ptr();
            // SAFETY: the format takes one pointer to a NUL-terminated text.
            unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const argument).cast()) };
            self.len = 0;
        }
    }
}

#[cfg(target_arch = "nvptx64")]
impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.len == PIECE {
                if !self.prints {
                    break;
                }
                self.flush();
            }
            let (fitting, more) = rest.split_at(rest.len().min(PIECE - self.len));
            self.bytes[self.len..self.len + fitting.len()].copy_from_slice(fitting);
            self.len += fitting.len();
            rest = more;
        }
        Ok(())
    }
}

/// Prints text from a kernel, with the syntax of the standard library's macro. On the CPU, this
/// macro is the standard library's.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::io::print(::core::format_args!($($text)*))
    };
}

/// Prints a line from a kernel, with the syntax of the standard library's macro. On the CPU, this
/// macro is the standard library's.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! println {
    () => {
        $crate::io::print(::core::format_args!("\n"))
    };
    ($($text:tt)*) => {
        $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($text)*)))
    };
}

/// Ends the launch with the message and the source location of a panic.
#[cfg(target_arch = "nvptx64")]
pub(crate) fn fail(info: &PanicInfo<'_>) {
    let (mut message, mut file) = (Text::new(false), Text::new(false));
    let _ = write!(message, "{}", info.message());
    let line = info.location().map_or(0, |place| {
        let _ = file.write_str(place.file());
        place.line()
    });
    // SAFETY: all three texts are NUL-terminated.
    unsafe { __assertfail(message.as_ptr(), file.as_ptr(), line, c"kernel".as_ptr().cast(), 1) };
}

/// Prints a text. `print!` expands to a call of this function.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[inline(never)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut buffer = Text::new(true);
    // If a `Display` implementation fails, the text before the failure is printed.
    let _ = buffer.write_fmt(text);
    buffer.flush();
}
