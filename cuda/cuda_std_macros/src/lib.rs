//! The macros of `cuda_std`. Use them through `cuda_std`, which re-exports them.
//!
//! ```
//! #[cuda_std::kernel(dims(1))]
//! pub fn ramp(out: cuda_std::SliceMut<u32>) {
//!     let i = cuda_std::thread::unique_1d();
//!     out.set(i, i.index());
//! }
//! ```

mod address_space;
mod instances;
mod kernel;
mod kernel_arg;
mod shared_array;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

/// Turns a function into a GPU kernel, and generates a type that launches it.
///
/// In `#[kernel(launch_bounds(THREADS, BLOCKS), barriers(N))]`, all options may be omitted, and all
/// numbers are constant expressions of type `u32`:
/// - `launch_bounds`: the maximum number of threads per block (default 1024), and the number of
///   blocks that must fit on a multiprocessor at once. The compiler limits registers to match. A
///   launch with more threads per block is an error.
/// - `barriers`: the exact number of barriers in the compiled kernel. `cuda_builder` rejects any
///   other number. Without this option, `cuda_builder` rejects only barriers that the compiler
///   duplicated into divergent branches, which hang the GPU.
/// - `block_multiple`: a required divisor of the number of threads per block (default 1). Use 32 if
///   the kernel needs whole warps. A launch with another block size is an error.
/// - `dims`: the number of axes, counted from x, along which a launch may have more than one block
///   or thread. The default is 2 for a safe function and 3 for an `unsafe fn`. A launch along more
///   axes is an error, because threads that differ only in an index that the kernel does not read
///   would do the same work.
/// - `cpu`: a function that computes a whole launch on the CPU, in place of the simulator; see
///   [`KernelEntry::cpu`](../cuda_std/launch/struct.KernelEntry.html#structfield.cpu). Only the
///   host compiles it. It is an `unsafe fn` that takes the launch configuration and the kernel's
///   arguments, and returns whether it has done the work.
/// - `instances`: generates a kernel for each named instance of a generic function, for example
///   `instances(sum_f32 = sum::<f32>, sum_u32 = sum::<u32>)`. The function itself is then not a
///   kernel.
///
/// `fn blur(input: View<f32>, out: ViewMut<f32>)` remains a function and becomes the PTX entry
/// `blur`. On the host, the macro also generates `struct Blur<'a>`, with a field for each argument,
/// which implements [`Kernel`](../cuda_std/launch/trait.Kernel.html).
///
/// A safe function must stay within the memory of its arguments and be free of races, for any
/// arguments of these types and any launch within its bounds and dimensions. Launching an
/// `unsafe fn` is `unsafe`.
///
/// An argument is one of:
/// - a type that implements [`KernelArg`](../cuda_std/trait.KernelArg.html), such as views and all
///   plain data,
/// - `&[T]`, `&T`, `*const T` or `*mut T`,
/// - `&mut [T]` or `&mut T`, only in an `unsafe fn`.
///
/// A kernel that takes a reference or a raw pointer is never safe to launch. A kernel that takes a
/// `Slice` instead can be.
///
/// On the host, the macro also adds the kernel to
/// [`launch::KERNELS`](../cuda_std/launch/static.KERNELS.html), which lists kernels by name.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::launch::Kernel;
///
/// /// Multiplies by a constant, for which the compiler optimises each instance.
/// #[kernel(dims(1), instances(times_3 = times::<3>, times_8 = times::<8>))]
/// pub fn times<const FACTOR: u32>(data: SliceMut<u32>) {
///     let i = thread::unique_1d();
///     if let Some(value) = data.get(i) {
///         data.set(i, FACTOR * value);
///     }
/// }
///
/// assert_eq!((Times3::ENTRY.name, Times8::ENTRY.name), ("times_3", "times_8"));
/// ```
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as kernel::Options);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `KernelArg` for a struct, so that kernels can take it as an argument.
///
/// A `#[repr(C)]` struct of plain data (`bytemuck::Pod`) is passed by value, like every type that
/// derives `cust_core::DeviceCopy`.
///
/// Any other struct is passed field by field, so that each pointer in it becomes a separate
/// parameter. It can group views, slices, textures and values, with at most 16 parameters in total.
/// The derive generates the struct `DeviceNAME<'a>` for the host, which has a host argument for
/// each field. Images of the same size and pitch can share these parameters:
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Coordinates, and one more plane.
/// #[derive(Clone, Copy, Debug, KernelArg)]
/// pub struct Planes {
///     x: View<f32>,
///     /// Only the address is passed.
///     #[kernel_arg(like = x)]
///     y: View<f32>,
/// }
/// ```
///
/// With `like`, the host creates its struct with the function `new`, which returns `None` if the
/// images differ in size or pitch or are on different devices.
#[proc_macro_derive(KernelArg, attributes(kernel_arg))]
pub fn kernel_arg(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    kernel_arg::expand(&item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a static shared array and evaluates to it: `let tile = shared_array![f32; 32 * 33];`.
///
/// Each occurrence in the source is one array per block. The length is a constant, which may depend
/// on constants and generic parameters of the function. Each instance of a generic function has its
/// own array. On the GPU, the static arrays of a kernel have at most 48 KiB in total;
/// [`dynamic_shared_mem`](../cuda_std/shared/fn.dynamic_shared_mem.html) has no such limit.
///
/// The result is a [`Shared`](../cuda_std/struct.Shared.html), which can be used like the pointer
/// in rust-cuda: `*tile.add(i) = 1.0`. The race detector does not see these accesses.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Returns the value of the next thread. `N` is the number of threads of the block.
/// fn next<const N: usize>(value: f32) -> f32 {
///     let values = shared_array![f32; N];
///     // SAFETY: the indices are less than `N`, and a barrier separates the accesses.
///     unsafe {
///         values.store(thread::rank(), value);
///         thread::sync_threads();
///         values.load((thread::rank() + 1) % N as u32)
///     }
/// }
/// ```
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    let array = parse_macro_input!(input as shared_array::Declaration);
    shared_array::expand(&array, proc_macro::Span::call_site()).into()
}

/// Places a static in an address space of the GPU: `#[address_space(shared)]`, `global` or
/// `constant`.
///
/// A shared static is in the block's shared memory, which the CPU also has, and is not initialised.
/// Its type is an array or a plain value:
///
/// ```
/// use core::mem::MaybeUninit;
/// use cuda_std::prelude::*;
///
/// #[kernel(launch_bounds(256), barriers(1))]
/// pub unsafe fn reverse(values: &mut [f32]) {
///     #[address_space(shared)]
///     static mut TILE: [MaybeUninit<f32>; 256] = [MaybeUninit::uninit(); 256];
///
///     let (i, last) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize - 1);
///     // SAFETY: the barrier is between the stores and the loads.
///     unsafe { TILE[i].write(values[i]) };
///     thread::sync_threads();
///     values[last - i] = unsafe { TILE[i].assume_init() };
/// }
/// ```
///
/// On the CPU, the race detector does not see accesses to these statics, but those to a
/// [`shared_array!`]. The static itself is zero-sized, so `&raw mut TILE` is not the array's address.
/// Use `TILE.as_mut_ptr()`.
///
/// A global or constant static remains an ordinary Rust static. On the GPU it is in device memory
/// that all launches share; on the CPU it is in the program's memory. The compiler cannot place it
/// in constant memory; use [`constant!`](../cuda_std/macro.constant.html) for that.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let at = proc_macro::Span::call_site();
    let space = parse_macro_input!(attribute as syn::Ident);
    let item = parse_macro_input!(item as syn::ItemStatic);
    address_space::expand(&space, &item, at).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Marks a function that kernels call: always inlined on the GPU, where a call costs registers and local memory. On the
/// CPU, the compiler decides, so that a program does not contain the function once for each call.
///
/// ```
/// #[cuda_std::device]
/// fn square(x: f32) -> f32 {
///     x * x
/// }
/// ```
#[proc_macro_attribute]
pub fn device(options: TokenStream, item: TokenStream) -> TokenStream {
    if !options.is_empty() {
        return quote!(::core::compile_error!("`#[device]` has no options");).into();
    }
    let item = proc_macro2::TokenStream::from(item);
    quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[cfg_attr(not(target_arch = "nvptx64"), inline)]
        #item
    }
    .into()
}
