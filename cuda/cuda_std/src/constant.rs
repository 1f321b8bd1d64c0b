//! Constant memory: arrays that the host sets between launches and all threads can read.
//!
//! A read is fast if all lanes of a warp read the same element, such as a filter tap. The GPU
//! serialises reads of different elements, so put lookup tables in global memory instead.

use bytemuck::Pod;

use crate::memory::{self, Access};

/// An array in constant memory, declared by [`constant!`](crate::constant).
///
/// # Safety
/// `SYMBOL` must name `LEN` elements in constant memory at `address`, aligned to 16 bytes.
pub unsafe trait ConstantArray {
    /// The element type.
    type Element: Pod;
    /// The number of elements.
    const LEN: u32;
    /// The array's name in the PTX.
    const SYMBOL: &'static str;

    /// Returns the array's address in the constant address space.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    fn address() -> u64;

    /// Reads element `i`. All elements are zero until the host sets them.
    ///
    /// # Safety
    /// `i` must be less than `LEN`.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(i: u32) -> Self::Element {
        memory::check_index(i, Self::LEN, Access::Load, "constant");
        let offset = i as usize * size_of::<Self::Element>();
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees that `i` is less than `LEN`.
        unsafe {
            memory::load_constant(Self::address() + offset as u64)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::with_constant(Self::SYMBOL, |words| {
            let bytes = words.map(bytemuck::cast_slice::<u128, u8>);
            let element = bytes.and_then(|b| b.get(offset..offset + size_of::<Self::Element>()));
            element.map_or_else(bytemuck::Zeroable::zeroed, bytemuck::pod_read_unaligned)
        })
    }
}

/// Declares an array in constant memory: `constant! { pub static TAPS: [f32; 64]; }`.
///
/// Kernels read the array with `TAPS::load(i)`. The host sets the array with the function
/// `set_constant` of its device in the crate `cust`.
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Buffer, Device, LaunchConfig};
///
/// constant! {
///     /// The coefficients of a polynomial, from the constant term up.
///     pub static TERMS: [f32; 3];
/// }
///
/// #[kernel(dims(1))]
/// pub fn polynomial(x: Slice<f32>, y: SliceMut<f32>) {
///     let i = thread::unique_1d();
///     if let Some(x) = x.get(i) {
///         // SAFETY: the indices are less than `TERMS::LEN`.
///         let terms = [0, 1, 2].map(|term| unsafe { TERMS::load(term) });
///         y.set(i, (terms[2] * x + terms[1]) * x + terms[0]);
///     }
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// device.set_constant::<TERMS>(&[1.0, 0.0, 2.0])?;
/// let x = Buffer::from_slice(&stream, &[0.0, 1.0, 2.0])?;
/// let mut y = Buffer::new(&device, 3)?;
/// let polynomial = Polynomial { x: x.view(), y: y.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(3, 32), &polynomial)?;
/// assert_eq!(y.download(&stream)?, [1.0, 3.0, 9.0]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[macro_export]
macro_rules! constant {
    ($(#[$meta:meta])* $vis:vis static $name:ident: [$element:ty; $len:expr];) => {
        $(#[$meta])*
        #[allow(non_camel_case_types, reason = "named like a static; the lint skips some names")]
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        #[cfg(target_arch = "nvptx64")]
        $crate::__private::global_asm!(
            concat!(".visible .const .align 16 .b8 ", stringify!($name), "[{}];"),
            const $len * size_of::<$element>(),
        );

        // SAFETY: the array is declared above with this name, element type and length.
        unsafe impl $crate::ConstantArray for $name {
            type Element = $element;
            const LEN: u32 = $len;
            const SYMBOL: &'static str = stringify!($name);

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn address() -> u64 {
                let address;
                // SAFETY: the instruction only reads an address.
                unsafe {
                    $crate::__private::asm!(concat!("mov.u64 {}, ", stringify!($name), ";"),
                        out(reg64) address, options(pure, nomem, nostack, preserves_flags));
                }
                address
            }
        }
    };
}
