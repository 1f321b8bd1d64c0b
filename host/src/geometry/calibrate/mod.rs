//! Calibration from photographs: computes a camera rig from correspondences between pictures.
//!
//! A matcher supplies the correspondences, pairs of points in two pictures. Most of them may be wrong. [`calibrate`]
//! finds the model of the pictures that most correspondences agree with, and measures its accuracy. If no model is
//! accurate enough, it returns a [`Refusal`] with a reason and a remedy. [`Calibration::rig`] converts the result to a
//! [`Rig`], and [`check`] tests whether a rig still fits new pictures of its cameras.
//!
//! There are two kinds of models. *One plane* relates the pictures by homographies. *Rotating cameras* share one
//! position and differ by rotations; this model includes the lenses. In the code, a *match* is a correspondence
//! together with the indices of its pictures.
//!
//! 1. `matches` checks the correspondences and removes duplicates.
//! 2. `robust` finds the model that most correspondences agree with: a homography, or a rotation if the lenses are
//!    known.
//! 3. `select` selects one plane or rotating cameras.
//! 4. `fit` minimises the error of the correspondences that agree with the model.
//! 5. `quality` measures overlap, coverage and the expected misalignment at the seam, and rejects inaccurate models.
//!    `verdict` states the result in a word.
//! 6. `horizon` and `compose` level the cameras, and build the rig and its canvas.
//!
//! This module does not read pixels. All arithmetic is f64 with the functions of `libm`, and the
//! random numbers have a fixed seed, so the same input gives the same result on every machine. Cost: about 10 ms for a pair
//! with 2000 correspondences.

mod bundle;
mod bundle_adjustment;
mod cameras;
mod compose;
mod conflict;
mod drift;
mod equations;
mod fit;
mod horizon;
mod left_out;
mod loss;
mod matches;
mod model;
mod planes;
mod projection;
mod quality;
mod refusal;
mod robust;
mod select;
mod tree;
mod verdict;

use glam::{DMat3, DVec2, DVec3, UVec2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_types::warp::Camera;

pub use bundle::calibrate;
pub use compose::RigOptions;
pub use drift::{Drift, RigCheck, check, check_rig};
pub use left_out::{FalsePair, LeftOut};
pub use quality::LEAST_OVERLAP;
pub use refusal::Refusal;
pub use verdict::{Grade, Verdict};

use crate::geometry::rig::{CameraMatrix, LensName, ModelName, Quality, Rig};
use cameras::RotatingCameras;
use planes::{nearest_plane, normed};

/// A pair of points in two pictures that may show the same point of the scene. Coordinates are pixels of the full
/// pictures, with pixel centres at integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correspondence {
    /// Position in the left picture.
    pub left: DVec2,
    /// Position in the right picture.
    pub right: DVec2,
    /// Confidence of the matcher, higher is better. An example is 1 minus the ratio of the best to the second best
    /// descriptor distance. Only the order of the scores matters.
    pub score: f64,
}

/// A picture to calibrate.
#[derive(Clone, Debug, PartialEq)]
pub struct Photo {
    /// Name of the camera that took the picture. The rig and error messages use it.
    pub name: String,
    /// Width and height in pixels.
    pub size: UVec2,
    /// The lens of the camera, if known. If it is `None`, the calibration estimates the focal length, and assumes
    /// square pixels and a principal point in the middle of the picture.
    pub lens: Option<KnownLens>,
}

impl Photo {
    /// Creates a picture with an unknown lens.
    #[must_use]
    pub fn new(name: impl Into<String>, size: UVec2) -> Self {
        Self { name: name.into(), size, lens: None }
    }
}

/// A lens whose calibration is known. The camera matrix must apply to pictures of the size [`Photo::size`].
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLens {
    /// Lens model: pinhole or fisheye.
    pub lens: LensName,
    /// Camera matrix: focal lengths and principal point in pixels.
    pub matrix: CameraMatrix,
    /// Distortion coefficients in OpenCV's order; missing coefficients are 0.
    pub distortion: Vec<f64>,
}

/// The kind of model that the calibration searches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelChoice {
    /// Rotating cameras if they explain the correspondences better than a homography, otherwise a homography.
    #[default]
    Auto,
    /// A homography. Known lenses are ignored.
    Homography,
    /// Rotating cameras. The calibration fails if they do not fit.
    Rotation,
}

/// Options of a calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CalibrateOptions {
    /// The kind of model that the calibration searches for.
    pub model: ModelChoice,
    /// Whether pictures that all show the same view are accepted, for instance two exposures from a tripod. They do not
    /// determine a focal length, and a rig of them is rarely useful.
    pub same_view: bool,
}

impl CalibrateOptions {
    /// Returns the calibration, or [`Refusal::SameView`] if it shows a single view and these options do not accept that.
    fn checked(&self, found: Calibration) -> Result<Calibration, Refusal> {
        if !self.same_view {
            quality::check_views(&found)?;
        }
        Ok(found)
    }
}

/// The geometric model that relates pictures to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Views {
    /// The pictures show one plane. Each picture has a matrix that maps its homogeneous pixels to those of a reference
    /// picture, whose own matrix is the identity. For pixels in the overlap, the third coordinate of the result is
    /// positive. The last element of a matrix is 1, or −1 if the picture's pixel (0, 0) is behind the reference camera.
    Planes(Vec<DMat3>),
    /// The cameras share one position. Each picture has a camera of the type that the warp kernel takes. The reference
    /// camera looks along the z axis of the world.
    Rotation(Vec<Camera>),
}

impl Views {
    /// Returns the name of the model.
    #[must_use]
    pub fn name(&self) -> ModelName {
        match self {
            Self::Planes(_) => ModelName::Homography,
            Self::Rotation(_) => ModelName::Rotation,
        }
    }

    /// Maps `pixel` of picture `from` to picture `to`. The result may lie outside the picture. Returns `None` if the
    /// point is behind a camera or beyond a lens limit, or if a picture does not exist.
    #[must_use]
    pub fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2> {
        match self {
            Self::Planes(matrices) => {
                let matrix = matrices.get(to)?.inverse() * *matrices.get(from)?;
                planes::flat(matrix * pixel.extend(1.0))
            }
            Self::Rotation(cameras) => {
                let (to, from) = (cameras.get(to)?, cameras.get(from)?);
                cameras::map(to, from, from.from_ray.transpose(), pixel)
            }
        }
    }

    /// Returns the homography from the pixels of picture `from` to those of picture `to`. If the lenses have distortion,
    /// it is the one that fits the cameras best in the overlap. In the overlap, the third coordinate of the result is
    /// positive. The last element is 1, or −1 if pixel (0, 0) of `from` is behind camera `to`.
    ///
    /// # Panics
    /// Panics if a picture does not exist.
    #[must_use]
    pub fn homography(&self, to: usize, from: usize) -> DMat3 {
        let matrix = match self {
            Self::Planes(matrices) => matrices[to].inverse() * matrices[from],
            Self::Rotation(cameras) => {
                let whole = |camera: &Camera| {
                    let Camera { focal, centre, from_ray, .. } = *camera;
                    let matrix = DMat3::from_cols(
                        DVec3::X * focal.x,
                        DVec3::Y * focal.y,
                        centre.extend(1.0),
                    );
                    matrix * from_ray
                };
                let both = [cameras[to], cameras[from]];
                // This homography is exact if the lenses have no distortion.
                let start = whole(&both[0]) * whole(&both[1]).inverse();
                let sizes = both.map(|camera| camera.size);
                nearest_plane(&RotatingCameras::new(both.to_vec(), vec![true; 2], 0), sizes, start)
            }
        };
        normed(matrix)
    }
}

/// A pair of pictures, and its candidate correspondences.
#[derive(Clone, Debug, PartialEq)]
pub struct PhotoPair {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// Points in both pictures that may show the same point of the scene.
    pub correspondences: Vec<Correspondence>,
}

/// The quality figures of one pair of pictures. All figures in pixels are pixels of the left picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// The number of distinct correspondences.
    pub matches: usize,
    /// The number of distinct correspondences whose points are both in the overlap.
    pub in_overlap: usize,
    /// Indices, in [`PhotoPair::correspondences`], of the inliers in ascending order: the correspondences that agree
    /// with the model.
    pub inliers: Vec<usize>,
    /// Root mean square distance of the inliers from the model.
    pub rms_px: f64,
    /// Fraction of the left picture that the right one also shows, then the fraction of the right picture that the left
    /// one also shows. Both are from 0 to 1.
    pub overlap: [f64; 2],
    /// Fraction of the overlap that has inliers, from 0 to 1, counted in square cells. A cell's side is a twelfth of
    /// the left picture's larger side.
    pub coverage: f64,
    /// Expected misalignment in the overlap. It combines the effect of noise on the fit and the error of the model.
    pub seam_error_px: f64,
    /// Whether `seam_error_px` is so large that outlines may be broken at the seam, mostly because of parallax.
    pub misaligned: bool,
}

/// Calibrated pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The calibrated pictures, in the order of the input. The indices in the other fields count these pictures.
    pub pictures: Vec<Photo>,
    /// Index of each calibrated picture in the input.
    pub indices: Vec<usize>,
    /// The pictures of the input that do not fit the others, in the order of the input.
    pub left_out: Vec<LeftOut>,
    /// The pairs that were ignored because they contradict the others.
    pub false_pairs: Vec<FalsePair>,
    /// The geometric model that relates the pictures.
    pub views: Views,
    /// Index of the reference picture. `views` uses the coordinate frame of this picture.
    pub reference: usize,
    /// The quality figures of the pairs that agree with the model, in the order of the input.
    pub pairs: Vec<PairFigures>,
}

impl Calibration {
    /// Returns the quality figures that a rig file stores: the sums of the matches and of the inliers over all pairs,
    /// and the worst value of any pair for every other figure.
    #[must_use]
    pub fn quality(&self) -> Quality {
        let worst =
            |figure: fn(&PairFigures) -> f64| self.pairs.iter().map(figure).fold(0.0, f64::max);
        let least =
            |figure: fn(&PairFigures) -> f64| self.pairs.iter().map(figure).fold(1.0, f64::min);
        Quality {
            model: self.views.name(),
            matches: self.pairs.iter().map(|pair| pair.matches as u32).sum(),
            inliers: self.pairs.iter().map(|pair| pair.inliers.len() as u32).sum(),
            rms_px: worst(|pair| pair.rms_px),
            overlap: least(|pair| pair.overlap[0].max(pair.overlap[1])),
            coverage: least(|pair| pair.coverage),
            seam_error_px: worst(|pair| pair.seam_error_px),
        }
    }

    /// Returns how good the calibration is, and which figure limits it. The limits are for the best pairs that connect
    /// all pictures, except that of the error at the seam, which is for all pairs: half of the misalignment that
    /// blending hides (see [`PairFigures::misaligned`]) is good, and all of it usable.
    ///
    /// | figure | good | usable |
    /// |---|---|---|
    /// | agreeing correspondences | 50 | 20 |
    /// | their fraction of those in the overlap | 0.4 | 0.3 |
    /// | overlap, as a fraction of one picture | 0.1 | 0.06 |
    /// | coverage | 0.4 | 0.2 |
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        verdict::verdict(self)
    }

    /// Returns a rig with a panorama that shows all calibrated pictures.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the projection cannot show the view, the panorama would be too large or cannot be
    /// cropped, the rig would be invalid, or `views` does not have one view per picture.
    pub fn rig(&self, options: &RigOptions) -> Result<Rig, Refusal> {
        compose::rig(&self.pictures, &self.views, self.reference, self.quality(), options)
    }
}

#[cfg(test)]
mod tests {
    use super::model::Model;
    use super::planes::Planes;
    use super::*;

    #[test]
    fn views_and_the_fitted_model_map_alike() {
        let sizes = [UVec2::new(100, 50); 2];
        let shift = DMat3::from_translation(DVec2::new(60.0, 1.0));
        let views = Views::Planes(vec![DMat3::IDENTITY, shift]);
        let planes = Planes::new(&sizes, 0, vec![DMat3::IDENTITY, shift]);
        let pixel = DVec2::new(10.0, 20.0);
        assert_eq!(views.map(0, 1, pixel), Some(DVec2::new(70.0, 21.0)));
        assert_eq!(planes.map(0, 1, pixel), views.map(0, 1, pixel));
        assert_eq!(views.map(0, 2, pixel), None);
        assert_eq!(views.homography(0, 1), shift);
    }
}
