//! `#[address_space(...)]`: statics in a block's shared memory, and in global and constant memory.
//!
//! A shared static becomes a zero-sized value whose type identifies its memory: a `.shared`
//! variable on the GPU, a region of the block's shared memory on the CPU. A global or constant
//! static stays an ordinary Rust static.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, ItemStatic, StaticMutability};

use crate::shared_array::unique_name;

pub(crate) fn expand(
    space: &Ident,
    item: &ItemStatic,
    at: proc_macro::Span,
) -> syn::Result<TokenStream> {
    match space.to_string().as_str() {
        "shared" => Ok(shared(item, at)),
        // The compiler puts these statics in global memory. The GPU reads immutable statics through
        // the read-only cache.
        "global" | "constant" => Ok(quote!(#item)),
        "local" => Err(Error::new(
            space.span(),
            "a static cannot be in local memory: use a local variable (`let`)",
        )),
        _ => Err(Error::new(space.span(), "expected `shared`, `global` or `constant`")),
    }
}

fn shared(item: &ItemStatic, at: proc_macro::Span) -> TokenStream {
    let ItemStatic { attrs, vis, mutability, ident, ty, expr, .. } = item;
    let mutable = matches!(mutability, StaticMutability::Mut(_)).then(|| quote!(mut));
    let name = format!("{}_{ident}", unique_name(&at));
    let asm = format!(
        "// cuda_std.shared {name} align=16 bytes={{}}\n\tmov.u64 {{1}}, {name};\n\tcvta.shared.u64 {{1}}, {{1}};"
    );
    quote! {
        // With braces, the struct's name is only a type, so the static can have the same name.
        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the static")]
        #vis struct #ident {}

        // SAFETY: `cuda_builder` declares a variable of this size when it finds the comment that
        // `address` writes into the PTX. `address` also checks the alignment.
        unsafe impl ::cuda_std::shared::SharedVariable for #ident {
            type Value = #ty;
            const NAME: &'static str = #name;

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn address() -> *mut #ty {
                const { assert!(align_of::<#ty>() <= 16, "shared memory is aligned to 16 bytes") };
                let address: u64;
                // SAFETY: the assembly only reads the address of the variable, which `cuda_builder`
                // declares when it finds the comment in the assembly.
                unsafe {
                    ::cuda_std::__private::asm!(#asm, const size_of::<#ty>(), out(reg64) address,
                        options(pure, nomem, nostack, preserves_flags));
                }
                address as *mut #ty
            }
        }

        // Shared memory is not initialised, so the initial value is only checked for its type.
        const _: #ty = #expr;

        #(#attrs)*
        #vis static #mutable #ident: ::cuda_std::shared::SharedStatic<#ident> =
            ::cuda_std::shared::SharedStatic::new();
    }
}
