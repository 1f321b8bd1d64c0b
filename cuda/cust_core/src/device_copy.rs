//! The trait.

/// A type whose values a GPU understands bit by bit.
///
/// Derive it: the macro checks that every field is `DeviceCopy` too.
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
/// - The type holds no reference to host memory. Raw pointers are allowed, since a kernel that follows
///   one is unsafe.
/// - Its layout is the same on host and device. `#[repr(Rust)]` structs have no such promise from the
///   language; in practice one compiler lays both out alike, and `#[repr(C)]` makes it certain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied to a device as it is",
    label = "not `DeviceCopy`",
    note = "derive `cust_core::DeviceCopy`, for host and kernels alike, if the type holds no references to host memory"
)]
pub unsafe trait DeviceCopy: Copy {}
