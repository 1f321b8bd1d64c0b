//! `#[kernel(instances(…))]`: a kernel for each named instance of a generic function.
//!
//! A PTX entry has one type for each parameter, so a generic function cannot be a kernel itself.
//! Each instance becomes an ordinary kernel that calls the function with its generic arguments.
//! Bounds and `where` clauses stay on the generic function and are checked there.

use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    AngleBracketedGenericArguments, Error, GenericArgument, GenericParam, Generics, Ident, ItemFn,
    Path, PathArguments, Safety, Token, parse_quote,
};

use crate::kernel::{Options, named};

/// One instance in the option `instances`: `name = function::<arguments>`.
pub(crate) struct Instance {
    name: Ident,
    function: Path,
}

impl Parse for Instance {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self { name, function: input.parse()? })
    }
}

impl Instance {
    /// Returns the generic arguments of the instance. Returns an error unless the path in the
    /// instance is `function` followed by generic arguments.
    fn arguments(&self, function: &Ident) -> syn::Result<&AngleBracketedGenericArguments> {
        match self.function.segments.first() {
            Some(segment) if self.function.segments.len() == 1 && segment.ident == *function => {
                if let PathArguments::AngleBracketed(arguments) = &segment.arguments {
                    return Ok(arguments);
                }
            }
            _ => {}
        }
        let message = format!("expected `name = {function}::<…>`");
        Err(Error::new_spanned(&self.function, message))
    }

    /// Returns a kernel that calls this instance of `function`.
    fn kernel(&self, function: &ItemFn) -> syn::Result<ItemFn> {
        let ItemFn { attrs, vis, sig, .. } = function;
        let arguments = self.arguments(&sig.ident)?;
        let replaced = Replaced::new(&sig.generics, arguments)?;
        let mut names = Vec::new();
        let mut inputs = Vec::new();
        for (at, argument) in sig.inputs.iter().enumerate() {
            let (name, ty) = named(at, argument)?;
            let ty = replaced.apply(ty.to_token_stream());
            inputs.push(quote!(#name: #ty));
            names.push(name);
        }
        let (name, called) = (&self.name, &self.function);
        let lifetimes = sig.generics.lifetimes();
        let (safety, call) = match sig.safety {
            Safety::Unsafe(_) => (
                quote!(unsafe),
                // SAFETY: the instance has the safety requirements of the function.
                quote!(unsafe { #called(#(#names),*) }),
            ),
            _ => (quote!(), quote!(#called(#(#names),*))),
        };
        let cfgs = attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let doc = format!(
            "Calls [`{}`] with the generic arguments `{}`.",
            sig.ident,
            arguments.args.to_token_stream()
        );
        let safety_doc = matches!(sig.safety, Safety::Unsafe(_)).then(|| {
            let text = format!("\n# Safety\nThe requirements are those of [`{}`].", sig.ident);
            quote!(#[doc = #text])
        });
        Ok(parse_quote! {
            #[doc = #doc]
            #safety_doc
            #(#cfgs)*
            #vis #safety fn #name<#(#lifetimes),*>(#(#inputs),*) {
                #call
            }
        })
    }
}

/// The generic arguments, keyed by the names of their parameters.
struct Replaced(HashMap<String, TokenStream>);

impl Replaced {
    fn new(generics: &Generics, with: &AngleBracketedGenericArguments) -> syn::Result<Self> {
        let names: Vec<_> = generics
            .params
            .iter()
            .filter_map(|parameter| match parameter {
                GenericParam::Lifetime(_) => None,
                GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
                GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
            })
            .collect();
        if names.len() != with.args.len() {
            let message =
                format!("expected {} generic arguments, found {}", names.len(), with.args.len());
            return Err(Error::new_spanned(with, message));
        }
        let values = with.args.iter().map(|argument| match argument {
            GenericArgument::Const(value) => quote!({ #value }),
            other => other.to_token_stream(),
        });
        Ok(Self(names.into_iter().zip(values).collect()))
    }

    /// Returns the tokens of a type with its generic parameters replaced. A group without
    /// delimiters keeps the tokens of each argument together.
    fn apply(&self, tokens: TokenStream) -> TokenStream {
        let tokens = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(name) => match self.0.get(&name.to_string()) {
                Some(value) => TokenTree::Group(Group::new(Delimiter::None, value.clone())),
                None => TokenTree::Ident(name),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.apply(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        });
        tokens.collect()
    }
}

/// Expands to the generic function and a kernel for each of its instances.
pub(crate) fn expand(
    options: &Options,
    instances: &[Instance],
    function: &ItemFn,
) -> syn::Result<TokenStream> {
    let mut kernels = TokenStream::new();
    for instance in instances {
        kernels.extend(crate::kernel::one(options, &instance.kernel(function)?)?);
    }
    Ok(quote! {
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the arguments are fields of the launch types")]
        #function
        #kernels
    })
}
