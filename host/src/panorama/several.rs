//! Stitches more than two pictures: adds them one by one to sums in f32, and rounds the panorama once.
//!
//! With feathered blending, the weight of a picture is its margin. With a seam, the cut between all pictures determines
//! the weights.

use shared_types::stitch::sum::{Combine, Sum};

use super::coverage::Seen;
use super::error::PanoramaError;
use super::seams::HostPlanes;
use super::sources::Sources;
use super::{PanoramaOptions, claim, no_owners, seams};
use crate::device::{Image, Stream};
use crate::geometry::Geometry;
use crate::io::picture::{Mask, Picture, Pixel};
use crate::ops::cut::Labels;
use crate::ops::stitch::Lookup;
use crate::ops::stitch::sum::{self, Layer};
use crate::warp::{DeviceWarp, Plane};

/// The pictures to stitch, with their cameras.
pub(super) struct Several<'a, P> {
    pub(super) sources: &'a Sources<'a, P>,
    pub(super) geometry: &'a Geometry,
    pub(super) seen: &'a Seen,
    /// The mask of each picture.
    pub(super) masks: &'a [Option<Mask>],
    /// The cut between the pictures, or `None` for feathered blending.
    pub(super) labels: Option<Labels>,
    pub(super) options: &'a PanoramaOptions,
}

impl<P: Pixel> Several<'_, P> {
    /// Stitches the pictures, and waits for the panorama. Returns it with the owners of its pixels.
    #[track_caller]
    pub(super) fn stitch(&self, stream: &Stream) -> Result<(Picture<P>, Vec<u8>), PanoramaError> {
        let size = self.geometry.canvas.size;
        let mut sums = Image::new(stream.device(), size.x, size.y)?;
        let mut owners = no_owners(size, self.options);
        let mut largest = vec![0.0; owners.len()];
        for camera in 0..self.sources.pictures.len() {
            let image = self.sources.upload(stream, camera)?;
            let warp = self.weighed(stream, camera)?;
            self.add(stream, &mut sums, &image, (camera, &warp))?;
            if !owners.is_empty() {
                let weights = warp.plane(Plane::Weight(0)).download(stream)?;
                claim(&mut owners, &mut largest, &weights, camera);
            }
        }
        let mut out = Image::new(stream.device(), size.x, size.y)?;
        let turned = (self.options.stitch.flip, self.options.stitch.edge_boost);
        sum::finish(stream, &sums, turned, P::view_mut(&mut out).into())?;
        Ok((Picture::download(stream, &out)?, owners))
    }

    /// Returns a warp of one camera with its weights, which are not normalised.
    #[track_caller]
    fn weighed(&self, stream: &Stream, camera: usize) -> Result<DeviceWarp, PanoramaError> {
        let Geometry { canvas, cameras } = self.geometry;
        let mut warp = DeviceWarp::margins(stream, canvas.size, &[(*canvas, cameras[camera])])?;
        let mask = &self.masks[camera];
        let Some(labels) = &self.labels else {
            seams::mask(stream, &mut warp, std::slice::from_ref(mask))?;
            return Ok(warp);
        };
        let margin = HostPlanes::download(stream, &warp, 0, 0.0, mask.as_ref())?.margin;
        warp.weights_mut()[0].upload(stream, &labels.weights(camera, &margin))?;
        warp.written(stream)?;
        Ok(warp)
    }

    /// Adds the picture of a camera to the sums. `warp` has only this camera.
    #[track_caller]
    fn add(
        &self,
        stream: &Stream,
        sums: &mut Image<Sum>,
        picture: &Image<P>,
        (camera, warp): (usize, &DeviceWarp),
    ) -> Result<(), PanoramaError> {
        let layer = Layer {
            picture: P::view(picture).into(),
            planes: warp.planes(0)?,
            colour: self.sources.colour(camera),
            vignette: self.sources.vignette(camera),
            offset: None,
            power: self.options.stitch.power,
            place: self.seen.place(camera),
            // Weights are small near the edges of pictures, where they still count.
            min_weight: 0.0,
            combine: if camera == 0 { Combine::START } else { Combine::ADD },
            cubic: self.options.stitch.lookup == Lookup::Cubic,
        };
        Ok(sum::add(stream, sums, layer)?)
    }
}
