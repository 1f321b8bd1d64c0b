//! More than two pictures: pairs, a tree of the best of them, and one fit of everything.
//!
//! Each pair is calibrated by itself. The pairs that hold, and of those the ones with the most inliers,
//! make a tree that reaches all pictures (`tree`), and the tree gives the start of one fit (`common`). A pair
//! that holds by itself may still be a false one: `conflict` leaves out those that the others contradict.

use super::common::Common;
use crate::geometry::calibrate::pairs::PairFigures;
use crate::geometry::calibrate::pairs::PhotoPair;

use super::conflict::agreed;

use super::fit::Sight;

use super::matches::{Matches, check_picture};

use super::tree::{Edge, tree};

use super::{
    CalibrateOptions, Correspondence, ModelChoice, Photo, Refusal, RigOptions, Views, compose, pair,
};

use crate::geometry::rig::{MAX_CAMERAS, Quality, Rig};

/// Reasons that are told of pictures that nothing connects.
const REASONS: usize = 3;

/// Several pictures, calibrated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The pictures.
    pub pictures: Vec<Photo>,
    /// Where they lie to each other.
    pub views: Views,
    /// The picture that all others were related to.
    pub reference: usize,
    /// The pairs that overlap, in the order of the input.
    pub pairs: Vec<PairFigures>,
}

impl Bundle {
    /// The figures as a rig has them.
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

    /// A rig with a panorama that shows all pictures; the reference stays upright.
    ///
    /// # Errors
    /// As [`Calibration::rig`](super::Calibration::rig).
    pub fn rig(&self, options: &RigOptions) -> Result<Rig, Refusal> {
        compose::rig(&self.pictures, &self.views, self.reference, self.quality(), options)
    }
}

/// Calibrates several pictures from the correspondences of their pairs. Pairs that do not overlap may be
/// among them, and are left out; so are pairs that the others contradict, where it is clear which those are.
///
/// # Errors
/// A [`Refusal`]: malformed input, pictures that no chain of good pairs connects, or pairs that do not
/// fit together.
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

/// A pair that does not hold by itself.
struct Refused {
    left: usize,
    right: usize,
    refusal: Refusal,
}

/// Says of pictures that nothing connects what stood against it, first what says more than that nothing agrees.
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

/// The pairs that hold by themselves, and those that do not.
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
        // A plane suits every pair; what all of them are is asked once, together.
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
