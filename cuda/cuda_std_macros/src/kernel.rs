//! `#[kernel]`: the PTX entry on the GPU, the launch type on the host.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Error, Expr, FnArg, GenericParam, Ident, ItemFn, Pat, PointerMutability, ReturnType,
    Safety, Token, Type, Visibility, parenthesized, parse_quote,
};

use crate::instances::{self, Instance};

/// What stands in the attribute's parentheses: constant expressions.
pub(crate) struct Options {
    max_threads: Expr,
    min_blocks: Expr,
    /// The exact count, if the kernel states one.
    barriers: Option<Expr>,
    dims: Option<Expr>,
    block_multiple: Expr,
    /// Kernels to make of a generic function.
    instances: Vec<Instance>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        // CUDA's own limit bounds a kernel that states none.
        let mut options = Self {
            max_threads: parse_quote!(1024),
            min_blocks: parse_quote!(0),
            barriers: None,
            dims: None,
            block_multiple: parse_quote!(1),
            instances: Vec::new(),
        };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let content;
            parenthesized!(content in input);
            if key == "instances" {
                let instances = content.parse_terminated(Instance::parse, Token![,])?;
                options.instances = instances.into_iter().collect();
                parse_comma(input)?;
                continue;
            }
            let values = content.parse_terminated(Expr::parse, Token![,])?;
            let mut values = values.into_iter();
            match (key.to_string().as_str(), values.next(), values.next(), values.next()) {
                ("launch_bounds", Some(threads), blocks, None) => {
                    options.max_threads = threads;
                    options.min_blocks = blocks.unwrap_or(options.min_blocks);
                }
                ("barriers", Some(barriers), None, None) => options.barriers = Some(barriers),
                ("dims", Some(dims), None, None) => options.dims = Some(dims),
                ("block_multiple", Some(threads), None, None) => options.block_multiple = threads,
                _ => {
                    let message = "expected `launch_bounds(THREADS)`, `launch_bounds(THREADS, BLOCKS)`, `barriers(N)`, `dims(N)`, `block_multiple(N)` or `instances(NAME = FUNCTION::<…>)`";
                    return Err(Error::new(key.span(), message));
                }
            }
            parse_comma(input)?;
        }
        Ok(options)
    }
}

/// Parses the comma before another option.
fn parse_comma(input: ParseStream) -> syn::Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// One kernel argument.
struct Argument {
    /// Its name in the launch type.
    name: Ident,
    /// The `KernelArg` that crosses to the device.
    ty: TokenStream,
    /// Whether the function takes a reference or pointer, which `ty` hands out.
    get: bool,
}

impl Argument {
    fn new(at: usize, argument: &FnArg) -> syn::Result<Self> {
        let (name, written) = named(at, argument)?;
        let (ty, get) = match pointer_argument(written) {
            Some(ty) => (ty, true),
            None => (written.to_token_stream(), false),
        };
        Ok(Self { name, ty, get })
    }

    /// Returns the expression that the function is called with, given the `KernelArg`.
    fn given(&self, value: TokenStream, is_unsafe: bool) -> TokenStream {
        match (self.get, is_unsafe) {
            (true, true) => quote!(#value.get()),
            (true, false) => quote!(#value.within(&cuda_std_scope)),
            (false, _) => value,
        }
    }
}

/// Name and type of argument number `at`.
pub(crate) fn named(at: usize, argument: &FnArg) -> syn::Result<(Ident, &Type)> {
    let FnArg::Typed(typed) = argument else {
        return Err(Error::new_spanned(argument, "a kernel is a free function"));
    };
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        Pat::Wild(_) => format_ident!("_{at}"),
        pattern => {
            return Err(Error::new_spanned(pattern, "a kernel's argument needs a plain name"));
        }
    };
    Ok((name, &typed.ty))
}

/// The `KernelArg` for a reference or a raw pointer.
fn pointer_argument(ty: &Type) -> Option<TokenStream> {
    let path = quote!(::cuda_std::arg::pointer);
    Some(match ty {
        Type::Paren(inner) => return pointer_argument(&inner.elem),
        Type::Group(inner) => return pointer_argument(&inner.elem),
        Type::Reference(reference) => match (&*reference.elem, reference.mutability.is_some()) {
            (Type::Slice(slice), false) => {
                let element = &slice.elem;
                quote!(#path::RefSlice<#element>)
            }
            (Type::Slice(slice), true) => {
                let element = &slice.elem;
                quote!(#path::RefSliceMut<#element>)
            }
            (target, false) => quote!(#path::Ref<#target>),
            (target, true) => quote!(#path::RefMut<#target>),
        },
        Type::Ptr(pointer) => {
            let target = &pointer.elem;
            if matches!(pointer.mutability, PointerMutability::Mut(_)) {
                quote!(#path::MutPointer<#target>)
            } else {
                quote!(#path::ConstPointer<#target>)
            }
        }
        _ => return None,
    })
}

/// Whether the host cannot vouch for an argument of this type, so that no launch is safe. On the CPU a reference may
/// reach another OS thread that outlives a launch that ends with a fault.
fn is_unchecked(ty: &Type) -> bool {
    match ty {
        Type::Paren(inner) => is_unchecked(&inner.elem),
        Type::Group(inner) => is_unchecked(&inner.elem),
        ty => matches!(ty, Type::Reference(_) | Type::Ptr(_)),
    }
}

/// Refuses references that a safe function may not have.
fn check_reference(ty: &Type) -> syn::Result<()> {
    let reference = match ty {
        Type::Paren(inner) => return check_reference(&inner.elem),
        Type::Group(inner) => return check_reference(&inner.elem),
        Type::Reference(reference) => reference,
        _ => return Ok(()),
    };
    if reference.mutability.is_some() {
        let message = "every thread would have this `&mut`: make the kernel an `unsafe fn`, or take a `SliceMut` or a `ViewMut`";
        return Err(Error::new_spanned(ty, message));
    }
    if reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static") {
        let message = "a kernel's memory lives as long as the launch, not for `'static`";
        return Err(Error::new_spanned(ty, message));
    }
    Ok(())
}

pub(crate) fn expand(options: &Options, function: &ItemFn) -> syn::Result<TokenStream> {
    match &*options.instances {
        [] => one(options, function),
        instances => instances::expand(options, instances, function),
    }
}

/// The kernel that a function without generic parameters is.
pub(crate) fn one(options: &Options, function: &ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    let is_lifetime = |parameter: &GenericParam| matches!(parameter, GenericParam::Lifetime(_));
    if !signature.generics.params.iter().all(is_lifetime) {
        let message = "a kernel is one entry in the PTX and so not generic: name its instances, `#[kernel(instances(sum_f32 = sum::<f32>))]`";
        return Err(Error::new_spanned(&signature.generics, message));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(&signature.output, "a kernel returns nothing"));
    }
    let arguments = (signature.inputs.iter().enumerate())
        .map(|(at, argument)| Argument::new(at, argument))
        .collect::<syn::Result<Vec<_>>>()?;
    let is_unsafe = matches!(signature.safety, Safety::Unsafe(_));
    let types = || {
        signature.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        })
    };
    if !is_unsafe {
        types().try_for_each(check_reference)?;
    }
    let kernel = Kernel {
        options,
        name: &signature.ident,
        vis: &function.vis,
        cfgs: function.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect(),
        arguments,
        is_unsafe,
        safe_launch: !is_unsafe && !types().any(is_unchecked),
    };
    let entry = kernel.entry();
    let host = kernel.launch_type();
    let registry = kernel.registry();
    let mut function = function.clone();
    // The entry is exported; the function is code of its own.
    function.attrs.retain(|a| !a.path().is_ident("no_mangle") && !a.path().is_ident("inline"));
    Ok(quote! {
        // One thread's arguments are copies, and there may be many of them.
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the arguments are fields of the launch type")]
        #function
        #entry
        #host
        #registry
    })
}

/// A kernel that the macro has understood.
struct Kernel<'a> {
    options: &'a Options,
    name: &'a Ident,
    vis: &'a Visibility,
    cfgs: Vec<&'a Attribute>,
    arguments: Vec<Argument>,
    is_unsafe: bool,
    safe_launch: bool,
}

impl Kernel<'_> {
    /// Most axes of a launch. A safe kernel vouches for every launch that is admitted, so it states
    /// if it means three; whoever launches an unsafe one vouches for the shape.
    fn dims(&self) -> Expr {
        let default = || if self.is_unsafe { parse_quote!(3) } else { parse_quote!(2) };
        self.options.dims.clone().unwrap_or_else(default)
    }

    /// The entry in the PTX, with a comment that `cuda_builder` reads.
    fn entry(&self) -> TokenStream {
        let Options { max_threads, min_blocks, barriers, .. } = self.options;
        let Self { name, cfgs, .. } = self;
        let scope = self.scope();
        let exported = unraw(name);
        let mut marker = format!("// cuda_std.kernel {exported} maxntid={{}} minnctapersm={{}}");
        let barriers = barriers.as_ref().map(|barriers| {
            marker.push_str(" barriers={}");
            quote!(const #barriers,)
        });

        // A launch of a safe kernel was checked; whoever launches it otherwise vouches for the shape.
        let assume_dims = (!self.is_unsafe).then(|| {
            let dims = self.dims();
            quote!(::cuda_std::__private::assume_dims(#dims);)
        });
        let slots: [Ident; 16] = std::array::from_fn(|slot| format_ident!("S{slot}"));
        let mut parameters = Vec::new();
        let mut values = Vec::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            let ty = &argument.ty;
            let list = quote!(<#ty as ::cuda_std::KernelArg>::Params);
            let names: [Ident; 16] = std::array::from_fn(|slot| format_ident!("a{at}_{slot}"));
            for (name, slot) in names.iter().zip(&slots) {
                parameters.push(quote!(#name: <#list as ::cuda_std::arg::list::Slots>::#slot));
            }
            let value = quote! {
                <#ty as ::cuda_std::KernelArg>::from_params(
                    <#list as ::cuda_std::arg::list::Slots>::from_slots((#(#names),*)),
                )
            };
            values.push(argument.given(value, self.is_unsafe));
        }
        quote! {
            #(#cfgs)*
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
                        #barriers
                    );
                }

                #[unsafe(export_name = #exported)]
                #[allow(improper_ctypes_definitions, reason = "unused parameter slots are `()`")]
                #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
                unsafe extern "ptx-kernel" fn cuda_std_entry(#(#parameters),*) {
                    // SAFETY: the host pushed these parameters for these arguments; what the kernel
                    // itself asks for is the obligation of whoever launches it.
                    #[allow(unused_unsafe, reason = "a kernel without arguments")]
                    unsafe {
                        #assume_dims
                        #scope
                        #name(#(#values),*)
                    }
                }
            };
        }
    }

    /// The struct that the host fills in to launch the kernel.
    fn launch_type(&self) -> TokenStream {
        let Options { max_threads, min_blocks, barriers, block_multiple, .. } = self.options;
        let Self { name: function_name, vis, cfgs, arguments, .. } = self;
        let (dims, scope) = (self.dims(), self.scope());
        let name = unraw(function_name);
        let launch = self.launch_name();
        let lifetime = (!arguments.is_empty()).then(|| quote!(<'a>));
        let barriers = barriers.clone().unwrap_or_else(|| parse_quote!(0));
        let doc = format!("Launches the kernel [`{name}`].");
        let names: Vec<_> = arguments.iter().map(|a| &a.name).collect();
        let types: Vec<_> = arguments.iter().map(|a| &a.ty).collect();
        let count = arguments.len();
        let fields = arguments.iter().map(|Argument { name, ty, .. }| {
            let doc = format!("Argument `{name}`.");
            quote! {
                #[doc = #doc]
                pub #name: <#ty as ::cuda_std::KernelArg>::Host<'a>
            }
        });
        let values = arguments.iter().map(|argument| {
            let Argument { name, ty, .. } = argument;
            let value = quote!(<_ as ::cuda_std::arg::HostArg<#ty>>::on_cpu(&self.#name));
            argument.given(value, self.is_unsafe)
        });
        let safe = self.safe_launch.then(|| {
            quote! {
                // Other kernels are no help to who launches the wrong one.
                #[diagnostic::do_not_recommend]
                #(#cfgs)*
                #[cfg(not(target_arch = "nvptx64"))]
                impl #lifetime ::cuda_std::launch::SafeKernel for #launch #lifetime {}
            }
        });
        quote! {
            #(#cfgs)*
            const _: () = {
                let [threads, _blocks, _barriers, dims, multiple]: [u32; 5] =
                    [#max_threads, #min_blocks, #barriers, #dims, #block_multiple];
                assert!(dims >= 1 && dims <= 3, "a kernel works in 1 to 3 dimensions");
                assert!(threads >= 1 && threads <= 1024, "a block has 1 to 1024 threads");
                assert!(
                    multiple >= 1 && multiple <= threads,
                    "the multiple is 1 to the most threads of a block"
                );
            };

            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                let params = ::cuda_std::arg::list::count(
                    &[#(::cuda_std::arg::layouts::<#types>()),*],
                );
                assert!(
                    params <= ::cuda_std::launch::MAX_PARAMS,
                    "a kernel has at most 128 parameters, and each view is four of them"
                );
            };

            #[doc = #doc]
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(dead_code, reason = "the kernel may be launched by name alone")]
            #vis struct #launch #lifetime {
                #(#fields,)*
            }

            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl #lifetime ::core::fmt::Debug for #launch #lifetime {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(::core::stringify!(#launch))
                }
            }

            // SAFETY: name, bounds and parameters are those of the entry made by the same macro.
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl #lifetime ::cuda_std::launch::Kernel for #launch #lifetime {
                const NAME: &'static str = #name;
                const PACKAGE: &'static str = ::core::env!("CARGO_PKG_NAME");
                const DIMS: u32 = #dims;
                const BOUNDS: ::cuda_std::launch::LaunchBounds = ::cuda_std::launch::LaunchBounds {
                    max_threads: #max_threads,
                    min_blocks: #min_blocks,
                    block_multiple: #block_multiple,
                };

                fn params(&self) -> ::cuda_std::launch::Params<'_> {
                    #[allow(unused_mut, reason = "a kernel without arguments")]
                    let mut params = ::cuda_std::launch::Params::default();
                    #(<_ as ::cuda_std::arg::HostArg<#types>>::push(&self.#names, &mut params);)*
                    params
                }

                fn places(&self) -> impl ::core::iter::Iterator<Item = ::cuda_std::launch::Place> {
                    let places: [[::core::option::Option<::cuda_std::launch::Place>; 2]; #count] =
                        [#(<_ as ::cuda_std::arg::HostArg<#types>>::places(&self.#names)),*];
                    places.into_iter().flatten().flatten()
                }

                #[inline]
                unsafe fn thread(&self) {
                    // SAFETY: as the caller vouches.
                    #[allow(unused_unsafe, reason = "a safe kernel without arguments")]
                    unsafe {
                        #scope
                        #function_name(#(#values),*)
                    }
                }
            }

            #safe
        }
    }

    /// The entry that lets the host find the kernel by name.
    fn registry(&self) -> TokenStream {
        let Self { name: function_name, cfgs, arguments, .. } = self;
        let name = unraw(function_name);
        let launch = self.launch_name();
        let lifetime = (!arguments.is_empty()).then(|| quote!(<'static>));
        let kernel = quote!(<#launch #lifetime as ::cuda_std::launch::Kernel>);
        let types: Vec<_> = arguments.iter().map(|a| &a.ty).collect();
        let read: Vec<_> =
            (0..arguments.len()).map(|at| format_ident!("cuda_std_argument_{at}")).collect();
        let values = (arguments.iter().zip(&read))
            .map(|(argument, read)| argument.given(quote!(#read), self.is_unsafe));
        let scope = self.scope();
        quote! {
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                const LAYOUTS: &[::cuda_std::arg::list::Layouts] =
                    &[#(::cuda_std::arg::layouts::<#types>()),*];
                const PARAMS: &[::cuda_std::launch::ParamLayout] = &::cuda_std::arg::list::join::<
                    { ::cuda_std::arg::list::count(LAYOUTS) },
                >(LAYOUTS);

                #[::cuda_std::__private::linkme::distributed_slice(::cuda_std::launch::KERNELS)]
                #[linkme(crate = ::cuda_std::__private::linkme)]
                static ENTRY: ::cuda_std::launch::KernelEntry = ::cuda_std::launch::KernelEntry {
                    name: #name,
                    package: #kernel::PACKAGE,
                    bounds: #kernel::BOUNDS,
                    dims: #kernel::DIMS,
                    params: PARAMS,
                    thread: cuda_std_thread,
                };

                // Its name must differ from that of every kernel, which it calls.
                unsafe fn cuda_std_thread(cuda_std_params: *const *const ::core::ffi::c_void) {
                    #[allow(unused_mut, unused_variables, reason = "a kernel without arguments")]
                    let mut cuda_std_params = cuda_std_params;
                    // SAFETY: as the caller vouches.
                    #[allow(unused_unsafe, reason = "a safe kernel without arguments")]
                    unsafe {
                        #(let #read = ::cuda_std::arg::read::<#types>(&mut cuda_std_params);)*
                        #scope
                        #function_name(#(#values),*)
                    }
                }
            };
        }
    }

    /// Declares the local variable that a safe kernel's references live as long as: a lifetime that the
    /// kernel names cannot be `'static` then.
    fn scope(&self) -> Option<TokenStream> {
        let borrows = !self.is_unsafe && self.arguments.iter().any(|argument| argument.get);
        borrows.then(|| quote!(let cuda_std_scope = ();))
    }

    fn launch_name(&self) -> Ident {
        format_ident!("{}", pascal_case(&unraw(self.name)), span = self.name.span())
    }
}

/// The name as the PTX has it.
fn unraw(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// `stitch_planes` → `StitchPlanes`.
fn pascal_case(snake: &str) -> String {
    let mut upper = true;
    let mut pascal = String::with_capacity(snake.len());
    for c in snake.chars() {
        if c == '_' {
            upper = true;
        } else {
            pascal.extend(if upper { c.to_uppercase().collect() } else { vec![c] });
            upper = false;
        }
    }
    pascal
}
