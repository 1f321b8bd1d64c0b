//! Measures the similarity of two pictures: computes SSIM and PSNR in one pass over both pictures.
//!
//! A [`Comparer`] compares pictures of one size, without allocating per pair. [`compare_pictures`] compares two pictures
//! in host memory in one call. [`kernels_gpu::ssim`] defines SSIM and the pixels that it covers.

use std::ptr::NonNull;

use cuda_std::{DeviceView, DeviceViewMut};
use glam::UVec2;
use kernels_gpu::ssim::{SsimRgba8, SsimU8, SsimU16};
use shared_types::Rgba8;
pub use shared_types::ssim::MARGIN;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, BLOCKS, LINES, ONE, RUNNING, SUMS, SsimParams, WINDOW,
};

use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::error::operation_error;
use crate::io::picture::Picture;

/// The assumed number of multiprocessors on a device that does not report it.
const MULTIPROCESSORS: u32 = 16;

/// The minimum height of a strip. The unit is a batch: the [`LINES`] rows that a block filters at a time. The last
/// [`MARGIN`] rows of a strip are filtered again for the strip below: 10 of 28 rows at the minimum height.
const LEAST_BATCHES: u32 = 7;

/// The maximum height of a strip, in batches of [`LINES`] rows. At this height, less than 0.1 % of the rows are
/// filtered twice.
const MOST_BATCHES: u32 = 4096;

/// The highest level of P010 as it is stored.
const P010_HIGHEST: f64 = (1023 << 6) as f64;

/// Two pictures to be compared.
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    /// Two planes of 8-bit luma.
    Luma8(DeviceView<'a, u8>, DeviceView<'a, u8>),
    /// Two planes of luma with 9 to 16 bits.
    Luma16 {
        /// The first plane.
        a: DeviceView<'a, u16>,
        /// The second plane.
        b: DeviceView<'a, u16>,
        /// The number of bits of a luma sample, from 9 to 16. They are the lower bits of 16.
        bits: u32,
    },
    /// Two luma planes of P010: 10 bits, in the upper bits of 16.
    P010(DeviceView<'a, u16>, DeviceView<'a, u16>),
    /// Two colour pictures. Their SSIM is that of luma (BT.601 in integer arithmetic, as in Pillow).
    Rgba8(DeviceView<'a, Rgba8>, DeviceView<'a, Rgba8>),
}

/// The similarity of two pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// The mean SSIM of luma over all pixels whose window is inside the picture; 1 for identical pictures.
    pub ssim: f64,
    /// The PSNR of luma over all pixels, in dB; infinite for identical pictures.
    pub psnr: f64,
    /// The PSNR of red, green and blue together, in dB; `None` if only luma was compared.
    pub psnr_rgb: Option<f64>,
}

operation_error! {
    /// The error if pictures cannot be compared, or the device failed.
    SsimError: "ssim: {0}"
}

/// Returns the height in rows of the strips into which the SSIM map is divided. Selects the height with which the last
/// block ends earliest. `inside` is the size of the map, and `room` is the number of blocks that the device can run at
/// the same time.
///
/// The model assumes that the blocks of full-height strips run in rounds of `room` blocks. The lowest strip may be
/// lower than the others; its blocks run in the room that the last round leaves free. The height of a strip plus the
/// margin is a whole number of batches of [`LINES`] rows.
fn strip_rows(inside: UVec2, room: u64) -> u32 {
    let columns = inside.x.div_ceil(BLOCK_COLUMNS);
    let batches = |rows: u32| u64::from(rows + MARGIN).div_ceil(LINES.into());
    let end = |strip: u32| {
        let blocks = u64::from(inside.y / strip) * u64::from(columns);
        let (rounds, over) = (blocks / room, blocks % room);
        let last = if over > 0 { batches(strip) } else { 0 };
        let below = match inside.y % strip {
            0 => 0,
            rows => u64::from(columns).div_ceil(room - over) * batches(rows),
        };
        rounds * batches(strip) + last.max(below)
    };
    let most = batches(inside.y).clamp(LEAST_BATCHES.into(), MOST_BATCHES.into()) as u32;
    // If several heights end equally early, select the largest of them, because it filters the fewest rows twice.
    let strips = (LEAST_BATCHES..=most).rev().map(|batches| batches * LINES - MARGIN);
    strips.min_by_key(|strip| end(*strip)).expect("the range of heights is not empty")
}

/// Compares pairs of pictures of one size. Only one stream at a time may use it.
#[derive(Debug)]
pub struct Comparer {
    size: UVec2,
    rows: u32,
    /// The running sums of the kernel. Each launch leaves all of them at 0.
    running: Buffer<u64>,
    /// The sums of the latest pair.
    sums: Buffer<u64>,
    /// The highest level of the latest pair, and whether it has colours.
    highest: f64,
    colour: bool,
}

impl Comparer {
    /// Creates a comparer for pictures of `size` pixels.
    #[track_caller]
    pub fn new(stream: &Stream, size: UVec2) -> Result<Self, SsimError> {
        if size.min_element() < WINDOW {
            let UVec2 { x, y } = size;
            return Err(SsimError::Invalid(format!(
                "the pictures are {x}×{y} pixels; they must be at least {WINDOW}×{WINDOW}"
            )));
        }
        let zeros = |many: u32| Buffer::from_slice(stream, &vec![0; many as usize]);
        let (running, sums) = (zeros(RUNNING)?, zeros(SUMS)?);
        let info = stream.device().cuda_info();
        let processors = info.map_or(MULTIPROCESSORS, |info| info.multiprocessors);
        let rows = strip_rows(size - MARGIN, (BLOCKS * processors).into());
        Ok(Self { size, rows, running, sums, highest: 255.0, colour: false })
    }

    /// Submits a pair without waiting. `map`, if present, receives the SSIM of each pixel whose window is inside the
    /// pictures. It must have 10 columns and 10 rows fewer than the pictures.
    #[track_caller]
    pub fn submit(
        &mut self,
        stream: &Stream,
        pair: Compared<'_>,
        map: Option<&mut Image<f32>>,
    ) -> Result<(), SsimError> {
        let (sizes, highest) = match pair {
            Compared::Luma8(a, b) => ([a.size(), b.size()], 255.0),
            Compared::Luma16 { bits, .. } if !(9..=16).contains(&bits) => {
                let text =
                    format!("the luma in 16-bit planes has {bits} bits; it must have 9 to 16");
                return Err(SsimError::Invalid(text));
            }
            Compared::Luma16 { a, b, bits } => {
                ([a.size(), b.size()], f64::from((1_u32 << bits) - 1))
            }
            // SSIM does not depend on the unit of the levels, so the stored numbers of P010 can be compared.
            Compared::P010(a, b) => ([a.size(), b.size()], P010_HIGHEST),
            Compared::Rgba8(a, b) => ([a.size(), b.size()], 255.0),
        };
        check_size("first picture", sizes[0], self.size)?;
        check_size("second picture", sizes[1], self.size)?;
        let inside = self.size - MARGIN;
        let map = match map {
            Some(map) => {
                check_size("map", map.view().size(), inside)?;
                map.view_mut()
            }
            // SAFETY: the view is empty, so the kernel does not access its memory.
            None => unsafe {
                DeviceViewMut::new(stream.device().place(), NonNull::dangling().as_ptr(), 0, 0, 0)
            },
        };
        (self.highest, self.colour) = (highest, matches!(pair, Compared::Rgba8(..)));
        let blocks = inside.x.div_ceil(BLOCK_COLUMNS) * BLOCK_THREADS;
        let strips = inside.y.div_ceil(self.rows);
        let config = LaunchConfig::cover(blocks, strips, [BLOCK_THREADS, 1]);
        let params = SsimParams::new(highest, self.rows);
        let (running, sums) = (self.running.view_mut(), self.sums.view_mut());
        match pair {
            Compared::Luma8(a, b) => {
                stream.launch(&config, &SsimU8 { a, b, params, map, running, sums })
            }
            Compared::Luma16 { a, b, .. } | Compared::P010(a, b) => {
                stream.launch(&config, &SsimU16 { a, b, params, map, running, sums })
            }
            Compared::Rgba8(a, b) => {
                stream.launch(&config, &SsimRgba8 { a, b, params, map, running, sums })
            }
        }?;
        Ok(())
    }

    /// Waits for the stream, and returns the similarity of the latest pair.
    #[track_caller]
    pub fn result(&self, stream: &Stream) -> Result<Similarity, DeviceError> {
        let sums = self.sums.download(stream)?;
        let area = |size: UVec2| f64::from(size.x) * f64::from(size.y);
        // The result is infinite for identical pictures, whose squares are 0.
        let psnr = |squares: u64, numbers: f64| {
            10.0 * (self.highest.powi(2) * numbers / squares as f64).log10()
        };
        let pixels = area(self.size);
        // For identical pictures, return exactly 1, because the kernel's sum has rounding errors.
        let ssim = match sums[1] {
            0 => 1.0,
            _ => sums[0] as i64 as f64 / f64::from(ONE) / area(self.size - MARGIN),
        };
        Ok(Similarity {
            ssim,
            psnr: psnr(sums[1], pixels),
            psnr_rgb: self.colour.then(|| psnr(sums[2], 3.0 * pixels)),
        })
    }
}

fn check_size(which: &str, found: (u32, u32), expected: UVec2) -> Result<(), SsimError> {
    if UVec2::from(found) == expected {
        return Ok(());
    }
    let ((w, h), UVec2 { x, y }) = (found, expected);
    Err(SsimError::Invalid(format!("the {which} is {w}×{h} pixels; it must be {x}×{y}")))
}

/// Compares two pictures on the stream's device and waits for the result. Also returns the map: the SSIM of each pixel
/// whose window is inside the pictures, row by row.
#[track_caller]
pub fn compare_pictures(
    stream: &Stream,
    a: &Picture,
    b: &Picture,
) -> Result<(Similarity, Vec<f32>), SsimError> {
    check_size("second picture", b.size().into(), a.size())?;
    let mut comparer = Comparer::new(stream, a.size())?;
    let inside = a.size() - MARGIN;
    let (a, b) = (a.upload(stream)?, b.upload(stream)?);
    let mut map = Image::new(stream.device(), inside.x, inside.y)?;
    comparer.submit(stream, Compared::Rgba8(a.view(), b.view()), Some(&mut map))?;
    Ok((comparer.result(stream)?, map.download(stream)?))
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use glam::uvec2;

    use super::*;

    /// Simulates the scheduling of the blocks for strips of height `strip`: each block starts as soon as fewer than
    /// `room` blocks run. Returns the time at which the last block ends, in units of a batch.
    fn end(inside: UVec2, room: u64, strip: u32) -> u64 {
        let mut ends: BinaryHeap<_> = (0..room).map(|_| Reverse(0)).collect();
        let mut last = 0;
        for y in (0..inside.y).step_by(strip as usize) {
            let rows = strip.min(inside.y - y) + MARGIN;
            for _ in 0..inside.x.div_ceil(BLOCK_COLUMNS) {
                let Reverse(begin) = ends.pop().expect("room");
                let end = begin + u64::from(rows.div_ceil(LINES));
                last = last.max(end);
                ends.push(Reverse(end));
            }
        }
        last
    }

    /// Checks the selected strip height for several sizes and numbers of concurrent blocks. In the simulation, no other
    /// height makes the last block end more than 2 % earlier.
    #[test]
    fn selected_strip_height_is_nearly_optimal() {
        let sizes = [
            uvec2(1, 1),
            uvec2(300, 7),
            uvec2(1270, 710),
            uvec2(1910, 1070),
            uvec2(3830, 2150),
            uvec2(4990, 90),
            uvec2(9000, 1000),
        ];
        for inside in sizes {
            for room in [1, 5, 28, 32, 264] {
                let chosen = strip_rows(inside, room);
                assert_eq!((chosen + MARGIN) % LINES, 0, "{inside} {room}");
                let found = end(inside, room, chosen);
                let least = LEAST_BATCHES * LINES - MARGIN;
                for strip in (least..=inside.y).step_by(LINES as usize) {
                    let other = end(inside, room, strip);
                    let fair = 50 * found <= 51 * other;
                    assert!(fair, "{inside} {room}: {chosen} {found}, {strip} {other}");
                }
            }
        }
        // With the largest possible sizes, the function neither overflows nor takes long.
        for inside in [uvec2(u32::MAX - MARGIN, 1), UVec2::splat(u32::MAX - MARGIN)] {
            strip_rows(inside, 264);
        }
    }
}
