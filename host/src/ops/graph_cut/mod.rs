//! Cuts: seams of stills, for any number of cameras and any arrangement of their pictures.
//!
//! A cut assigns one camera to each cell of a coarse grid over the panorama, so that neighbouring cells with different
//! cameras mean alike in both. It may have any outline: several lines, a ring around a picture inside another one, or
//! junctions of several cameras. In contrast, a [`Seam`](super::seam::Seam) is one line from side to side, which a GPU
//! can search for in every frame of a video.
//!
//! 1. `cells` samples the picture of each camera on the grid.
//! 2. `labels` assigns the cameras. It starts with the first camera that sees each cell. In each step, one camera takes
//!    over the cells that lower the total cost most (α-expansion: Boykov, Veksler and Zabih, PAMI 2001), which is a
//!    minimum cut of a graph (`min_cut`). For two cameras, the result is the optimum.
//! 3. `weights` turns the assignment into blending weights that change gradually across the cut.
//!
//! The costs are those of seams ([`kernels_gpu::seam`]), and a cost for clipped pixels where another camera shows
//! unclipped ones. The host computes the cut: a grid has at most 65,536 cells. A cut cannot hide a large parallax, and
//! it may leave out a picture that others cover completely.

mod cells;
mod labels;
mod min_cut;
mod weights;

pub(crate) use cells::{CellGrid, CellView, SPACING, SourcePlanes};
pub(crate) use labels::Labels;
