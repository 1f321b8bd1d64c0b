//! `#[kernel]`: the PTX entry on the GPU, the launch type on the host.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    Error, Expr, FnArg, Ident, ItemFn, Pat, ReturnType, Safety, Token, Type, parenthesized,
    parse_quote,
};

/// What stands in the attribute's parentheses: constant expressions.
pub(crate) struct Options {
    max_threads: Expr,
    min_blocks: Expr,
    barriers: Expr,
    dims: Expr,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        // CUDA's own limit bounds a kernel that states none.
        let mut options = Self {
            max_threads: parse_quote!(1024),
            min_blocks: parse_quote!(0),
            barriers: parse_quote!(0),
            dims: parse_quote!(2),
        };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let content;
            parenthesized!(content in input);
            let values = content.parse_terminated(Expr::parse, Token![,])?;
            let mut values = values.into_iter();
            match (key.to_string().as_str(), values.next(), values.next(), values.next()) {
                ("launch_bounds", Some(threads), blocks, None) => {
                    options.max_threads = threads;
                    options.min_blocks = blocks.unwrap_or(options.min_blocks);
                }
                ("barriers", Some(barriers), None, None) => options.barriers = barriers,
                ("dims", Some(dims), None, None) => options.dims = dims,
                _ => {
                    let message = "expected `launch_bounds(THREADS)`, `launch_bounds(THREADS, BLOCKS)`, `barriers(N)` or `dims(N)`";
                    return Err(Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// One kernel argument.
struct Argument<'a> {
    name: &'a Ident,
    ty: &'a Type,
}

impl<'a> Argument<'a> {
    fn new(argument: &'a FnArg) -> syn::Result<Self> {
        let FnArg::Typed(typed) = argument else {
            return Err(Error::new_spanned(argument, "a kernel is a free function"));
        };
        if matches!(*typed.ty, Type::Reference(_) | Type::Ptr(_)) {
            let message =
                "host memory does not cross to the device: take a `Slice`, a `View` or a value";
            return Err(Error::new_spanned(&typed.ty, message));
        }
        match &*typed.pat {
            Pat::Ident(pattern) => Ok(Self { name: &pattern.ident, ty: &typed.ty }),
            pattern => Err(Error::new_spanned(pattern, "a kernel's argument needs a plain name")),
        }
    }
}

pub(crate) fn expand(options: &Options, function: &ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        let message = "a kernel cannot be generic: it is one entry in the PTX; call a generic function from it";
        return Err(Error::new_spanned(&signature.generics, message));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(&signature.output, "a kernel returns nothing"));
    }
    let arguments = signature.inputs.iter().map(Argument::new).collect::<syn::Result<Vec<_>>>()?;
    let device = entry(options, &signature.ident, &arguments);
    let host = launch_type(options, function, &arguments);
    Ok(quote! {
        // One thread's arguments are copies, and there may be many of them.
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the arguments are fields of the launch type")]
        #function
        #device
        #host
    })
}

/// The entry in the PTX, with a comment that `cuda_builder` reads.
fn entry(options: &Options, name: &Ident, arguments: &[Argument]) -> TokenStream {
    let Options { max_threads, min_blocks, barriers, .. } = options;
    let exported = name.to_string();
    let marker = format!("// cuda_std.kernel {name} maxntid={{}} minnctapersm={{}} barriers={{}}");

    let slots: [Ident; 8] = std::array::from_fn(|slot| format_ident!("P{slot}"));
    let mut parameters = Vec::new();
    let mut values = Vec::new();
    for Argument { name, ty } in arguments {
        let names: [Ident; 8] = std::array::from_fn(|i| format_ident!("{name}_{i}"));
        for (name, slot) in names.iter().zip(&slots) {
            parameters.push(quote!(#name: <#ty as ::cuda_std::KernelArg>::#slot));
        }
        values.push(quote!(<#ty as ::cuda_std::KernelArg>::from_params((#(#names),*))));
    }
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            // A module, since a statement may not be `global_asm!`.
            mod marker {
                #[allow(unused_imports, reason = "the bounds may be named constants")]
                use super::*;
                ::cuda_std::__private::global_asm!(
                    #marker,
                    const #max_threads,
                    const #min_blocks,
                    const #barriers,
                );
            }

            #[unsafe(export_name = #exported)]
            #[expect(improper_ctypes_definitions, reason = "unused parameter slots are `()`")]
            unsafe extern "ptx-kernel" fn entry(#(#parameters),*) {
                // SAFETY: the host pushed these parameters for these arguments; what the kernel
                // itself asks for is the obligation of whoever launches it.
                #[allow(unused_unsafe, reason = "a kernel without arguments")]
                unsafe {
                    #name(#(#values),*)
                }
            }
        };
    }
}

/// The struct that the host fills in to launch the kernel.
fn launch_type(options: &Options, function: &ItemFn, arguments: &[Argument]) -> TokenStream {
    let Options { max_threads, min_blocks, barriers, dims } = options;
    let ItemFn { vis, sig, .. } = function;
    let function_name = &sig.ident;
    let name = sig.ident.to_string();
    let launch = format_ident!("{}", pascal_case(&name), span = sig.ident.span());
    let lifetime = (!arguments.is_empty()).then(|| quote!(<'a>));
    let doc = format!("Launches the kernel [`{name}`].");
    let names: Vec<_> = arguments.iter().map(|a| a.name).collect();
    let types = arguments.iter().map(|a| a.ty);
    let count = arguments.len();
    let fields = arguments.iter().map(|Argument { name, ty }| {
        let doc = format!("Argument `{name}`.");
        quote! {
            #[doc = #doc]
            pub #name: <#ty as ::cuda_std::KernelArg>::Host<'a>
        }
    });
    let safe = (!matches!(sig.safety, Safety::Unsafe(_))).then(|| {
        quote! {
            // Other kernels are no help to who launches the wrong one.
            #[diagnostic::do_not_recommend]
            #[cfg(not(target_arch = "nvptx64"))]
            impl #lifetime ::cuda_std::launch::SafeKernel for #launch #lifetime {}
        }
    });
    quote! {
        const _: () = {
            let [threads, _blocks, _barriers, dims]: [u32; 4] =
                [#max_threads, #min_blocks, #barriers, #dims];
            assert!(dims >= 1 && dims <= 3, "a kernel works in 1 to 3 dimensions");
            assert!(threads >= 1 && threads <= 1024, "a block has 1 to 1024 threads");
        };

        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            let params = 0 #(+ ::cuda_std::arg::param_count::<#types>())*;
            assert!(
                params <= ::cuda_std::launch::MAX_PARAMS,
                "a kernel has at most 128 parameters, and each view is four of them"
            );
        };

        #[doc = #doc]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        #vis struct #launch #lifetime {
            #(#fields,)*
        }

        // SAFETY: name, bounds and parameters are those of the entry made by the same macro.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl #lifetime ::cuda_std::launch::Kernel for #launch #lifetime {
            const PACKAGE: &'static str = env!("CARGO_PKG_NAME");
            const NAME: &'static str = #name;
            const DIMS: u32 = #dims;
            const BOUNDS: ::cuda_std::launch::LaunchBounds =
                ::cuda_std::launch::LaunchBounds { max_threads: #max_threads, min_blocks: #min_blocks };

            fn params(&self) -> ::cuda_std::launch::Params<'_> {
                #[allow(unused_mut, reason = "a kernel without arguments")]
                let mut params = ::cuda_std::launch::Params::default();
                #(::cuda_std::arg::HostArg::push(&self.#names, &mut params);)*
                params
            }

            fn places(&self) -> impl ::core::iter::Iterator<Item = ::cuda_std::launch::Place> {
                let places: [[::core::option::Option<::cuda_std::launch::Place>; 2]; #count] =
                    [#(::cuda_std::arg::HostArg::places(&self.#names)),*];
                places.into_iter().flatten().flatten()
            }

            #[inline]
            unsafe fn thread(&self) {
                // SAFETY: as the caller vouches.
                #[allow(unused_unsafe, reason = "a safe kernel without arguments")]
                unsafe {
                    #function_name(#(::cuda_std::arg::HostArg::on_cpu(&self.#names)),*)
                }
            }
        }

        #safe
    }
}

/// `stitch_planes` → `StitchPlanes`.
fn pascal_case(snake: &str) -> String {
    let mut upper = true;
    let mut pascal = String::with_capacity(snake.len());
    for c in snake.trim_start_matches("r#").chars() {
        if c == '_' {
            upper = true;
        } else {
            pascal.extend(if upper { c.to_uppercase().collect() } else { vec![c] });
            upper = false;
        }
    }
    pascal
}
