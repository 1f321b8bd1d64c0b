//! The macros of `cuda_std`, which re-exports them: use them from there.

mod kernel;
mod shared_array;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

/// Makes a function a GPU kernel, and a type for launching it.
///
/// `#[kernel(launch_bounds(THREADS, BLOCKS), barriers(N))]`, all parts optional, all
/// numbers constant expressions of `u32`:
/// - `launch_bounds`: most threads of a block, 1024 if not given, and how many blocks must fit on a
///   multiprocessor at once. The compiler limits registers to match; a launch over it is an error.
/// - `barriers`: calls of `sync_threads` in the compiled kernel, 0 if not given. `cuda_builder`
///   counts them, since a barrier that the compiler duplicated into a branch hangs.
/// - `dims`: axes that a launch may extend along, 2 if not given. A launch along others is an error:
///   threads that differ only in an index that the kernel does not read would do the same work.
///
/// `fn blur(input: View<f32>, out: ViewMut<f32>)` stays a function, becomes the PTX entry `blur`,
/// and on the host gains `struct Blur<'a>` with a field for each argument, which implements
/// [`Kernel`](../cuda_std/launch/trait.Kernel.html). A safe function vouches that no arguments of
/// these types, launched within its bounds and dimensions, can make it leave their memory or race; an `unsafe fn` makes the launch `unsafe`.
///
/// The crate needs `#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx,
/// asm_experimental_arch))]`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as kernel::Options);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Lets a `#[repr(C)]` struct of plain data (`bytemuck::Pod`) be passed to a kernel by value.
#[proc_macro_derive(KernelArg)]
pub fn kernel_arg(item: TokenStream) -> TokenStream {
    let DeriveInput { ident, generics, .. } = parse_macro_input!(item);
    if let Some(parameter) = generics.params.first() {
        let message =
            "a kernel argument cannot be generic: its layout must be one for host and device";
        return syn::Error::new_spanned(parameter, message).into_compile_error().into();
    }
    quote!(::cuda_std::kernel_arg_by_value!(#ident);).into()
}

/// Declares a static shared array and evaluates to it: `let tile = shared_array![f32; 32 * 33];`.
///
/// Each occurrence in the source is one array a block. The length is a constant.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    let array = parse_macro_input!(input as shared_array::Declaration);
    shared_array::expand(&array, proc_macro::Span::call_site()).into()
}
