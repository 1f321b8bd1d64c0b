//! Photometric calibration of still pictures: exposure, white balance, vignetting and response, estimated from the
//! overlaps of the pictures and corrected in each picture.
//!
//! ```text
//! level = response(light · exposure · vignetting / field)        of each channel
//! ```
//!
//! Light is the light of the scene, encoded with the gamma of an ideal camera. Each picture has an exposure per
//! channel. Pictures of the same size share their vignetting, and all pictures share the response. Where two pictures
//! show the same point, its light is the same, so the overlaps determine the differences of the exposures. They
//! determine vignetting if the point is at different distances from the centres of the pictures, and the response if
//! the exposures differ or if there is vignetting (Goldman and Chen 2005).
//!
//! A [`GainField`] corrects smooth differences that remain, which depend on the scene and not on the camera.
//!
//! `Photometry::estimate` compares local means of the pictures (`samples`), fits the model robustly (`fit`), and uses
//! vignetting, response and gain fields only if they explain the overlaps better. [`PictureCorrection`] launches the
//! kernel. The colours of live video are estimated from sums on the GPU instead; see [`colour`](super::colour). Live
//! video has no gain fields; multiband blending hides the differences.

mod fit;
mod gain_field;
mod response;
mod samples;

use std::borrow::Cow;

use glam::{UVec2, Vec2, Vec3};
use kernels_gpu::photometry::{PhotometryCorrect, PhotometryCorrectRgba16, corrected};
use shared_types::Rgba8;
use shared_types::photometry::{BLOCK, Correction};
pub use shared_types::photometry::{Response, Vignette};

pub use self::gain_field::GainField;

use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::geometry::{MIDDLE, Vignetting};
use crate::io::picture::{Picture, Pixel, RgbaViewMut};

/// The photometric model of a set of pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Photometry {
    /// The factors of red, green and blue light that equalise the exposures, one element per picture.
    pub gains: Vec<Vec3>,
    /// The vignetting of each picture.
    pub vignetting: Vec<Vignetting>,
    /// The centre of the vignetting of each picture, as fractions of its width and height: 0.5 and 0.5 in the middle.
    pub centres: Vec<Vec2>,
    /// The response that all pictures share.
    pub response: Response,
    /// The median difference, in levels, between pictures in their overlaps, after exposure, vignetting and response
    /// are corrected. It is 0 if no pictures share enough to be matched, and large if the overlaps do not show the same
    /// scene.
    pub mismatch: f32,
    /// The gain field of each picture.
    pub fields: Vec<GainField>,
    /// The indices of the pictures that share too little with other pictures to be matched.
    pub unmatched: Vec<usize>,
}

/// The positions of a picture at sample points of the panorama: the column and row in pixels, or `None` at points that
/// the picture does not show.
pub(crate) type Places = Vec<Option<Vec2>>;

impl Photometry {
    /// Estimates the model from pictures and their positions at the same sample points. The exposures of all pictures
    /// that overlap have the geometric mean 1, or `anchor` has the exposure 1.
    ///
    /// There must be an element of `places` for each picture, all of the same length, and an element of `given` for
    /// each picture: the vignette that is known, for instance from a rig. The estimate adds to it what the overlaps
    /// show, around the same centre.
    pub(crate) fn estimate<P: Pixel>(
        pictures: &[&Picture<P>],
        places: &[Places],
        given: &[Vignette],
        anchor: Option<usize>,
    ) -> Self {
        let sizes: Vec<UVec2> = pictures.iter().map(|picture| picture.size()).collect();
        let given = given.iter().zip(&sizes).map(|(of, size)| Vignetting::of_vignette(of, *size));
        let (given, centres): (Vec<_>, Vec<_>) = given.unzip();
        let samples = samples::compare(pictures, places, &given, &centres);
        Self { centres, ..fit::fit(&sizes, &samples, &given, anchor) }
    }

    /// Estimates the vignetting of each picture like [`estimate`](Self::estimate), but for cameras with an ideal
    /// response.
    pub(crate) fn vignetting<P: Pixel>(
        pictures: &[&Picture<P>],
        places: &[Places],
    ) -> Vec<Vignetting> {
        let sizes: Vec<UVec2> = pictures.iter().map(|picture| picture.size()).collect();
        let none = vec![Vignetting::NONE; pictures.len()];
        let middles = vec![MIDDLE; pictures.len()];
        fit::fit_vignetting(&sizes, &samples::compare(pictures, places, &none, &middles), &none)
    }

    /// Returns the correction of a picture of `size` pixels, whose sides have the ratio of those of the estimate.
    ///
    /// # Panics
    /// Panics if there is no such picture.
    #[must_use]
    pub fn correction(&self, picture: usize, size: UVec2) -> PictureCorrection {
        let correction = Correction {
            gain: self.gains[picture],
            response: self.response,
            vignette: self.vignetting[picture].vignette_around(self.centres[picture], size),
        };
        PictureCorrection {
            correction,
            field: self.fields[picture].resized(size),
            lights: response::lights(&self.response, 8),
        }
    }

    /// Returns corrected copies of the pictures, in the order of [`gains`](Self::gains), and waits until they are done.
    ///
    /// # Panics
    /// Panics if there are more pictures than gains.
    #[track_caller]
    pub fn corrected<P: Pixel>(
        &self,
        stream: &Stream,
        pictures: &[Picture<P>],
    ) -> Result<Vec<Picture<P>>, DeviceError> {
        let corrected = |(i, picture): (usize, &Picture<P>)| {
            self.correction(i, picture.size()).corrected(stream, picture)
        };
        pictures.iter().enumerate().map(corrected).collect()
    }
}

/// The correction of one picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureCorrection {
    correction: Correction,
    field: GainField,
    /// The light of each 8-bit level.
    lights: Vec<f32>,
}

impl PictureCorrection {
    /// Returns the correction that undoes vignetting and nothing else.
    #[must_use]
    pub fn of_vignette(vignette: Vignette) -> Self {
        let response = Response::default();
        let correction = Correction { gain: Vec3::ONE, response, vignette };
        Self { correction, field: GainField::default(), lights: response::lights(&response, 8) }
    }

    /// Returns a corrected copy of a picture, and waits until it is done.
    #[track_caller]
    pub fn corrected<P: Pixel>(
        &self,
        stream: &Stream,
        picture: &Picture<P>,
    ) -> Result<Picture<P>, DeviceError> {
        let mut image = picture.upload(stream)?;
        self.apply(stream, &mut image)?;
        Picture::download(stream, &image)
    }

    /// Corrects a picture in place, and waits until this is done.
    #[track_caller]
    pub fn apply<P: Pixel>(
        &self,
        stream: &Stream,
        image: &mut Image<P>,
    ) -> Result<(), DeviceError> {
        let Correction { gain, vignette, .. } = self.correction;
        if gain == Vec3::ONE && vignette == Vignette::NONE && self.field.is_uniform() {
            return Ok(());
        }
        let config = LaunchConfig::cover(image.width(), image.height(), BLOCK);
        let (grid, nodes) = self.field.parts();
        let lights = Buffer::from_slice(stream, &self.lights::<P>())?;
        let nodes = Buffer::from_slice(stream, nodes)?;
        let (correction, lights, nodes) = (self.correction, lights.view(), nodes.view());
        match P::view_mut(image) {
            RgbaViewMut::Rgba8(picture) => stream
                .launch(&config, &PhotometryCorrect { correction, lights, grid, nodes, picture }),
            RgbaViewMut::Rgba16(picture) => {
                let kernel = PhotometryCorrectRgba16 { correction, lights, grid, nodes, picture };
                stream.launch(&config, &kernel)
            }
        }?;
        // The buffers must outlive the launch.
        stream.synchronize()
    }

    /// Returns the light of each value of a channel of `P`.
    fn lights<P: Pixel>(&self) -> Cow<'_, [f32]> {
        match P::BITS {
            8 => Cow::Borrowed(&self.lights),
            bits => Cow::Owned(response::lights(&self.correction.response, bits)),
        }
    }

    /// Returns the corrected levels (0 to 255) of a pixel at a position in the picture.
    pub(crate) fn levels(&self, pixel: Rgba8, place: Vec2) -> Vec3 {
        let light = |level: u8| self.lights[usize::from(level)];
        let lights = Vec3::new(light(pixel.r), light(pixel.g), light(pixel.b));
        255.0 * corrected(&self.correction, lights, self.field.factor(place), place)
    }
}
