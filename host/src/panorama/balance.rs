//! Computes one colour correction per picture, so that the colours match as well as possible in all overlaps.

use shared_types::stitch::Colour;

use super::coverage::Seen;
use super::error::PanoramaError;
use crate::device::Stream;
use crate::geometry::Geometry;
use crate::io::picture::Picture;
use crate::ops::colour::{Edge, EstimateLimits, Overlap, Solution, solve};
use crate::warp::DeviceWarp;

/// Returns the colour correction of each picture, of which `anchor` keeps its colours, and the indices of the pictures that could not be matched. Holds all
/// pictures in device memory until it returns.
pub(super) fn balanced(
    stream: &Stream,
    pictures: &[Picture],
    geometry: &Geometry,
    seen: &Seen,
    anchor: Option<usize>,
) -> Result<(Vec<Colour>, Vec<usize>), PanoramaError> {
    let images = Picture::upload_all(stream, pictures)?;
    let many = images.len();
    let mut edges = Vec::new();
    for right in 1..many {
        for left in (0..right).filter(|&left| seen.overlap(left, right)) {
            let cameras = vec![geometry.cameras[left], geometry.cameras[right]];
            let two = Geometry { cameras, ..*geometry };
            let warp = DeviceWarp::render(stream, &two)?;
            let Some(overlap) = Overlap::find(stream, &warp, [0, 1])? else { continue };
            let sums = overlap.sums(stream, &images[left], &images[right])?;
            edges.extend(Edge::new([left, right], &sums, &overlap.limits()));
        }
    }
    let Solution { colours, unmatched } =
        solve(many, &edges, &EstimateLimits::default(), anchor, &[]);
    Ok((colours, unmatched))
}
