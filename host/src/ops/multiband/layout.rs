//! The part of the panorama that multiband blending processes, for each camera and in total.

use glam::UVec2;
use shared_types::colour::{OverlapBox, OverlapRule};
use shared_types::multiband::{BORDER, CameraPart};
use shared_types::stitch::MIN_WEIGHT;

use crate::device::{DeviceError, Stream};
use crate::ops::colour::submit_box;
use crate::warp::DeviceWarp;
use crate::warp::bounds::BoxSearch;

/// The parts of a panorama that the pyramids cover, and their places in an image of level 0 with all cameras.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// The size of the panorama.
    pub(super) panorama: UVec2,
    /// The part that changes: the bounding box of all overlaps and of the reach of the last level. Its row is 0.
    pub(super) area: CameraPart,
    /// The part of each camera. It is empty for a camera outside `area`.
    pub(super) parts: Vec<CameraPart>,
    /// The columns of level 0 of the largest part, and the rows of the image with all parts and their borders.
    pub(super) image: UVec2,
}

/// Returns the number of cells of level `level` along both sides of a part with `size` pixels, without borders.
pub(super) fn extent(size: UVec2, level: u32) -> UVec2 {
    size.map(|side| side.div_ceil(1 << level))
}

impl Layout {
    /// Finds the overlaps and the visible part of each camera, and waits for them. Returns `None` if no cameras overlap.
    #[track_caller]
    pub(super) fn find(
        stream: &Stream,
        warp: &DeviceWarp,
        levels: u32,
    ) -> Result<Option<Self>, DeviceError> {
        warp.await_ready(stream)?;
        let cameras = warp.sources().len();
        let rule = OverlapRule { weight: MIN_WEIGHT, share: 0.0 };
        let search = |pair| submit_box(stream, warp, pair, rule);
        // Submit all searches before waiting for the first result.
        let pairs = (0..cameras).flat_map(|right| (0..right).map(move |left| [left, right]));
        let overlaps = pairs.map(search).collect::<Result<Vec<_>, _>>()?;
        let visible = (0..cameras).map(|camera| search([camera; 2]));
        let visible = visible.collect::<Result<Vec<_>, _>>()?;
        let read = |searches: Vec<BoxSearch>| {
            searches.iter().map(|search| search.read(stream)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self::new(warp.size(), &read(overlaps)?, &read(visible)?, levels))
    }

    /// Returns the layout for these bounding boxes of overlaps, which may be empty, and of the visible part of each
    /// camera. Returns `None` if all overlaps are empty.
    fn new(
        panorama: UVec2,
        overlaps: &[OverlapBox],
        visible: &[OverlapBox],
        levels: u32,
    ) -> Option<Self> {
        // The reach of level k is 2·(2ᵏ − 1) pixels for the means, and as many for the interpolation.
        let (cell, reach) = (1 << levels, 4 << levels);
        let union = |a: OverlapBox, b: &OverlapBox| OverlapBox {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
        };
        let grown = |OverlapBox { min, max }: OverlapBox| OverlapBox {
            min: min.saturating_sub(UVec2::splat(reach)) / cell * cell,
            max: max.saturating_add(UVec2::splat(reach)).min(panorama),
        };
        let part = |found: OverlapBox, row| CameraPart { min: found.min, size: found.size(), row };
        let overlap = overlaps.iter().filter(|overlap| !overlap.is_empty());
        let all = overlap.fold(OverlapBox::EMPTY, union);
        if all.is_empty() {
            return None;
        }
        let all = grown(all);
        let mut parts = Vec::with_capacity(visible.len());
        let mut image = UVec2::ZERO;
        for seen in visible {
            let seen = if seen.is_empty() { *seen } else { grown(*seen) };
            let seen = seen.intersection(&all);
            let seen =
                if seen.is_empty() { OverlapBox { min: all.min, max: all.min } } else { seen };
            let camera = part(seen, image.y);
            parts.push(camera);
            image.y += camera.size.y.next_multiple_of(cell) + 2 * BORDER * cell;
            image.x = image.x.max(camera.size.x);
        }
        Some(Self { panorama, area: part(all, 0), parts, image })
    }

    /// Returns the columns and rows of the image of level `level` with all cameras, and of that with the area. Both
    /// include borders.
    pub(super) fn images(&self, level: u32) -> [UVec2; 2] {
        // The rows of all cameras include their borders.
        let all = UVec2::new(extent(self.image, level).x + 2 * BORDER, self.image.y >> level);
        [all, extent(self.area.size, level) + 2 * BORDER]
    }

    /// Returns the columns and rows of the largest part at level `level`, without borders.
    pub(super) fn largest(&self, level: u32) -> UVec2 {
        let sizes = self.parts.iter().map(|part| extent(part.size, level));
        sizes.fold(UVec2::ZERO, UVec2::max)
    }

    /// Returns the first stored pixel of the area that changes, and the one just after the last one.
    pub(super) fn stored(&self, flip: bool) -> [UVec2; 2] {
        let (from, end) = (self.area.min, self.area.min + self.area.size);
        if flip { [self.panorama - end, self.panorama - from] } else { [from, end] }
    }
}

#[cfg(test)]
mod tests {
    use glam::uvec2;

    use super::*;

    fn area(min: [u32; 2], max: [u32; 2]) -> OverlapBox {
        OverlapBox { min: min.into(), max: max.into() }
    }

    /// Two cameras overlap in columns 500 to 600. With 3 levels, the reach is 32 pixels.
    #[test]
    fn parts_cover_the_overlap_and_its_surroundings() {
        let visible = [area([0, 10], [600, 290]), area([500, 10], [1000, 290])];
        let overlap = area([500, 10], [600, 290]);
        let layout = Layout::new(uvec2(1001, 301), &[overlap], &visible, 3).unwrap();
        assert_eq!((layout.area.min, layout.area.size), (uvec2(464, 0), uvec2(168, 301)));
        assert_eq!(layout.parts[0], layout.area);
        assert_eq!(layout.parts[1], CameraPart { row: 304 + 32, ..layout.area });
        assert_eq!(layout.image, uvec2(168, 2 * 336));
        assert_eq!(layout.stored(false), [uvec2(464, 0), uvec2(632, 301)]);
        assert_eq!(layout.stored(true), [uvec2(1001 - 632, 0), uvec2(1001 - 464, 301)]);
    }

    /// A camera that sees nothing of the overlaps has an empty part.
    #[test]
    fn a_camera_far_from_all_overlaps_is_empty() {
        let visible = [
            area([0, 0], [100, 50]),
            area([80, 0], [200, 50]),
            area([400, 0], [500, 50]),
            OverlapBox::EMPTY,
        ];
        let layout = Layout::new(uvec2(500, 50), &[area([80, 0], [100, 50])], &visible, 1).unwrap();
        assert!(layout.parts[..2].iter().all(|part| part.size.min_element() > 0));
        assert!(layout.parts[2..].iter().all(|part| part.size.min_element() == 0));
        assert_eq!(Layout::new(uvec2(500, 50), &[OverlapBox::EMPTY; 3], &visible, 1), None);
    }
}
