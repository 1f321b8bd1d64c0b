//! Describes several pictures, and matches the pairs of pictures that may overlap.
//!
//! In a set of up to [`FEW`] pictures, all pairs are matched. The time of that grows with the square of the number of
//! pictures. In a larger set, each picture is matched with the [`PARTNERS`] pictures that are most similar to it, as in
//! Brown and Lowe, IJCV 2007: those in which the most descriptors of a small sample have an unambiguous match.

use super::pairs::similarity;
use super::{Described, Describer, MatchError, pairs};
use crate::device::{Buffer, Stream};
use crate::geometry::calibrate::PhotoPair;
use crate::io::picture::{Mask, Picture};

/// The maximum number of pictures of which all pairs are matched.
const FEW: usize = 8;

/// The number of similar pictures with which each picture of a larger set is matched. A picture is also matched with
/// those that have it among their own similar ones.
const PARTNERS: usize = 6;

/// The number of descriptors that are compared to find similar pictures.
const SAMPLE: usize = 160;

/// Matches pictures with each other, and waits for the results. From the matches,
/// [`calibrate`](crate::geometry::calibrate) can determine which pictures overlap. Returns all pairs. In a set of more
/// than 8 pictures, pairs that hardly look alike have no matches. Ignores points on transparent pixels (see
/// [`Picture::mask`]).
#[track_caller]
pub fn links(stream: &Stream, pictures: &[Picture]) -> Result<Vec<PhotoPair>, MatchError> {
    let size = |i: usize| pictures[i].size();
    // Process the pictures size by size, so that the device memory of only one describer is in use at a time.
    let mut order: Vec<usize> = (0..pictures.len()).collect();
    order.sort_by_key(|&i| size(i).to_array());
    let mut described = Vec::with_capacity(order.len());
    for alike in order.chunk_by(|&a, &b| size(a) == size(b)) {
        let size = size(alike[0]);
        let mut describer = Describer::new(stream, size)?;
        for &i in alike {
            let image = pictures[i].upload(stream)?;
            described.push((i, describer.describe(stream, image.view())?));
        }
    }
    described.sort_by_key(|(i, _)| *i);
    let described: Vec<Described> = described.into_iter().map(|(_, one)| one).collect();
    let masks: Vec<Option<Mask>> = pictures.iter().map(Mask::of).collect();
    let allows = |i: usize, at| masks[i].as_ref().is_none_or(|mask| mask.allows(at));
    let likely = likely(stream, &described)?;
    let mut links = Vec::new();
    for right in 1..described.len() {
        for left in 0..right {
            let mut correspondences = match likely[right][left] {
                true => pairs(stream, &described[left], &described[right])?,
                false => Vec::new(),
            };
            correspondences.retain(|one| allows(left, one.left) && allows(right, one.right));
            links.push(PhotoPair { left, right, correspondences });
        }
    }
    Ok(links)
}

/// Joins the pairs of the same cameras at several moments, each as [`links`] returns them.
#[must_use]
pub fn joined(moments: &[Vec<PhotoPair>]) -> Vec<PhotoPair> {
    let mut all = moments.first().cloned().unwrap_or_default();
    for pairs in moments.iter().skip(1) {
        for (all, pair) in all.iter_mut().zip(pairs) {
            all.correspondences.extend_from_slice(&pair.correspondences);
        }
    }
    all
}

/// Returns for each picture, and each picture before it, whether they may overlap.
#[track_caller]
fn likely(stream: &Stream, described: &[Described]) -> Result<Vec<Vec<bool>>, MatchError> {
    if described.len() <= FEW {
        return Ok((0..described.len()).map(|right| vec![true; right]).collect());
    }
    let mut scores = Vec::with_capacity(described.len());
    for (right, one) in described.iter().enumerate() {
        let all = one.descriptors.download(stream)?;
        // Within a pyramid level, the points that are the most isolated come first. A constant step takes some of all.
        let step = all.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<_> = all.into_iter().step_by(step).collect();
        let sample = Buffer::from_slice(stream, &sample)?;
        let before = described[..right].iter();
        let scored = before.map(|other| similarity(stream, &sample, other));
        scores.push(scored.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(partners(&scores))
}

/// Returns for each picture, and each picture before it, whether one of them is among the [`PARTNERS`] most similar
/// pictures of the other one. `scores` has the similarities in the same order.
fn partners(scores: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let mut likely: Vec<Vec<bool>> = scores.iter().map(|row| vec![false; row.len()]).collect();
    for one in 0..scores.len() {
        let mut others: Vec<usize> = (0..scores.len()).filter(|other| *other != one).collect();
        let pair = |other: usize| (one.max(other), one.min(other));
        others.sort_by_key(|&other| std::cmp::Reverse(scores[pair(other).0][pair(other).1]));
        for other in others.into_iter().take(PARTNERS) {
            likely[pair(other).0][pair(other).1] = true;
        }
    }
    likely
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_picture_keeps_its_most_similar_ones() {
        // Pictures on a line, which are the more similar the nearer they are.
        let scores: Vec<Vec<usize>> =
            (0..20).map(|right| (0..right).map(|left| 100 - (right - left)).collect()).collect();
        let likely = partners(&scores);
        for (right, row) in likely.iter().enumerate() {
            for (left, likely) in row.iter().enumerate() {
                // A picture in the middle has half of its partners on each side; one at the end has all on one side.
                let apart = right - left;
                assert!(*likely || apart > PARTNERS / 2, "{left} {right}");
                assert!(!*likely || apart <= PARTNERS, "{left} {right}");
            }
        }
    }
}
