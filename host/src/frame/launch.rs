//! Launches for frames: the threads, and the variant of a kernel for the pixel formats of its input and output.

use shared_types::stitch::BLOCK;

use super::FrameFormat;
use crate::device::LaunchConfig;

/// Returns a launch configuration with a thread per pixel for RGBA, and per chroma sample (four pixels) for NV12 and
/// P010.
pub(crate) fn cell_launch(out: FrameFormat) -> LaunchConfig {
    let cell = out.pixels.cell();
    let [columns, rows] = out.size.to_array().map(|side| side.div_ceil(cell));
    LaunchConfig::cover(columns, rows, BLOCK)
}

/// Launches the one of several kernels that fits the pixel formats of the input frames and of the output frame.
///
/// The kernels are passed in this order: RGBA to RGBA, NV12 to NV12, NV12 to RGBA, RGBA to NV12, and optionally P010 to
/// P010.
///
/// `$frames` are variables of type `$Frames` ([`FrameView`](super::FrameView) or [`Textured`](super::Textured)), and
/// `$out` is a [`FrameViewMut`](super::FrameViewMut). `$launch!(kernel, frames…, out)` launches one kernel; it
/// receives the planes or textures of the frames. The macro evaluates to `None` if no kernel fits, for instance because
/// the input frames differ in format, and otherwise to `Some` of the launch's result.
macro_rules! launch_by_formats {
    (
        $Frames:ident[$($frame:ident),+], $out:ident, $launch:ident:
        $rgba8:ident, $nv12:ident, $nv12_rgba8:ident, $rgba8_nv12:ident, $p010:ident
    ) => {
        match (($($frame,)+), $out) {
            (($($Frames::P010($frame, _),)+), $crate::frame::FrameViewMut::P010(out, _)) => {
                Some($launch!($p010, $($frame,)+ out))
            }
            (_, out) => $crate::frame::launch_by_formats!(
                $Frames[$($frame),+], out, $launch: $rgba8, $nv12, $nv12_rgba8, $rgba8_nv12
            ),
        }
    };
    (
        $Frames:ident[$($frame:ident),+], $out:ident, $launch:ident:
        $rgba8:ident, $nv12:ident, $nv12_rgba8:ident, $rgba8_nv12:ident
    ) => {{
        use $crate::frame::FrameViewMut as Out;
        match (($($frame,)+), $out) {
            (($($Frames::Rgba8($frame),)+), Out::Rgba8(out)) => Some($launch!($rgba8, $($frame,)+ out)),
            (($($Frames::Nv12($frame, _),)+), Out::Nv12(out, _)) => Some($launch!($nv12, $($frame,)+ out)),
            (($($Frames::Nv12($frame, _),)+), Out::Rgba8(out)) => Some($launch!($nv12_rgba8, $($frame,)+ out)),
            (($($Frames::Rgba8($frame),)+), Out::Nv12(out, _)) => Some($launch!($rgba8_nv12, $($frame,)+ out)),
            _ => None,
        }
    }};
}

pub(crate) use launch_by_formats;
