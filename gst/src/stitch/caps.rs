//! The caps of the pads.

use glam::UVec2;
use gst_video::{VideoCapsBuilder, VideoFormat, VideoInfo};

use super::map::Map;
use super::{cuda, formats};

/// Returns the caps of all supported formats.
pub(super) fn template(with_cuda: bool) -> gst::Caps {
    of_formats(with_cuda, &formats::all())
}

/// Returns the caps of those of the formats that are supported in each memory.
fn of_formats(with_cuda: bool, formats: &[VideoFormat]) -> gst::Caps {
    let mut all = gst::Caps::new_empty();
    for feature in features(with_cuda) {
        let formats = in_memory(feature).into_iter().filter(|format| formats.contains(format));
        let caps = VideoCapsBuilder::new().features([feature]).format_list(formats);
        all.merge(caps.field("interlace-mode", "progressive").build());
    }
    all
}

/// Returns the formats that frames in memory with this feature may have.
fn in_memory(feature: &str) -> Vec<VideoFormat> {
    if feature == cuda::FEATURE { formats::in_cuda_memory() } else { formats::all() }
}

/// Returns the caps that the pad of a camera accepts. `size` is the size of its pictures, if it is known. `other` is
/// the format of another camera, which must have the same number of bits per sample.
pub(super) fn of_camera(
    size: Option<UVec2>,
    other: Option<VideoFormat>,
    with_cuda: bool,
) -> gst::Caps {
    let mut caps = of_formats(with_cuda, &other.map_or_else(formats::all, formats::of_panoramas));
    let inside = caps.make_mut();
    if let Some(size) = size {
        inside.set("width", size.x as i32);
        inside.set("height", size.y as i32);
    }
    caps
}

/// Returns the text for caps whose format is not supported, whose size is not that of the camera in the map, or whose
/// depth is not that of `other`.
pub(super) fn error(
    caps: &gst::CapsRef,
    pad: &str,
    camera: usize,
    map: Option<&Map>,
    other: Option<VideoFormat>,
) -> Option<String> {
    let stated = caps.structure(0)?.get::<&str>("format").ok();
    match (stated, format(caps), other) {
        (Some(found), None, _) => return Some(unsupported(pad, found)),
        (_, Some(found), Some(other)) if !formats::of_panoramas(other).contains(&found) => {
            return Some(format!(
                "{pad} gets {found}, but another camera has {other}; all cameras must have the same number of bits per sample, which cannot change while they run: convert the video, for example with videoconvert"
            ));
        }
        _ => {}
    }
    let (found, map) = (size(caps)?, map?);
    let expected = *map.sources().get(camera)?;
    let text = || {
        format!(
            "{pad} gets pictures of {}×{} pixels, but camera {camera} of {} has {}×{}; scale the video, or calibrate with pictures of this size",
            found.x, found.y, map.name, expected.x, expected.y
        )
    };
    (found != expected).then(text)
}

/// Returns the text for caps that are not supported.
pub(super) fn unsupported(pad: &str, found: &str) -> String {
    format!(
        "the caps of {pad} are not supported: {found}; convert the video, for example with videoconvert"
    )
}

/// Returns the caps that a panorama of `size` pixels may have, the preferred ones first. `first` is the info of a
/// camera.
pub(super) fn of_panorama(first: &VideoInfo, size: UVec2, with_cuda: bool) -> gst::Caps {
    let mut all = gst::Caps::new_empty();
    // The session converts the matrix and the range, but no primaries or transfer functions.
    let colorimetry = first.colorimetry().to_string();
    for feature in features(with_cuda) {
        let mut formats = formats::of_panoramas(first.format());
        formats.retain(|format| in_memory(feature).contains(format));
        for format in formats {
            for colorimetry in formats::colorimetries(&colorimetry) {
                let caps = VideoCapsBuilder::new()
                    .features([feature])
                    .format(format)
                    .width(size.x as i32)
                    .height(size.y as i32)
                    .pixel_aspect_ratio(gst::Fraction::new(1, 1))
                    .field("interlace-mode", "progressive")
                    .field("colorimetry", colorimetry);
                all.merge(caps.build());
            }
        }
    }
    all
}

/// Returns whether these are the caps of CUDA memory.
pub(super) fn is_of_cuda(caps: &gst::Caps) -> bool {
    caps.features(0).is_some_and(|features| features.contains(cuda::FEATURE))
}

/// Returns the width and the height, if the caps have both.
pub(super) fn size(caps: &gst::CapsRef) -> Option<UVec2> {
    let structure = caps.structure(0)?;
    let side = |name: &str| u32::try_from(structure.get::<i32>(name).ok()?).ok();
    Some(UVec2::new(side("width")?, side("height")?))
}

/// Returns the pixel format, if the caps have a supported one.
pub(super) fn format(caps: &gst::CapsRef) -> Option<VideoFormat> {
    let format = VideoFormat::from_string(caps.structure(0)?.get::<&str>("format").ok()?);
    formats::all().contains(&format).then_some(format)
}

/// Returns the caps features of supported memory, the preferred one first.
fn features(with_cuda: bool) -> impl Iterator<Item = &'static str> {
    with_cuda.then_some(cuda::FEATURE).into_iter().chain(["memory:SystemMemory"])
}
