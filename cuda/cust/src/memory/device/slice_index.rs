//! Indexing of a [`DeviceSlice`] by numbers and ranges.

use std::ops::{
    Bound, Index, IndexMut, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo,
    RangeToInclusive,
};

use super::DeviceSlice;
use crate::memory::DeviceCopy;

/// An index into a device slice. Indexing by a number gives a slice of one element.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBuffer, DeviceSliceIndex};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
/// assert_eq!(buffer[1].as_host_vec()?, [2]);
/// buffer[1..].set_32(7)?;
/// assert_eq!((..2).index(&buffer).as_host_vec()?, [1, 7]);
/// (..2).index_mut(&mut buffer).set_32(0)?;
/// // SAFETY: the index is within the buffer.
/// unsafe {
///     assert_eq!(2.get_unchecked(&buffer).as_host_vec()?, [7]);
///     2.get_unchecked_mut(&mut buffer).set_32(5)?;
/// }
/// assert_eq!(buffer.as_host_vec()?, [0, 0, 5]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait DeviceSliceIndex<T: DeviceCopy> {
    /// Returns the elements that the index selects, without a bounds check.
    ///
    /// # Safety
    /// The indices must be within the bounds of the slice.
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// Returns the elements that the index selects.
    ///
    /// # Panics
    /// Panics if an index is out of bounds.
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// Returns the elements that the index selects as a mutable slice, without a bounds check.
    ///
    /// # Safety
    /// The indices must be within the bounds of the slice.
    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;

    /// Returns the elements that the index selects as a mutable slice.
    ///
    /// # Panics
    /// Panics if an index is out of bounds.
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;
}

/// Converts a range to start and end indices in a slice of `len` elements.
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
        impl<T: DeviceCopy> DeviceSliceIndex<T> for $range {
            unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                // This calls the checked `index`, because the bounds check only compares two
                // numbers on the host.
                slice.index(self)
            }

            #[track_caller]
            fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                let range = resolve(&self, slice.len());
                // SAFETY: the range is within the slice.
                unsafe { slice.part(range) }
            }

            unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                slice.index_mut(self)
            }

            #[track_caller]
            fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                let range = resolve(&self, slice.len());
                // SAFETY: the range is within the slice.
                unsafe { slice.part_mut(range) }
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

impl<T: DeviceCopy> DeviceSliceIndex<T> for usize {
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
        slice.index(self..=self)
    }

    #[track_caller]
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
        slice.index(self..=self)
    }

    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
        slice.index_mut(self..=self)
    }

    #[track_caller]
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
        slice.index_mut(self..=self)
    }
}

impl<T: DeviceCopy, I: DeviceSliceIndex<T>> Index<I> for DeviceSlice<T> {
    type Output = Self;

    #[track_caller]
    fn index(&self, index: I) -> &Self {
        index.index(self)
    }
}

impl<T: DeviceCopy, I: DeviceSliceIndex<T>> IndexMut<I> for DeviceSlice<T> {
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut Self {
        index.index_mut(self)
    }
}
