//! The pictures of a panorama with the corrections of their colours.

use std::iter::repeat;

use glam::{UVec2, Vec2, Vec3};
use kernels_gpu::colour::corrected;
use kernels_gpu::colour::vignette::factor;
use kernels_gpu::warp::{project, ray};
use shared_types::Rgba8;
use shared_types::photometry::Vignette;
use shared_types::stitch::Colour;

use super::{Panorama, PanoramaOptions};
use crate::device::{DeviceError, Image, Stream};
use crate::geometry::{Geometry, inside};
use crate::io::picture::{Picture, Pixel};
use crate::ops::photometry::{Photometry, PictureCorrection, Places};
use crate::ops::stitch::{Colours, StitchOptions, Vignettes};
use crate::warp::DeviceWarp;

/// The number of points of the panorama at which pictures are compared, about.
const POINTS: u32 = 40_000;

/// The pictures of a panorama. Their colours are either matched, or corrected by gains and gammas that were given.
pub(super) struct Sources<'a, P> {
    pub(super) pictures: Vec<&'a Picture<P>>,
    given: Colours,
    vignettes: Vignettes,
    matched: Option<(Photometry, Vec<PictureCorrection>)>,
}

impl<'a, P: Pixel> Sources<'a, P> {
    /// Matches the colours if the options request it. `places` returns the positions of the sample points in each
    /// picture.
    pub(super) fn new(
        pictures: Vec<&'a Picture<P>>,
        options: &PanoramaOptions,
        places: impl FnOnce() -> Result<Vec<Places>, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let StitchOptions { colours: given, vignettes, .. } = options.stitch;
        if !options.match_colour {
            return Ok(Self { pictures, given, vignettes, matched: None });
        }
        let stated = vignettes.iter().copied().chain(repeat(Vignette::NONE));
        let stated: Vec<_> = stated.take(pictures.len()).collect();
        let photometry = Photometry::estimate(&pictures, &places()?, &stated, options.anchor);
        let corrections = pictures.iter().enumerate();
        let corrections = corrections.map(|(i, of)| photometry.correction(i, of.size())).collect();
        Ok(Self { pictures, given, vignettes, matched: Some((photometry, corrections)) })
    }

    /// Copies a picture to the device. If colours are matched, the copy is corrected.
    #[track_caller]
    pub(super) fn upload(&self, stream: &Stream, camera: usize) -> Result<Image<P>, DeviceError> {
        let mut image = self.pictures[camera].upload(stream)?;
        if let Some((_, corrections)) = &self.matched {
            corrections[camera].apply(stream, &mut image)?;
        }
        Ok(image)
    }

    /// Returns the colour corrections that the stitch has to apply to the uploaded pictures.
    pub(super) fn colours(&self) -> Colours {
        if self.matched.is_some() { Colours::IDENTITY } else { self.given }
    }

    /// Returns the colour correction of one uploaded picture. Pictures after the sixteenth keep their colours unless
    /// they are matched.
    pub(super) fn colour(&self, camera: usize) -> Colour {
        self.colours().iter().nth(camera).copied().unwrap_or_default()
    }

    /// Returns the vignettes that the stitch has to undo in the uploaded pictures.
    pub(super) fn vignettes(&self) -> Vignettes {
        if self.matched.is_some() { Vignettes::NONE } else { self.vignettes }
    }

    /// Returns the options of a stitch with the corrections of the uploaded pictures.
    pub(super) fn options(&self, stitch: StitchOptions) -> StitchOptions {
        StitchOptions { colours: self.colours(), vignettes: self.vignettes(), ..stitch }
    }

    /// Returns the vignette of one uploaded picture.
    pub(super) fn vignette(&self, camera: usize) -> Vignette {
        self.vignettes().iter().nth(camera).copied().unwrap_or_default()
    }

    /// Returns the corrected levels (0 to 255) of a pixel at a position in a picture.
    pub(super) fn levels(&self, camera: usize, pixel: Rgba8, place: Vec2) -> Vec3 {
        if let Some((_, corrections)) = &self.matched {
            return corrections[camera].levels(pixel, place);
        }
        let levels = Vec3::new(pixel.r.into(), pixel.g.into(), pixel.b.into());
        let factor = factor(&self.vignette(camera), place);
        255.0 * corrected(&self.colour(camera), levels * factor, factor)
    }

    /// Returns the panorama with the results of colour matching.
    pub(super) fn panorama(self, picture: Picture<P>, owners: Vec<u8>) -> Panorama<P> {
        let cameras = 0..self.pictures.len();
        let Some((photometry, _)) = self.matched else {
            let colours = cameras.map(|camera| self.colour(camera)).collect();
            return Panorama { picture, colours, photometry: None, unmatched: Vec::new(), owners };
        };
        let colours = photometry
            .gains
            .iter()
            .map(|&gain| Colour { gain, ..Colour::IDENTITY }.with_shoulder())
            .collect();
        let unmatched = photometry.unmatched.clone();
        Panorama { picture, colours, photometry: Some(photometry), unmatched, owners }
    }
}

/// Returns the columns and rows of sample points: a grid over the panorama.
fn points(size: UVec2) -> impl Iterator<Item = UVec2> {
    let area = u64::from(size.x) * u64::from(size.y);
    let step = (area / u64::from(POINTS)).max(1).isqrt().max(1) as usize;
    let columns = move || (step as u32 / 2..size.x).step_by(step);
    (step as u32 / 2..size.y)
        .step_by(step)
        .flat_map(move |y| columns().map(move |x| UVec2::new(x, y)))
}

/// Returns the positions of the sample points in the pictures of a geometry.
pub(super) fn places_of_geometry(geometry: &Geometry) -> Vec<Places> {
    places(geometry.canvas.size, geometry.cameras.len(), |camera, at| place(geometry, camera, at))
}

/// Returns the positions of the sample points of a panorama in the pictures of all cameras.
fn places(
    size: UVec2,
    cameras: usize,
    place: impl Fn(usize, UVec2) -> Option<Vec2>,
) -> Vec<Places> {
    (0..cameras).map(|camera| points(size).map(|at| place(camera, at)).collect()).collect()
}

/// Returns the source coordinates that a camera of a geometry shows at a panorama pixel, or `None` if it does not see
/// the pixel.
pub(super) fn place(geometry: &Geometry, camera: usize, point: UVec2) -> Option<Vec2> {
    let camera = &geometry.cameras[camera];
    let source = project(camera, camera.from_ray * ray(&geometry.canvas, point.as_dvec2()))?;
    inside(source, camera.size).then(|| source.as_vec2())
}

/// Returns the positions of the sample points in the pictures of a warp.
#[track_caller]
pub(super) fn places_of_warp(
    stream: &Stream,
    warp: &DeviceWarp,
) -> Result<Vec<Places>, DeviceError> {
    Ok(places(warp.size(), warp.sources().len(), warp.places(stream)?))
}
