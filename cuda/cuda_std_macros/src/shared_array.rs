//! `shared_array!`: a module-level `.shared` variable on the GPU, a named region on the CPU.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Mutex, PoisonError};

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

/// `TYPE; LENGTH`.
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
    let declare = format!(".shared .align 16 .b8 {name}[{{}}];");
    let address = format!("mov.u64 {{}}, {name};");
    quote! {{
        const LEN: usize = #len;
        const { assert!(align_of::<#element>() <= 16 && LEN <= u32::MAX as usize) };
        #[cfg(target_arch = "nvptx64")]
        {
            // A module, since a statement may not be `global_asm!`.
            mod declare {
                #[allow(unused_imports, reason = "element type and length may be the caller's")]
                use super::*;
                ::cuda_std::__private::global_asm!(#declare, const (#len) * size_of::<#element>());
            }
            let address: u64;
            // SAFETY: reads the address of the array declared just above.
            unsafe {
                ::cuda_std::__private::asm!(#address, out(reg64) address,
                    options(pure, nomem, nostack, preserves_flags));
                ::cuda_std::Shared::<#element>::from_address(address, LEN as u32)
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        ::cuda_std::Shared::<#element>::declared(#name, LEN as u32)
    }}
}

/// A name for the array, the same from every folder.
///
/// The place in the source makes it; crates may have files of the same name, and a macro may put
/// several arrays in one place, so the crate's name comes before and a number after.
fn unique_name(at: &proc_macro::Span) -> String {
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
