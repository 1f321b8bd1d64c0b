//! The derive macro of `DeviceCopy`. Use it through `cust_core` or `cust`, which re-export it.
//!
//! ```
//! use cust_core::DeviceCopy;
//!
//! #[derive(Clone, Copy, DeviceCopy)]
//! #[repr(C)]
//! struct Particle {
//!     position: [f32; 3],
//!     mass: f32,
//! }
//! ```

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Type, parse_macro_input, parse_quote};

/// Derives `DeviceCopy` for a crate that depends on `cust_core`.
///
/// ```
/// #[derive(Clone, Copy, cust_core::DeviceCopy)]
/// #[repr(C)]
/// struct Sphere(f32, [f32; 3]);
/// ```
#[proc_macro_derive(DeviceCopyCore)]
pub fn device_copy_core(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    implement(&item, &quote!(::cust_core::DeviceCopy)).into()
}

/// Derives `DeviceCopy` for a crate that depends on `cust`.
///
/// ```
/// #[derive(Clone, Copy, cust::DeviceCopy)]
/// #[repr(C)]
/// struct Sphere(f32, [f32; 3]);
/// ```
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    implement(&item, &quote!(::cust::memory::DeviceCopy)).into()
}

/// Returns the impl of the trait at `path` for the type `item`, and code that compiles only if
/// every field implements the trait. If a field does not, the compiler's error points to that
/// field.
fn implement(item: &DeriveInput, path: &TokenStream) -> TokenStream {
    let name = &item.ident;
    let mut generics = item.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#path));
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let checks = fields(&item.data).into_iter().map(|ty| quote_spanned!(ty.span()=> is::<#ty>();));
    quote! {
        // SAFETY: every field is plain data: the constant below compiles only if each one has the
        // trait.
        unsafe impl #parameters #path for #name #arguments #bounds {}

        const _: () = {
            #[allow(dead_code, reason = "only its types are checked")]
            fn fields #parameters () #bounds {
                fn is<T: #path>() {}
                #(#checks)*
            }
        };
    }
}

fn fields(data: &Data) -> Vec<&Type> {
    match data {
        Data::Struct(data) => data.fields.iter().map(|field| &field.ty).collect(),
        Data::Enum(data) => {
            data.variants.iter().flat_map(|variant| variant.fields.iter().map(|f| &f.ty)).collect()
        }
        Data::Union(data) => data.fields.named.iter().map(|field| &field.ty).collect(),
    }
}
