//! Multiband blending: changes a stitched panorama so that differences between cameras fade over a distance that fits
//! their size. Fine detail changes from one camera to the other within a few pixels, and differences in brightness over
//! up to a hundred.
//!
//! The method is that of Burt and Adelson, "A multiresolution spline with application to image mosaics" (1983), applied
//! to the differences between each camera's picture and the feathered mean of all pictures. Let B be the stitched
//! panorama, w the weights with which it was stitched, b the weights of the warp as it was rendered, and K the number of
//! levels.
//!
//! 1. A level is half as wide and high as the level before it; level 0 is the panorama. Each of its cells is the mean of
//!    4×4 cells of the level before, with the binomial weights (1, 3, 3, 1)/8 along each axis. Parts of a cell that a
//!    camera c does not see do not count. The weights w and b are averaged alike, but all cells count.
//! 2. The mean at level 1 is replaced by one sample: the camera shows the colour I in a cell, its picture at the mean
//!    place of the cell's pixels that it sees. F is the mean of these colours of all cameras with the weights b. The
//!    difference is D(1) = I − F. It is 0 where only one camera sees the cell, and undefined where c sees nothing.
//! 3. `up` interpolates a level at the cells of the level before, with the weights (3, 1)/4 along each axis.
//! 4. The sum of the bands from level k on is T(k) = Σ w·(D(k) − up D(k+1)) / Σ w + up T(k+1), over all cameras. At the
//!    last level, it is Σ w·D(K) / Σ w.
//! 5. The result is B + up T(1) − Σ w·up D(1) / Σ w. Without rounding, this is the sum of all bands, because B is the
//!    mean of the pictures with the weights w.
//!
//! If each camera's picture is split into bands instead of its difference from F, the sum is the same in the middle of
//! an overlap, because the bands of F add up to F. The differences have two advantages. They are 0 outside the overlaps,
//! so only the overlaps and their surroundings have to be processed. And at the edge of a picture, where its weight b
//! falls to 0, its difference is the whole difference to the other picture. So the difference continues beyond the edge,
//! and a seam along the edge fades like any other one. Masks may have any values from 0 to 1, so a seam may fade to
//! another path over time, and cameras may fade in and out.
//!
//! The kernels work on C(k) = T(k) − D(k), the correction of each camera:
//!
//! - T(k) = Σ w·(D(k) + up C(k+1)) / Σ w, and the result is B + Σ w·up C(1) / Σ w.
//! - Where one camera has the whole weight, its C(k) is up C(k+1). So only cells near a seam need their differences.
//!
//! | kernel | launches | result |
//! |---|---|---|
//! | [`multiband_survey`], [`multiband_probe`] | one each for a warp | the cameras of each tile, and the places of cells in pictures |
//! | [`multiband_weigh`], [`multiband_order`], [`multiband_reduce`] | one each, and one per level from the third on, if weights have changed | w at all levels, an order of the tiles |
//! | [`multiband_split`] | one per panorama | D(1) and D(2) in the overlaps |
//! | [`multiband_coarsen`] | one per panorama | D(3) and D(4) in the overlaps and their surroundings |
//! | [`multiband_correct`] | one per panorama | D(k) and C(k) of all further levels, C(2) |
//! | `multiband_apply_…` | one per panorama | the changed panorama |
//!
//! Level 0 is never computed. Tiles of [`TILE`](shared_types::multiband::TILE) pixels are listed by the host, so only
//! tiles in the overlaps and within the reach of the last level take time. Level 1 is stored tile by tile, in a slot for
//! each camera of a tile. Level 2 is in images with the parts of all cameras below each other. Colours are in levels (0
//! to 255) in half precision; their rounding changes the result by less than 0.2.
//!
//! The kernels do not treat the left and the right edge of a full circle as neighbours: a seam there keeps its step.

mod apply;
mod coarse;
mod pyramid;
mod retouch;
mod split;
mod survey;
mod weigh;

pub use apply::*;
pub use coarse::*;
pub use split::*;
pub use survey::*;
pub use weigh::*;
