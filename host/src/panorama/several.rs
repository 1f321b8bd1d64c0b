//! Stitches more than two pictures: adds them one by one to sums in f32, and rounds the panorama once.
//!
//! With feathered blending, each picture is added with its margin as weight, in any order. With seams, each step
//! searches for the seam between the panorama so far, in 8 bits, and the next picture. The next picture then covers the
//! sums by its weights. Where a step has no seam, the weight of the panorama so far is the sum of the margins of its
//! pictures, so that each picture has the same weight as if all were blended at once.

use glam::{DMat3, DVec2, UVec2};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::stitch::sum::{Combine, Sum};
use shared_types::warp::{Camera, Canvas};

use super::coverage::Seen;
use super::error::PanoramaError;
use super::{PanoramaOptions, claim, no_owners, own, with_seams};
use crate::device::{Image, Stream};
use crate::geometry::Geometry;
use crate::io::picture::Picture;
use crate::ops::colour::Colours;
use crate::ops::seam::{Blend, SeamError};
use crate::ops::stitch::sum::{self, Layer};
use crate::warp::{DeviceWarp, Plane};

/// The pictures to stitch, with their cameras and colour corrections.
pub(super) struct Several<'a> {
    pub(super) pictures: &'a [Picture],
    pub(super) geometry: &'a Geometry,
    pub(super) colours: &'a [Colour],
    pub(super) seen: &'a Seen,
    pub(super) options: &'a PanoramaOptions,
}

/// A panorama without its colour corrections; see [`Panorama`](super::Panorama).
pub(super) struct Stitched {
    pub(super) picture: Picture,
    pub(super) without_seam: Vec<SeamError>,
    pub(super) owners: Vec<u8>,
}

impl Several<'_> {
    /// Stitches the pictures and waits for the panorama.
    #[track_caller]
    pub(super) fn stitch(&self, stream: &Stream) -> Result<Stitched, PanoramaError> {
        let size = self.geometry.canvas.size;
        let mut sums = Image::new(stream.device(), size.x, size.y)?;
        let mut owners = no_owners(size, self.options);
        let without_seam = match self.options.blend {
            Blend::Feather => {
                self.feather(stream, &mut sums, &mut owners)?;
                Vec::new()
            }
            Blend::Seam(_) | Blend::Multiband(_) => self.seam(stream, &mut sums, &mut owners)?,
        };
        let mut out = Image::new(stream.device(), size.x, size.y)?;
        let turned = (self.options.stitch.flip, self.options.stitch.edge_boost);
        sum::finish(stream, &sums, turned, (&mut out).into())?;
        Ok(Stitched { picture: Picture::download(stream, &out)?, without_seam, owners })
    }

    /// Adds all pictures with their margins as weights.
    #[track_caller]
    fn feather(
        &self,
        stream: &Stream,
        sums: &mut Image<Sum>,
        owners: &mut [u8],
    ) -> Result<(), PanoramaError> {
        let mut largest = vec![0.0; owners.len()];
        for (camera, picture) in self.pictures.iter().enumerate() {
            let image = picture.upload(stream)?;
            let warp = DeviceWarp::margins(stream, self.canvas(), &[self.view(camera)])?;
            let combine = if camera == 0 { Combine::START } else { Combine::ADD };
            self.add(stream, sums, &image, (camera, &warp, 0), combine)?;
            if owners.is_empty() {
                continue;
            }
            let margins = warp.plane(Plane::Weight(0)).download(stream)?;
            claim(owners, &mut largest, &margins, Some(camera));
        }
        Ok(())
    }

    /// Adds all pictures, each with a seam to the pictures before it. Returns the reason for each step without a seam.
    #[track_caller]
    fn seam(
        &self,
        stream: &Stream,
        sums: &mut Image<Sum>,
        owners: &mut [u8],
    ) -> Result<Vec<SeamError>, PanoramaError> {
        let canvas = self.canvas();
        let mut without_seam = Vec::new();
        let order = self.seen.order();
        let mut so_far = self.pictures[order[0]].upload(stream)?;
        // The sum of the margins of all cameras that were already added.
        let mut total: Option<Image<f32>> = None;
        for (step, &next) in order.iter().enumerate().skip(1) {
            let image = self.pictures[next].upload(stream)?;
            // In the first step, the left picture is a camera's. Later, it is the panorama so far.
            let first = (step == 1).then_some(order[0]);
            let left = first.map_or_else(|| itself(canvas), |camera| self.view(camera));
            let mut warp = DeviceWarp::margins(stream, canvas, &[left, self.view(next)])?;
            if let (Some(total), [left, _]) = (&total, warp.weights_mut()) {
                left.copy_from(stream, total)?;
            }
            total = Some(warp.feather(stream)?);
            let corrected = first.map_or(Colour::IDENTITY, |camera| self.colours[camera]);
            let colours = Colours::of([corrected, self.colours[next]]);
            let pictures = [(&so_far).into(), (&image).into()];
            let blend = self.options.blend;
            let found = with_seams(stream, &warp, &pictures, colours, blend, &mut without_seam)?;
            let warp = found.as_ref().unwrap_or(&warp);
            own(stream, warp, [first, Some(next)], owners)?;
            if let Some(camera) = first {
                self.add(stream, sums, &so_far, (camera, warp, 0), Combine::START)?;
            }
            let combine = if first.is_some() { Combine::ADD } else { Combine::COVER };
            self.add(stream, sums, &image, (next, warp, 1), combine)?;
            if step + 1 < order.len() {
                so_far = Image::new(stream.device(), canvas.x, canvas.y)?;
                sum::finish(stream, sums, (false, false), (&mut so_far).into())?;
            }
        }
        Ok(without_seam)
    }

    /// Adds a picture to the sums, with the planes `of_warp` of a warp. The picture's camera has the index `camera` in
    /// the geometry, and the index `of_warp` in the warp.
    #[track_caller]
    fn add(
        &self,
        stream: &Stream,
        sums: &mut Image<Sum>,
        picture: &Image<Rgba8>,
        (camera, warp, of_warp): (usize, &DeviceWarp, usize),
        combine: Combine,
    ) -> Result<(), PanoramaError> {
        let layer = Layer {
            frame: picture.into(),
            planes: warp.planes(of_warp)?,
            colour: self.colours[camera],
            offset: None,
            power: self.options.stitch.power,
            place: self.seen.place(camera),
            // Margins are small near the edges of pictures, where they still count.
            min_weight: 0.0,
            combine,
        };
        Ok(sum::add(stream, sums, layer)?)
    }

    fn canvas(&self) -> UVec2 {
        self.geometry.canvas.size
    }

    /// Returns the canvas and a camera, for [`DeviceWarp::margins`].
    fn view(&self, camera: usize) -> (Canvas, Camera) {
        (self.geometry.canvas, self.geometry.cameras[camera])
    }
}

/// Returns a canvas and a camera with which a stitch copies each pixel of a panorama to the same position.
fn itself(size: UVec2) -> (Canvas, Camera) {
    (Canvas::of_pixels(DVec2::ZERO, size), Camera::from_matrix(DMat3::IDENTITY, size))
}
