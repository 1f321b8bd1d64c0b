//! Ghosts: blocks of the panorama that show two things at once.
//!
//! A block of the panorama is explained by the truth, at the shift that fits best. A ghost is a second term that
//! explains much of the rest: the truth at another shift, or the same place as another camera sees it. A blur leaves
//! a rest that is symmetric, and noise leaves one that nothing explains, so neither is a ghost.

use crate::case::Truth;
use crate::grid::{Grid, Mask, Picture, Plane};

/// Side of a block in truth pixels.
pub const BLOCK: usize = 24;
/// The largest shift at which a block is first aligned, and the shifts at which a second copy is searched.
const ALIGN: isize = 3;
const NEAREST: isize = 4;
const FARTHEST: isize = 14;
/// The least part of a block that the second term must have.
const STRENGTH: f64 = 0.12;
/// The least part of the rest that the second term must explain.
const EXPLAINED: f64 = 0.3;
/// The least standard deviation of a block of the truth, in levels.
const TEXTURE: f64 = 7.0;

/// The ghosts of a panorama.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ghosts {
    /// Number of blocks that were examined: textured, and seen by several cameras.
    pub blocks: usize,
    /// Number of blocks with a ghost.
    pub ghosts: usize,
    /// Sum of the strengths of the second copies, each from 0 to 0.5.
    pub strength: f64,
}

/// The pixels of a block with the mean removed.
fn block(plane: &Plane, left: isize, top: isize) -> Vec<f64> {
    let pixel = |i: usize| {
        let (x, y) = ((i % BLOCK) as isize, (i / BLOCK) as isize);
        f64::from(plane.at(left + x, top + y))
    };
    let mut values: Vec<f64> = (0..BLOCK * BLOCK).map(pixel).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    values
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the factors of two terms that explain a block best, and the part of the rest of the first term alone that
/// the second explains.
fn mixture(panorama: &[f64], first: &[f64], second: &[f64]) -> Option<(f64, f64, f64)> {
    let (aa, bb, ab) = (dot(first, first), dot(second, second), dot(first, second));
    let (ap, bp, pp) = (dot(first, panorama), dot(second, panorama), dot(panorama, panorama));
    let determinant = aa * bb - ab * ab;
    if determinant < 0.05 * aa * bb || aa <= 0.0 {
        return None;
    }
    let (a, b) = ((ap * bb - bp * ab) / determinant, (bp * aa - ap * ab) / determinant);
    let alone = pp - ap * ap / aa;
    let both = pp - a * ap - b * bp;
    (alone > 1e-6).then_some((a, b, 1.0 - both / alone))
}

/// Examines the block at `left` and `top`. Returns the strength of the second copy, 0 without a ghost, or `None` if the
/// block has too little texture.
fn examine(panorama: &Plane, truths: &[&Plane], left: isize, top: isize) -> Option<f64> {
    let here = block(panorama, left, top);
    let size = (BLOCK * BLOCK) as f64;
    // The view and the shift that explain the block best.
    let mut best: Option<(f64, usize, isize, isize)> = None;
    for (i, truth) in truths.iter().enumerate() {
        for dy in -ALIGN..=ALIGN {
            for dx in -ALIGN..=ALIGN {
                let there = block(truth, left + dx, top + dy);
                let power = dot(&there, &there);
                let explained = dot(&there, &here).max(0.0).powi(2) / power.max(1e-9);
                if best.is_none_or(|(other, ..)| explained > other) {
                    best = Some((explained, i, dx, dy));
                }
            }
        }
    }
    let (explained, view, dx, dy) = best?;
    let first = block(truths[view], left + dx, top + dy);
    if dot(&first, &first) < TEXTURE * TEXTURE * size {
        return None;
    }
    let rest = dot(&here, &here) - explained;
    // Less than 1.5 levels of rest is no visible ghost.
    if rest < 1.5 * 1.5 * size {
        return Some(0.0);
    }
    let strength = |second: &[f64]| match mixture(&here, &first, second) {
        Some((a, b, gain)) if a > 0.0 && b > 0.0 && gain > EXPLAINED => a.min(b) / (a + b),
        _ => 0.0,
    };
    let mut most: f64 = 0.0;
    for (i, truth) in truths.iter().enumerate() {
        if i != view {
            most = most.max(strength(&block(truth, left, top)));
        }
    }
    for sy in -FARTHEST..=FARTHEST {
        for sx in -FARTHEST..=FARTHEST {
            if sx * sx + sy * sy < NEAREST * NEAREST {
                continue;
            }
            let second = block(truths[view], left + dx + sx, top + dy + sy);
            let found = strength(&second);
            if found > most {
                // The rest of a blur looks the same on both sides.
                let mirrored = strength(&block(truths[view], left + dx - sx, top + dy - sy));
                if mirrored < 0.5 * found {
                    most = found;
                }
            }
        }
    }
    Some(if most > STRENGTH { most } else { 0.0 })
}

/// Examines the blocks that several cameras see, or where objects hide different things from the cameras.
#[must_use]
pub fn ghosts(panorama: &Picture, truth: &Truth, shown: &Mask) -> Ghosts {
    let luma = panorama.luma();
    let views: Vec<Plane> = if truth.views.is_empty() {
        vec![truth.picture.luma()]
    } else {
        truth.views.iter().map(Picture::luma).collect()
    };
    let shared = Grid::from_fn(shown.width, shown.height, |x, y| {
        let i = y * shown.width + x;
        shown.data[i] && truth.seen.data[i] > 1
    });
    let (columns, rows) = (shown.width / BLOCK, shown.height / BLOCK);
    let found = Grid::from_fn(columns, rows, |column, row| {
        let (left, top) = ((column * BLOCK) as isize, (row * BLOCK) as isize);
        let pixels = || (0..BLOCK * BLOCK).map(|i| (left as usize + i % BLOCK, top as usize + i / BLOCK));
        if !pixels().all(|(x, y)| shared.data[y * shown.width + x]) {
            return None;
        }
        let differs = pixels().any(|(x, y)| truth.ambiguous.data[y * shown.width + x]);
        let whole = |view: &&Plane| pixels().all(|(x, y)| view.data[y * shown.width + x] > 0.0);
        let mut here: Vec<&Plane> = views.iter().filter(whole).collect();
        if !differs {
            here.truncate(1);
        }
        examine(&luma, &here, left, top)
    });
    let examined = || found.data.iter().flatten();
    Ghosts {
        blocks: examined().count(),
        ghosts: examined().filter(|&&strength| strength > 0.0).count(),
        strength: examined().sum(),
    }
}
