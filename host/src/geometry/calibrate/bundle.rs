//! Calibrates more than two pictures: pairs, a tree of the best pairs, and one common fit.
//!
//! Each pair is calibrated separately. The valid pairs with the most inliers form a tree that reaches all pictures
//! (`tree`). One common fit to all pairs starts from this tree (`bundle_adjustment`). A valid pair may still be false;
//! `conflict` removes pairs that contradict the others.

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

/// Maximum number of reasons in an error about unconnected pictures.
const REASONS: usize = 3;

/// Several pictures, calibrated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The pictures.
    pub pictures: Vec<Photo>,
    /// The positions of the pictures relative to each other.
    pub views: Views,
    /// Index of the reference picture, to which the positions of the others are relative.
    pub reference: usize,
    /// The pairs that agree with the model of all pictures, in the order of the input.
    pub pairs: Vec<PairFigures>,
}

impl Bundle {
    /// Returns the quality for a rig.
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

/// Calibrates several pictures from the correspondences of their pairs. Pairs without overlap are allowed. They are
/// left out, as are pairs that clearly contradict the others.
///
/// # Errors
/// Returns a [`Refusal`] if the input is malformed, if no chain of good pairs connects the pictures, or if pairs
/// contradict each other.
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

/// A pair without a valid calibration.
struct Refused {
    left: usize,
    right: usize,
    refusal: Refusal,
}

/// Returns the error for unconnected pictures. The most specific reasons come first.
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

/// Returns the valid pairs and the refused ones.
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
        // A pair with an unknown lens may be one plane even if rotating cameras are required, because a single pair
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
                    tracing::debug!(left, right, %refusal, "a pair is left out");
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
