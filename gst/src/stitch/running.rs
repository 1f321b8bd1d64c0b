//! The session while the element runs: from the frames that the base class has selected to a panorama.

use gst::prelude::*;
use gst_video::VideoInfo;
use gst_video::prelude::*;
use panoweave::device::Device;
use panoweave::frame::{FrameFormat, Rate};

use super::error::StitchFailure;
use super::formats::frame_format;
use super::input::{self, Input};
use super::map::Map;
use super::mapped::{Mapped, Target};
use super::pad::Taken;
use super::report::Reports;
use super::settings::Settings;
use super::stitching::{Formats, Stitching};
use super::{PanoweaveStitchPad, caps, cuda};

/// The number of frames of a camera that the element may hold: the selected one, the one before, one that is being
/// stitched, and one that is being analysed.
pub(super) const HELD: u32 = 4;

/// An open device.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// The value of the property `device`.
    pub(super) name: String,
    pub(super) device: Device,
    /// The context that is shared with other elements, if CUDA memory is available.
    pub(super) context: Option<cuda::Context>,
}

/// One frame of each camera, in the order of the cameras.
pub(super) struct Selected {
    pub(super) pads: Vec<PanoweaveStitchPad>,
    pub(super) taken: Vec<Taken>,
    /// Whether the pipeline is live.
    pub(super) live: bool,
}

/// The session and its reports.
#[derive(Debug, Default)]
pub(super) struct Running {
    stitching: Option<Stitching>,
    reports: Reports,
}

impl Running {
    /// Returns whether the pipeline is live, if a session has started.
    pub(super) fn is_live(&self) -> Option<bool> {
        Some(self.stitching.as_ref()?.formats.live)
    }

    /// Returns the messages that are due at the time of a panorama.
    pub(super) fn messages(
        &mut self,
        time: gst::ClockTime,
        settings: &Settings,
    ) -> Vec<gst::Structure> {
        let stitching = self.stitching.as_ref();
        stitching.map(|it| self.reports.due(it, time, settings)).unwrap_or_default()
    }

    /// Stitches frames to an output buffer with the format `info`. Starts a session if a format has changed.
    pub(super) fn stitch(
        &mut self,
        opened: &Opened,
        map: &Map,
        settings: &Settings,
        selected: Selected,
        info: &VideoInfo,
        output: &mut gst::BufferRef,
    ) -> Result<(), StitchFailure> {
        let Opened { device, context, .. } = opened;
        let Selected { pads, taken, live } = selected;
        let time = output.pts().unwrap_or_default();
        // The panorama is in CUDA memory if the output buffer is.
        let target = context.as_ref().filter(|context| context.owns(output));
        let cameras: Vec<_> = pads.iter().map(PanoweaveStitchPad::index).collect();
        check_cameras(map, &cameras)?;
        let context = context.as_ref().map(|context| (context, device.place()));
        let mut inputs = Vec::with_capacity(pads.len());
        for (camera, (pad, taken)) in pads.iter().zip(taken).enumerate() {
            let name = pad.name();
            let info = taken.frame.as_ref().map(|(_, info)| info.clone());
            let info = info.or_else(|| missing_info(&pads, camera, map));
            let info = info.ok_or_else(|| StitchFailure::failed(format!("{name} has no caps")))?;
            inputs.push(Input::map(&name, taken, supported(&name, &info)?, context)?);
        }
        let (numerator, denominator) = info.fps().into();
        let formats = Formats {
            inputs: inputs.iter().map(|input| input.format).collect(),
            output: supported("src", info)?,
            on_device: target.is_some(),
            rate: Rate::new(numerator.unsigned_abs(), denominator.unsigned_abs()).ok(),
            live,
            cameras,
        };
        let stitching = match &mut self.stitching {
            Some(stitching) if stitching.formats == formats => stitching,
            stitching => {
                let colours: Vec<_> = pads.iter().map(PanoweaveStitchPad::colour).collect();
                let new = Stitching::new(device, map, settings, &colours, formats, &inputs, time)?;
                stitching.insert(new)
            }
        };
        let panorama = stitching.stitch(&inputs, time)?;
        match target {
            Some(_) => {
                let format = stitching.formats.output;
                let mapped = Mapped::write(output, info, format, Target::Cuda);
                let mut mapped = mapped.ok_or_else(output_failed)?;
                // SAFETY: the buffer is mapped in CUDA memory for writing, with the format of the panoramas.
                let copied =
                    unsafe { mapped.fill_on_device(panorama.device_frame(), &stitching.stream) };
                copied.map_err(|error| {
                    StitchFailure::failed(format!(
                        "cannot copy the panorama in CUDA memory: {error}"
                    ))
                })
            }
            None => {
                let written = panorama.frame().and_then(|frame| input::write(&frame, info, output));
                written.ok_or_else(output_failed)
            }
        }
    }
}

fn output_failed() -> StitchFailure {
    StitchFailure::failed(
        "cannot write the panorama: the buffer of the next element cannot be mapped, or is too small",
    )
}

/// Returns the format of frames with this info on a pad.
fn supported(pad: &str, info: &VideoInfo) -> Result<FrameFormat, StitchFailure> {
    let found = || info.to_caps().map_or_else(|_| "none".to_owned(), |caps| caps.to_string());
    frame_format(info).ok_or_else(|| StitchFailure::format(caps::unsupported(pad, &found())))
}

/// Returns the info of a camera that has not sent caps yet: the format of another camera, and the size in the rig.
fn missing_info(pads: &[PanoweaveStitchPad], camera: usize, map: &Map) -> Option<VideoInfo> {
    let other = pads.iter().find_map(|pad| pad.video_info())?;
    let size = *map.sources().get(camera)?;
    VideoInfo::builder(other.format(), size.x, size.y)
        .colorimetry(&other.colorimetry())
        .build()
        .ok()
}

/// Checks that there is exactly one pad per camera. `pads` is in the order of the cameras.
fn check_cameras(map: &Map, found: &[usize]) -> Result<(), StitchFailure> {
    let expected = map.sources().len();
    if found.iter().copied().eq(0..expected) {
        return Ok(());
    }
    let found = found.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    Err(StitchFailure::settings(format!(
        "{} has {expected} cameras, but the pads select cameras {found}; link one pad per camera, sink_0 to sink_{}, and select each camera once",
        map.name,
        expected - 1
    )))
}
