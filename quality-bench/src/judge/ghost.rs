//! Ghosts: blocks of the panorama that show two things at once.
//!
//! A block of the panorama is explained by the truth, at the shift that fits best. A ghost is a second term that
//! explains much of the rest: the truth at another shift, or the same place as another camera sees it. Noise leaves a
//! rest that nothing explains. A blur or a small misalignment leaves a rest that a copy at a near shift explains as
//! well. So none of them is a ghost.

use crate::case::Truth;
use crate::grid::{Grid, Mask, Picture, Plane};

/// Side of a block in truth pixels.
pub(crate) const BLOCK: usize = 24;
/// The largest shift at which a block is first aligned, and the shifts at which a second copy is searched.
const ALIGN: isize = 3;
const NEAREST: isize = 4;
const FARTHEST: isize = 14;
/// The least part of a block that the second term must have.
const STRENGTH: f64 = 0.12;
/// The least part of the rest that the second term must explain.
const EXPLAINED: f64 = 0.4;
/// How much more of the rest the second term must explain than a copy at a nearer shift than [`NEAREST`].
const BEYOND_NEAR: f64 = 0.15;
/// The least standard deviation of a block of the truth, in levels.
const TEXTURE: f64 = 7.0;
/// The least root mean square of the rest, in levels, that is examined. Less is not visible.
const VISIBLE: f64 = 4.0;

/// A block's pixels with the mean removed.
type Block = [f32; BLOCK * BLOCK];

/// Returns the block at `left` and `top`, or `None` if it is not inside the plane.
fn block(plane: &Plane, left: isize, top: isize) -> Option<Block> {
    let (x, y) = (usize::try_from(left).ok()?, usize::try_from(top).ok()?);
    if x + BLOCK > plane.width || y + BLOCK > plane.height {
        return None;
    }
    let mut values = [0.0; BLOCK * BLOCK];
    for (row, line) in values.chunks_exact_mut(BLOCK).enumerate() {
        let start = (y + row) * plane.width + x;
        line.copy_from_slice(&plane.data[start..start + BLOCK]);
    }
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    values.iter_mut().for_each(|value| *value -= mean);
    Some(values)
}

fn dot(a: &Block, b: &Block) -> f64 {
    let mut sums = [0.0f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    f64::from(sums.iter().sum::<f32>())
}

/// A block of the panorama and the term that explains it best.
struct Explained {
    here: Block,
    first: Block,
    /// Index of the camera's view, and the left and top of the term in it.
    view: usize,
    place: [isize; 2],
    /// Products of the term with itself, of the term with the block, and of the block with itself.
    aa: f64,
    ap: f64,
    pp: f64,
}

impl Explained {
    /// Finds the view and the shift that explain the block at `left` and `top` best.
    fn new(panorama: &Plane, truths: &[&Plane], left: isize, top: isize) -> Option<Self> {
        let here = block(panorama, left, top)?;
        let pp = dot(&here, &here);
        let mut best: Option<Self> = None;
        for (view, truth) in truths.iter().enumerate() {
            for (dx, dy) in shifts(ALIGN) {
                let Some(first) = block(truth, left + dx, top + dy) else { continue };
                let (aa, ap) = (dot(&first, &first), dot(&first, &here));
                let explained = |aa: f64, ap: f64| ap.max(0.0).powi(2) / aa.max(1e-9);
                if best.as_ref().is_none_or(|b| explained(aa, ap) > explained(b.aa, b.ap)) {
                    let place = [left + dx, top + dy];
                    best = Some(Self { here, first, view, place, aa, ap, pp });
                }
            }
        }
        best
    }

    /// Returns the mean square of what the term does not explain.
    fn rest(&self) -> f64 {
        (self.pp - self.ap * self.ap / self.aa.max(1e-9)) / (BLOCK * BLOCK) as f64
    }

    /// Adds a second term.
    fn with(&self, second: &Block) -> Second {
        let (bb, ab, bp) = (dot(second, second), dot(&self.first, second), dot(second, &self.here));
        let determinant = self.aa * bb - ab * ab;
        if determinant < 0.05 * self.aa * bb {
            return Second::default();
        }
        let a = (self.ap * bb - bp * ab) / determinant;
        let b = (bp * self.aa - self.ap * ab) / determinant;
        let alone = self.pp - self.ap * self.ap / self.aa;
        let explained = 1.0 - (self.pp - a * self.ap - b * bp) / alone;
        let part = if a > 0.0 && b > 0.0 { a.min(b) / (a + b) } else { 0.0 };
        Second { part, explained }
    }
}

/// What a second term adds to the explanation of a block.
#[derive(Clone, Copy, Default)]
struct Second {
    /// The part of the block that the weaker of both terms has, from 0 to 0.5. 0 if a term is negative.
    part: f64,
    /// The part of the rest of the first term that the second explains.
    explained: f64,
}

/// Returns all shifts of up to `most` pixels in each direction.
fn shifts(most: isize) -> impl Iterator<Item = (isize, isize)> {
    (-most..=most).flat_map(move |dy| (-most..=most).map(move |dx| (dx, dy)))
}

/// Examines the block at `left` and `top`. Returns whether it is a ghost, or `None` if the block has too little
/// texture.
fn examine(panorama: &Plane, truths: &[&Plane], left: isize, top: isize) -> Option<bool> {
    let block_here = Explained::new(panorama, truths, left, top)?;
    if block_here.aa < TEXTURE * TEXTURE * (BLOCK * BLOCK) as f64 {
        return None;
    }
    if block_here.rest() < VISIBLE * VISIBLE {
        return Some(false);
    }
    let (truth, [x, y]) = (truths[block_here.view], block_here.place);
    let at = |(dx, dy)| {
        block(truth, x + dx, y + dy).map_or(Second::default(), |second| block_here.with(&second))
    };
    // A block that is a bit blurred or shifted is explained by near copies, too. An edge without other texture is
    // explained by all copies along it.
    let is_near = |(dx, dy): &(isize, isize)| dx * dx + dy * dy < NEAREST * NEAREST;
    let near = shifts(NEAREST).filter(is_near).map(|shift| at(shift).explained).fold(0.0, f64::max);
    let views = truths.iter().enumerate().filter(|(i, _)| *i != block_here.view);
    let views = views.filter_map(|(_, truth)| Some(block_here.with(&block(truth, left, top)?)));
    let far = shifts(FARTHEST).filter(|shift| !is_near(shift)).map(at);
    let is_ghost = |second: Second| {
        second.part > STRENGTH && second.explained > EXPLAINED.max(near + BEYOND_NEAR)
    };
    Some(views.chain(far).any(is_ghost))
}

/// Returns the part of the textured blocks that have a ghost, of those that several cameras see. `None` if there are
/// fewer than five such blocks.
pub(super) fn ghosts(panorama: &Picture, truth: &Truth, shown: &Mask) -> Option<f64> {
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
        let pixels =
            || (0..BLOCK * BLOCK).map(|i| (left as usize + i % BLOCK, top as usize + i / BLOCK));
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
    let examined: Vec<bool> = found.data.iter().flatten().copied().collect();
    let ghosts = examined.iter().filter(|&&is_ghost| is_ghost).count();
    (examined.len() >= 5).then(|| ghosts as f64 / examined.len() as f64)
}
