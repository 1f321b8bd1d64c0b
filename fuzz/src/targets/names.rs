//! The target of names on the command line: devices, frame rates, and paths that select a medium.

use std::path::Path;

use panoweave::device::DeviceName;
use panoweave::frame::Rate;
use panoweave::io::picture::PictureFormat;
use panoweave::io::video::{Medium, Pattern};

/// Text that is a name of every kind. A picture pattern must give different names to different numbers.
pub(crate) fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = text.parse::<DeviceName>();
    if let Ok(rate) = text.parse::<Rate>() {
        let (numerator, denominator) = rate.fraction();
        assert!(numerator > 0 && denominator > 0, "{rate:?}");
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    let path = Path::new(text);
    let _ = (Medium::of_input(path, None), Medium::of_output(path, None));
    let _ = PictureFormat::of_file(path);
    if let Some(pattern) = Pattern::parse(path) {
        assert_ne!(pattern.file(0), pattern.file(u64::MAX));
    }
}
