//! More than two pictures: pairs, a tree of the best of them, and one fit of everything.
//!
//! Each pair is calibrated by itself. The pairs that hold, and of those the ones with the most inliers,
//! make a tree that reaches all pictures, and the tree gives the start of one fit to the inliers of all
//! pairs (bundle adjustment: Triggs et al., 2000; the residual is that of Brown and Lowe, IJCV 2007). It
//! is done for cameras that turn and for one plane, and the better one stays, as with two pictures.

use glam::{DMat3, UVec2};

use super::cameras::{Cameras, Focal, rays, rotation_between};
use super::fit::{Model, Sight, covariance};
use super::matches::{Matches, check_picture};
use super::planes::Planes;
use super::quality::judge;
use super::select::{Fitted, camera_of, evidence, most_noise, plausible, settle, some, tolerant};
use super::{
    Calibration, Correspondence, ModelChoice, Options, Picture, Refusal, RigOptions, Views,
    compose, pair,
};
use crate::rig::{MAX_CAMERAS, Quality, Rig};

/// Correspondences of a pair that take part in the common fit.
const PER_PAIR: usize = 150;

/// Two of several pictures and what they may have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Number of the left picture.
    pub left: usize,
    /// Number of the right picture.
    pub right: usize,
    /// Points that may be the same in both.
    pub correspondences: Vec<Correspondence>,
}

/// How two of several pictures fit in the end; see [`Calibration`] for the figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// Number of the left picture.
    pub left: usize,
    /// Number of the right picture.
    pub right: usize,
    /// How many different correspondences there were.
    pub matches: usize,
    /// Which correspondences agree with the model of all pictures, by their place in the pair's, in that order.
    pub inliers: Vec<usize>,
    /// Root mean square of their distance, in pixels of the left picture.
    pub rms_px: f64,
    /// Fraction of the left picture that the right one sees, and of the right that the left one sees.
    pub overlap: [f64; 2],
    /// Fraction of the overlap that has inliers.
    pub coverage: f64,
    /// Expected misalignment in the overlap, in pixels of the left picture.
    pub seam_error_px: f64,
}

/// Several pictures, calibrated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The pictures.
    pub pictures: Vec<Picture>,
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
    /// As [`Calibration::rig`].
    pub fn rig(&self, options: &RigOptions) -> Result<Rig, Refusal> {
        compose::rig(&self.pictures, &self.views, self.reference, self.quality(), options)
    }
}

/// A pair that holds.
struct Edge<'p> {
    pair: &'p Pair,
    calibration: Calibration,
    matches: Matches,
    /// Those of the matches that agree.
    inliers: Vec<Sight>,
}

/// Calibrates several pictures from the correspondences of their pairs. Pairs that do not overlap may be
/// among them, and are left out.
///
/// # Errors
/// A [`Refusal`]: malformed input, pictures that no chain of good pairs connects, or pairs that do not
/// fit together.
pub fn bundle(pictures: &[Picture], pairs: &[Pair], options: &Options) -> Result<Bundle, Refusal> {
    let many = pictures.len();
    if !(2..=MAX_CAMERAS).contains(&many) {
        return Err(Refusal::Pictures { found: many });
    }
    pictures.iter().try_for_each(check_picture)?;
    let edges = edges(pictures, pairs, options)?;
    let (reference, tree) = tree(pictures, &edges)?;
    let sights: Vec<Sight> =
        edges.iter().flat_map(|edge| some(&edge.inliers, PER_PAIR)).copied().collect();
    let sights_of: Vec<&Sight> = sights.iter().collect();
    let sizes: Vec<UVec2> = pictures.iter().map(|picture| picture.size).collect();
    let most = most_noise(options, &sizes);

    let plane = |options: &Options| {
        let rotation = options.model == ModelChoice::Rotation;
        let start = (!rotation).then(|| planes(&sizes, reference, &tree, &edges))?;
        Some(settle(start, &sights_of, most))
    };
    let turning = turning(pictures, reference, &tree, &edges, &sights_of, options, most);
    let (views, fitted) = match (plane(options), turning) {
        (Some(plane), Ok(turning)) => {
            let noise = tolerant(plane.noise.min(turning.noise), &sizes);
            let planes = evidence(&plane.model, &sights, noise);
            if evidence(&turning.model, &sights, noise) < planes {
                finish_cameras(turning)
            } else {
                finish_planes(plane)
            }
        }
        (Some(plane), Err(_)) => finish_planes(plane),
        (None, Ok(turning)) => finish_cameras(turning),
        (None, Err(reason)) => return Err(Refusal::NotTurning { reason }),
    };
    let pairs = fitted.figures(&edges, &sights_of, pictures, options)?;
    Ok(Bundle { pictures: pictures.to_vec(), views, reference, pairs })
}

/// The fit that stays.
enum Chosen {
    Planes(Fitted<Planes>),
    Cameras(Fitted<Cameras>),
}

fn finish_planes(plane: Fitted<Planes>) -> (Views, Chosen) {
    (Views::Planes(plane.model.to_reference().to_vec()), Chosen::Planes(plane))
}

fn finish_cameras(turning: Fitted<Cameras>) -> (Views, Chosen) {
    (Views::Cameras(turning.model.cameras().to_vec()), Chosen::Cameras(turning))
}

impl Chosen {
    /// The figures of all pairs, of a fit to `sights`.
    fn figures(
        &self,
        edges: &[Edge<'_>],
        sights: &[&Sight],
        pictures: &[Picture],
        options: &Options,
    ) -> Result<Vec<PairFigures>, Refusal> {
        match self {
            Self::Planes(fitted) => figures(fitted, edges, sights, pictures, options),
            Self::Cameras(fitted) => figures(fitted, edges, sights, pictures, options),
        }
    }
}

fn figures<M: Model>(
    fitted: &Fitted<M>,
    edges: &[Edge<'_>],
    sights: &[&Sight],
    pictures: &[Picture],
    options: &Options,
) -> Result<Vec<PairFigures>, Refusal> {
    // What one pair says does not determine the others; all of them together do.
    let fit = covariance(&fitted.model, sights);
    let one = |edge: &Edge<'_>| {
        let Pair { left, right, .. } = *edge.pair;
        let sizes = [pictures[left].size, pictures[right].size];
        let (sights, least) = (&edge.matches.sights, options.least_overlap);
        let found = judge(&fitted.model, sights, fitted.noise, sizes, least, fit.as_ref())?;
        let mut inliers: Vec<usize> =
            found.inliers.iter().map(|&i| edge.matches.index[i]).collect();
        inliers.sort_unstable();
        Ok(PairFigures {
            left,
            right,
            matches: sights.len(),
            inliers,
            rms_px: found.rms_px,
            overlap: found.overlap,
            coverage: found.coverage,
            seam_error_px: found.seam_error_px,
        })
    };
    edges.iter().map(one).collect()
}

/// The pairs that hold by themselves.
fn edges<'p>(
    pictures: &[Picture],
    pairs: &'p [Pair],
    options: &Options,
) -> Result<Vec<Edge<'p>>, Refusal> {
    let mut edges = Vec::new();
    for pair_of in pairs {
        let Pair { left, right, ref correspondences } = *pair_of;
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
        let calibration = match pair(correspondences, both, &Options { model, ..options.clone() }) {
            Ok(calibration) => calibration,
            Err(malformed @ Refusal::Correspondence { .. }) => return Err(malformed),
            Err(refusal) => {
                tracing::debug!(left, right, %refusal, "a pair is left out");
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
    Ok(edges)
}

/// The tree with the most inliers: its middle, and for each further picture the one it hangs on, with the
/// number of their pair, in an order in which that one comes first.
#[expect(clippy::type_complexity, reason = "named above, and used once")]
fn tree(
    pictures: &[Picture],
    edges: &[Edge<'_>],
) -> Result<(usize, Vec<(usize, usize, usize)>), Refusal> {
    let many = pictures.len();
    // Kruskal: the strongest first, each that joins two parts.
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|&e| std::cmp::Reverse(edges[e].inliers.len()));
    let mut part: Vec<usize> = (0..many).collect();
    let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); many];
    for e in order {
        let Pair { left, right, .. } = *edges[e].pair;
        let (a, b) = (part[left], part[right]);
        if a != b {
            part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
            near[left].push((right, e));
            near[right].push((left, e));
        }
    }
    let count = |p: usize| part.iter().filter(|q| **q == p).count();
    let main = (0..many).map(|i| part[i]).max_by_key(|&p| count(p)).unwrap_or(0);
    let lost = |i: &usize| part[*i] != main;
    let names: Vec<String> = (0..many).filter(lost).map(|i| pictures[i].name.clone()).collect();
    if !names.is_empty() {
        return Err(Refusal::Disconnected { names });
    }
    let walk = |from: usize| {
        let mut steps = Vec::new();
        let mut depth = vec![usize::MAX; many];
        depth[from] = 0;
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(parent) = queue.pop_front() {
            for &(child, e) in &near[parent] {
                if depth[child] == usize::MAX {
                    depth[child] = depth[parent] + 1;
                    steps.push((child, parent, e));
                    queue.push_back(child);
                }
            }
        }
        (depth.into_iter().max().unwrap_or(0), steps)
    };
    // Errors add up along the tree: from its middle the ways are shortest.
    let reference = (0..many).min_by_key(|&i| walk(i).0).unwrap_or(0);
    Ok((reference, walk(reference).1))
}

/// Homographies chained along the tree.
fn planes(
    sizes: &[UVec2],
    reference: usize,
    tree: &[(usize, usize, usize)],
    edges: &[Edge<'_>],
) -> Planes {
    let mut matrices = vec![DMat3::IDENTITY; sizes.len()];
    for &(child, parent, e) in tree {
        let matrix = edges[e].calibration.homography_right_to_left;
        let forward = edges[e].pair.right == child;
        matrices[child] = matrices[parent] * if forward { matrix } else { matrix.inverse() };
    }
    Planes::new(sizes, reference, matrices)
}

/// Cameras in one place, from rotations chained along the tree, or why they are none.
fn turning(
    pictures: &[Picture],
    reference: usize,
    tree: &[(usize, usize, usize)],
    edges: &[Edge<'_>],
    sights: &[&Sight],
    options: &Options,
    most: f64,
) -> Result<Fitted<Cameras>, String> {
    if options.model == ModelChoice::Homography {
        return Err("a homography is asked for".to_owned());
    }
    // Each pair that turned has an opinion of the focal length, in sides of the picture.
    let mut shares: Vec<f64> = edges
        .iter()
        .filter_map(|edge| match &edge.calibration.views {
            Views::Cameras(cameras) => Some(cameras),
            Views::Planes(_) => None,
        })
        .flatten()
        .map(|camera| camera.focal.x / f64::from(camera.size.max_element()))
        .collect();
    shares.sort_by(f64::total_cmp);
    let known = pictures.iter().all(|picture| picture.lens.is_some());
    let share = match shares.get(shares.len() / 2) {
        Some(share) => *share,
        None if known => 1.0,
        None => return Err("no pair of pictures says how long the focal length is".to_owned()),
    };
    let camera = |picture| camera_of(picture, share * f64::from(picture.size.max_element()));
    let mut cameras: Vec<_> = pictures.iter().map(camera).collect();
    for &(child, parent, e) in tree {
        let pairs = edges[e].inliers.iter().filter_map(|sight| rays(&cameras, sight));
        let Some(right_to_left) = rotation_between(pairs) else {
            return Err("what agrees lies on one ray".to_owned());
        };
        // From the parent's frame to the child's.
        let turn =
            if edges[e].pair.right == child { right_to_left.transpose() } else { right_to_left };
        cameras[child].from_ray = turn * cameras[parent].from_ray;
    }
    let known: Vec<bool> = pictures.iter().map(|picture| picture.lens.is_some()).collect();
    let start = Cameras::new(cameras, known, reference);
    let size = pictures[reference].size;
    let alike = start.unknown().all(|i| pictures[i].size == size);
    // Far from the start, the least that is free is the safest; then the rest is let go.
    let first = if alike { Focal::Shared } else { Focal::Each };
    let rough = settle(start.freed(first, false), sights, most);
    let owned: Vec<Sight> = sights.iter().map(|sight| **sight).collect();
    let mut best: Option<(f64, Fitted<Cameras>)> = None;
    let mut reason = "no focal length fits".to_owned();
    for (focal, radial) in
        [(first, false), (first, true), (Focal::Each, false), (Focal::Each, true)]
    {
        if radial && !options.radial {
            continue;
        }
        let fitted = settle(rough.model.freed(focal, radial), sights, most);
        let cost = evidence(&fitted.model, &owned, rough.noise.min(fitted.noise));
        if best.as_ref().is_some_and(|(least, _)| cost >= *least) {
            continue;
        }
        match plausible(&fitted, sights) {
            Ok(()) => best = Some((cost, fitted)),
            Err(why) => reason = why,
        }
    }
    best.map(|(_, fitted)| fitted).ok_or(reason)
}
