//! Prints results to stdout without a panic if the reader, such as `head`, has closed the pipe.

use std::io::{self, ErrorKind, Write};

use crate::error::Error;

/// Prints `text` unchanged. A closed pipe is not an error, because its reader wants no more output.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write", "stdout".as_ref())(error))
        }
        _ => Ok(()),
    }
}
