//! Indexing of a [`DeviceSlice`] by numbers and ranges.

use std::ops::{
    Bound, Index, IndexMut, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo,
    RangeToInclusive,
};

use super::DeviceSlice;
use crate::memory::DeviceCopy;

/// An index into a device slice. Indexing by a number gives a slice of one element.
pub trait DeviceSliceIndex {
    /// Returns the start and end indices in a slice of `len` elements.
    ///
    /// # Panics
    /// Panics if an index is out of bounds.
    fn resolve(self, len: usize) -> Range<usize>;
}

#[track_caller]
fn resolve(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let after = |end: usize| end.checked_add(1);
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => after(start),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => after(end),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => start..end,
        _ => panic!(
            "the range {:?} to {:?} is not within a device slice of {len} elements",
            range.start_bound(),
            range.end_bound()
        ),
    }
}

macro_rules! ranges {
    ($($range:ty),+) => {$(
        impl DeviceSliceIndex for $range {
            #[track_caller]
            fn resolve(self, len: usize) -> Range<usize> {
                resolve(&self, len)
            }
        }
    )+};
}

ranges!(
    Range<usize>,
    RangeTo<usize>,
    RangeFrom<usize>,
    RangeFull,
    RangeInclusive<usize>,
    RangeToInclusive<usize>
);

impl DeviceSliceIndex for usize {
    #[track_caller]
    fn resolve(self, len: usize) -> Range<usize> {
        resolve(&(self..=self), len)
    }
}

impl<T: DeviceCopy, I: DeviceSliceIndex> Index<I> for DeviceSlice<T> {
    type Output = Self;

    #[track_caller]
    fn index(&self, index: I) -> &Self {
        let range = index.resolve(self.len());
        // SAFETY: the range is within the slice.
        unsafe { self.part(range) }
    }
}

impl<T: DeviceCopy, I: DeviceSliceIndex> IndexMut<I> for DeviceSlice<T> {
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut Self {
        let range = index.resolve(self.len());
        // SAFETY: the range is within the slice.
        unsafe { self.part_mut(range) }
    }
}
