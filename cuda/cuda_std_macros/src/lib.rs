//! The macros of `cuda_std`, which re-exports them: use them from there.

mod address_space;
mod instances;
mod kernel;
mod kernel_arg;
mod shared_array;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a function a GPU kernel, and a type for launching it.
///
/// `#[kernel(launch_bounds(THREADS, BLOCKS), barriers(N))]`, all parts optional, all
/// numbers constant expressions of `u32`:
/// - `launch_bounds`: most threads of a block, 1024 if not given, and how many blocks must fit on a
///   multiprocessor at once. The compiler limits registers to match; a launch over it is an error.
/// - `barriers`: the exact number of barriers in the compiled kernel. `cuda_builder` then rejects
///   any other number. Without it, `cuda_builder` rejects only barriers that the compiler
///   duplicated into divergent branches, which hang the GPU.
/// - `block_multiple`: the number of threads of a block must be a multiple of this; 32 where the
///   kernel needs whole warps. Another block is an error.
/// - `dims`: axes that a launch may extend along, 2 if not given for a safe function and 3 for an
///   `unsafe fn`. A launch along others is an error: threads that differ only in an index that the
///   kernel does not read would do the same work.
/// - `instances`: a kernel for each named instance of a generic function, as
///   `instances(sum_f32 = sum::<f32>, sum_u32 = sum::<u32>)`. The function itself is no kernel then.
///
/// `fn blur(input: View<f32>, out: ViewMut<f32>)` stays a function, becomes the PTX entry `blur`,
/// and on the host gains `struct Blur<'a>` with a field for each argument, which implements
/// [`Kernel`](../cuda_std/launch/trait.Kernel.html). A safe function vouches that no arguments of
/// these types, launched within its bounds and dimensions, can make it leave their memory or race;
/// an `unsafe fn` makes the launch `unsafe`.
///
/// An argument is a type that implements [`KernelArg`](../cuda_std/trait.KernelArg.html), as views and
/// all plain data do, or is written `&[T]`, `*const T`, `*mut T` or `&T`, or in an `unsafe fn` `&mut [T]`
/// or `&mut T`. A kernel that takes a reference or a raw pointer is never safe to launch; one
/// that takes a `Slice` instead is.
///
/// On the host the kernel is also in [`launch::KERNELS`](../cuda_std/launch/static.KERNELS.html), by
/// its name.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as kernel::Options);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a kernel's argument.
///
/// A `#[repr(C)]` struct of plain data (`bytemuck::Pod`) is passed by value, as every type that derives
/// `cust_core::DeviceCopy` is.
///
/// Any other struct is passed field by field, so that each pointer in it is a parameter of its own: a
/// struct of views, slices, textures and values that belong together, of at most 16 parameters. The
/// derive makes `DeviceNAME<'a>` for it, the struct that the host fills in, whose fields are what the
/// host passes for each of the fields. Images of one size and pitch need not repeat it:
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
/// With `like` the host's struct is made by its function `new`, which is `None` where the images are not
/// alike.
#[proc_macro_derive(KernelArg, attributes(kernel_arg))]
pub fn kernel_arg(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    kernel_arg::expand(&item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a static shared array and evaluates to it: `let tile = shared_array![f32; 32 * 33];`.
///
/// Each occurrence in the source is one array a block. The length is a constant, which may depend on
/// constants and generic parameters of the function; each instance of a generic function has its own.
///
/// It is a [`Shared`](../cuda_std/struct.Shared.html), which can be used as rust-cuda's pointer is:
/// `*tile.add(i) = 1.0`.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    let array = parse_macro_input!(input as shared_array::Declaration);
    shared_array::expand(&array, proc_macro::Span::call_site()).into()
}

/// Puts a static into a memory of the GPU: `#[address_space(shared)]`, `global` or `constant`.
///
/// A shared static is memory of the block, on the CPU too, and is not initialised; its type is an
/// array, or a plain value:
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
/// On the CPU `TILE[i]`, `TILE[y][x]` and uses of a plain value are watched for races; accesses
/// through a reference or pointer to the whole array are not. The static itself has no size, so take
/// that pointer by `TILE.as_mut_ptr()`: `&raw mut TILE` is not the array's address.
///
/// A global or constant static stays what it is in Rust: memory of the device that all launches
/// share, and of the program on the CPU. The compiler has no way to place one in constant memory;
/// [`constant!`](../cuda_std/macro.constant.html) has.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let at = proc_macro::Span::call_site();
    let space = parse_macro_input!(attribute as syn::Ident);
    let item = parse_macro_input!(item as syn::ItemStatic);
    address_space::expand(&space, &item, at).unwrap_or_else(syn::Error::into_compile_error).into()
}
