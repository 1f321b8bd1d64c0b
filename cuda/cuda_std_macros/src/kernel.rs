//! Expands `#[kernel]`: to the PTX entry on the GPU, and to the launch type and the registry entry
//! on the host.

mod argument;
mod launch;
mod options;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, FnArg, GenericParam, Ident, ItemFn, ReturnType, Safety, Visibility,
    parse_quote,
};

pub(crate) use argument::named;
pub(crate) use options::Options;

use crate::instances;
use argument::{Argument, check_reference, is_unchecked};

pub(crate) fn expand(options: &Options, function: &ItemFn) -> syn::Result<TokenStream> {
    match &*options.instances {
        [] => one(options, function),
        instances => instances::expand(options, instances, function),
    }
}

/// Expands a function without generic parameters into one kernel.
pub(crate) fn one(options: &Options, function: &ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    let is_lifetime = |parameter: &GenericParam| matches!(parameter, GenericParam::Lifetime(_));
    if !signature.generics.params.iter().all(is_lifetime) {
        let message = "a kernel cannot be generic, because it is one entry in the PTX: list its instances, `#[kernel(instances(sum_f32 = sum::<f32>))]`";
        return Err(Error::new_spanned(&signature.generics, message));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(
            &signature.output,
            "a kernel cannot return a value: write it to a `SliceMut` or a `ViewMut`",
        ));
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
    let host = kernel.host();
    let mut function = function.clone();
    // Only the entry may be exported under the kernel's name. The expansion below sets `inline`.
    function.attrs.retain(|a| !a.path().is_ident("no_mangle") && !a.path().is_ident("inline"));
    Ok(quote! {
        // Inlining avoids a copy of the arguments in each thread.
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the arguments are fields of the launch type")]
        #function
        #entry
        #host
    })
}

/// A parsed kernel.
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
    /// Returns the number of axes that a launch may extend along. The default is 2 for a safe
    /// kernel, which must be correct for every accepted launch. The default is 3 for an unsafe
    /// kernel, because the caller guarantees the shape.
    fn dims(&self) -> Expr {
        let default = || if self.is_unsafe { parse_quote!(3) } else { parse_quote!(2) };
        self.options.dims.clone().unwrap_or_else(default)
    }

    /// Generates the PTX entry, and the marker comment in which `cuda_builder` finds the kernel's
    /// launch bounds and number of barriers.
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

        // `assume_dims` is sound in a safe kernel: the host checks the number of dimensions before
        // each launch. Code that launches the kernel without this check must guarantee the number.
        let assume_dims = (!self.is_unsafe).then(|| {
            let dims = self.dims();
            quote!(::cuda_std::__private::assume_dims(#dims);)
        });
        // The compiler numbers the parameters that are not zero-sized.
        let address = format!("mov.b64 {{}}, {exported}_param_{{}};");
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
            let earlier = self.arguments[..at].iter().map(|argument| &argument.ty);
            let value = quote! {
                <#ty as ::cuda_std::KernelArg>::from_entry(
                    <#list as ::cuda_std::arg::list::Slots>::from_slots((#(#names),*)),
                    || {
                        let address: u64;
                        ::cuda_std::__private::asm!(
                            #address,
                            out(reg64) address,
                            const 0 #(+ <<#earlier as ::cuda_std::KernelArg>::Params
                                as ::cuda_std::arg::ParamList>::COUNT)*,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                        address
                    },
                )
            };
            values.push(argument.given(value, self.is_unsafe));
        }
        quote! {
            #(#cfgs)*
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                // The module is needed because `global_asm!` cannot be a statement.
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
                #[allow(clippy::too_many_arguments, reason = "every argument is a parameter")]
                unsafe extern "ptx-kernel" fn cuda_std_entry(#(#parameters),*) {
                    // SAFETY: the host pushes the parameters that these arguments consist of. The
                    // launching code guarantees the kernel's own preconditions.
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

    /// Declares the local variable whose lifetime bounds a safe kernel's references. Without it, a
    /// named lifetime of the kernel could be `'static`.
    fn scope(&self) -> Option<TokenStream> {
        let borrows = !self.is_unsafe && self.arguments.iter().any(|argument| argument.get);
        borrows.then(|| quote!(let cuda_std_scope = ();))
    }

    fn launch_name(&self) -> Ident {
        format_ident!("{}", pascal_case(&unraw(self.name)), span = self.name.span())
    }
}

/// Returns the kernel's name in the PTX.
fn unraw(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// Converts a name to Pascal case: `stitch_planes` becomes `StitchPlanes`.
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
