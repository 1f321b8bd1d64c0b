//! Weights of stills: finds the cut between the cameras of a panorama, leaves out masked pixels, and writes the weights
//! to a warp.

use glam::UVec2;
use rayon::prelude::*;
use shared_types::colour::OverlapBox;
use shared_types::stitch::MIN_WEIGHT;

use super::error::PanoramaError;
use super::sources::Sources;
use crate::device::{DeviceError, Stream};
use crate::io::picture::{Mask, Pixel};
use crate::ops::graph_cut::{CellGrid, CellView, Labels, SourcePlanes};
use crate::ops::seam::SeamOptions;
use crate::warp::{DeviceWarp, Plane};

/// The planes of one camera in host memory; see [`SourcePlanes`].
pub(super) struct HostPlanes {
    x: Vec<f32>,
    y: Vec<f32>,
    pub(super) margin: Vec<f32>,
    /// The number of elements of a row.
    width: usize,
}

impl HostPlanes {
    /// Downloads the planes of a camera. The camera sees the pixels at which its weight exceeds `least`, except those
    /// that the mask of its picture excludes. A masked area counts as outside the picture.
    pub(super) fn download(
        stream: &Stream,
        warp: &DeviceWarp,
        camera: usize,
        least: f32,
        mask: Option<&Mask>,
    ) -> Result<Self, DeviceError> {
        warp.await_ready(stream)?;
        let plane = |plane: Plane| warp.plane(plane).download(stream);
        let (x, y) = (plane(Plane::X(camera))?, plane(Plane::Y(camera))?);
        let mut margin = plane(Plane::Weight(camera))?;
        let size = warp.sources()[camera].as_vec2();
        let all = margin.par_iter_mut().zip(x.par_iter().zip(&y));
        all.for_each(|(margin, (x, y))| {
            if *margin > least {
                let edge = (x + 1.0).min(y + 1.0).min(size.x - x).min(size.y - y);
                let edge = edge.max(f32::MIN_POSITIVE);
                *margin = mask.map_or(edge, |mask| edge.min(mask.distance(*x, *y)));
            } else {
                *margin = 0.0;
            }
        });
        Ok(Self { x, y, margin, width: warp.size().x as usize })
    }

    /// Samples a camera's picture in the cells of a grid. These planes must be those of the camera. Their first element
    /// is panorama pixel `first`, and their elements are `step` pixels apart.
    pub(super) fn view<P: Pixel>(
        &self,
        (first, step): (UVec2, u32),
        grid: &CellGrid,
        sources: &Sources<'_, P>,
        camera: usize,
    ) -> CellView {
        let (x, y, margin) = (&self.x, &self.y, &self.margin);
        let planes = SourcePlanes { first, step, width: self.width, x, y, margin };
        let levels = |pixel, place| sources.levels(camera, pixel, place);
        CellView::new(grid, sources.pictures[camera], planes, levels)
    }
}

/// Excludes the masked pixels from the margins of a warp that [`DeviceWarp::margins`] rendered. There is one mask per
/// camera.
#[track_caller]
pub(super) fn mask(
    stream: &Stream,
    warp: &mut DeviceWarp,
    masks: &[Option<Mask>],
) -> Result<(), DeviceError> {
    for (camera, mask) in masks.iter().enumerate().filter(|(_, mask)| mask.is_some()) {
        let mut margin = HostPlanes::download(stream, warp, camera, 0.0, mask.as_ref())?.margin;
        // On the device, margins are fractions of the shorter side.
        let side = warp.sources()[camera].min_element() as f32;
        margin.iter_mut().for_each(|margin| *margin /= side);
        warp.weights_mut()[camera].upload(stream, &margin)?;
    }
    warp.written(stream)
}

/// Returns a copy of a warp with the weights of the cut between the cameras, in which masked pixels have no weight. The
/// weights sum to 1 at each pixel that a camera sees.
#[track_caller]
pub(super) fn cut<P: Pixel>(
    stream: &Stream,
    warp: &DeviceWarp,
    sources: &Sources<'_, P>,
    masks: &[Option<Mask>],
    seam: SeamOptions,
) -> Result<DeviceWarp, PanoramaError> {
    let planes = |camera: usize| {
        HostPlanes::download(stream, warp, camera, MIN_WEIGHT, masks[camera].as_ref())
    };
    let grid = CellGrid::new(warp.size());
    let mut views = Vec::new();
    for camera in 0..sources.pictures.len() {
        views.push(planes(camera)?.view((UVec2::ZERO, 1), &grid, sources, camera));
    }
    let labels = Labels::find(grid, &views, seam.feather);
    let whole = OverlapBox { min: UVec2::ZERO, max: warp.size() };
    let mut out = warp.reweighted(stream)?;
    // A mesh that follows new weights expects a camera at each pixel at which the warp has one.
    if masks.iter().any(Option::is_some) {
        out.discard_mesh();
    }
    for (camera, out) in out.weights_mut().iter_mut().enumerate() {
        out.upload(stream, &labels.weights(camera, whole, &planes(camera)?.margin))?;
    }
    out.feather(stream)?;
    Ok(out)
}
