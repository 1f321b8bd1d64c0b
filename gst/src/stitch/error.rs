//! Errors of the element, and the domains of their messages on the bus.

use std::fmt;

use gst::ErrorMessage;
use panoweave::device::DeviceError;
use panoweave::error::{Classify, Kind};
use panoweave::job::JobError;
use panoweave::live::LiveError;
use panoweave::ops::stitch::StitchError;

/// The domain of an error's message.
#[derive(Clone, Copy, Debug)]
enum Domain {
    Settings,
    OpenRead,
    Format,
    Failed,
}

/// The reason why the element cannot stitch.
#[derive(Debug)]
pub(super) struct StitchFailure {
    domain: Domain,
    text: String,
}

impl StitchFailure {
    /// Returns the error for wrong properties.
    pub(super) fn settings(text: impl ToString) -> Self {
        Self { domain: Domain::Settings, text: text.to_string() }
    }

    /// Returns the error for an unsupported format.
    pub(super) fn format(text: impl ToString) -> Self {
        Self { domain: Domain::Format, text: text.to_string() }
    }

    /// Returns the error for a failed operation.
    pub(super) fn failed(text: impl ToString) -> Self {
        Self { domain: Domain::Failed, text: text.to_string() }
    }

    /// Returns the message for the bus.
    pub(super) fn message(&self) -> ErrorMessage {
        match self.domain {
            Domain::Settings => gst::error_msg!(gst::ResourceError::Settings, ("{self}")),
            Domain::OpenRead => gst::error_msg!(gst::ResourceError::OpenRead, ("{self}")),
            Domain::Format => gst::error_msg!(gst::StreamError::Format, ("{self}")),
            Domain::Failed => gst::error_msg!(gst::ResourceError::Failed, ("{self}")),
        }
    }
}

impl fmt::Display for StitchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<JobError> for StitchFailure {
    fn from(error: JobError) -> Self {
        let domain = match error.kind() {
            Kind::Usage => Domain::Settings,
            Kind::Input => Domain::OpenRead,
            _ => Domain::Failed,
        };
        Self { domain, text: error.to_string() }
    }
}

/// Implements the conversions of errors while the element runs.
macro_rules! failed {
    ($($error:ty),+) => {$(
        impl From<$error> for StitchFailure {
            fn from(error: $error) -> Self {
                Self::failed(error)
            }
        }
    )+};
}

failed!(DeviceError, LiveError, StitchError);
