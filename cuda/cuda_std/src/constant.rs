//! Constant memory: arrays that the host sets between launches and every thread can read.
//!
//! Fast where all lanes of a warp read the same element, as filter taps are; lanes that read
//! different elements are served one after the other, which is why tables do not belong here.

use bytemuck::Pod;

use crate::memory::{self, Access, Index};

/// An array in constant memory, declared by [`constant!`](crate::constant).
///
/// # Safety
/// `SYMBOL` names `LEN` elements in constant memory, aligned to 16 bytes, at `address`.
pub unsafe trait ConstantArray {
    /// Element type.
    type Element: Pod;
    /// Number of elements.
    const LEN: u32;
    /// Name in the PTX.
    const SYMBOL: &'static str;

    /// Address in the constant space.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    fn address() -> u64;

    /// Reads an element. Zero until the host has set it.
    ///
    /// # Safety
    /// `i < LEN`.
    #[inline(always)]
    #[must_use]
    unsafe fn load(i: u32) -> Self::Element {
        memory::check(i < Self::LEN, Access::Load, "constant", || {
            [Index::Linear(i.into()), Index::Linear(Self::LEN.into())]
        });
        let offset = i as usize * size_of::<Self::Element>();
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the element exists.
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
/// Kernels read it by `TAPS::load(i)`, the host sets it through its device.
#[macro_export]
macro_rules! constant {
    ($(#[$meta:meta])* $vis:vis static $name:ident: [$element:ty; $len:expr];) => {
        $(#[$meta])*
        #[allow(non_camel_case_types, reason = "reads like the static it is; not every name offends")]
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        #[cfg(target_arch = "nvptx64")]
        $crate::__private::global_asm!(
            concat!(".visible .const .align 16 .b8 ", stringify!($name), "[{}];"),
            const $len * size_of::<$element>(),
        );

        // SAFETY: declared just above with this name, element and length.
        unsafe impl $crate::ConstantArray for $name {
            type Element = $element;
            const LEN: u32 = $len;
            const SYMBOL: &'static str = stringify!($name);

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn address() -> u64 {
                let address;
                // SAFETY: reads an address.
                unsafe {
                    $crate::__private::asm!(concat!("mov.u64 {}, ", stringify!($name), ";"),
                        out(reg64) address, options(pure, nomem, nostack, preserves_flags));
                }
                address
            }
        }
    };
}
