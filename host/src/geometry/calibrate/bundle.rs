//! Calibrates two or more pictures together.
//!
//! 1. Each pair is calibrated on its own.
//! 2. The calibrated pairs with the most inliers form a tree that connects all pictures (`tree`).
//! 3. One model is fitted to all pairs together; the fit starts from the tree (`bundle_adjustment`).
//! 4. Pairs that contradict the others are removed (`conflict`), because a pair can be wrong although its own
//!    calibration succeeded.

use super::bundle_adjustment::Common;
use super::conflict::agreed;
use super::fit::Sight;
use super::matches::{Matches, check_picture};
use super::tree::{Edge, tree};
use super::{
    CalibrateOptions, Correspondence, ModelChoice, Photo, Refusal, RigOptions, Views, compose, pair,
};
use crate::geometry::calibrate::pairs::PairFigures;
use crate::geometry::calibrate::pairs::PhotoPair;
use crate::geometry::rig::{MAX_CAMERAS, Quality, Rig};

/// Maximum number of failed pairs whose reasons are listed in [`Refusal::Disconnected`].
const REASONS: usize = 3;

/// The result of calibrating several pictures together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The pictures, in the order of the input.
    pub pictures: Vec<Photo>,
    /// The geometric model that relates the pictures.
    pub views: Views,
    /// Index of the reference picture. `views` uses the coordinate frame of this picture.
    pub reference: usize,
    /// The quality figures of the pairs that agree with the model of all pictures, in the order of the input.
    pub pairs: Vec<PairFigures>,
}

impl Bundle {
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

    /// Returns a rig with a panorama that shows all pictures.
    ///
    /// # Errors
    /// Returns the errors of [`Calibration::rig`](super::Calibration::rig).
    pub fn rig(&self, options: &RigOptions) -> Result<Rig, Refusal> {
        compose::rig(&self.pictures, &self.views, self.reference, self.quality(), options)
    }
}

/// Calibrates several pictures from the correspondences of their pairs. Ignores pairs that cannot be calibrated, for
/// instance because they do not overlap, and pairs that clearly contradict the others.
///
/// # Errors
/// Returns a [`Refusal`] if the input is malformed, if no chain of calibrated pairs connects all pictures, or if pairs
/// contradict each other and it is unclear which ones are wrong.
pub fn bundle(
    pictures: &[Photo],
    pairs: &[PhotoPair],
    options: &CalibrateOptions,
) -> Result<Bundle, Refusal> {
    let many = pictures.len();
    if !(2..=MAX_CAMERAS).contains(&many) {
        return Err(Refusal::Pictures { found: many });
    }
    pictures.iter().try_for_each(check_picture)?;
    let (edges, refused) = edges(pictures, pairs, options)?;
    let all: Vec<usize> = (0..edges.len()).collect();
    let tree = tree(many, &edges, &all).map_err(|lost| disconnected(pictures, &lost, &refused))?;
    let Common { reference, views, figures } = agreed(pictures, &edges, tree, options)?;
    let pairs = figures.into_iter().flatten().collect();
    Ok(Bundle { pictures: pictures.to_vec(), views, reference, pairs })
}

/// A pair that cannot be calibrated, and the reason.
struct Refused {
    left: usize,
    right: usize,
    refusal: Refusal,
}

/// Returns the error for the pictures with the indices `lost`, which no calibrated pair connects to the other pictures.
/// The error lists why pairs of a lost picture and another one failed. Reasons other than a lack of correspondences
/// come first.
fn disconnected(pictures: &[Photo], lost: &[usize], refused: &[Refused]) -> Refusal {
    let name = |i: &usize| pictures[*i].name.clone();
    let between = |one: &&Refused| lost.contains(&one.left) != lost.contains(&one.right);
    let mut told: Vec<&Refused> = refused.iter().filter(between).collect();
    told.sort_by_key(|one| match one.refusal {
        Refusal::Chance { inliers, .. } => (1, std::cmp::Reverse(inliers)),
        Refusal::TooFew { found } => (2, std::cmp::Reverse(found)),
        _ => (0, std::cmp::Reverse(0)),
    });
    let reason = |Refused { left, right, refusal }: &Refused| {
        format!("{} and {}: {refusal}", name(left), name(right))
    };
    let reasons = told.into_iter().take(REASONS).map(reason).collect();
    Refusal::Disconnected { names: lost.iter().map(name).collect(), reasons }
}

/// Calibrates each pair on its own. Returns the calibrated pairs and the failed ones, or an error if the input is
/// malformed.
fn edges<'p>(
    pictures: &[Photo],
    pairs: &'p [PhotoPair],
    options: &CalibrateOptions,
) -> Result<(Vec<Edge<'p>>, Vec<Refused>), Refusal> {
    let (mut edges, mut refused) = (Vec::new(), Vec::new());
    for pair_of in pairs {
        let PhotoPair { left, right, ref correspondences } = *pair_of;
        let pictures_of = pictures.len();
        if left == right || left.max(right) >= pictures_of {
            return Err(Refusal::Link { left, right, pictures: pictures_of });
        }
        let both = [&pictures[left], &pictures[right]];
        // If a lens is unknown, accept a homography for the pair even if rotating cameras are required: a single pair
        // may not determine the focal length. `common` selects the model of all pictures.
        let known = both.iter().all(|picture| picture.lens.is_some());
        let model = match options.model {
            ModelChoice::Homography => ModelChoice::Homography,
            _ if known => options.model,
            _ => ModelChoice::Auto,
        };
        let calibration =
            match pair(correspondences, both, &CalibrateOptions { model, ..options.clone() }) {
                Ok(calibration) => calibration,
                Err(malformed @ Refusal::Correspondence { .. }) => return Err(malformed),
                Err(refusal) => {
                    tracing::debug!(left, right, %refusal, "cannot calibrate a pair");
                    refused.push(Refused { left, right, refusal });
                    continue;
                }
            };
        let matches = Matches::new(correspondences, [left, right], both)?;
        let sight = |&i: &usize| {
            let Correspondence { left: l, right: r, .. } = correspondences[i];
            Sight { link: [left, right], left: l, right: r }
        };
        let inliers = calibration.inliers.iter().map(sight).collect();
        edges.push(Edge { pair: pair_of, calibration, matches, inliers });
    }
    Ok((edges, refused))
}
