//! A table of kernel arguments of one type. The kernel selects an entry by an index that it computes.
//!
//! An array of ordinary arguments would have to be indexed with constants, because each argument consists of separate
//! parameters. A value that is an array would be copied to local memory first: rustc passes values to kernels in
//! registers. A table is one parameter, of which the kernel gets the address in constant memory. If the index is the same in all lanes and the compiler
//! knows that, as after [`warp_uniform`](crate::warp::warp_uniform), an entry is loaded once per warp. A texture from
//! a table needs such an index: otherwise `ptxas` reads the texture in a loop over the lanes.

use core::fmt;
use core::marker::PhantomData;
#[cfg(target_arch = "nvptx64")]
use core::mem::offset_of;

use super::{KernelArg, ParamList};

#[cfg(target_arch = "nvptx64")]
use crate::memory;
#[cfg(not(target_arch = "nvptx64"))]
use {
    super::HostArg,
    crate::launch::{Params, Place},
};

/// Up to `N` kernel arguments of type `A` as one argument.
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Buffer, Device, LaunchConfig};
/// use cuda_std::DeviceTable;
///
/// /// Each block adds one of the inputs to its part of the output.
/// #[kernel(dims(1))]
/// pub fn gather(inputs: Table<Slice<f32>, 4>, out: SliceMut<f32>) {
///     let i = thread::unique_1d();
///     assert!(!inputs.is_empty() && inputs.get(inputs.len()).is_none());
///     // SAFETY: the index is less than the length.
///     let input = unsafe { inputs.get_unchecked(thread::block_idx_x() % inputs.len()) };
///     out.set(i, input.get(thread::thread_idx_x()).unwrap_or(0.0));
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let inputs = [Buffer::from_slice(&stream, &[1.0, 2.0])?, Buffer::from_slice(&stream, &[3.0])?];
/// let inputs = DeviceTable::new(&inputs.each_ref().map(Buffer::view)).unwrap();
/// let mut out = Buffer::new(&device, 6)?;
/// let gather = Gather { inputs, out: out.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(6, 2), &gather)?;
/// assert_eq!(out.download(&stream)?, [1.0, 2.0, 3.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
pub struct Table<A: KernelArg, const N: usize> {
    /// The address of the parameter.
    #[cfg(target_arch = "nvptx64")]
    address: u64,
    #[cfg(target_arch = "nvptx64")]
    entries: PhantomData<Entries<A, N>>,
    #[cfg(not(target_arch = "nvptx64"))]
    entries: Entries<A, N>,
}

/// The parameter of a table.
#[doc(hidden)]
#[repr(C)]
pub struct Entries<A: KernelArg, const N: usize> {
    packed: [<A::Params as ParamList>::Packed; N],
    /// The number of entries, at most `N`. The elements after them are unused.
    len: u32,
}

copy!([A: KernelArg, const N: usize] Table<A, N>);

copy!([A: KernelArg, const N: usize] Entries<A, N>);

impl<A: KernelArg, const N: usize> fmt::Debug for Table<A, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("len", &self.len()).finish_non_exhaustive()
    }
}

// SAFETY: a table only contains the parts of its entries.
unsafe impl<A: KernelArg + Send, const N: usize> Send for Table<A, N> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<A: KernelArg + Sync, const N: usize> Sync for Table<A, N> {}

impl<A: KernelArg, const N: usize> Table<A, N> {
    /// Returns the number of entries.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the address is that of an `Entries` parameter.
        unsafe {
            memory::load_param(self.address + offset_of!(Entries<A, N>, len) as u64)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.entries.len
    }

    /// Returns whether the table has no entry. The host cannot create such a table.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns entry `index`, or `None` if there is none.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<A> {
        // SAFETY: the index was just checked.
        (index < self.len()).then(|| unsafe { self.get_unchecked(index) })
    }

    /// Returns entry `index`.
    ///
    /// # Safety
    /// `index` must be less than the [length](Self::len).
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, index: u32) -> A {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the address is that of an `Entries` parameter, in which the caller guarantees entry `index`.
        let params = unsafe {
            let size = size_of::<<A::Params as ParamList>::Packed>() as u32;
            A::Params::load(self.address + u64::from(index * size))
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let params = A::Params::unpack(self.entries.packed[index as usize]);
        // SAFETY: the host packed the parameters of an argument of type `A`.
        unsafe { A::from_params(params) }
    }
}

// SAFETY: the table is one parameter, passed unchanged. Its layout is fixed: `repr(C)` structs of parameters, each of
// which has the same layout on host and device.
unsafe impl<A: KernelArg, const N: usize> KernelArg for Table<A, N> {
    type Params = (Entries<A, N>, ());
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceTable<'a, A, N>;

    #[cfg(target_arch = "nvptx64")]
    unsafe fn from_params(_: Self::Params) -> Self {
        // No table has zero entries, so this fails if another argument has a table as a part.
        const { assert!(N == 0, "a table must be an argument of its own, not a part of another") };
        Self { address: 0, entries: PhantomData }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn from_entry(_: Self::Params, address: impl FnOnce() -> u64) -> Self {
        Self { address: address(), entries: PhantomData }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn from_params((entries, ()): Self::Params) -> Self {
        Self { entries }
    }
}

/// The value that the host passes for a [`Table`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceTable<'a, A: KernelArg, const N: usize> {
    table: Table<A, N>,
    places: [Option<Place>; 2],
    borrow: PhantomData<&'a ()>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<'a, A: KernelArg, const N: usize> DeviceTable<'a, A, N> {
    /// Creates a table of arguments. Returns `None` unless there are 1 to `N` of them. Arguments that kernels can write
    /// are not `Copy`, so a table cannot contain them.
    pub fn new(arguments: &[A::Host<'a>]) -> Option<Self>
    where
        A::Host<'a>: Copy,
    {
        let mut noted = Params::default();
        let mut packed = |argument: &A::Host<'a>| {
            let mut params = Params::default();
            argument.push(&mut params);
            params.places().for_each(|place| noted.refer_to(place));
            let mut from: *const *const core::ffi::c_void = params.pointers().as_ptr().cast();
            // SAFETY: `push` pushed a pointer to each parameter of `A` that is not zero-sized, in order, and
            // `argument` is still borrowed.
            unsafe { A::Params::read(&mut from) }.pack()
        };
        let first = packed(arguments.first()?);
        if arguments.len() > N {
            return None;
        }
        let packed = core::array::from_fn(|i| arguments.get(i).map_or(first, &mut packed));
        let table = Table { entries: Entries { packed, len: arguments.len() as u32 } };
        let mut places = noted.places();
        Some(Self { table, places: [places.next(), places.next()], borrow: PhantomData })
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<A: KernelArg, const N: usize> HostArg<Table<A, N>> for DeviceTable<'_, A, N> {
    fn push<'a>(&'a self, params: &mut Params<'a>) {
        self.places.into_iter().flatten().for_each(|place| params.refer_to(place));
        params.push(&self.table.entries);
    }
}
