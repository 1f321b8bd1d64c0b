//! Seams of stills: finds the cut between the cameras of a panorama, and writes its weights to a warp.

use shared_types::stitch::{Colour, MIN_WEIGHT};

use super::error::PanoramaError;
use crate::device::{DeviceError, Stream};
use crate::io::picture::Picture;
use crate::ops::colour::Colours;
use crate::ops::cut::{CellGrid, CellView, Labels, SourcePlanes};
use crate::ops::seam::SeamOptions;
use crate::warp::{DeviceWarp, Plane};

/// The planes of one camera in host memory; see [`SourcePlanes`].
pub(super) struct HostPlanes {
    x: Vec<f32>,
    y: Vec<f32>,
    pub(super) margin: Vec<f32>,
}

impl HostPlanes {
    /// Downloads the planes of a camera. The camera sees the pixels at which its weight exceeds `least`.
    pub(super) fn download(
        stream: &Stream,
        warp: &DeviceWarp,
        camera: usize,
        least: f32,
    ) -> Result<Self, DeviceError> {
        warp.await_ready(stream)?;
        let plane = |plane: Plane| warp.plane(plane).download(stream);
        let (x, y) = (plane(Plane::X(camera))?, plane(Plane::Y(camera))?);
        let mut margin = plane(Plane::Weight(camera))?;
        let size = warp.sources()[camera].as_vec2();
        for (margin, (x, y)) in margin.iter_mut().zip(x.iter().zip(&y)) {
            let edge = (x + 1.0).min(y + 1.0).min(size.x - x).min(size.y - y);
            *margin = if *margin > least { edge.max(f32::MIN_POSITIVE) } else { 0.0 };
        }
        Ok(Self { x, y, margin })
    }

    /// Returns what the camera shows in the cells of a grid.
    pub(super) fn view(&self, grid: &CellGrid, picture: &Picture) -> CellView {
        let planes = SourcePlanes { x: &self.x, y: &self.y, margin: &self.margin };
        CellView::new(grid, picture, planes)
    }
}

/// Returns the cut between cameras with these views, whose pictures are corrected by `colours`.
pub(super) fn cut(
    grid: CellGrid,
    mut views: Vec<CellView>,
    colours: impl IntoIterator<Item = Colour>,
    options: SeamOptions,
) -> Labels {
    views.iter_mut().zip(colours).for_each(|(view, colour)| view.correct(colour));
    Labels::find(grid, &views, options.feather)
}

/// Returns a copy of a warp with the weights of the cut between its cameras. The weights sum to 1 at each pixel that a
/// camera sees.
#[track_caller]
pub(super) fn reweighted(
    stream: &Stream,
    warp: &DeviceWarp,
    pictures: &[&Picture],
    colours: &Colours,
    options: SeamOptions,
) -> Result<DeviceWarp, PanoramaError> {
    options.check()?;
    let grid = CellGrid::new(warp.size());
    let planes = |camera| HostPlanes::download(stream, warp, camera, MIN_WEIGHT);
    let mut views = Vec::new();
    for (camera, picture) in pictures.iter().enumerate() {
        views.push(planes(camera)?.view(&grid, picture));
    }
    let labels = cut(grid, views, colours.iter().copied(), options);
    let weights = |camera| Ok::<_, DeviceError>(labels.weights(camera, &planes(camera)?.margin));
    let mut total = vec![0.0_f32; warp.size().element_product() as usize];
    for camera in 0..pictures.len() {
        total.iter_mut().zip(weights(camera)?).for_each(|(total, weight)| *total += weight);
    }
    let mut out = warp.reweighted(stream)?;
    for (camera, out) in out.weights_mut().iter_mut().enumerate() {
        let mut weights = weights(camera)?;
        let seen = weights.iter_mut().zip(&total).filter(|(weight, _)| **weight > 0.0);
        seen.for_each(|(weight, total)| *weight /= total);
        out.upload(stream, &weights)?;
    }
    out.written(stream)?;
    Ok(out)
}
