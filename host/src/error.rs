//! The kind of an error, from which a program derives its exit code, and the place in a text file that caused it.
//!
//! A program that reports errors needs the same three answers from each of them: what has to change, what to print, and
//! which line of a file to show. [`Classify`] gives them, so that the program does not list the errors of the library.

use std::path::Path;

use serde::Serialize;

use crate::device::DeviceError;

/// The kind of an error: what has to change before another attempt can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The options of the call or command.
    Usage,
    /// An input file, or the combination of inputs.
    Input,
    /// The output, which cannot be written.
    Output,
    /// Nothing: a device or the system failed, and another attempt may succeed.
    Device,
    /// The device: there is no usable one.
    NoDevice,
    /// The process: the GPU was lost, and only a new process can use it again.
    DeviceLost,
    /// Nothing: a signal ended the job.
    Interrupted,
}

/// A place in a text file. Lines and columns count from 1.
#[derive(Clone, Copy, Debug)]
pub struct TextPlace<'a> {
    /// The text file.
    pub file: &'a Path,
    /// The line.
    pub line: usize,
    /// The column in characters from which the fault extends.
    pub column: usize,
    /// The faulty word at or after the column. If it is empty, the fault extends to the end of the line.
    pub word: &'a str,
}

/// States the kind of an error of the library.
pub trait Classify: std::error::Error {
    /// Returns the error that this one passes on unchanged. The other methods return its answers by default.
    fn inner(&self) -> Option<&dyn Classify> {
        None
    }

    /// Returns the kind of the error.
    fn kind(&self) -> Kind {
        self.inner().map_or(Kind::Input, <dyn Classify>::kind)
    }

    /// Returns the place in a text file that caused the error, if it is known.
    fn place(&self) -> Option<TextPlace<'_>> {
        self.inner()?.place()
    }

    /// Returns the message for the user of a program. Omits positions in source code where they do not help.
    fn message(&self) -> String {
        self.inner().map_or_else(|| self.to_string(), <dyn Classify>::message)
    }
}

/// Implements [`Classify`] for an error that passes on the errors in these variants unchanged.
macro_rules! passes_on {
    ($error:ty: $($variant:ident)|*) => {
        impl $crate::error::Classify for $error {
            fn inner(&self) -> Option<&dyn $crate::error::Classify> {
                #[allow(unreachable_patterns, reason = "some errors have no other variant")]
                match self {
                    $(Self::$variant(error) => Some(error),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use passes_on;

/// Defines the error of an operation: inputs that are invalid, a part that failed, or the device.
macro_rules! operation_error {
    ($(#[$doc:meta])+ $name:ident: $text:literal $(, $(#[$part_doc:meta])+ $part:ident($type:ty))*) => {
        $(#[$doc])+
        #[derive(Debug, thiserror::Error)]
        #[non_exhaustive]
        pub enum $name {
            /// An option or an input is invalid. The text names it.
            #[error($text)]
            Invalid(String),
            $($(#[$part_doc])+
            #[error(transparent)]
            $part(#[from] $type),)*
            /// The device failed.
            #[error(transparent)]
            Device(#[from] $crate::device::DeviceError),
        }

        $crate::error::passes_on!($name: $($part |)* Device);
    };
}
pub(crate) use operation_error;

impl Classify for DeviceError {
    fn kind(&self) -> Kind {
        match self {
            error if error.is_no_device() => Kind::NoDevice,
            error if error.is_fatal() => Kind::DeviceLost,
            _ => Kind::Device,
        }
    }

    fn message(&self) -> String {
        if self.is_no_device() {
            format!("no usable device: {}", self.kind)
        } else {
            self.to_string()
        }
    }
}
