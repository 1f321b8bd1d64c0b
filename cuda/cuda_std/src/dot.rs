//! Dot products of packed bytes.

/// Returns `c` plus the dot product of the four unsigned bytes of `a` and of `b`, modulo 2³². The
/// GPU needs one instruction.
#[inline(always)]
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
