//! The tiles of a panorama that multiband blending processes, and the part of the panorama that each camera's pyramid
//! covers.
//!
//! Tiles that several cameras see are the overlaps. The other tiles that blending processes are in their reach. A cell
//! of the last of K levels is the mean of 3·2ᴷ − 2 columns and rows, and it changes the same pixels. So differences
//! change pixels up to this distance from an overlap, and depend on weights and visible areas up to this distance.

use glam::{IVec2, UVec2, uvec2};
use shared_types::multiband::{COARSE_PIXELS, CameraPart, NO_SLOTS, PAD, SURVEY, TILE, Tile};

/// The squares of [`SURVEY`]² pixels of a panorama, with a bit for each camera that sees the square. The grid starts
/// [`PAD`] pixels before the panorama and ends at least as many pixels after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Survey {
    squares: UVec2,
    seen: Vec<u32>,
}

/// The tiles that kernels process, and the parts of all cameras.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// The tiles: first those of the overlaps, then those in their reach.
    pub(super) tiles: Vec<Tile>,
    /// The number of tiles of the overlaps. They have slots.
    pub(super) overlaps: u32,
    /// The number of slots.
    pub(super) slots: u32,
    /// The largest number of cameras of a tile.
    pub(super) most: u32,
    /// The squares of cells of level 2 in the overlaps and in their reach. Their cameras are those that see a pixel on
    /// which a level of the square depends.
    pub(super) squares: Vec<Tile>,
    /// The part of each camera, empty for a camera that sees no tile.
    pub(super) parts: Vec<CameraPart>,
    /// The columns and rows of level 0 of an image with the parts of all cameras below each other.
    pub(super) image: UVec2,
}

impl Survey {
    /// Returns the number of columns and rows of squares for a panorama of `size` pixels.
    pub(super) fn squares(size: UVec2) -> UVec2 {
        // Tiles and squares of level 2 consist of whole squares.
        (size + 2 * PAD).map(|side| side.next_multiple_of(COARSE_PIXELS) / SURVEY)
    }

    /// Creates a survey from the cameras of each square, row by row.
    pub(super) fn new(size: UVec2, seen: Vec<u32>) -> Self {
        Self { squares: Self::squares(size), seen }
    }

    /// Returns all cameras that see any of the squares from `from` to just before `end`. Squares outside the grid count
    /// as empty.
    fn cameras(&self, from: IVec2, end: IVec2) -> u32 {
        let (from, end) = (from.max(IVec2::ZERO), end.min(self.squares.as_ivec2()));
        let row = |y: i32| (from.x..end.x).map(move |x| self.seen[self.index(x, y)]);
        (from.y..end.y).flat_map(row).fold(0, |all, cameras| all | cameras)
    }

    fn index(&self, x: i32, y: i32) -> usize {
        y as usize * self.squares.x as usize + x as usize
    }

    /// Returns for each square whether a square that several cameras see is at most `reach` squares away along both
    /// axes.
    fn near_overlaps(&self, reach: i32) -> Vec<bool> {
        let UVec2 { x: columns, y: rows } = self.squares;
        // Spread along rows first, then along columns.
        let spread = |found: Vec<bool>, step: usize, at: &dyn Fn(usize) -> i32, len: u32| {
            let near = |i: usize| {
                let mut offsets = -reach..=reach;
                offsets.any(|offset| {
                    let inside = (0..len as i32).contains(&(at(i) + offset));
                    inside && found[i.wrapping_add_signed(offset as isize * step as isize)]
                })
            };
            (0..found.len()).map(near).collect::<Vec<_>>()
        };
        let columns_of = columns as usize;
        let found = self.seen.iter().map(|cameras| cameras.count_ones() > 1).collect();
        let found = spread(found, 1, &|i| (i % columns_of) as i32, columns);
        spread(found, columns_of, &|i| (i / columns_of) as i32, rows)
    }
}

impl Layout {
    /// Returns the layout for a number of cameras and of levels, or `None` if no cameras overlap.
    pub(super) fn new(survey: &Survey, cameras: usize, levels: u32) -> Option<Self> {
        let reach = (3_u32 << levels).div_ceil(SURVEY) as i32;
        let near = survey.near_overlaps(reach);
        let any_near = |from: IVec2, size: IVec2| {
            let mut rows = from.y..from.y + size.y;
            rows.any(|y| (from.x..from.x + size.x).any(|x| near[survey.index(x, y)]))
        };
        // Returns the tiles of `side` pixels that are near overlaps. Their cameras are those that see a square at most
        // `margin` squares away.
        let tiles = |side: UVec2, margin: i32| {
            let side = (side / SURVEY).as_ivec2();
            let grid = survey.squares / side.as_uvec2();
            let places = (0..grid.y).flat_map(move |y| (0..grid.x).map(move |x| uvec2(x, y)));
            let tile = move |UVec2 { x: column, y: row }: UVec2| {
                let from = uvec2(column, row).as_ivec2() * side;
                let cameras = survey.cameras(from - margin, from + side + margin);
                let found = cameras != 0 && any_near(from, side);
                found.then_some(Tile { column, row, cameras, slots: NO_SLOTS })
            };
            places.filter_map(tile).collect::<Vec<_>>()
        };
        let mut all = tiles(TILE.into(), 0);
        all.sort_by_key(|tile| tile.cameras.count_ones() < 2);
        let (mut overlaps, mut slots, mut most) = (0, 0, 0);
        for tile in all.iter_mut().take_while(|tile| tile.cameras.count_ones() > 1) {
            tile.slots = slots;
            slots += tile.cameras.count_ones();
            most = most.max(tile.cameras.count_ones());
            overlaps += 1;
        }
        if overlaps == 0 {
            return None;
        }
        // The differences at the last level that a square needs are means of cells up to this distance.
        let around = 4 * ((1_u32 << (levels - 1)) - 1);
        let squares = tiles(UVec2::splat(COARSE_PIXELS), around.div_ceil(SURVEY) as i32);
        let mut image = UVec2::ZERO;
        let grid = survey.squares * SURVEY / COARSE_PIXELS;
        let part = |camera: usize| {
            let seen = all.iter().filter(|tile| tile.cameras & 1 << camera != 0);
            let bounds = seen.map(|tile| {
                let from = uvec2(tile.column, tile.row) * UVec2::from(TILE);
                [from / COARSE_PIXELS, (from + UVec2::from(TILE) - 1) / COARSE_PIXELS + 1]
            });
            let bounds = bounds.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
            // A cell of the last level is a mean of pixels up to one cell around it.
            let around = |[from, end]: [UVec2; 2]| {
                [from.saturating_sub(UVec2::ONE), (end + 1).min(grid)].map(|at| at * COARSE_PIXELS)
            };
            let [from, end] = bounds.map(around).unwrap_or_default();
            let part = CameraPart { min: from, size: end - from, row: image.y };
            image = uvec2(image.x.max(part.size.x), image.y + part.size.y);
            part
        };
        let parts = (0..cameras).map(part).collect();
        Some(Self { tiles: all, overlaps, slots, most, squares, parts, image })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the survey of a panorama of 800×100 pixels in which cameras see ranges of columns.
    fn survey(ranges: &[[u32; 2]]) -> Survey {
        let size = uvec2(800, 100);
        let squares = Survey::squares(size);
        let seen = |i: u32| {
            let [from, row] =
                [i % squares.x, i / squares.x].map(|i| (i * SURVEY) as i32 - PAD as i32);
            let sees = |&[first, end]: &[u32; 2]| {
                (first as i32) < from + SURVEY as i32 + 3 && end as i32 > from - 3
            };
            let rows = row + SURVEY as i32 + 3 > 0 && row - 3 < size.y as i32;
            let cameras = ranges.iter().enumerate().filter(|(_, range)| rows && sees(range));
            cameras.fold(0, |all, (camera, _)| all | 1 << camera)
        };
        Survey::new(size, (0..squares.element_product()).map(seen).collect())
    }

    /// Two cameras overlap in columns 400 to 480, which are tiles 7 and 8. With 5 levels, pixels change up to 94
    /// columns beside it.
    #[test]
    fn tiles_are_the_overlap_and_its_reach() {
        let layout = Layout::new(&survey(&[[0, 480], [400, 800]]), 2, 5).unwrap();
        let columns = |tiles: &[Tile]| {
            let mut columns: Vec<_> = tiles.iter().map(|tile| tile.column).collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        let (overlaps, reach) = layout.tiles.split_at(layout.overlaps as usize);
        assert_eq!(columns(overlaps), [7, 8]);
        assert!(overlaps.iter().all(|tile| tile.cameras == 3 && tile.slots != NO_SLOTS));
        assert_eq!(columns(reach), [5, 6, 9, 10]);
        assert!(reach.iter().all(|tile| [1, 2].contains(&tile.cameras)));
        // From the row before the panorama to the last one in it, whose end is further away than a cell of level 1.
        assert_eq!(overlaps.iter().map(|tile| tile.row).min(), Some(1));
        assert_eq!(overlaps.iter().map(|tile| tile.row).max(), Some(5));
        assert_eq!((layout.slots, layout.most), (2 * layout.overlaps, 2));
        assert_eq!(columns(&layout.squares), [5, 6, 7, 8, 9, 10]);
        assert_eq!(layout.parts[0].min, uvec2(4 * 64, 0));
        assert_eq!(layout.parts[0].size, uvec2(6 * 64, 256));
        assert_eq!(layout.parts[1].min, uvec2(6 * 64, 0));
        assert_eq!((layout.parts[1].row, layout.image), (256, uvec2(384, 512)));
    }

    /// A camera far from all overlaps has an empty part.
    #[test]
    fn a_camera_far_from_all_overlaps_is_empty() {
        let layout = Layout::new(&survey(&[[0, 100], [80, 200], [600, 800]]), 3, 1).unwrap();
        assert!(layout.parts[..2].iter().all(|part| part.size.min_element() > 0));
        assert_eq!(layout.parts[2].size, UVec2::ZERO);
        assert_eq!(Layout::new(&survey(&[[0, 100], [200, 300]]), 2, 6), None);
    }
}
