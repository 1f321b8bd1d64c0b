//! The intrinsics for tensor cores.

// The registers that the intrinsics return.

#[repr(C)]
struct Two(u32, u32);

#[repr(C)]
struct Four(u32, u32, u32, u32);

#[repr(C)]
struct Sums(f32, f32, f32, f32);

unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p0"]
    fn load_1(row: *const u8) -> u32;
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p0"]
    fn load_2(row: *const u8) -> Two;
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p0"]
    fn load_4(row: *const u8) -> Four;
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16.p0"]
    fn load_1_transposed(row: *const u8) -> u32;
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p0"]
    fn load_2_transposed(row: *const u8) -> Two;
    #[link_name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p0"]
    fn load_4_transposed(row: *const u8) -> Four;
    #[link_name = "llvm.nvvm.mma.m16n8k16.row.col.bf16"]
    fn mma_bf16(
        a0: u32,
        a1: u32,
        a2: u32,
        a3: u32,
        b0: u32,
        b1: u32,
        c0: f32,
        c1: f32,
        c2: f32,
        c3: f32,
    ) -> Sums;
}

/// Loads `N` matrices. `row` is the address of the lane's row in the shared space.
///
/// # Safety
/// The requirements are those of [`load_matrices`](super::load_matrices).
#[inline(always)]
pub(super) unsafe fn load<const N: usize, const TRANSPOSED: bool>(row: u64) -> [u32; N] {
    let row = row as *const u8;
    let mut words = [0; 4];
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        match (N, TRANSPOSED) {
            (1, false) => words[0] = load_1(row),
            (1, true) => words[0] = load_1_transposed(row),
            (2, _) => {
                let Two(a, b) = if TRANSPOSED { load_2_transposed(row) } else { load_2(row) };
                words = [a, b, 0, 0];
            }
            _ => {
                let Four(a, b, c, d) =
                    if TRANSPOSED { load_4_transposed(row) } else { load_4(row) };
                words = [a, b, c, d];
            }
        }
    }
    core::array::from_fn(|i| words[i])
}

/// Returns `a · b + c`.
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
pub(super) unsafe fn multiply_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    // SAFETY: the caller upholds this function's safety contract.
    let Sums(c0, c1, c2, c3) =
        unsafe { mma_bf16(a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]) };
    [c0, c1, c2, c3]
}
