//! Describes several pictures, and matches each pair of pictures, including pairs that do not overlap.

use super::{Described, Describer, MatchError, MatchOptions, pairs};
use crate::device::Stream;
use crate::geometry::calibrate::PhotoPair;
use crate::io::picture::{Mask, Picture};

/// Matches every picture with every other picture, and waits for the results. From the matches,
/// [`calibrate`](crate::geometry::calibrate) can determine which pictures overlap. Ignores points on transparent pixels
/// (see [`Picture::mask`]).
///
/// # Errors
/// Returns [`MatchError`] if the options are invalid or the device fails.
#[track_caller]
pub fn links(
    stream: &Stream,
    pictures: &[Picture],
    options: &MatchOptions,
) -> Result<Vec<PhotoPair>, MatchError> {
    options.check()?;
    let size = |i: usize| pictures[i].size();
    // Process the pictures size by size, so that the device memory of only one describer is in use at a time.
    let mut order: Vec<usize> = (0..pictures.len()).collect();
    order.sort_by_key(|&i| size(i).to_array());
    let mut described = Vec::with_capacity(order.len());
    for alike in order.chunk_by(|&a, &b| size(a) == size(b)) {
        let size = size(alike[0]);
        let mut describer = Describer::new(stream, size, options)?;
        for &i in alike {
            let image = pictures[i].upload(stream)?;
            described.push((i, describer.describe(stream, image.view())?));
        }
    }
    described.sort_by_key(|(i, _)| *i);
    let described: Vec<Described> = described.into_iter().map(|(_, one)| one).collect();
    let masks: Vec<Option<Mask>> = pictures.iter().map(Mask::of).collect();
    let allows = |i: usize, at| masks[i].as_ref().is_none_or(|mask| mask.allows(at));
    let mut links = Vec::new();
    for right in 1..described.len() {
        for left in 0..right {
            let mut correspondences = pairs(stream, &described[left], &described[right], options)?;
            correspondences.retain(|one| allows(left, one.left) && allows(right, one.right));
            links.push(PhotoPair { left, right, correspondences });
        }
    }
    Ok(links)
}
