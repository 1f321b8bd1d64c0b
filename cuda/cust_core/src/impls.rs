//! Implements `DeviceCopy` for the types of `core` and, behind features, for types of other crates.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Wrapping,
};

use crate::DeviceCopy;

macro_rules! plain {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: the type is plain data with the same layout on host and device.
        unsafe impl DeviceCopy for $type {}
    )+};
}

plain!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, bool, char, ());
plain!(
    NonZeroU8,
    NonZeroU16,
    NonZeroU32,
    NonZeroU64,
    NonZeroU128,
    NonZeroUsize,
    NonZeroI8,
    NonZeroI16,
    NonZeroI32,
    NonZeroI64,
    NonZeroI128,
    NonZeroIsize,
);

// SAFETY: the value is only an address; code that dereferences it must ensure that it is valid.
unsafe impl<T> DeviceCopy for *const T {}
// SAFETY: the value is only an address; code that dereferences it must ensure that it is valid.
unsafe impl<T> DeviceCopy for *mut T {}
// SAFETY: the type has no data.
unsafe impl<T> DeviceCopy for PhantomData<T> {}

macro_rules! generic {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: the type stores one `T` and nothing else, and `T` is `DeviceCopy`.
        unsafe impl<T: DeviceCopy> DeviceCopy for $type {}
    )+};
}

generic!(MaybeUninit<T>, Wrapping<T>);

// SAFETY: the elements are `DeviceCopy`, and an array stores them contiguously on host and device.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
// SAFETY: the contents are plain data, and the same compiler lays the type out for host and device.
unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {}
// SAFETY: the contents are plain data, and the same compiler lays the type out for host and device.
unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {}

macro_rules! tuples {
    ($(($($name:ident),+)),+ $(,)?) => {$(
        // SAFETY: every element is plain data, and the same compiler lays the tuple out for host
        // and device.
        unsafe impl<$($name: DeviceCopy),+> DeviceCopy for ($($name,)+) {}
    )+};
}

tuples!(
    (A),
    (A, B),
    (A, B, C),
    (A, B, C, D),
    (A, B, C, D, E),
    (A, B, C, D, E, F),
    (A, B, C, D, E, F, G),
    (A, B, C, D, E, F, G, H),
);

#[cfg(feature = "half")]
plain!(half::f16, half::bf16);

#[cfg(feature = "vek")]
generic!(
    vek::Vec2<T>,
    vek::Vec3<T>,
    vek::Vec4<T>,
    vek::Extent2<T>,
    vek::Extent3<T>,
    vek::Mat2<T>,
    vek::Mat3<T>,
    vek::Mat4<T>,
    vek::CubicBezier2<T>,
    vek::CubicBezier3<T>,
    vek::Quaternion<T>,
);

#[cfg(feature = "glam")]
plain!(
    glam::Vec2,
    glam::Vec3,
    glam::Vec3A,
    glam::Vec4,
    glam::DVec2,
    glam::DVec3,
    glam::DVec4,
    glam::IVec2,
    glam::IVec3,
    glam::IVec4,
    glam::UVec2,
    glam::UVec3,
    glam::UVec4,
    glam::USizeVec2,
    glam::USizeVec3,
    glam::USizeVec4,
    glam::BVec2,
    glam::BVec3,
    glam::BVec4,
    glam::Mat2,
    glam::Mat3,
    glam::Mat3A,
    glam::Mat4,
    glam::DMat2,
    glam::DMat3,
    glam::DMat4,
    glam::Quat,
    glam::DQuat,
    glam::Affine2,
    glam::Affine3A,
    glam::DAffine2,
    glam::DAffine3,
);
