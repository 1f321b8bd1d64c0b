//! Measures the similarity of two pictures: computes SSIM and PSNR in one pass over both pictures.
//!
//! A [`Comparer`] compares pictures of one size. It accepts as many pairs at a time as it has slots, without waiting or
//! allocating, and returns the results in the order of submission. [`compare_pictures`] compares two pictures in host
//! memory in one call. [`kernels_gpu::ssim`] defines SSIM and the pixels that it covers.
//!
//! Each pair takes one launch. The block that finishes last writes the sums to host memory.

use std::collections::VecDeque;
use std::ptr::NonNull;

use cuda_std::{DeviceSliceMut, DeviceView, DeviceViewMut};
use glam::UVec2;
use kernels_gpu::ssim::{SsimRgba8, SsimU8, SsimU16};
use shared_types::Rgba8;
pub use shared_types::ssim::MARGIN;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, BLOCKS, LINES, ONE, RUNNING, SUMS, SsimParams, Sums, WINDOW,
};
use thiserror::Error;

use crate::device::{Buffer, Device, DeviceError, Event, Image, LaunchConfig, Pinned, Stream};
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

/// The error if pictures cannot be compared, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SsimError {
    /// The pictures are smaller than the window.
    #[error("ssim: the pictures are {}×{} pixels; they must be at least {WINDOW}×{WINDOW}", .0.x, .0.y)]
    TooSmall(UVec2),
    /// The number of slots is 0 or greater than 1024.
    #[error("ssim: the number of slots is {0}; it must be 1 to 1024")]
    Slots(usize),
    /// A picture, or the map, does not have the required size.
    #[error("ssim: the {which} is {}×{} pixels; it must be {}×{}", found.x, found.y, expected.x, expected.y)]
    Size {
        /// The name of the input, such as `map`.
        which: &'static str,
        /// The picture's or map's size.
        found: UVec2,
        /// The required size.
        expected: UVec2,
    },
    /// The number of luma bits in 16-bit planes is not 9 to 16.
    #[error("ssim: the luma in 16-bit planes has {0} bits; it must have 9 to 16")]
    Bits(u32),
    /// All slots are in use. Call [`Comparer::take`] first.
    #[error(
        "ssim: all slots of the comparer are in use; take a result before you submit another pair"
    )]
    Full,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Page-locked memory for the sums of one pair, and the event that is recorded after the kernel that writes them.
#[derive(Debug)]
struct Slot {
    sums: Pinned<Sums>,
    done: Event,
    of: Counted,
}

/// The data, other than the sums, from which the similarity of a pair is computed: the maximum level, and whether there
/// are colour sums.
#[derive(Clone, Copy, Debug)]
struct Counted {
    highest: f64,
    colour: bool,
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

/// Compares pairs of pictures of one size.
#[derive(Debug)]
pub struct Comparer {
    size: UVec2,
    rows: u32,
    /// The running sums of the kernel. Each launch leaves all of them at 0.
    running: Buffer<u64>,
    waiting: VecDeque<Slot>,
    free: Vec<Slot>,
}

impl Comparer {
    /// Creates a comparer for pictures of `size` pixels and up to `slots` pairs in flight.
    ///
    /// # Errors
    /// Returns [`SsimError::TooSmall`] if the window does not fit into the pictures, [`SsimError::Slots`] if `slots` is
    /// not 1 to 1024, or [`SsimError::Device`] if the device fails.
    #[track_caller]
    pub fn new(device: &Device, size: UVec2, slots: usize) -> Result<Self, SsimError> {
        if size.min_element() < WINDOW {
            return Err(SsimError::TooSmall(size));
        }
        if !(1..=1024).contains(&slots) {
            return Err(SsimError::Slots(slots));
        }
        let stream = device.stream()?;
        let running = Buffer::from_slice(&stream, &[0; RUNNING as usize])?;
        let of = Counted { highest: 0.0, colour: false };
        let slot =
            |_| Ok(Slot { sums: Pinned::new(device, 1)?, done: Event::for_order(device)?, of });
        let free = (0..slots).map(slot).collect::<Result<Vec<_>, DeviceError>>()?;
        let waiting = VecDeque::with_capacity(slots);
        let processors = device.cuda_info().map_or(MULTIPROCESSORS, |info| info.multiprocessors);
        let rows = strip_rows(size - MARGIN, (BLOCKS * processors).into());
        Ok(Self { size, rows, running, waiting, free })
    }

    /// Returns the size of the pictures in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Submits a pair without waiting. `map`, if present, receives the SSIM of each pixel whose window is inside the
    /// pictures. It must have 10 columns and 10 rows fewer than the pictures.
    ///
    /// # Errors
    /// Returns [`SsimError`] if a size or the number of luma bits is wrong, all slots are in use, or the device fails.
    #[track_caller]
    pub fn submit(
        &mut self,
        stream: &Stream,
        pair: Compared<'_>,
        map: Option<&mut Image<f32>>,
    ) -> Result<(), SsimError> {
        let of = self.check(&pair)?;
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
        let Some(mut slot) = self.free.pop() else { return Err(SsimError::Full) };
        slot.of = of;
        let submitted = self.launch(stream, pair, map, &mut slot);
        match submitted {
            Ok(()) => self.waiting.push_back(slot),
            Err(_) => {
                // The kernel may still write sums to the slot, so wait before the slot is reused. If the wait fails,
                // the device has failed, and the kernel writes nothing more.
                let _ = stream.synchronize();
                self.free.push(slot);
            }
        }
        submitted
    }

    /// Waits for the oldest pair whose result was not taken yet, and returns this result. Returns `None` if all results
    /// were taken.
    #[track_caller]
    pub fn take(&mut self) -> Result<Option<Similarity>, SsimError> {
        let Some(slot) = self.waiting.pop_front() else { return Ok(None) };
        let waited = slot.done.synchronize();
        let (sums, of) = (slot.sums[0], slot.of);
        self.free.push(slot);
        waited?;
        Ok(Some(self.similarity(&sums, of)))
    }

    #[track_caller]
    fn launch(
        &mut self,
        stream: &Stream,
        pair: Compared<'_>,
        map: DeviceViewMut<'_, f32>,
        slot: &mut Slot,
    ) -> Result<(), SsimError> {
        // All pairs use the same running sums, and the previous pair may be in flight on another stream. Make this
        // stream wait for the event of the previous pair.
        if let Some(last) = self.waiting.back() {
            stream.wait(&last.done)?;
        }
        let blocks = (self.size - MARGIN).x.div_ceil(BLOCK_COLUMNS);
        let strips = (self.size - MARGIN).y.div_ceil(self.rows);
        let config = LaunchConfig::cover(blocks * BLOCK_THREADS, strips, [BLOCK_THREADS, 1]);
        let place = stream.device().place();
        // SAFETY: page-locked memory has the same address on host and device. The memory of `slot` is read and freed
        // only after the event `slot.done`, which follows the kernel.
        let sums = unsafe { DeviceSliceMut::new(place, slot.sums.as_mut_ptr().cast(), SUMS) };
        let running = self.running.view_mut();
        let params = |bits| SsimParams::new(bits, self.rows);
        // SSIM does not depend on the unit of the levels, so the stored numbers of P010 can be compared.
        let p010 = SsimParams::of_highest(P010_HIGHEST, self.rows);
        match pair {
            Compared::Luma8(a, b) => {
                stream.launch(&config, &SsimU8 { a, b, params: params(8), map, running, sums })?;
            }
            Compared::Luma16 { a, b, bits } => {
                stream
                    .launch(&config, &SsimU16 { a, b, params: params(bits), map, running, sums })?;
            }
            Compared::P010(a, b) => {
                stream.launch(&config, &SsimU16 { a, b, params: p010, map, running, sums })?;
            }
            Compared::Rgba8(a, b) => {
                stream
                    .launch(&config, &SsimRgba8 { a, b, params: params(8), map, running, sums })?;
            }
        }
        Ok(slot.done.record(stream)?)
    }

    fn check(&self, pair: &Compared<'_>) -> Result<Counted, SsimError> {
        let highest = |bits: u32| f64::from((1_u32 << bits) - 1);
        let (a, b, highest) = match pair {
            Compared::Luma8(a, b) => (a.size(), b.size(), highest(8)),
            Compared::Luma16 { bits, .. } if !(9..=16).contains(bits) => {
                return Err(SsimError::Bits(*bits));
            }
            Compared::Luma16 { a, b, bits } => (a.size(), b.size(), highest(*bits)),
            Compared::P010(a, b) => (a.size(), b.size(), P010_HIGHEST),
            Compared::Rgba8(a, b) => (a.size(), b.size(), highest(8)),
        };
        check_size("first picture", a, self.size)?;
        check_size("second picture", b, self.size)?;
        Ok(Counted { highest, colour: matches!(pair, Compared::Rgba8(..)) })
    }

    fn similarity(&self, sums: &Sums, of: Counted) -> Similarity {
        let area = |size: UVec2| f64::from(size.x) * f64::from(size.y);
        // The result is infinite for identical pictures, whose `squares` are 0.
        let psnr = |squares: u64, numbers: f64| {
            10.0 * (of.highest.powi(2) * numbers / squares as f64).log10()
        };
        let pixels = area(self.size);
        // For identical pictures, return exactly 1, because the kernel's sum has rounding errors.
        let ssim = match sums.squares {
            0 => 1.0,
            _ => sums.ssim as f64 / f64::from(ONE) / area(self.size - MARGIN),
        };
        Similarity {
            ssim,
            psnr: psnr(sums.squares, pixels),
            psnr_rgb: of.colour.then(|| psnr(sums.colour_squares, 3.0 * pixels)),
        }
    }
}

impl Drop for Comparer {
    fn drop(&mut self) {
        // Wait, because kernels may still write to the slots. If the wait fails, the device has failed, and the kernels
        // write nothing more.
        for slot in &self.waiting {
            let _ = slot.done.synchronize();
        }
    }
}

fn check_size(which: &'static str, found: (u32, u32), expected: UVec2) -> Result<(), SsimError> {
    let found = UVec2::from(found);
    if found == expected { Ok(()) } else { Err(SsimError::Size { which, found, expected }) }
}

/// Compares two pictures on the stream's device and waits for the result. Also returns the map: the SSIM of each pixel
/// whose window is inside the pictures, row by row.
///
/// # Errors
/// Returns [`SsimError`] if the pictures are too small or differ in size, or if the device fails.
#[track_caller]
pub fn compare_pictures(
    stream: &Stream,
    a: &Picture,
    b: &Picture,
) -> Result<(Similarity, Vec<f32>), SsimError> {
    check_size("second picture", b.size().into(), a.size())?;
    let mut comparer = Comparer::new(stream.device(), a.size(), 1)?;
    let (a, b) = (a.upload(stream)?, b.upload(stream)?);
    let inside = comparer.size() - MARGIN;
    let mut map = Image::new(stream.device(), inside.x, inside.y)?;
    comparer.submit(stream, Compared::Rgba8(a.view(), b.view()), Some(&mut map))?;
    let map = map.download(stream)?;
    match comparer.take()? {
        Some(similarity) => Ok((similarity, map)),
        None => Err(SsimError::Full),
    }
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
