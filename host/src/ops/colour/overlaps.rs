//! The overlaps of all pairs of cameras of a warp, and the colours that match a set of frames in all of them.

use glam::UVec2;
use shared_types::colour::ColourSums;

use super::overlap::MAX_OVERLAPS;
use super::{Colours, Edge, Overlap, Summing, solve};
use crate::device::{DeviceError, Stream};
use crate::frame::{DeviceFrame, FrameRef, FrameView};
use crate::ops::stitch::{Pictures, StitchError, Vignettes, check_depths};
use crate::warp::DeviceWarp;

/// The overlaps of a warp, one for each pair of cameras that overlap.
#[derive(Debug)]
pub struct Overlaps {
    sources: Vec<UVec2>,
    overlaps: Vec<Overlap>,
}

impl Overlaps {
    /// Finds the overlaps of all pairs of cameras; see [`Overlap::find`]. Waits for the result.
    #[track_caller]
    pub fn find(stream: &Stream, warp: &DeviceWarp) -> Result<Self, DeviceError> {
        let cameras = warp.sources().len();
        let pairs = (0..cameras).flat_map(|a| (a + 1..cameras).map(move |b| [a, b]));
        let overlaps = Overlap::find_all(stream, warp, &pairs.collect::<Vec<_>>())?;
        Ok(Self { sources: warp.sources().to_vec(), overlaps })
    }

    /// Returns the overlaps, ordered by their first and then their second camera. The first camera has the lower index.
    #[must_use]
    pub fn all(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// Computes the colour sums of a set of frames, one frame per camera, over each overlap, and waits for the result.
    /// Returns one element per overlap.
    #[track_caller]
    pub fn sums(
        &self,
        stream: &Stream,
        frames: &[FrameView<'_>],
    ) -> Result<Vec<ColourSums>, StitchError> {
        let mut summing = Summing::new(stream.device())?;
        // SAFETY: `summing` is new, so no other stream uses it.
        unsafe { self.submit(stream, frames, &mut summing)? };
        let mut sums = summing.sums.download(stream)?;
        sums.truncate(self.overlaps.len());
        Ok(sums)
    }

    /// Submits the computation of the colour sums of a set of frames, one frame per camera, without waiting. The frames
    /// may have different formats. Each overlap needs one launch.
    ///
    /// # Safety
    /// Work on `summing` in other streams must be done before this call.
    #[track_caller]
    pub unsafe fn submit(
        &self,
        stream: &Stream,
        frames: &[FrameView<'_>],
        summing: &mut Summing,
    ) -> Result<(), StitchError> {
        Pictures::new(frames.iter().copied(), &self.sources)?;
        check_depths(frames.iter().map(FrameView::format))?;
        for (element, overlap) in (0..MAX_OVERLAPS).zip(&self.overlaps) {
            let pair = overlap.cameras().map(|camera| frames[camera]);
            // SAFETY: the frames have the source sizes and complete chroma planes, as just checked. The caller
            // guarantees that no other stream uses `summing`.
            unsafe { overlap.launch(stream, pair, summing, element)? };
        }
        Ok(())
    }

    /// Returns the edges of the graph of cameras for sums with one element per overlap. The edges are those of pictures
    /// without vignetting. Overlaps that are too dark or too bright for an estimate have no edge.
    #[must_use]
    pub fn edges(&self, sums: &[ColourSums], vignettes: &Vignettes) -> Vec<Edge> {
        let edges = self.overlaps.iter().zip(sums);
        edges.filter_map(|(overlap, sums)| overlap.edge(sums, vignettes)).collect()
    }
}

/// Returns the colours that match frames of all cameras in their overlaps, after their `vignettes` are undone. The camera
/// `anchor` keeps its colours; see [`solve`]. Cameras without a usable overlap have the identity. Returns `None` if no
/// frames overlap, or if all overlaps are too dark or too bright. Uploads frames in host memory to the stream's device.
#[track_caller]
pub fn matched(
    stream: &Stream,
    frames: &[FrameRef<'_>],
    warp: &DeviceWarp,
    vignettes: &Vignettes,
    anchor: Option<usize>,
) -> Result<Option<Colours>, StitchError> {
    let upload = |frame: &FrameRef<'_>| {
        let FrameRef::Host(frame) = frame else { return Ok(None) };
        let mut on_device = DeviceFrame::new(stream.device(), frame.format())?;
        on_device.upload(stream, frame)?;
        Ok(Some(on_device))
    };
    let uploaded = frames.iter().map(upload).collect::<Result<Vec<_>, DeviceError>>()?;
    let views = frames.iter().zip(&uploaded).filter_map(|(frame, uploaded)| match frame {
        FrameRef::Host(_) => uploaded.as_ref().map(DeviceFrame::view),
        FrameRef::Device(view) => Some(*view),
    });
    let views: Vec<_> = views.collect();
    let overlaps = Overlaps::find(stream, warp)?;
    let edges = overlaps.edges(&overlaps.sums(stream, &views)?, vignettes);
    let colours = (!edges.is_empty()).then(|| solve(views.len(), &edges, anchor, &[]));
    Ok(colours.map(Colours::of))
}
