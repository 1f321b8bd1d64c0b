//! Resampling of trajectories: computes values at target times from values at source times, by interpolation.
//!
//! Each batch has S ascending source times, as many rows of D values, and T target times. At a target t between
//! adjacent source times t₀ ≤ t < t₁ with the rows a and b, the result is
//!
//! ```text
//! out = a + w (b − a),   w = (t − t₀) / (t₁ − t₀),   but w = 0 if t₁ − t₀ < 1e-6
//! ```
//!
//! Before the first source time, the result is the first row; after the last, it is the last row. Interpolation uses
//! f64 for f64 values, and f32 for all other types.
//!
//! A kernel divides a batch among blocks of up to [`TARGETS`] targets each. If there are few batches, blocks
//! have fewer targets. A block stages the batch's times in shared memory. Each thread finds the position of one target
//! by bisection. Then all threads write the rows: a piece has up to 16 bytes, adjacent threads write adjacent pieces,
//! and a thread has two pieces in flight. The kernels check the times that they load; an atomic minimum selects the
//! first fault. While the previous kernel still runs, blocks prefetch their times and targets and, if there are few
//! values, the rows that evenly spaced targets would need.
//!
//! Cost: each needed row is read from memory about once, because caches serve the other reads; the kernel is bound by
//! memory.

use cuda_std::prelude::*;
use cuda_std::{GpuHalf, LINE_BYTES};
use half::{bf16, f16};
use shared_types::resample::{
    BLOCK_THREADS, F32x4, Half8, ResampleFault, SAME_TIME, TARGETS, Wide, fault_code,
};

/// The number type of the times. Interpolation uses the same type.
trait Time: bytemuck::Pod + PartialOrd {
    /// Returns the position of `self` from `from` (0) to `to` (1); 0 if they differ by less than [`SAME_TIME`].
    fn share(self, from: Self, to: Self) -> Self;

    /// Returns whether the number is finite, and so is a valid time.
    fn is_time(self) -> bool;

    const ZERO: Self;

    /// Allocates shared memory for one position per target of a block.
    fn shares() -> Shared<Self>;
}

macro_rules! time {
    ($type:ty) => {
        impl Time for $type {
            #[device]
            fn share(self, from: Self, to: Self) -> Self {
                // The difference of two halves is always finite. Dividing by 2 is exact, so the result is the same.
                let [at, from, to] = [self / 2.0, from / 2.0, to / 2.0];
                let whole = to - from;
                let same = <$type>::from(SAME_TIME) / 2.0;
                if whole < same { 0.0 } else { (at - from) / whole }
            }

            #[device]
            fn is_time(self) -> bool {
                self.abs() < <$type>::INFINITY
            }

            const ZERO: Self = 0.0;

            #[device]
            fn shares() -> Shared<Self> {
                shared_array![$type; TARGETS as usize]
            }
        }
    };
}
time!(f32);
time!(f64);

/// A value that a thread interpolates in one step: one number, or 16 bytes of numbers.
trait Value: bytemuck::Pod {
    type Time: Time;

    fn lerp(self, other: Self, share: Self::Time) -> Self;
}

impl Value for f32 {
    type Time = f32;

    #[device]
    fn lerp(self, other: Self, share: f32) -> Self {
        (other - self).mul_add(share, self)
    }
}

impl Value for f64 {
    type Time = f64;

    #[device]
    fn lerp(self, other: Self, share: f64) -> Self {
        (other - self).mul_add(share, self)
    }
}

macro_rules! half {
    ($type:ty) => {
        impl Value for $type {
            type Time = f32;

            #[device]
            fn lerp(self, other: Self, share: f32) -> Self {
                lerp_pair([self; 2], [other; 2], share)[0]
            }
        }
    };
}
half!(bf16);
half!(f16);

/// Interpolates two 16-bit numbers at once. One instruction rounds both.
#[device]
fn lerp_pair<T: GpuHalf>([a, b]: [T; 2], [c, d]: [T; 2], share: f32) -> [T; 2] {
    T::narrow_pair(a.widen().lerp(c.widen(), share), b.widen().lerp(d.widen(), share))
}

impl Value for F32x4 {
    type Time = f32;

    #[device]
    fn lerp(self, other: Self, share: f32) -> Self {
        let (Wide([a, b, c, d]), Wide([e, f, g, h])) = (self, other);
        Wide([a.lerp(e, share), b.lerp(f, share), c.lerp(g, share), d.lerp(h, share)])
    }
}

impl<T: GpuHalf> Value for Half8<T>
where
    Self: bytemuck::Pod,
{
    type Time = f32;

    #[device]
    fn lerp(self, other: Self, share: f32) -> Self {
        let (Wide([a, b, c, d, e, f, g, h]), Wide([i, j, k, l, m, n, o, p])) = (self, other);
        let [a, b] = lerp_pair([a, b], [i, j], share);
        let [c, d] = lerp_pair([c, d], [k, l], share);
        let [e, f] = lerp_pair([e, f], [m, n], share);
        let [g, h] = lerp_pair([g, h], [o, p], share);
        Wide([a, b, c, d, e, f, g, h])
    }
}

/// The source times of a batch.
#[derive(Clone, Copy)]
enum Times<T> {
    /// The times were copied to shared memory.
    Staged(Shared<T>),
    /// The times are in global memory, because shared memory is too small for them.
    Far { times: View<T>, batch: u32 },
}

impl<T: Time> Times<T> {
    /// Returns the source time with the index `i`.
    ///
    /// # Safety
    /// The caller must ensure that `i` is below the number of times, and that a barrier precedes the first read of
    /// staged times.
    #[device]
    unsafe fn at(&self, i: u32) -> T {
        // SAFETY: the caller guarantees that `i` is in range and that staged times were written before a barrier.
        unsafe {
            match self {
                Self::Staged(times) => times.load(i),
                Self::Far { times, batch } => times.load(i, *batch),
            }
        }
    }

    /// Returns the last row whose time is at most `target`, or row 0 if there is none. Also returns the position of
    /// `target` between this row and the next one, from 0 to 1. `count` is the number of times.
    ///
    /// # Safety
    /// The conditions of [`at`](Self::at) apply, and `count` must be at least 1.
    #[device]
    unsafe fn find(&self, count: u32, target: T) -> (u32, T) {
        // Counts the times that are at most `target`.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            // SAFETY: `middle < count`.
            if unsafe { self.at(middle) } <= target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 || low == count {
            return (low.saturating_sub(1), T::ZERO);
        }
        // SAFETY: `low < count`.
        (low - 1, unsafe { target.share(self.at(low - 1), self.at(low)) })
    }
}

/// Copies a batch's source times into shared memory if they fit. If `judge` is set, also checks these times and records
/// the first fault.
///
/// # Safety
/// All threads of the block must call it with the same arguments. The batch must be one of `times`, and `fault` must
/// have an element. A barrier must follow before the staged times are read, and must precede the next staging.
#[device]
unsafe fn stage<T: Time>(
    times: View<T>,
    batch: u32,
    judge: bool,
    fault: SliceMut<u64>,
) -> Times<T> {
    let memory = shared::dynamic_shared_mem::<T>();
    let staged = memory.len() >= times.width();
    let mut i = if staged || judge { thread::rank() } else { times.width() };
    while i < times.width() {
        // SAFETY: `i` and the batch are inside `times`, and only this thread writes element `i` of the shared memory.
        unsafe {
            let time = times.load(i, batch);
            if staged {
                memory.store(i, time);
            }
            if judge {
                let before = if i > 0 { times.load(i - 1, batch) } else { time };
                if !(before <= time && time.is_time()) {
                    tell(fault, fault_code(batch, ResampleFault::Source, i));
                }
            }
        }
        i += BLOCK_THREADS;
    }
    if staged { Times::Staged(memory) } else { Times::Far { times, batch } }
}

/// Records the code of a fault in `fault`, unless it already contains a smaller code.
///
/// # Safety
/// The caller must ensure that `fault` has an element.
#[device]
unsafe fn tell(fault: SliceMut<u64>, code: u64) {
    use cuda_std::atomic::AtomicMinMax;
    // SAFETY: the element exists, as guaranteed by the caller. All threads access it only with atomics.
    unsafe { u64::atomic_min(fault.atomic(0), code) };
}

/// Prefetches `count` elements of a row, from `first` on, into the L2 cache. Each thread prefetches one cache line;
/// lines beyond the number of threads are not prefetched.
#[device]
fn prefetch<T: Time>(view: View<T>, row: u32, first: u32, count: u32) {
    let each = (LINE_BYTES / size_of::<T>()) as u32;
    let at = thread::thread_idx_x() * each;
    // One more line is needed if the first element does not start a line.
    if count > 0 && at < count + each {
        view.prefetch(first + at.min(count - 1), row);
    }
}

/// The maximum number of bytes of values that are prefetched while the previous kernel runs (Hopper and later). The
/// previous kernel needs memory and caches, too: on an H100, prefetching 8 MB makes a resampling 6 % faster, but 16 MB
/// 20 % slower.
const MOST_AHEAD: u64 = 12 << 20;

/// The targets that a block processes: `count` targets of `batch`, starting with target `first`.
#[derive(Clone, Copy, Default)]
struct Part {
    batch: u32,
    first: u32,
    count: u32,
}

/// The arguments of a resampling kernel, which are the same for all kernels.
#[derive(Clone, Copy)]
struct Batches<V: Value> {
    times: View<V::Time>,
    values: View<V>,
    targets: View<V::Time>,
    out: ViewMut<V>,
    fault: SliceMut<u64>,
}

impl<V: Value> Batches<V> {
    /// Returns whether the sizes match: there is at least one time, a row of values for each time, and a row of results
    /// for each target.
    #[device]
    fn is_sound(self) -> bool {
        let Self { times, values, targets, out, fault } = self;
        let batches = times.height();
        let rows = |each: u32| u64::from(each) * u64::from(batches);
        times.width() > 0
            && fault.len() > 0
            && targets.height() == batches
            && values.width() == out.width()
            && (1..=u32::MAX / TARGETS).contains(&out.width())
            && u64::from(values.height()) == rows(times.width())
            && u64::from(out.height()) == rows(targets.width())
            && thread::block_dim_x() == BLOCK_THREADS
    }

    /// Returns the targets of this block. `count` is uniform for the block, and 0 if the block has no work.
    #[device]
    fn part(self) -> Part {
        let Self { times, targets, .. } = self;
        // The blocks of a batch are consecutive and divide its targets evenly.
        let blocks = thread::grid_dim_x() / times.height().max(1);
        if !self.is_sound() || blocks == 0 {
            return Part::default();
        }
        let each = targets.width().div_ceil(blocks);
        let (batch, first) =
            (thread::block_idx_x() / blocks, thread::block_idx_x() % blocks * each);
        if each > TARGETS || batch >= times.height() || first >= targets.width() {
            return Part::default();
        }
        Part { batch, first, count: each.min(targets.width() - first) }
    }

    /// Prefetches rows of values into the L2 cache: the rows that this block needs if its targets are evenly spaced.
    /// Does nothing if there are more than [`MOST_AHEAD`] bytes of values, long batches or padding between rows, or if
    /// a batch has more than four times as many times as targets, because then most rows are not needed.
    #[device]
    fn prefetch_values(self, batch: u32, first: u32, count: u32) {
        let Self { times, values, targets, .. } = self;
        let each = (LINE_BYTES / size_of::<V>()) as u32;
        let few = u64::from(values.height()) * u64::from(values.width())
            <= MOST_AHEAD / size_of::<V>() as u64;
        // With these limits, `target * times.width()` fits into 32 bits.
        let small = times.width() <= 1 << 16 && targets.width() <= 1 << 15;
        let dense = small && times.width() <= 4 * targets.width();
        if count == 0 || !few || !dense || !values.is_tight() {
            return;
        }
        let beside = |target: u32| target * times.width() / targets.width();
        let (low, high) = (beside(first), beside(first + count));
        let mut at = low * values.width() + thread::thread_idx_x() * each;
        while at < high * values.width() {
            values.prefetch(at % values.width(), batch * times.width() + at / values.width());
            at += BLOCK_THREADS * each;
        }
    }

    #[device]
    fn resample(self) {
        let Part { batch, first, count } = self.part();
        let Self { times, values, targets, out, fault } = self;
        let t = thread::thread_idx_x();
        // Prefetch while the previous kernel still runs, but load what it may have written only after it has ended.
        prefetch(times, batch, 0, times.width());
        prefetch(targets, batch, first, count);
        self.prefetch_values(batch, first, count);
        thread::wait_for_kernel_before();
        if count == 0 {
            return;
        }
        let rows = shared_array![u32; TARGETS as usize];
        let shares = V::Time::shares();
        // SAFETY: `count` is uniform, so all threads of the block reach this call and both barriers. `batch` is a row
        // of `times`.
        let staged = unsafe { stage(times, batch, first == 0, fault) };
        thread::sync_threads();
        if t < count {
            // SAFETY: the target is in its batch, there is a time, and only this thread writes the elements.
            unsafe {
                let target = targets.load(first + t, batch);
                if !target.is_time() {
                    tell(fault, fault_code(batch, ResampleFault::Target, first + t));
                }
                let (row, share) = staged.find(times.width(), target);
                rows.store(t, row);
                shares.store(t, share);
            }
        }
        thread::sync_threads();
        let width = values.width();
        // The distance between two successive pieces of a thread, in rows and columns.
        let (down, along) = (BLOCK_THREADS / width, BLOCK_THREADS % width);
        let on = |(target, column): (u32, u32)| {
            let (target, column) = (target + down, column + along);
            if column >= width { (target + 1, column - width) } else { (target, column) }
        };
        let (from, to) = (batch * times.width(), batch * targets.width() + first);
        let last = times.width() - 1;
        // SAFETY: `rows` and `shares` were written before the barrier. `row` and `next` are rows of the batch.
        let load = |(target, column): (u32, u32)| unsafe {
            let target = target.min(count - 1);
            let (row, share) = (rows.load(target), shares.load(target));
            let next = (row + 1).min(last);
            (values.load(column, from + row), values.load(column, from + next), share)
        };
        let mut piece = (t / width, t % width);
        while piece.0 < count {
            let other = on(piece);
            // Load both pieces before using the first one, so that both loads are in flight at once.
            let ((a, b, share), (c, d, far)) = (load(piece), load(other));
            // SAFETY: each stored piece is inside `out`, and only this thread writes it.
            unsafe {
                out.store(piece.1, to + piece.0, a.lerp(b, share));
                if other.0 < count {
                    out.store(other.1, to + other.0, c.lerp(d, far));
                }
            }
            piece = on(other);
        }
    }
}

/// Defines a resampling kernel for one type of values.
macro_rules! resample {
    ($(#[$doc:meta])* $name:ident, $value:ty, $time:ty) => {
        $(#[$doc])*
        ///
        /// Each row of `times` and of `targets` is a batch. `values` has a row for each time, and `out` has a row for
        /// each target, batch by batch. `fault` receives the smallest [`fault_code`] that occurs. The kernel does
        /// nothing if sizes do not match, blocks are not [`BLOCK_THREADS`], or a batch has too few blocks for its targets. If a time is invalid, results are wrong, but are still computed from values of
        /// the same batch.
        #[kernel(launch_bounds(BLOCK_THREADS, 6), barriers(2), dims(1))]
        pub fn $name(
            times: View<$time>,
            values: View<$value>,
            targets: View<$time>,
            out: ViewMut<$value>,
            fault: SliceMut<u64>,
        ) {
            Batches { times, values, targets, out, fault }.resample();
        }
    };
}

resample! {
    /// Resamples `f64` values in double precision, one number at a time.
    resample_f64, f64, f64
}
resample! {
    /// Resamples `f32` values, one number at a time.
    resample_f32, f32, f32
}
resample! {
    /// Resamples `f32` values, four numbers at a time.
    resample_f32x4, F32x4, f32
}
resample! {
    /// Resamples `bf16` values, one number at a time.
    resample_bf16, bf16, f32
}
resample! {
    /// Resamples `bf16` values, eight numbers at a time.
    resample_bf16x8, Half8<bf16>, f32
}
resample! {
    /// Resamples `f16` values, one number at a time.
    resample_f16, f16, f32
}
resample! {
    /// Resamples `f16` values, eight numbers at a time.
    resample_f16x8, Half8<f16>, f32
}
