//! The trait `DeviceCopy`, which marks types that can be copied to a GPU byte by byte.

/// A type whose values have the same bit representation on host and GPU.
///
/// Derive this trait. The derive macro checks that every field is `DeviceCopy` too.
///
/// ```
/// use cust_core::DeviceCopy;
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Ray {
///     origin: [f32; 3],
///     direction: [f32; 3],
/// }
/// ```
///
/// A type that owns or borrows host memory is not `DeviceCopy`:
///
/// ```compile_fail
/// use cust_core::DeviceCopy;
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Name(&'static str);
/// ```
///
/// # Safety
/// - The type must not hold references to host memory. Raw pointers are allowed because
///   dereferencing one in a kernel is unsafe.
/// - The type must have the same layout on host and device. The language does not guarantee this
///   for `#[repr(Rust)]` structs; in practice one compiler gives both the same layout. `#[repr(C)]`
///   guarantees it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied to a device byte by byte",
    label = "not `DeviceCopy`",
    note = "derive `cust_core::DeviceCopy`, for host and kernels alike, if the type holds no references to host memory"
)]
pub unsafe trait DeviceCopy: Copy {}
