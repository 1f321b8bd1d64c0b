//! Expands `#[derive(KernelArg)]`, which passes a struct by value or as the parameters of its
//! fields.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Ident, Meta, PathArguments, Token, Type,
    Visibility,
};

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let DeriveInput { ident, generics, .. } = item;
    if let Some(parameter) = generics.params.first() {
        let message =
            "a kernel argument cannot be generic: its layout must be the same on host and device";
        return Err(Error::new_spanned(parameter, message));
    }
    if has_layout(&item.attrs)? {
        return Ok(quote! {
            // SAFETY: `Pod` rules out hidden padding and pointers, and the layout is fixed.
            unsafe impl ::cuda_std::__private::DeviceCopy for #ident {}

            const _: () = {
                const fn is_pod<T: ::cuda_std::__private::bytemuck::Pod>() {}
                is_pod::<#ident>();
                // A by-value parameter aligned to more than 16 bytes crashes the compiler.
                assert!(align_of::<#ident>() <= 16);
            };
        });
    }
    let message = "expected a struct with named fields (passed field by field) or a `#[repr(C)]` struct (passed by value)";
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(ident, message));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(ident, message));
    };
    let fields = fields.named.iter().map(Field::new).collect::<syn::Result<Vec<_>>>()?;
    for (at, field) in fields.iter().enumerate() {
        if let Some(like) = &field.like
            && !fields[..at].iter().any(|f| f.name == like && f.like.is_none())
        {
            let message = "expected an earlier field of the same type without `like`";
            return Err(Error::new_spanned(like, message));
        }
    }
    Ok(Spread { name: ident, vis: &item.vis, fields }.expand())
}

/// Returns true if `repr(C)` or `repr(transparent)` fixes the struct's layout, so that the struct
/// can be passed by value.
fn has_layout(attributes: &[Attribute]) -> syn::Result<bool> {
    let mut fixed = false;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(fixed)
}

/// The primitive types. The host passes an argument of such a type unchanged.
const PRIMITIVES: [&str; 16] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "bool", "char",
];

struct Field<'a> {
    name: &'a Ident,
    ty: &'a Type,
    vis: &'a Visibility,
    docs: Vec<&'a Attribute>,
    /// The earlier field with the same size and pitch, if declared with `like`.
    like: Option<Ident>,
}

impl<'a> Field<'a> {
    fn new(field: &'a syn::Field) -> syn::Result<Self> {
        let name = field
            .ident
            .as_ref()
            .ok_or_else(|| Error::new_spanned(field, "expected a field with a name"))?;
        let mut like = None;
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("kernel_arg")) {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("like") {
                    return Err(meta.error("expected `like = FIELD`"));
                }
                meta.input.parse::<Token![=]>()?;
                like = Some(meta.input.parse()?);
                Ok(())
            })?;
        }
        let is_doc =
            |a: &&Attribute| matches!(&a.meta, Meta::NameValue(m) if m.path.is_ident("doc"));
        let docs = field.attrs.iter().filter(is_doc).collect();
        Ok(Self { name, ty: &field.ty, vis: &field.vis, docs, like })
    }

    /// Returns the host type of the field. The associated type would work for all fields, but makes
    /// the struct invariant over its lifetime, so the common types are named directly.
    fn host(&self) -> TokenStream {
        let ty = self.ty;
        let associated = quote!(<#ty as ::cuda_std::KernelArg>::Host<'a>);
        let Type::Path(path) = ty else {
            return associated;
        };
        let Some(last) = path.path.segments.last() else {
            return associated;
        };
        let arguments = match &last.arguments {
            PathArguments::AngleBracketed(generics) => Some(&generics.args),
            _ => None,
        };
        let device = match (last.ident.to_string().as_str(), arguments) {
            ("View", Some(_)) => quote!(DeviceView),
            ("ViewMut", Some(_)) => quote!(DeviceViewMut),
            ("Slice", Some(_)) => quote!(DeviceSlice),
            ("SliceMut", Some(_)) => quote!(DeviceSliceMut),
            ("Texture2d", Some(_)) => quote!(DeviceTexture),
            (name, None) if PRIMITIVES.contains(&name) => return quote!(#ty),
            _ => return associated,
        };
        quote!(::cuda_std::#device<'a, #arguments>)
    }

    /// Returns the field's part of the parameter list.
    fn params(&self) -> TokenStream {
        let ty = self.ty;
        match self.like {
            Some(_) => quote!((<#ty as ::cuda_std::arg::Alike>::Address, ())),
            None => quote!(<#ty as ::cuda_std::KernelArg>::Params),
        }
    }
}

/// A struct that is passed field by field.
struct Spread<'a> {
    name: &'a Ident,
    vis: &'a Visibility,
    fields: Vec<Field<'a>>,
}

impl Spread<'_> {
    fn expand(&self) -> TokenStream {
        let (device, host) = (self.device(), self.host());
        quote!(#device #host)
    }

    /// Returns, for each field, the parameter list of that field and all later ones. The last list
    /// is empty.
    fn lists(&self) -> Vec<TokenStream> {
        let mut lists = vec![quote!(())];
        for field in self.fields.iter().rev() {
            let (params, rest) = (field.params(), &lists[lists.len() - 1]);
            lists.push(quote!(<#params as ::cuda_std::arg::ParamList>::Append<#rest>));
        }
        lists.reverse();
        lists
    }

    fn device(&self) -> TokenStream {
        let Self { name, fields, .. } = self;
        let host = self.host_name();
        let lists = self.lists();
        let whole = &lists[0];
        let names: Vec<_> = fields.iter().map(|f| f.name).collect();
        let take = fields.iter().zip(&lists[1..]).map(|(field, rest)| {
            let Field { name, ty, like, .. } = field;
            let params = field.params();
            let value = match like {
                Some(like) => quote!(<#ty as ::cuda_std::arg::Alike>::with_address(&#like, own.0)),
                None => quote!(<#ty as ::cuda_std::KernelArg>::from_params(own)),
            };
            quote! {
                let (own, params) =
                    <#params as ::cuda_std::arg::ParamList>::split::<#rest>(params);
                let #name = #value;
            }
        });
        quote! {
            // SAFETY: the host's struct pushes the parameters of each field in this order.
            unsafe impl ::cuda_std::KernelArg for #name {
                type Params = #whole;
                #[cfg(not(target_arch = "nvptx64"))]
                type Host<'a> = #host<'a>;

                #[inline(always)]
                unsafe fn from_params(params: Self::Params) -> Self {
                    // SAFETY: the caller upholds this function's safety contract.
                    #[allow(unused_unsafe, reason = "a struct may have no fields")]
                    unsafe {
                        #(#take)*
                        let () = params;
                        Self { #(#names),* }
                    }
                }
            }
        }
    }

    fn host(&self) -> TokenStream {
        let Self { name, vis, fields } = self;
        let host = self.host_name();
        let doc = format!("The host argument for a kernel argument of type [`{name}`].");
        let names: Vec<_> = fields.iter().map(|f| f.name).collect();
        let alike: Vec<_> =
            fields.iter().filter_map(|f| Some((f.name, f.like.as_ref()?))).collect();
        let hosts: Vec<_> = fields.iter().map(Field::host).collect();
        let declared = fields.iter().zip(&hosts).map(|(Field { name, vis, docs, .. }, host)| {
            // With `like`, the fields are private, so that only `new` can combine images.
            let vis = if alike.is_empty() { vis } else { &Visibility::Inherited };
            quote!(#(#docs)* #vis #name: #host)
        });
        let new = (!alike.is_empty()).then(|| {
            let (field, like): (Vec<_>, Vec<_>) = alike.iter().copied().unzip();
            quote! {
                #[cfg(not(target_arch = "nvptx64"))]
                impl<'a> #host<'a> {
                    /// Creates the argument. Returns `None` if fields declared `like` each other
                    /// differ in size or pitch or are on different devices.
                    #[must_use]
                    #vis fn new(
                        #(#names: #hosts),*
                    ) -> ::core::option::Option<Self> {
                        (#(#like.is_like(&#field))&&*).then_some(Self { #(#names),* })
                    }
                }
            }
        });
        let impls = self.host_impls(&hosts);
        quote! {
            #[doc = #doc]
            #[cfg(not(target_arch = "nvptx64"))]
            #vis struct #host<'a> {
                #(#declared,)*
            }

            #new

            #impls
        }
    }

    /// Returns the implementations for the host argument, whose fields have the types `hosts`.
    fn host_impls(&self, hosts: &[TokenStream]) -> TokenStream {
        let Self { name, fields, .. } = self;
        let host = self.host_name();
        let names: Vec<_> = fields.iter().map(|f| f.name).collect();
        let push = fields.iter().map(|Field { name, ty, like, .. }| match like {
            Some(_) => quote!(self.#name.push_address(params);),
            None => quote!(<_ as ::cuda_std::arg::HostArg<#ty>>::push(&self.#name, params);),
        });
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            impl<'a> ::core::clone::Clone for #host<'a>
            where
                #(#hosts: ::core::marker::Copy,)*
            {
                fn clone(&self) -> Self {
                    *self
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl<'a> ::core::marker::Copy for #host<'a>
            where
                #(#hosts: ::core::marker::Copy,)*
            {
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl<'a> ::core::fmt::Debug for #host<'a>
            where
                #(#hosts: ::core::fmt::Debug,)*
            {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.debug_struct(::core::stringify!(#host))
                        #(.field(::core::stringify!(#names), &self.#names))*
                        .finish()
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl<'a> ::cuda_std::arg::HostArg<#name> for #host<'a> {
                fn push<'p>(&'p self, params: &mut ::cuda_std::launch::Params<'p>) {
                    #(#push)*
                }
            }
        }
    }

    fn host_name(&self) -> Ident {
        format_ident!("Device{}", self.name, span = self.name.span())
    }
}
