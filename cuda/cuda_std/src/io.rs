//! Text from kernels: [`print!`](crate::print), [`println!`](crate::println) and the messages of panics.
//!
//! The text is formatted on the GPU, into a buffer of the thread, and goes to the driver's `vprintf`
//! in one piece, so that threads do not mix their lines. The driver keeps a buffer of one megabyte,
//! of which new text overwrites the oldest, and prints it when the host waits for the stream or the
//! device, or unloads the module. On the CPU the macros are the standard library's.
//!
//! A text of more than [`PIECE`] bytes goes in several pieces, and other threads may print between
//! them.

#[cfg(target_arch = "nvptx64")]
use core::{
    ffi::c_void,
    fmt::{self, Write},
    panic::PanicInfo,
};

/// Bytes that are printed in one piece.
pub const PIECE: usize = 511;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Prints `format` with the arguments at `valist`, which lie there as in a C struct.
    ///
    /// # Safety
    /// `format` ends with a 0, and `valist` has the arguments that it names.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Ends the launch with `CUDA_ERROR_ASSERT`; the driver prints the message with its place, block and
    /// thread.
    ///
    /// # Safety
    /// The texts end with a 0.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// A text that ends with a 0.
#[cfg(target_arch = "nvptx64")]
struct Text {
    bytes: [u8; PIECE + 1],
    len: usize,
    /// Whether a full buffer is printed to make room; else the rest of the text is dropped.
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
            // SAFETY: the format takes one pointer, to a text that ends with a 0.
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

/// Prints from a kernel, with the syntax of the standard library's macro; on the CPU it is that macro.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::io::print(::core::format_args!($($text)*))
    };
}

/// Prints a line from a kernel, with the syntax of the standard library's macro; on the CPU it is that
/// macro.
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

/// Ends the launch with the message and the place of a panic.
#[cfg(target_arch = "nvptx64")]
pub(crate) fn fail(info: &PanicInfo<'_>) {
    let (mut message, mut file) = (Text::new(false), Text::new(false));
    let _ = write!(message, "{}", info.message());
    let line = info.location().map_or(0, |place| {
        let _ = file.write_str(place.file());
        place.line()
    });
    // SAFETY: all three texts end with a 0.
    unsafe { __assertfail(message.as_ptr(), file.as_ptr(), line, c"kernel".as_ptr().cast(), 1) };
}

/// Prints a text; `print!` expands to it.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[inline(never)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut buffer = Text::new(true);
    // A `Display` that fails prints what it wrote before.
    let _ = buffer.write_fmt(text);
    buffer.flush();
}
