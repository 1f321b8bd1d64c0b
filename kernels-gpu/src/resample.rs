//! Resampling of trajectories: values known at some times, at others.
//!
//! For each batch there are S ascending source times, as many rows of D values, and T target times. At a target
//! t between source times t₀ ≤ t < t₁, next to each other,
//!
//! ```text
//! out = a + w (b − a),   w = (t − t₀) / (t₁ − t₀),   0 where t₁ − t₀ < 1e-6
//! ```
//!
//! and before the first and after the last time their rows. Values are linear in f32, or f64 for
//! f64, whatever they are stored as.
//!
//! The idea of the fast kernels: a batch is divided among blocks, more of them where there are few batches, and
//! each thread moves 16 bytes. A block stages the batch's times in shared memory, a thread for each of its targets, up
//! to [`TARGETS`], finds its place there by bisection, and then all threads fill its rows, neighbours side by side,
//! two pieces at a time. What is wrong with times is found on the way: the first fault is a minimum by atomics. Times
//! and targets are brought into the cache while the kernel before still runs, and, of few values, the rows that they
//! ask for if they are spread evenly.
//!
//! Cost: each row that is needed is read about once, through the caches; it waits for memory. The
//! persistent kernel is the design that it replaces: one block a batch, an element at a time. It is here to be
//! compared with.

use cuda_std::prelude::*;
use cuda_std::{GpuHalf, LINE_BYTES};
use half::{bf16, f16};
use shared_types::resample::{
    BLOCK_THREADS, F32x4, Half8, ResampleFault, SAME_TIME, TARGETS, Wide, fault_code,
};

/// A time, and a number that values are blended in.
trait Time: bytemuck::Pod + PartialOrd {
    /// How far `self` is between two times, from 0 to 1.
    fn share(self, from: Self, to: Self) -> Self;

    /// Neither infinite nor no number.
    fn is_time(self) -> bool;

    const ZERO: Self;

    /// Shared memory for how far each target of a block is.
    fn shares() -> Shared<Self>;
}

macro_rules! time {
    ($type:ty) => {
        impl Time for $type {
            #[inline(always)]
            fn share(self, from: Self, to: Self) -> Self {
                let whole = to - from;
                if whole < SAME_TIME.into() { 0.0 } else { (self - from) / whole }
            }

            #[inline(always)]
            fn is_time(self) -> bool {
                self.abs() < <$type>::INFINITY
            }

            const ZERO: Self = 0.0;

            #[inline(always)]
            fn shares() -> Shared<Self> {
                shared_array![$type; TARGETS as usize]
            }
        }
    };
}
time!(f32);
time!(f64);

/// What is blended as one.
trait Value: bytemuck::Pod {
    type Time: Time;

    fn lerp(self, other: Self, share: Self::Time) -> Self;
}

impl Value for f32 {
    type Time = f32;

    #[inline(always)]
    fn lerp(self, other: Self, share: f32) -> Self {
        (other - self).mul_add(share, self)
    }
}

impl Value for f64 {
    type Time = f64;

    #[inline(always)]
    fn lerp(self, other: Self, share: f64) -> Self {
        (other - self).mul_add(share, self)
    }
}

macro_rules! half {
    ($type:ty) => {
        impl Value for $type {
            type Time = f32;

            #[inline(always)]
            fn lerp(self, other: Self, share: f32) -> Self {
                lerp_pair([self; 2], [other; 2], share)[0]
            }
        }
    };
}
half!(bf16);
half!(f16);

/// Two numbers of 16 bits at once, which one instruction rounds.
#[inline(always)]
fn lerp_pair<T: GpuHalf>([a, b]: [T; 2], [c, d]: [T; 2], share: f32) -> [T; 2] {
    T::narrow_pair(a.widen().lerp(c.widen(), share), b.widen().lerp(d.widen(), share))
}

impl Value for F32x4 {
    type Time = f32;

    #[inline(always)]
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

    #[inline(always)]
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
    Staged(Shared<T>),
    /// More than shared memory holds.
    Far {
        times: View<T>,
        batch: u32,
    },
}

impl<T: Time> Times<T> {
    /// # Safety
    /// There are so many, and staged ones lie behind a barrier.
    #[inline(always)]
    unsafe fn at(&self, i: u32) -> T {
        // SAFETY: as the caller vouches.
        unsafe {
            match self {
                Self::Staged(times) => times.load(i),
                Self::Far { times, batch } => times.load(i, *batch),
            }
        }
    }

    /// The row before a target or at it, and how far it is from there to the next: of `count` times.
    ///
    /// # Safety
    /// As [`at`](Self::at), of `count` times, one at least.
    #[inline(always)]
    unsafe fn find(&self, count: u32, target: T) -> (u32, T) {
        // How many are not after the target.
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

/// Stages a batch's times where there is room, and looks for what is wrong with them if `judge`.
///
/// # Safety
/// All threads of the block call it with the same arguments. The batch is one of `times`; a barrier
/// follows before what is staged is read, and one was before it is staged anew.
#[inline(always)]
unsafe fn stage<T: Time>(
    times: View<T>,
    batch: u32,
    judge: bool,
    fault: SliceMut<u64>,
) -> Times<T> {
    let memory = shared::dynamic_shared_mem::<T>();
    let staged = memory.len() >= times.width();
    let mut i = thread::rank();
    while i < times.width() {
        // SAFETY: inside; each element has one thread.
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

/// # Safety
/// `fault` has an element.
#[inline(always)]
unsafe fn tell(fault: SliceMut<u64>, code: u64) {
    use cuda_std::atomic::AtomicMinMax;
    // SAFETY: as the caller vouches; all threads touch it by atomics.
    unsafe { u64::atomic_min(fault.atomic(0), code) };
}

/// Has elements of a row from `first` on brought into the L2 cache, a line a thread: of more lines than threads the
/// first ones.
#[inline(always)]
fn prefetch<T: Time>(view: View<T>, row: u32, first: u32, count: u32) {
    let each = (LINE_BYTES / size_of::<T>()) as u32;
    let at = thread::thread_idx_x() * each;
    // The first need not begin a line: then there is one more.
    if count > 0 && at < count + each {
        view.prefetch(first + at.min(count - 1), row);
    }
}

/// Most bytes of values that are fetched while the kernel before runs, from Hopper on, which needs memory and caches
/// too: between the 8 MB that make a resampling 6 % faster on an H100, and the 16 MB that make it 20 % slower.
const MOST_AHEAD: u64 = 12 << 20;

/// Targets of a batch, from `first` on.
#[derive(Clone, Copy, Default)]
struct Part {
    batch: u32,
    first: u32,
    count: u32,
}

/// The arguments of a kernel.
#[derive(Clone, Copy)]
struct Batches<V: Value> {
    times: View<V::Time>,
    values: View<V>,
    targets: View<V::Time>,
    out: ViewMut<V>,
    fault: SliceMut<u64>,
}

impl<V: Value> Batches<V> {
    /// Whether they are of one resampling: some times, as many rows of values, a row for each target.
    #[inline(always)]
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

    /// What the block makes. Of nothing `count` is 0, for all of its threads.
    #[inline(always)]
    fn part(self) -> Part {
        let Self { times, targets, .. } = self;
        // Blocks of a batch follow each other, and share its targets evenly.
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

    /// Has rows of values brought into the L2 cache: each part of a batch as large a share of them as it has of the
    /// targets, which are those that its targets lie beside if all are spread evenly. Only of few values, whose rows
    /// have no padding, and not of far fewer targets than times, which leave most rows out.
    #[inline(always)]
    fn prefetch_values(self, batch: u32, first: u32, count: u32) {
        let Self { times, values, targets, .. } = self;
        let each = (LINE_BYTES / size_of::<V>()) as u32;
        let few = u64::from(values.height()) * u64::from(values.width())
            <= MOST_AHEAD / size_of::<V>() as u64;
        // So that `target * times.width()` fits.
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

    #[inline(always)]
    fn fast(self) {
        let Part { batch, first, count } = self.part();
        let Self { times, values, targets, out, fault } = self;
        let t = thread::thread_idx_x();
        // While the kernel before still runs; what it may have written is read after it.
        prefetch(times, batch, 0, times.width());
        prefetch(targets, batch, first, count);
        self.prefetch_values(batch, first, count);
        thread::wait_for_kernel_before();
        if count == 0 {
            return;
        }
        let rows = shared_array![u32; TARGETS as usize];
        let shares = V::Time::shares();
        // SAFETY: all threads are still here; the batch is one of them, and both barriers are passed by all.
        let staged = unsafe { stage(times, batch, first == 0, fault) };
        thread::sync_threads();
        if t < count {
            // SAFETY: inside; there is a time; each element has one thread.
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
        // A thread goes on by a block of pieces at a time: by so many rows and columns.
        let (down, along) = (BLOCK_THREADS / width, BLOCK_THREADS % width);
        let on = |(target, column): (u32, u32)| {
            let (target, column) = (target + down, column + along);
            if column >= width { (target + 1, column - width) } else { (target, column) }
        };
        let (from, to) = (batch * times.width(), batch * targets.width() + first);
        let last = times.width() - 1;
        // SAFETY: behind the barrier; rows are of the batch, and the next is one of it too.
        let load = |(target, column): (u32, u32)| unsafe {
            let target = target.min(count - 1);
            let (row, share) = (rows.load(target), shares.load(target));
            let next = (row + 1).min(last);
            (values.load(column, from + row), values.load(column, from + next), share)
        };
        let mut piece = (t / width, t % width);
        while piece.0 < count {
            let other = on(piece);
            // Both are on their way before the first one is used.
            let ((a, b, share), (c, d, far)) = (load(piece), load(other));
            // SAFETY: inside; each piece has one thread.
            unsafe {
                out.store(piece.1, to + piece.0, a.lerp(b, share));
                if other.0 < count {
                    out.store(other.1, to + other.0, c.lerp(d, far));
                }
            }
            piece = on(other);
        }
    }

    #[inline(always)]
    fn persistent(self) {
        let Self { times, values, targets, out, fault } = self;
        if !self.is_sound() {
            return;
        }
        let width = values.width();
        let mut batch = thread::block_idx_x();
        while batch < times.height() {
            // SAFETY: all threads are still here; a barrier lies before and after.
            let staged = unsafe { stage(times, batch, true, fault) };
            thread::sync_threads();
            let mut target = thread::thread_idx_x();
            while target < targets.width() {
                // SAFETY: inside; there is a time; each row of the output has one thread.
                unsafe {
                    let time = targets.load(target, batch);
                    if !time.is_time() {
                        tell(fault, fault_code(batch, ResampleFault::Target, target));
                    }
                    let (row, share) = staged.find(times.width(), time);
                    let next = (row + 1).min(times.width() - 1);
                    let from = batch * times.width();
                    let mut column = 0;
                    while column < width {
                        let (a, b) =
                            (values.load(column, from + row), values.load(column, from + next));
                        out.store(column, batch * targets.width() + target, a.lerp(b, share));
                        column += 1;
                    }
                }
                target += BLOCK_THREADS;
            }
            thread::sync_threads();
            batch += thread::grid_dim_x();
        }
    }
}

/// Defines a kernel for one type of values.
macro_rules! resample {
    ($(#[$doc:meta])* $name:ident, $design:ident, $value:ty, $time:ty, $blocks:literal) => {
        $(#[$doc])*
        ///
        /// A row of `times` and of `targets` is a batch; `values` and `out` have a row for each of them, batch after
        /// batch. `fault` becomes the least [`fault_code`]. Nothing happens if sizes do not go together, blocks are not
        /// of [`BLOCK_THREADS`], or, of the fast ones, a batch has not as many blocks as its targets ask for; wrong
        /// times give wrong values, of the same batch.
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), barriers(2), dims(1))]
        pub fn $name(
            times: View<$time>,
            values: View<$value>,
            targets: View<$time>,
            out: ViewMut<$value>,
            fault: SliceMut<u64>,
        ) {
            Batches { times, values, targets, out, fault }.$design();
        }
    };
}

resample! {
    /// One number at a time, in double precision.
    resample_f64, fast, f64, f64, 6
}
resample! {
    /// One number at a time.
    resample_f32, fast, f32, f32, 6
}
resample! {
    /// Four numbers at a time.
    resample_f32x4, fast, F32x4, f32, 6
}
resample! {
    /// One number at a time.
    resample_bf16, fast, bf16, f32, 6
}
resample! {
    /// Eight numbers at a time.
    resample_bf16x8, fast, Half8<bf16>, f32, 6
}
resample! {
    /// One number at a time.
    resample_f16, fast, f16, f32, 6
}
resample! {
    /// Eight numbers at a time.
    resample_f16x8, fast, Half8<f16>, f32, 6
}
resample! {
    /// The design with one block for each batch in turn, to be compared with.
    resample_persistent_f32, persistent, f32, f32, 4
}
resample! {
    /// The design with one block for each batch in turn, to be compared with.
    resample_persistent_bf16, persistent, bf16, f32, 4
}
