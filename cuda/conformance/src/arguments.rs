//! Kernels that take arguments of every type and write them to `out`, and a kernel without
//! arguments.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use glam::{DMat3, DVec2, IVec2, UVec2, Vec2, Vec3};

use crate::global_rank;

/// A struct that is passed by value, with members of every size and no padding.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Mixed {
    /// A member of 8 bytes.
    pub wide: f64,
    /// A nested vector.
    pub vector: [f32; 3],
    /// A member of 2 bytes.
    pub short: u16,
    /// Members of 1 byte.
    pub bytes: [u8; 2],
}

/// A struct with an alignment of 16 bytes. Kernels take it by value, after an argument of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C, align(16))]
pub struct Aligned {
    /// Eight words, 32 bytes in total.
    pub words: [u32; 8],
}

/// The first thread writes a struct that is passed by value to `out`.
#[kernel]
pub fn by_value(value: Mixed, out: SliceMut<Mixed>) {
    if global_rank() == 0 && out.len() >= 1 {
        // SAFETY: `out` is long enough, as checked above, and only the first thread writes.
        unsafe { out.store(0, value) };
    }
}

/// The first thread writes `value` to `out`, and then the one-byte arguments that precede and
/// follow it in the argument list.
#[kernel]
pub fn by_value_aligned(before: u8, value: Aligned, after: u8, out: SliceMut<Aligned>) {
    if global_rank() == 0 && out.len() >= 2 {
        let bytes = [u32::from(before), u32::from(after), 0, 0, 0, 0, 0, 0];
        // SAFETY: `out` is long enough, as checked above, and only the first thread writes.
        unsafe {
            out.store(0, value);
            out.store(1, Aligned { words: bytes });
        }
    }
}

/// The first thread writes the bits of each scalar argument to `out`. Signed integers are
/// sign-extended.
#[kernel]
pub fn scalars(
    a: u8,
    b: u16,
    c: u32,
    d: u64,
    e: i8,
    f: i16,
    g: i32,
    h: i64,
    i: f32,
    j: f64,
    out: SliceMut<u64>,
) {
    if global_rank() == 0 && out.len() >= 10 {
        // SAFETY: `out` is long enough, as checked above, and only the first thread writes.
        unsafe {
            out.store(0, a.into());
            out.store(1, b.into());
            out.store(2, c.into());
            out.store(3, d);
            out.store(4, i64::from(e) as u64);
            out.store(5, i64::from(f) as u64);
            out.store(6, i64::from(g) as u64);
            out.store(7, h as u64);
            out.store(8, i.to_bits().into());
            out.store(9, j.to_bits());
        }
    }
}

/// The first thread writes the elements of the vectors to `out`, and then those of the matrix
/// column by column.
#[kernel]
pub fn vectors(a: Vec2, b: Vec3, c: UVec2, d: IVec2, e: DVec2, f: DMat3, out: SliceMut<f64>) {
    if global_rank() == 0 && out.len() >= 20 {
        // SAFETY: `out` is long enough, as checked above, and only the first thread writes.
        unsafe {
            out.store(0, a.x.into());
            out.store(1, a.y.into());
            out.store(2, b.x.into());
            out.store(3, b.y.into());
            out.store(4, b.z.into());
            out.store(5, c.x.into());
            out.store(6, c.y.into());
            out.store(7, d.x.into());
            out.store(8, d.y.into());
            out.store(9, e.x);
            out.store(10, e.y);
            out.store(11, f.x_axis.x);
            out.store(12, f.x_axis.y);
            out.store(13, f.x_axis.z);
            out.store(14, f.y_axis.x);
            out.store(15, f.y_axis.y);
            out.store(16, f.y_axis.z);
            out.store(17, f.z_axis.x);
            out.store(18, f.z_axis.y);
            out.store(19, f.z_axis.z);
        }
    }
}

/// Takes no arguments and does nothing.
#[kernel(dims(3))]
pub fn nothing() {}

/// Each thread writes `value` + 1 to its element, without a bounds check.
///
/// # Safety
/// `out` must have an element for each thread of the grid.
#[kernel]
pub unsafe fn fill_unchecked(mut value: u32, out: SliceMut<u32>) {
    value += 1;
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { out.store(global_rank(), value) };
}
