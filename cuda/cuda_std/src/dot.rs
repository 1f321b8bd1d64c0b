//! Dot products of packed bytes.

/// Returns `c` plus the dot product of the four unsigned bytes of `a` and of `b`, modulo 2³². The
/// GPU needs one instruction.
///
/// ```
/// let (a, b) = (u32::from_le_bytes([1, 2, 3, 4]), u32::from_le_bytes([10, 20, 30, 40]));
/// assert_eq!(cuda_std::dp4a(a, b, 5), 5 + 10 + 40 + 90 + 160);
/// ```
#[inline(always)]
#[must_use]
pub fn dp4a(a: u32, b: u32, c: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "unadjusted" {
            #[link_name = "llvm.nvvm.idp4a.u.u"]
            fn idp4a(a: u32, b: u32, c: u32) -> u32;
        }
        // SAFETY: the instruction only operates on registers.
        unsafe { idp4a(a, b, c) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        products.fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a) * u32::from(b)))
    }
}
