//! Stitches pictures of a geometry strip by strip: adds them one by one to sums in f32, and rounds the panorama once.
//!
//! With feathered blending, the weight of a picture is its margin. With a seam, the cut between all pictures determines
//! the weights. A picture is on the device only from its first strip to its last one.

use glam::UVec2;
use shared_types::colour::OverlapBox;
use shared_types::stitch::sum::{Combine, Sum};
use shared_types::warp::Canvas;

use super::coverage::{Counts, Coverage, Seen};
use super::error::PanoramaError;
use super::seams::HostPlanes;
use super::sources::Sources;
use super::window::window;
use super::{PanoramaOptions, no_owners, seams};
use crate::device::{DeviceError, Image, Stream};
use crate::geometry::Geometry;
use crate::io::picture::{Mask, Picture, Pixel};
use crate::ops::graph_cut::{CellGrid, Labels, SPACING};
use crate::ops::seam::SeamOptions;
use crate::ops::stitch::sum::{self, Layer};
use crate::warp::{DeviceWarp, Plane, Refinement};

/// The number of columns of a strip. The strips of wide panoramas then show few pictures each.
const STRIP: u32 = 512;

/// The pictures to stitch, with their cameras.
pub(super) struct Several<'a, P> {
    pub(super) sources: &'a Sources<'a, P>,
    pub(super) geometry: &'a Geometry,
    pub(super) refinement: Option<&'a Refinement>,
    /// The mask of each picture.
    pub(super) masks: &'a [Option<Mask>],
    pub(super) options: &'a PanoramaOptions,
}

/// The owner of each pixel, and its weight; see [`Panorama::owners`](super::Panorama::owners).
struct Owners {
    of: Vec<u8>,
    largest: Vec<f32>,
    width: usize,
}

impl<P: Pixel> Several<'_, P> {
    /// Stitches the pictures, and waits for the panorama. Returns it with the owners of its pixels and the coverage.
    #[track_caller]
    pub(super) fn stitch(
        &self,
        stream: &Stream,
    ) -> Result<(Picture<P>, Vec<u8>, Coverage), PanoramaError> {
        let size = self.geometry.canvas.size;
        let count = self.sources.pictures.len();
        let windows: Vec<_> = (0..count).map(|camera| window(self.geometry, camera)).collect();
        let labels =
            self.options.blend.mode().seam().map(|seam| self.labels(stream, &windows, seam));
        let labels = labels.transpose()?;
        let turned = (self.options.stitch.flip, self.options.stitch.edge_boost);
        // These depend on the size of the panorama.
        let strip = if turned == (false, false) { STRIP } else { size.x };
        let mut picture = Picture::filled(size.x, size.y, P::default());
        let (mut counts, of) = (Counts::new(count), no_owners(size, self.options));
        let mut owners = Owners { largest: vec![0.0; of.len()], of, width: size.x as usize };
        let mut images: Vec<Option<Image<P>>> = (0..count).map(|_| None).collect();
        for first in (0..size.x).step_by(strip as usize) {
            let place = OverlapBox {
                min: UVec2::new(first, 0),
                max: UVec2::new((first + strip).min(size.x), size.y),
            };
            let (width, height) = place.size().into();
            // A new image contains zeros, as sums without a camera do.
            let mut sums: Image<Sum> = Image::new(stream.device(), width, height)?;
            let mut seen = Seen::nothing(width, height);
            for camera in 0..count {
                let own = windows[camera].intersection(&place);
                if own.is_empty() {
                    continue;
                }
                let image = match images[camera].take() {
                    Some(image) => image,
                    None => self.sources.upload(stream, camera)?,
                };
                let (warp, weights) = self.weighed(stream, camera, own, labels.as_ref())?;
                let in_strip = OverlapBox { min: own.min - place.min, max: own.max - place.min };
                seen.record(in_strip, &weights, camera, &mut counts);
                owners.claim(own, &weights, camera);
                self.add(stream, &mut sums, (&image, camera), (&warp, in_strip))?;
                if windows[camera].max.x > place.max.x {
                    images[camera] = Some(image);
                }
            }
            seen.count(&mut counts);
            let mut out = Image::new(stream.device(), width, height)?;
            sum::finish(stream, &sums, turned, P::view_mut(&mut out).into())?;
            let rows = picture.pixels_mut().chunks_exact_mut(size.x as usize);
            for (row, part) in rows.zip(out.download(stream)?.chunks_exact(width as usize)) {
                row[first as usize..][..width as usize].copy_from_slice(part);
            }
        }
        Ok((picture, owners.of, counts.coverage()))
    }

    /// Finds the cut between all pictures. It needs only every second pixel, and a canvas of half the scale shows
    /// exactly these.
    #[track_caller]
    fn labels(
        &self,
        stream: &Stream,
        windows: &[OverlapBox],
        seam: SeamOptions,
    ) -> Result<Labels, PanoramaError> {
        let grid = CellGrid::new(self.geometry.canvas.size);
        let mut views = Vec::new();
        for (camera, (mask, place)) in self.masks.iter().zip(windows).enumerate() {
            let warp = self.margins(stream, camera, *place, SPACING)?;
            let planes = HostPlanes::download(stream, &warp, 0, 0.0, mask.as_ref())?;
            views.push(planes.view((place.min, SPACING), &grid, self.sources, camera));
        }
        Ok(Labels::find(grid, &views, seam.feather))
    }

    /// Renders the margins of a camera at every `step`-th pixel of a part of the canvas, whose first pixel must be a
    /// multiple of `step`.
    #[track_caller]
    fn margins(
        &self,
        stream: &Stream,
        camera: usize,
        place: OverlapBox,
        step: u32,
    ) -> Result<DeviceWarp, DeviceError> {
        let Geometry { canvas, cameras } = self.geometry;
        let size = UVec2::new(place.size().x.div_ceil(step), place.size().y.div_ceil(step));
        let (centre, by) = (canvas.centre - place.min.as_dvec2(), f64::from(step));
        let part = Canvas { centre: centre / by, scale: canvas.scale / by, size, ..*canvas };
        let warp = DeviceWarp::margins(stream, size, &[(part, cameras[camera])])?;
        match self.refinement {
            Some(refinement) => warp.refined(stream, refinement, camera, (place.min, step)),
            None => Ok(warp),
        }
    }

    /// Returns a warp of one camera in a part of the panorama with its weights, which are not normalised, and the
    /// weights alone.
    #[track_caller]
    fn weighed(
        &self,
        stream: &Stream,
        camera: usize,
        place: OverlapBox,
        labels: Option<&Labels>,
    ) -> Result<(DeviceWarp, Vec<f32>), PanoramaError> {
        let mut warp = self.margins(stream, camera, place, 1)?;
        let mask = &self.masks[camera];
        let Some(labels) = labels else {
            seams::mask(stream, &mut warp, std::slice::from_ref(mask))?;
            let weights = warp.plane(Plane::Weight(0)).download(stream)?;
            return Ok((warp, weights));
        };
        let margin = HostPlanes::download(stream, &warp, 0, 0.0, mask.as_ref())?.margin;
        let weights = labels.weights(camera, place, &margin);
        warp.weights_mut()[0].upload(stream, &weights)?;
        warp.written(stream)?;
        Ok((warp, weights))
    }

    /// Adds the picture of a camera to the part `place` of a strip. `warp` has only this camera and this part.
    #[track_caller]
    fn add(
        &self,
        stream: &Stream,
        sums: &mut Image<Sum>,
        (picture, camera): (&Image<P>, usize),
        (warp, place): (&DeviceWarp, OverlapBox),
    ) -> Result<(), PanoramaError> {
        let (first, size) = (place.min, place.size());
        let Some(sums) = sums.view_mut().part(first.x, first.y, size.x, size.y) else {
            return Ok(());
        };
        let (colour, offset, vignette) =
            self.sources.options(self.options.stitch).correction(camera);
        let layer = Layer {
            picture: P::view(picture).into(),
            planes: warp.planes(0)?,
            colour,
            vignette,
            offset,
            place: OverlapBox { min: UVec2::ZERO, max: size },
            // Weights are small near the edges of pictures, where they still count.
            min_weight: 0.0,
            combine: Combine::ADD,
            lookup: self.options.stitch.lookup,
        };
        sum::add(stream, sums, layer)?;
        // The planes must outlive the launch.
        Ok(stream.synchronize()?)
    }
}

impl Owners {
    /// Gives a camera the pixels of `place` at which its weight is the largest so far.
    fn claim(&mut self, place: OverlapBox, weights: &[f32], camera: usize) {
        if self.of.is_empty() {
            return;
        }
        let columns = place.size().x as usize;
        for (y, weights) in (place.min.y as usize..).zip(weights.chunks_exact(columns)) {
            let first = y * self.width + place.min.x as usize;
            let (of, largest) = (&mut self.of[first..], &mut self.largest[first..]);
            super::claim(&mut of[..columns], &mut largest[..columns], weights, camera);
        }
    }
}
