//! `shared_array!`: a `.shared` variable on the GPU, a named region of the block's shared memory on
//! the CPU.
//!
//! The length may depend on a generic parameter or on a constant of the function, so it is known
//! only inside the function. The expansion therefore adds a comment with the length to the PTX of
//! the function, and `cuda_builder` declares the variable when it finds the comment.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Mutex, PoisonError};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

/// The arguments of the macro: `TYPE; LENGTH`.
pub(crate) struct Declaration {
    element: Type,
    len: Expr,
}

impl Parse for Declaration {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { element, len: input.parse()? })
    }
}

pub(crate) fn expand(
    Declaration { element, len }: &Declaration,
    at: proc_macro::Span,
) -> TokenStream {
    let name = unique_name(&at);
    // The name contains length and type, so each instance of a generic function has its own array.
    let asm = format!(
        "// cuda_std.shared {name}_{{0}}_{{1}} align=16 bytes={{2}}\n\tmov.u64 {{3}}, {name}_{{0}}_{{1}};"
    );
    let tag = format_ident!("{name}");
    quote! {{
        let len = const {
            let len: usize = #len;
            assert!(align_of::<#element>() <= 16, "shared memory is aligned to 16 bytes");
            assert!(len <= u32::MAX as usize, "a shared array has at most 2³² − 1 elements");
            len as u32
        };
        #[cfg(target_arch = "nvptx64")]
        {
            let address: u64;
            // SAFETY: the assembly only reads the address of the array, which `cuda_builder`
            // declares when it finds the comment in the assembly.
            unsafe {
                ::cuda_std::__private::asm!(
                    #asm,
                    const { let len: usize = #len; len },
                    const ::cuda_std::shared::type_tag::<#element>(),
                    const { let len: usize = #len; len * size_of::<#element>() },
                    out(reg64) address,
                    options(pure, nomem, nostack, preserves_flags),
                );
                ::cuda_std::Shared::<#element>::from_address(address, len)
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            #[allow(non_camel_case_types, reason = "the name of the array")]
            struct #tag<T>(::core::marker::PhantomData<T>);
            ::cuda_std::Shared::<#element>::declared(
                ::core::any::type_name::<#tag<#element>>(),
                len,
            )
        }
    }}
}

/// Returns a unique name for an array that does not depend on the build folder.
///
/// The name consists of the crate's name, the file, line and column, and a number. Crates may have
/// files of the same name, and a macro may declare several arrays at one source position.
pub(crate) fn unique_name(at: &proc_macro::Span) -> String {
    static SEEN: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let file = at.file();
    let path = file.strip_suffix(".rs").unwrap_or(&file);
    let path = path.rsplit_once("src/").map_or(path, |(_, inside)| inside);
    let crate_name = env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let (line, column) = (at.line(), at.column());
    let place = format!("cuda_std_shared_{crate_name}_{path}_{line}_{column}")
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let count = seen.entry(place.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => place,
        n => format!("{place}_{n}"),
    }
}
