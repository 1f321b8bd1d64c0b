//! Calibrates two or more pictures together.
//!
//! 1. Each pair is calibrated on its own.
//! 2. The calibrated pairs with the most inliers form a tree that connects the pictures (`tree`). Pictures outside the
//!    largest connected group are left out.
//! 3. One model is fitted to all pairs together; the fit starts from the tree (`bundle_adjustment`).
//! 4. Pairs that contradict the others are removed (`conflict`), because a pair can be wrong although its own
//!    calibration succeeded. If this disconnects a picture, steps 2 to 4 are repeated without it.

use rayon::prelude::*;

use super::bundle_adjustment::Common;
use super::conflict::{Agreed, agreed};
use super::left_out::{FalsePair, LeftOut};
use super::matches::check_picture;
use super::planes::stretched;
use super::tree::{Edge, tree};
use super::{CalibrateOptions, Calibration, ModelChoice, Photo, PhotoPair, Refusal, Views};
use crate::geometry::rig::MAX_RIG_CAMERAS;

/// Maximum number of failed pairs whose reasons are listed in [`Refusal::Disconnected`].
const REASONS: usize = 3;

/// Calibrates pictures from the correspondences of their pairs, of which up to three quarters of those in the overlap
/// may be wrong. Ignores pairs that cannot be calibrated, for instance because they do not overlap, and pairs that
/// contradict the others. Leaves out pictures that do not fit the largest group of connected pictures, and lists them
/// with the reasons in [`Calibration::left_out`]. The first of two pictures is the reference.
///
/// # Errors
/// Returns a [`Refusal`] if the input is malformed, if fewer than two pictures fit together, or if rotating cameras are
/// required and do not fit.
pub fn calibrate(
    pictures: &[Photo],
    pairs: &[PhotoPair],
    options: &CalibrateOptions,
) -> Result<Calibration, Refusal> {
    let many = pictures.len();
    if !(2..=MAX_RIG_CAMERAS).contains(&many) {
        return Err(Refusal::Pictures { found: many });
    }
    pictures.iter().try_for_each(check_picture)?;
    // Two pictures need no fit to several pairs, and fail for the reason for which their pair does.
    if let ([a, b], [PhotoPair { left: 0, right: 1, correspondences }]) = (pictures, pairs) {
        let Edge { views, figures, .. } = Edge::new(correspondences, [a, b], options)?;
        return options.checked(Calibration {
            pictures: pictures.to_vec(),
            indices: vec![0, 1],
            left_out: Vec::new(),
            false_pairs: Vec::new(),
            views,
            reference: 0,
            pairs: vec![figures],
        });
    }
    let (edges, refused) = edges(pictures, pairs, options)?;
    let mut set = Set {
        all: pictures,
        members: (0..many).collect(),
        edges,
        refused,
        left_out: Vec::new(),
        false_pairs: Vec::new(),
    };
    loop {
        set.keep_largest_group();
        if set.members.len() < 2 {
            return Err(set.disconnected());
        }
        if let Some(common) = set.fit(options)? {
            set.left_out.sort_by_key(|one| one.index);
            let Common { reference, views, figures } = common;
            return options.checked(Calibration {
                pictures: set.members.iter().map(|&i| pictures[i].clone()).collect(),
                indices: set.members,
                left_out: set.left_out,
                false_pairs: set.false_pairs,
                views,
                reference,
                pairs: figures.into_iter().flatten().collect(),
            });
        }
    }
}

/// The reason why a picture of a plane is left out.
const STRETCHED: &str =
    "the pictures show one plane, and this one looks along it: a flat panorama cannot show it";

/// A pair that cannot be calibrated or does not fit the other pairs, and the reason.
struct Refused {
    link: [usize; 2],
    refusal: Refusal,
}

/// The pictures that have not been left out, and what is known about their pairs. All indices count the input.
struct Set<'p> {
    all: &'p [Photo],
    members: Vec<usize>,
    edges: Vec<Edge>,
    refused: Vec<Refused>,
    left_out: Vec<LeftOut>,
    false_pairs: Vec<FalsePair>,
}

impl Set<'_> {
    fn name(&self, i: usize) -> String {
        self.all[i].name.clone()
    }

    /// Leaves out the pictures that edges do not connect to the largest group. If no edge is left, all pictures but one
    /// are left out.
    fn keep_largest_group(&mut self) {
        let kept: Vec<usize> = (0..self.edges.len()).collect();
        let Err(lost) = tree(self.all.len(), &self.edges, &kept) else { return };
        let members: Vec<usize> =
            self.members.iter().copied().filter(|i| !lost.contains(i)).collect();
        let leaving: Vec<usize> =
            self.members.iter().copied().filter(|i| lost.contains(i)).collect();
        for &index in &leaving {
            let reason = self.reason(index, &members);
            self.left_out.push(LeftOut { index, name: self.name(index), reason });
        }
        self.members = members;
        self.edges.retain(|edge| edge.link.iter().all(|i| !lost.contains(i)));
    }

    /// Returns why the picture with this index does not fit the pictures `kept`.
    fn reason(&self, index: usize, kept: &[usize]) -> String {
        let other = |link: &[usize; 2]| {
            let at = link.iter().position(|&i| i == index)?;
            Some(link[1 - at])
        };
        // A pair that fits, but not to the kept pictures, says more than a pair that shows nothing.
        let own = self.edges.iter().filter(|edge| other(&edge.link).is_some());
        if let Some(edge) = own.max_by_key(|edge| edge.inliers.len()) {
            let (pictures, many) = (self.group(index), kept.len());
            let other = self.name(other(&edge.link).unwrap_or(index));
            let first = kept.first().map_or_else(String::new, |&i| self.name(i));
            let why = match pictures == many {
                true => "is equally large, and is kept because more of its correspondences agree",
                false => "is larger",
            };
            return format!(
                "it overlaps {other}, but its group of {pictures} pictures is not connected to the group of {many} with {first}, which {why}"
            );
        }
        let own = self.refused.iter().filter_map(|one| Some((other(&one.link)?, &one.refusal)));
        let mut own: Vec<_> = own.filter(|(other, _)| kept.contains(other)).collect();
        own.sort_by_key(|(_, refusal)| told_first(refusal));
        let inliers = match own.first() {
            Some((_, Refusal::Chance { inliers, .. })) => *inliers,
            Some((_, Refusal::TooFew { .. } | Refusal::Implausible { .. })) | None => 0,
            Some((other, refusal)) => {
                return format!("it does not fit {}: {refusal}", self.name(*other));
            }
        };
        format!(
            "no other picture shows the same scene: at most {inliers} correspondences agree, no more than by chance or on a pattern that repeats"
        )
    }

    /// Returns the number of pictures that edges connect to a picture, including this picture.
    fn group(&self, index: usize) -> usize {
        let mut group = vec![index];
        let mut next = 0;
        while let Some(&i) = group.get(next) {
            for edge in self.edges.iter().filter(|edge| edge.link.contains(&i)) {
                if let Some(&other) = edge.link.iter().find(|other| !group.contains(other)) {
                    group.push(other);
                }
            }
            next += 1;
        }
        group.len()
    }

    /// Fits a model to all members. Returns `None` if some pairs do not fit, and removes them from the edges.
    fn fit(&mut self, options: &CalibrateOptions) -> Result<Option<Common>, Refusal> {
        let mut index = vec![None; self.all.len()];
        self.members.iter().enumerate().for_each(|(new, &old)| index[old] = Some(new));
        let pictures: Vec<Photo> = self.members.iter().map(|&i| self.all[i].clone()).collect();
        let linked =
            |edge: &Edge| Some(edge.clone().linked([index[edge.link[0]]?, index[edge.link[1]]?]));
        let edges: Vec<Edge> = self.edges.iter().filter_map(linked).collect();
        let all: Vec<usize> = (0..edges.len()).collect();
        let Ok(tree) = tree(pictures.len(), &edges, &all) else { return Ok(None) };
        match agreed(&pictures, &edges, tree, options)? {
            Agreed::Contradicted(unexplained) => {
                for (e, refusal) in unexplained.into_iter().rev() {
                    let link = self.edges.remove(e).link;
                    self.refused.push(Refused { link, refusal });
                }
                Ok(None)
            }
            Agreed::All { common, ignored } => {
                // If the caller requires homographies, the rig reports a picture that a plane cannot show.
                if let Views::Planes(matrices) = &common.views
                    && options.model != ModelChoice::Homography
                    && let Some(picture) = stretched(matrices, &pictures)
                {
                    let lost = self.members.remove(picture);
                    self.edges.retain(|edge| !edge.link.contains(&lost));
                    let (name, reason) = (self.name(lost), STRETCHED.to_owned());
                    self.left_out.push(LeftOut { index: lost, name, reason });
                    return Ok(None);
                }
                for (e, certain) in ignored {
                    let names = self.edges[e].link.map(|i| self.name(i));
                    self.false_pairs.push(FalsePair { names, certain });
                }
                Ok(Some(common))
            }
        }
    }

    /// Returns the error if fewer than two pictures fit together. It lists the most informative reasons first.
    fn disconnected(&self) -> Refusal {
        if let Some(one) = self.left_out.iter().find(|one| one.reason == STRETCHED) {
            return Refusal::Stretched { name: one.name.clone() };
        }
        let mut told: Vec<&Refused> = self.refused.iter().collect();
        told.sort_by_key(|one| told_first(&one.refusal));
        let reason = |Refused { link: [left, right], refusal }: &Refused| {
            format!("{} and {}: {refusal}", self.name(*left), self.name(*right))
        };
        let reasons = told.into_iter().take(REASONS).map(reason).collect();
        Refusal::Disconnected { pictures: self.all.len(), reasons }
    }
}

/// Orders the reasons of failed pairs: those other than a lack of correspondences first, then those with the most
/// correspondences.
fn told_first(refusal: &Refusal) -> (u32, std::cmp::Reverse<usize>) {
    match refusal {
        Refusal::Chance { inliers, .. } => (1, std::cmp::Reverse(*inliers)),
        Refusal::TooFew { found } => (2, std::cmp::Reverse(*found)),
        // The correspondences agree by chance, on a model that no two pictures have.
        Refusal::Implausible { .. } => (3, std::cmp::Reverse(0)),
        _ => (0, std::cmp::Reverse(0)),
    }
}

/// Calibrates each pair on its own. Returns the calibrated pairs and the failed ones, or an error if the input is
/// malformed.
fn edges(
    pictures: &[Photo],
    pairs: &[PhotoPair],
    options: &CalibrateOptions,
) -> Result<(Vec<Edge>, Vec<Refused>), Refusal> {
    let (mut edges, mut refused) = (Vec::new(), Vec::new());
    let found: Vec<_> = pairs.par_iter().map(|pair| edge(pictures, pair, options)).collect();
    for (found, PhotoPair { left, right, .. }) in found.into_iter().zip(pairs) {
        match found? {
            Ok(edge) => edges.push(edge),
            Err(refusal) => {
                tracing::debug!(left, right, %refusal, "cannot calibrate a pair");
                refused.push(Refused { link: [*left, *right], refusal });
            }
        }
    }
    Ok((edges, refused))
}

/// Calibrates a pair. The inner error is the reason why the pair cannot be calibrated.
fn edge(
    pictures: &[Photo],
    PhotoPair { left, right, correspondences }: &PhotoPair,
    options: &CalibrateOptions,
) -> Result<Result<Edge, Refusal>, Refusal> {
    let (left, right) = (*left, *right);
    if left == right || left.max(right) >= pictures.len() {
        return Err(Refusal::Link { left, right, pictures: pictures.len() });
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
    match Edge::new(correspondences, both, &CalibrateOptions { model, ..*options }) {
        Ok(edge) => Ok(Ok(edge.linked([left, right]))),
        Err(malformed @ Refusal::Correspondence { .. }) => Err(malformed),
        Err(refusal) => Ok(Err(refusal)),
    }
}
