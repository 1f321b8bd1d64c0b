//! Assigns a camera to each cell by expansion moves.

use glam::{IVec2, UVec2, Vec3};
use shared_types::colour::OverlapBox;
use shared_types::seam::{ASIDE, BASE, BREACH, FREEDOM, LARGEST, MARGIN, NOISE, PER_LEVEL};

use super::cells::{CellGrid, CellView};
use super::min_cut::Graph;

/// The label of a cell that no camera sees.
pub(super) const NOBODY: u8 = u8::MAX;

/// Maximum number of rounds in which each camera expands once. Most cuts are final after two.
const ROUNDS: usize = 4;

/// The cost of a camera in a cell that it does not see. It is higher than that of any cut around the cell.
const BLIND: i64 = 1 << 32;

/// The maximum cost of a cell whose samples are all clipped in this camera, but not in another one. Clipped pixels have
/// lost their true levels, so colour correction cannot match them. The cost is half that of a cut between two cells
/// that agree.
const CLIPPED_COST: f32 = BASE as f32;

/// The difference in levels from the camera with the fewest clipped samples, after subtraction of [`NOISE`], at which
/// the cost of clipped samples is largest. Clipped samples that mean right cost nothing.
const VISIBLE: f32 = 8.0;

/// The camera of each cell.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(super) grid: CellGrid,
    /// One camera per cell, row by row, or [`NOBODY`].
    pub(super) of: Vec<u8>,
    pub(super) feather: f32,
}

impl Labels {
    /// Finds the cut between the cameras with these views, at most 64. `feather` is the width of the blend in pixels;
    /// the cut stays half of it away from differences between the pictures.
    pub(crate) fn find(grid: CellGrid, views: &[CellView], feather: f32) -> Self {
        let cells = grid.cells();
        let reach = (0.5 * feather / grid.cell as f32).round().max(1.0) as i32;
        let mut search = Search::new(cells, views, reach);
        let first = |cell| views.iter().position(|view| view.mean(cell).is_some());
        let whole = OverlapBox { min: UVec2::ZERO, max: cells };
        let mut of: Vec<u8> =
            every(whole).map(|cell| first(cell).map_or(NOBODY, |camera| camera as u8)).collect();
        for _ in 0..ROUNDS {
            let mut better = false;
            for (camera, view) in views.iter().enumerate() {
                let place = view.place;
                if place.is_empty() {
                    continue;
                }
                let expanded = search.expand(&of, camera as u8);
                // A move is the optimum only if the costs are a metric, which costs of pictures nearly are.
                if search.cost(&expanded, place) < search.cost(&of, place) {
                    (of, better) = (expanded, true);
                }
            }
            if !better {
                break;
            }
        }
        Self { grid, of, feather }
    }
}

/// Yields the cells of a part of a grid, row by row.
fn every(place: OverlapBox) -> impl Iterator<Item = UVec2> {
    let columns = place.min.x..place.max.x;
    (place.min.y..place.max.y).flat_map(move |y| columns.clone().map(move |x| UVec2::new(x, y)))
}

/// The cost of a cut at each cell of the overlap of two cameras, row by row. It is 0 in cells that not both see.
struct PairCosts {
    place: OverlapBox,
    costs: Vec<u16>,
}

struct Search<'a> {
    cells: UVec2,
    views: &'a [CellView],
    /// Half the feather in cells.
    reach: i32,
    /// For each cell, the largest number of samples that one camera sees.
    seen: Vec<u32>,
    /// For each cell, the index of the camera that sees the cell with the smallest clipped fraction, or 0.
    clearest: Vec<u8>,
    /// The costs of the pairs of cameras that were needed so far. The pair `a` < `b` has the index `a · cameras + b`.
    pairs: Vec<Option<PairCosts>>,
}

impl<'a> Search<'a> {
    fn new(cells: UVec2, views: &'a [CellView], reach: i32) -> Self {
        let whole = OverlapBox { min: UVec2::ZERO, max: cells };
        let seen =
            |cell| views.iter().filter_map(|view| view.mean(cell)).map(|mean| mean.seen).max();
        let seen = every(whole).map(|cell| seen(cell).unwrap_or(0)).collect();
        let clearest = |cell| {
            let means = (0_u8..).zip(views).filter_map(|(i, view)| Some((i, view.mean(cell)?)));
            let least = means.min_by(|(_, a), (_, b)| a.clipped().total_cmp(&b.clipped()));
            least.map_or(0, |(camera, _)| camera)
        };
        let clearest = every(whole).map(clearest).collect();
        let pairs = std::iter::repeat_with(|| None).take(views.len() * views.len()).collect();
        Self { cells, views, reach, seen, clearest, pairs }
    }

    fn index(&self, cell: UVec2) -> usize {
        (cell.y * self.cells.x + cell.x) as usize
    }

    /// Returns the pairs of adjacent cells in a part of the grid, each pair once. The second cell is to the right of
    /// the first or below it, and may be outside the part. Includes the pairs whose first cell is just before the part.
    fn neighbours(&self, place: OverlapBox) -> impl Iterator<Item = [UVec2; 2]> + use<> {
        let cells = self.cells;
        let min = place.min.saturating_sub(UVec2::ONE);
        every(OverlapBox { min, ..place })
            .flat_map(move |cell| [[cell, cell + UVec2::X], [cell, cell + UVec2::Y]])
            .filter(move |[_, next]| next.cmplt(cells).all())
    }

    /// Returns the cost of showing a camera in a cell: a cost for each part of the cell that other cameras see and this
    /// camera does not, and one for clipped samples that another camera shows unclipped.
    fn own(&self, cell: UVec2, camera: u8) -> i64 {
        let Some(mean) = self.views[usize::from(camera)].mean(cell) else { return BLIND };
        let most = self.seen[self.index(cell)];
        let blind = BREACH * (most - mean.seen) / most.max(1);
        let clearest = &self.views[usize::from(self.clearest[self.index(cell)])];
        let clipped = clearest.mean(cell).map_or(0.0, |clear| {
            let levels = (mean.levels - clear.levels).abs().element_sum() / 3.0;
            let visible = ((levels - NOISE) / VISIBLE).clamp(0.0, 1.0);
            CLIPPED_COST * visible * (mean.clipped() - clear.clipped())
        });
        i64::from(blind + clipped.round() as u32)
    }

    /// Returns the cost of showing camera `a` in cell `p` and camera `b` in the adjacent cell `q`.
    fn between(&mut self, [p, q]: [UVec2; 2], [a, b]: [u8; 2]) -> i64 {
        if a == b || a == NOBODY || b == NOBODY {
            return 0;
        }
        let (low, high) = (usize::from(a.min(b)), usize::from(a.max(b)));
        let at = low * self.views.len() + high;
        if self.pairs[at].is_none() {
            self.pairs[at] = Some(self.pair([low, high]));
        }
        let Some(pair) = &self.pairs[at] else { return 0 };
        match (pair.at(p), pair.at(q)) {
            (0, _) | (_, 0) => i64::from(BREACH),
            (at_p, at_q) => i64::from(at_p) + i64::from(at_q),
        }
    }

    /// Returns the cost of labels in a part of the grid.
    fn cost(&mut self, of: &[u8], place: OverlapBox) -> i64 {
        let label = |cell: UVec2| (cell, of[self.index(cell)]);
        let seen = every(place).map(label).filter(|(_, label)| *label != NOBODY);
        let mut sum: i64 = seen.map(|(cell, label)| self.own(cell, label)).sum();
        for pair in self.neighbours(place) {
            sum += self.between(pair, pair.map(|cell| of[self.index(cell)]));
        }
        sum
    }

    /// Returns the labels after the best move in which any cells change to `camera`.
    fn expand(&mut self, of: &[u8], camera: u8) -> Vec<u8> {
        let view = &self.views[usize::from(camera)];
        let free = |cell: &UVec2| of[self.index(*cell)] != camera && view.mean(*cell).is_some();
        let own: Vec<UVec2> = every(view.place).filter(free).collect();
        let mut node = vec![usize::MAX; of.len()];
        own.iter().enumerate().for_each(|(i, &cell)| node[self.index(cell)] = i);
        let mut graph = Graph::new(own.len());
        for (i, &cell) in own.iter().enumerate() {
            let label = of[self.index(cell)];
            graph.add_node_cost(i, self.own(cell, label), self.own(cell, camera));
        }
        for ends in self.neighbours(view.place) {
            let nodes = ends.map(|cell| node[self.index(cell)]);
            if nodes == [usize::MAX; 2] {
                continue;
            }
            let [a, b] = ends.map(|cell| of[self.index(cell)]);
            let kept = self.between(ends, [a, b]);
            // The cost if only the second cell changes, and if only the first one does.
            let (second, first) =
                (self.between(ends, [a, camera]), self.between(ends, [camera, b]));
            match nodes {
                [usize::MAX, usize::MAX] => {}
                [p, usize::MAX] => graph.add_node_cost(p, kept, first),
                [usize::MAX, q] => graph.add_node_cost(q, kept, second),
                [p, q] => {
                    graph.add_node_cost(p, kept, first);
                    graph.add_node_cost(q, first, 0);
                    graph.add_arc([p, q], (first + second - kept).max(0), 0);
                }
            }
        }
        let mut expanded = of.to_vec();
        for (cell, changes) in own.iter().zip(graph.second_side()) {
            if changes {
                expanded[self.index(*cell)] = camera;
            }
        }
        expanded
    }

    /// Computes the cost of a cut between two cameras at each cell that both see, as the kernel `seam_cost` does.
    fn pair(&self, cameras: [usize; 2]) -> PairCosts {
        let [a, b] = cameras.map(|camera| &self.views[camera]);
        let place = a.place.intersection(&b.place);
        if place.is_empty() {
            return PairCosts { place, costs: Vec::new() };
        }
        let size = place.size();
        let every = || every(OverlapBox { min: UVec2::ZERO, max: size });
        let difference = |at: UVec2| {
            let (a, b) = (a.mean(place.min + at)?, b.mean(place.min + at)?);
            Some(a.levels - b.levels)
        };
        let differences: Vec<Option<Vec3>> = every().map(difference).collect();
        let load = |at: IVec2| {
            let inside = at.cmpge(IVec2::ZERO).all() && at.cmplt(size.as_ivec2()).all();
            if inside { differences[(at.y * size.x as i32 + at.x) as usize] } else { None }
        };
        let strength = |levels: Vec3| levels.abs().element_sum() / 3.0;
        let single = |at: UVec2| {
            let here = load(at.as_ivec2())?;
            let slope = |next: Option<Vec3>| next.map_or(0.0, |next| strength(next - here));
            let next = [IVec2::X, IVec2::Y].map(|step| slope(load(at.as_ivec2() + step)));
            Some(strength(here) + 0.5 * (next[0] + next[1]))
        };
        let singles: Vec<Option<f32>> = every().map(single).collect();
        let cost = |at: UVec2| {
            let (Some(a), Some(b)) = (a.mean(place.min + at), b.mean(place.min + at)) else {
                return 0;
            };
            let levels = smoothed(&singles, size, at.as_ivec2(), self.reach);
            let share = a.margin.min(b.margin) / (a.margin + b.margin);
            let bound = 1.0 - (FREEDOM * share).min(1.0);
            let aside = 1.0 - 2.0 * share;
            let levels = (levels - NOISE).clamp(0.0, LARGEST) * PER_LEVEL as f32;
            let extra = bound * MARGIN as f32 + aside * ASIDE as f32;
            (BASE as f32 + extra + levels).round() as u16
        };
        PairCosts { place, costs: every().map(cost).collect() }
    }
}

/// Returns the mean over 3×3 adjacent cells and 3×3 cells that are `reach` cells apart, with the weights 1 2 1 along
/// each axis. Ignores missing cells.
fn smoothed(singles: &[Option<f32>], size: UVec2, at: IVec2, reach: i32) -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for apart in [1, reach] {
        for step in 0..9 {
            let step = IVec2::new(step % 3 - 1, step / 3 - 1);
            let weight = (2 - step.x.abs()) as f32 * (2 - step.y.abs()) as f32;
            let at = at + step * apart;
            let inside = at.cmpge(IVec2::ZERO).all() && at.cmplt(size.as_ivec2()).all();
            if inside && let Some(levels) = singles[(at.y * size.x as i32 + at.x) as usize] {
                sum += weight * levels;
                weights += weight;
            }
        }
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

impl PairCosts {
    fn at(&self, cell: UVec2) -> u16 {
        if !self.place.contains(cell) {
            return 0;
        }
        let at = cell - self.place.min;
        self.costs[(at.y * self.place.size().x + at.x) as usize]
    }
}

#[cfg(test)]
mod tests {
    use shared_types::Rgba8;

    use super::*;
    use crate::io::picture::Picture;
    use crate::ops::graph_cut::SourcePlanes;

    const SIZE: UVec2 = UVec2::new(160, 64);

    /// Returns the cells that show the second of two cameras which both see the whole panorama. `levels` are the levels
    /// of each camera in the left and the right half, before a correction by `gain`.
    fn second(levels: [[u8; 2]; 2], gain: [f32; 2]) -> Vec<bool> {
        let grid = CellGrid::new(SIZE);
        let pixels = || (0..SIZE.element_product()).map(|i| UVec2::new(i % SIZE.x, i / SIZE.x));
        let view = |camera: usize| {
            let shown = |at: UVec2| levels[camera][usize::from(at.x >= SIZE.x / 2)];
            let pixel = |at| Rgba8::opaque(shown(at), shown(at), shown(at));
            let picture =
                Picture::from_pixels(SIZE.x, SIZE.y, pixels().map(pixel).collect()).unwrap();
            let x: Vec<f32> = pixels().map(|at| at.x as f32).collect();
            let y: Vec<f32> = pixels().map(|at| at.y as f32).collect();
            let margin = vec![20.0; x.len()];
            let (first, width) = (UVec2::ZERO, SIZE.x as usize);
            let planes = SourcePlanes { first, step: 1, width, x: &x, y: &y, margin: &margin };
            CellView::new(&grid, &picture, planes, |pixel, _| {
                Vec3::splat(gain[camera] * f32::from(pixel.r))
            })
        };
        let labels = Labels::find(grid, &[view(0), view(1)], 4.0);
        labels.of.iter().map(|&label| label == 1).collect()
    }

    #[test]
    fn a_clipped_area_shows_the_camera_that_is_not_clipped() {
        // The left half is 200 after correction, and the right half 230. The first camera shows 255 instead.
        let found = second([[200, 255], [100, 115]], [1.0, 2.0]);
        let columns = CellGrid::new(SIZE).cells().x as usize;
        let right = |i: usize| i % columns > columns / 2;
        assert!((0..found.len()).filter(|&i| right(i)).all(|i| found[i]), "{found:?}");
    }

    #[test]
    fn clipped_cells_cost_nothing_if_the_cameras_agree() {
        let nobody = |found: Vec<bool>| found.iter().all(|second| !second);
        // Both are clipped, or the clipped one means right, or the darker one is wrong but nothing is clipped.
        assert!(nobody(second([[200, 255], [200, 255]], [1.0, 1.0])));
        assert!(nobody(second([[200, 255], [200, 253]], [1.0, 1.0])));
        assert!(nobody(second([[200, 253], [100, 115]], [1.0, 2.0])));
    }
}
