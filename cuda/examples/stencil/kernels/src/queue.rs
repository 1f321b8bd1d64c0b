//! The points of one column that a thread keeps in registers.

/// The current point of a column, and the `R` points on each side of it along z.
#[derive(Clone, Copy)]
pub(crate) struct Queue<const R: usize> {
    /// The points before the current one, the nearest first.
    pub(crate) before: [f32; R],
    /// The current point.
    pub(crate) current: f32,
    /// The points after the current one, the nearest first.
    pub(crate) after: [f32; R],
}

impl<const R: usize> Queue<R> {
    /// Loads the queue whose current point is in the plane `R`, with a function that loads the
    /// column's point in a plane.
    #[inline(always)]
    pub(crate) fn new(load: impl Fn(u32) -> f32) -> Self {
        let r = R as u32;
        Self {
            before: core::array::from_fn(|k| load(r - 1 - k as u32)),
            current: load(r),
            after: core::array::from_fn(|k| load(r + 1 + k as u32)),
        }
    }

    /// Moves to the next point. `next` is the new last point.
    #[inline(always)]
    pub(crate) fn advance(&mut self, next: f32) {
        let Self { before, current, after } = *self;
        *self = Self {
            before: core::array::from_fn(|k| if k == 0 { current } else { before[k - 1] }),
            current: after[0],
            after: core::array::from_fn(|k| if k == R - 1 { next } else { after[k + 1] }),
        };
    }
}
