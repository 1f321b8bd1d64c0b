//! What each two of several pictures have in common.

use glam::UVec2;

use super::{Describer, MatchError, MatchOptions, pairs};
use crate::calibrate::Pair;
use crate::device::{Image, Stream};
use crate::picture::Picture;

/// Matches every two of these pictures, and waits for it. What [`calibrate`](crate::calibrate) makes of them
/// says which do overlap.
///
/// # Errors
/// [`MatchError`].
#[track_caller]
pub fn links(
    stream: &Stream,
    pictures: &[Picture],
    options: &MatchOptions,
) -> Result<Vec<Pair>, MatchError> {
    let describe = |picture: &Picture| {
        let size = UVec2::new(picture.width(), picture.height());
        let image = Image::from_slice(stream, size.x, size.y, picture.pixels())?;
        Describer::new(stream, size, options)?.describe(stream, image.view())
    };
    let described = pictures.iter().map(describe).collect::<Result<Vec<_>, MatchError>>()?;
    let mut links = Vec::new();
    for right in 1..described.len() {
        for left in 0..right {
            let correspondences = pairs(stream, &described[left], &described[right], options)?;
            links.push(Pair { left, right, correspondences });
        }
    }
    Ok(links)
}
