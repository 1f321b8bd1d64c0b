//! Scales a panorama down to a preview.

use kernels_gpu::preview as kernels;

use crate::device::Stream;
use crate::frame::{FrameView, FrameViewMut, cell_launch, launch_by_formats};
use crate::ops::stitch::StitchError;

/// Submits the scaling of a panorama to the size of `out` without waiting. Each pixel is the mean of those that it
/// covers. The formats may differ, but either both are P010, or none of them.
///
/// # Errors
/// Returns [`StitchError`] if the depths of the formats differ, a chroma plane has another size than its picture, or the
/// device fails.
#[track_caller]
pub fn preview<'a>(
    stream: &Stream,
    panorama: FrameView<'_>,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    let out = out.into();
    let (from, to) = (panorama.format(), out.format());
    if !panorama.is_whole() || !out.is_whole() {
        return Err(StitchError::chroma("the panorama or the preview"));
    }
    let (decode, encode, config) = (from.pixels.to_rgb(), to.pixels.to_yuv(), cell_launch(to));
    macro_rules! launch {
        ($kernel:ident, $panorama:ident, $out:ident) => {{
            let (panorama, out) = ($panorama, $out);
            stream.launch(&config, &kernels::$kernel { panorama, decode, encode, out })
        }};
    }
    match launch_by_formats!(FrameView[panorama], out, launch:
        PreviewRgba8, PreviewNv12, PreviewNv12Rgba8, PreviewRgba8Nv12, PreviewP010)
    {
        Some(launched) => Ok(launched?),
        None => Err(StitchError::depths(from, to)),
    }
}
