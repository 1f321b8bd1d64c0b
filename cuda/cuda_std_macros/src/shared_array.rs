//! `shared_array!`: a module-level `.shared` variable on the GPU, a named region on the CPU.

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
    // The place in the source makes the name: unique, and the same from every folder.
    let file = at.file();
    let stem = file.rsplit(['/', '\\']).next().and_then(|name| name.split('.').next());
    let stem = stem.unwrap_or_default().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let name = format!("cuda_std_shared_{stem}_{}_{}", at.line(), at.column());
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
