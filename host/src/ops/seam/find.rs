//! Finds the seam of two cameras for a pair of frames, and writes the blending weights of the seam.

use kernels_gpu::seam::{SeamDifferenceNv12, SeamDifferenceP010, SeamDifferenceRgba8, SeamWeights};
use shared_types::seam::{BLOCK, SeamBlend, SeamCosts, SeamGrid, SeamLook};

use super::{SeamError, SeamOptions};
use crate::device::{Buffer, DeviceError, LaunchConfig, Pinned, Stream};
use crate::frame::{FrameView, PixelFormat};
use crate::ops::colour::Colours;
use crate::ops::seam::gridded::{Gridded, cover};
use crate::ops::seam::search::Search;
use crate::ops::stitch::{Pictures, StitchError};
use crate::warp::DeviceWarp;
use cuda_std::DeviceSlice;
use glam::{UVec2, Vec2Swizzles};

/// The error if a warp does not have the two cameras of a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the warp does not have two cameras; use `Seams`")]
struct TwoCameras;

/// The error if a warp does not have the size of the warp for which the seam was created.
#[derive(Debug, thiserror::Error)]
#[error("the warp has {} × {} pixels, but the seam was created for {} × {}; create a seam for this warp", found.x, found.y, expected.x, expected.y)]
struct OtherSize {
    found: UVec2,
    expected: UVec2,
}

/// The seam of two cameras of a warp: the grid over the overlap, the current and the previous path, and the memory to
/// search for a better path.
///
/// The search and the writing of weights may run on different streams.
#[derive(Debug)]
pub struct Seam {
    cameras: [usize; 2],
    search: Search,
    /// The current path and the previous path.
    paths: [Buffer<u32>; 2],
    /// The number of valid paths in `paths`, 0 to 2.
    known: usize,
    feather: f32,
    /// The size of the warp in pixels.
    size: UVec2,
}

impl Seam {
    /// Creates the seam of two cameras of a warp: selects its direction, and the grid of cells over the overlap. Waits
    /// for the device.
    ///
    /// # Errors
    /// Returns [`SeamError`] if the warp does not have the cameras or does not allow a seam, the feather is out of
    /// range, or the device fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
        options: SeamOptions,
    ) -> Result<Self, SeamError> {
        options.check()?;
        let search = Search::new(stream, Gridded::best(stream, warp, cameras, options)?, options)?;
        let path = || Buffer::new(stream.device(), search.gridded.grid.cells().y);
        let paths = [path()?, path()?];
        stream.synchronize()?;
        Ok(Self { cameras, search, paths, known: 0, feather: options.feather, size: warp.size() })
    }

    /// Returns the two cameras.
    #[must_use]
    pub fn cameras(&self) -> [usize; 2] {
        self.cameras
    }

    /// Returns the grid of cells on which paths are searched.
    #[must_use]
    pub fn grid(&self) -> SeamGrid {
        self.search.gridded.grid
    }

    /// Submits the search for the best seam path in a pair of frames, after correcting the frames by `colours`, without
    /// waiting. `warp` must be the warp for which the seam was created.
    ///
    /// # Safety
    /// Earlier searches of this seam on other streams must be done before this call. Until this search is done, no
    /// other search of this seam may be submitted to another stream.
    ///
    /// # Errors
    /// Returns [`StitchError`] if the frames do not match the warp or the device fails.
    #[track_caller]
    pub unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        left: FrameView<'_>,
        right: FrameView<'_>,
        colours: Colours,
    ) -> Result<(), StitchError> {
        self.check(warp)?;
        let (l, r) = (left.format(), right.format());
        let ([planes_left, planes_right], sources) = warp.pair(self.cameras)?;
        Pictures::new([left, right], &sources)?;
        let [a, b] = self.cameras;
        let grid = self.grid();
        let decode = l.pixels.to_rgb();
        let look = SeamLook { left: colours[a], right: colours[b], decode };
        macro_rules! launch {
            ($kernel:ident, $left:ident, $right:ident) => {
                stream.launch(
                    &cover(grid.cells()),
                    &$kernel {
                        left: $left,
                        right: $right,
                        planes_left,
                        planes_right,
                        grid,
                        look,
                        motion: self.search.motion.view_mut(),
                        out: self.search.difference.view_mut(),
                    },
                )?
            };
        }
        match (left, right) {
            (FrameView::Rgba8(left), FrameView::Rgba8(right)) => {
                launch!(SeamDifferenceRgba8, left, right)
            }
            (FrameView::Nv12(left, a), FrameView::Nv12(right, b)) if a == b => {
                launch!(SeamDifferenceNv12, left, right)
            }
            (FrameView::P010(left, a), FrameView::P010(right, b)) if a == b => {
                launch!(SeamDifferenceP010, left, right)
            }
            _ => return Err(StitchError::formats(l, r)),
        }
        Ok(self.search.find(stream, &self.paths[0], self.known > 0)?)
    }

    /// Searches for the best path like [`submit`](Self::submit), and waits for the result. Returns the costs of the
    /// best path and of the current path.
    ///
    /// # Errors
    /// Returns [`StitchError`] if the frames do not match the warp or the device fails.
    #[track_caller]
    pub fn look<'a>(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        left: impl Into<FrameView<'a>>,
        right: impl Into<FrameView<'a>>,
        colours: Colours,
    ) -> Result<SeamCosts, StitchError> {
        // SAFETY: no search of this seam is running on another stream. The callers of the unsafe `submit` guarantee
        // this for their searches, and this function waits for its own search.
        unsafe { self.submit(stream, warp, left.into(), right.into(), colours)? };
        Ok(self.search.costs(stream)?)
    }

    /// Submits the copy of the last search's costs to the host without waiting.
    ///
    /// # Safety
    /// `costs` must stay valid, and must not be accessed, until the copy is done.
    pub(crate) unsafe fn submit_download(
        &self,
        stream: &Stream,
        costs: &mut Pinned<SeamCosts>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees that `costs` stays valid and is not accessed until the copy is done.
        unsafe { self.search.costs.submit_download(stream, costs) }
    }

    /// Makes the path of the last search the current path. The current path becomes the previous path.
    ///
    /// - Work that reads the new path must be submitted to the stream of the search, or after the search is done.
    /// - The next search overwrites the memory of the path that was the previous path before this call. Work that reads
    ///   that path must be done before the next search, or be on the same stream as the search.
    pub fn accept(&mut self) {
        let [current, former] = &mut self.paths;
        std::mem::swap(former, current);
        std::mem::swap(current, &mut self.search.found);
        self.known = (self.known + 1).min(2);
    }

    /// Downloads the current path: for each row of the [`grid`](Self::grid), the number of cells before the seam.
    /// Returns `None` if no path was accepted yet.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the download fails.
    #[track_caller]
    pub fn path(&self, stream: &Stream) -> Result<Option<Vec<u32>>, DeviceError> {
        if self.known == 0 { Ok(None) } else { self.paths[0].download(stream).map(Some) }
    }

    /// Takes over the paths of `former`, the seam of the same cameras in a similar warp, such as one with refined
    /// coordinates. Returns `false` and changes nothing if `former` has no path, or if the directions or the areas of the
    /// seams differ. Waits for the device.
    #[track_caller]
    pub(crate) fn take_over(
        &mut self,
        stream: &Stream,
        former: &Self,
    ) -> Result<bool, DeviceError> {
        let (from, to) = (former.grid(), self.grid());
        if former.known == 0 || !is_similar(&from, &to) {
            return Ok(false);
        }
        for (path, old) in self.paths.iter_mut().zip(&former.paths).take(former.known) {
            path.upload(stream, &converted(&old.download(stream)?, &from, &to))?;
        }
        self.known = former.known;
        Ok(true)
    }

    /// Returns an error if the warp does not have the size of the warp for which the seam was created.
    #[track_caller]
    pub(super) fn check(&self, warp: &DeviceWarp) -> Result<(), DeviceError> {
        let (found, expected) = (warp.size(), self.size);
        if found == expected {
            return Ok(());
        }
        Err(DeviceError::refused("using a seam", OtherSize { found, expected }))
    }

    /// Returns the parameters of one step of the fade to the current path. The fade begins at the weights of the
    /// previous path, or at the warp's weights if there is no previous path. `part` is the progress of the fade from 0
    /// to 1.
    pub(super) fn blend(&self, part: f32) -> SeamBlend {
        let from_path = match self.known {
            0 => SeamBlend::NO_PATH,
            known => u32::from(known > 1),
        };
        // NaN counts as 0.
        let part = if part > 0.0 { part.min(1.0) } else { 0.0 };
        SeamBlend { feather: self.feather, part, from_path }
    }

    /// Returns the current path and the previous path as kernel arguments.
    pub(super) fn paths(&self) -> [DeviceSlice<'_, u32>; 2] {
        self.paths.each_ref().map(Buffer::view)
    }

    /// Submits the kernel that writes the blending weights for one step of the fade to the current path. The fade
    /// begins at the weights of the previous path, or at the warp's weights if there is no previous path. `part` is the
    /// progress of the fade from 0 to 1.
    ///
    /// The warp must have two cameras; [`Seams::weigh`](super::Seams::weigh) is for any number. `out` must be a copy of
    /// `warp`, made by [`copy`](Self::copy). The kernel writes only the weights inside the bounding box of the overlap.
    /// If the seam has no path yet, the weights stay as they are.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the warp does not have two cameras or a launch fails.
    #[track_caller]
    pub fn weigh(
        &self,
        stream: &Stream,
        warp: &DeviceWarp,
        part: f32,
        out: &mut DeviceWarp,
    ) -> Result<(), DeviceError> {
        self.write(stream, warp, part, out)?;
        out.written(stream)
    }

    /// Does the same as [`weigh`](Self::weigh), but leaves the call of [`DeviceWarp::written`] to the caller, who may
    /// change the weights further.
    #[track_caller]
    pub(super) fn write(
        &self,
        stream: &Stream,
        warp: &DeviceWarp,
        part: f32,
        out: &mut DeviceWarp,
    ) -> Result<(), DeviceError> {
        self.check(warp)?;
        out.check_copy(warp)?;
        out.await_ready(stream)?;
        if self.known == 0 {
            return Ok(());
        }
        let (grid, blend) = (self.grid(), self.blend(part));
        let [to, from] = self.paths();
        let ([planes_left, planes_right], [left, right]) = warp.pair(self.cameras)?;
        let [first, second] = out.weights_mut() else {
            return Err(DeviceError::refused("writing the weights of a seam", TwoCameras));
        };
        let is_swapped = self.cameras == [1, 0];
        let (out_left, out_right) = if is_swapped { (second, first) } else { (first, second) };
        let (out_left, out_right) = (out_left.view_mut(), out_right.view_mut());
        let size = grid.max - grid.min;
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        let kernel = SeamWeights {
            planes_left,
            planes_right,
            left,
            right,
            grid,
            from,
            to,
            blend,
            out_left,
            out_right,
        };
        stream.launch(&config, &kernel)
    }

    /// Submits a copy of `warp` without waiting, and returns the copy. [`weigh`](Self::weigh) can then change the
    /// weights of the copy.
    #[track_caller]
    pub fn copy(stream: &Stream, warp: &DeviceWarp) -> Result<DeviceWarp, DeviceError> {
        warp.reweighted(stream)
    }

    /// Returns the minimum number of bytes that the search reads to compare two frames: for each pixel of the grid, the
    /// coordinates, the weights and one pixel of each frame.
    #[must_use]
    pub fn bytes(&self, pixels: PixelFormat) -> u64 {
        let size = self.grid().max - self.grid().min;
        let pixel = pixels.bytes_per_pixel();
        (f64::from(size.x) * f64::from(size.y) * (24.0 + 2.0 * pixel)) as u64
    }
}

/// Returns whether seams on both grids have the same direction, and at least half of the pixels of `old` are in `new`.
fn is_similar(old: &SeamGrid, new: &SeamGrid) -> bool {
    let common = old.max.min(new.max).saturating_sub(old.min.max(new.min));
    let size = old.max.saturating_sub(old.min);
    (old.transposed, old.swapped) == (new.transposed, new.swapped)
        && 2 * common.element_product() >= size.element_product()
}

/// Returns the path on the grid `to` that is nearest to a path on the grid `from`: for each row, the number of cells
/// before the seam. Both grids have the same direction.
fn converted(path: &[u32], from: &SeamGrid, to: &SeamGrid) -> Vec<u32> {
    // The first pixel across and along the seam.
    let first = |grid: &SeamGrid| {
        let min = grid.min.as_vec2();
        if grid.transposed != 0 { min.yx() } else { min }
    };
    let (old, new) = (first(from), first(to));
    let (side, new_side) = (from.cell as f32, to.cell as f32);
    let UVec2 { x: across, y: along } = to.cells();
    let at = |row: u32| {
        let along = (row as f32 + 0.5) * new_side + new.y;
        // A negative number becomes 0.
        let old_row = ((along - old.y) / side) as usize;
        let cells = path[old_row.min(path.len() - 1)];
        let position = (cells as f32 * side + old.x - new.x) / new_side;
        (position.round() as u32).min(across)
    };
    (0..along).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::uvec2;

    #[test]
    fn a_path_keeps_its_pixels_on_another_grid() {
        let grid = |min: UVec2, cell, transposed| SeamGrid {
            min,
            max: min + uvec2(40, 60),
            cell,
            transposed,
            ..SeamGrid::default()
        };
        let path: Vec<u32> = (0..15).map(|row| row % 8 + 1).collect();
        let from = grid(uvec2(100, 50), 4, 0);
        assert_eq!(converted(&path, &from, &from), path);
        // The new grid begins two cells further right and one row lower.
        let to = grid(uvec2(108, 54), 4, 0);
        let expected: Vec<u32> =
            (0..15).map(|row: usize| path[(row + 1).min(14)].saturating_sub(2)).collect();
        assert_eq!(converted(&path, &from, &to), expected);
        let fine = grid(uvec2(100, 50), 2, 0);
        let expected: Vec<u32> = (0..30).map(|row| 2 * path[row / 2]).collect();
        assert_eq!(converted(&path, &from, &fine), expected);
        let (from, to) = (grid(uvec2(100, 50), 4, 1), grid(uvec2(100, 54), 4, 1));
        let path: Vec<u32> = (0..10).map(|row| row + 1).collect();
        assert_eq!(converted(&path, &from, &to), (0..10).collect::<Vec<_>>());
    }
}
