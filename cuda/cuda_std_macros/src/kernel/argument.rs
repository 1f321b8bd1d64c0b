//! Parses and checks the arguments of a kernel function.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Error, FnArg, Ident, Pat, PointerMutability, Type};

/// One kernel argument.
pub(super) struct Argument {
    /// The field name in the launch type.
    pub(super) name: Ident,
    /// The `KernelArg` type that is passed to the device.
    pub(super) ty: TokenStream,
    /// Whether the function takes a reference or pointer. A method of `ty` returns this reference
    /// or pointer.
    pub(super) get: bool,
}

impl Argument {
    pub(super) fn new(at: usize, argument: &FnArg) -> syn::Result<Self> {
        let (name, written) = named(at, argument)?;
        let (ty, get) = match pointer_argument(written) {
            Some(ty) => (ty, true),
            None => (written.to_token_stream(), false),
        };
        Ok(Self { name, ty, get })
    }

    /// Returns an expression that converts the `KernelArg` to the function's argument.
    pub(super) fn given(&self, value: TokenStream, is_unsafe: bool) -> TokenStream {
        match (self.get, is_unsafe) {
            (true, true) => quote!(#value.get(&())),
            (true, false) => quote!(#value.get(&cuda_std_scope)),
            (false, _) => value,
        }
    }
}

/// Returns the name and type of argument number `at`.
pub(crate) fn named(at: usize, argument: &FnArg) -> syn::Result<(Ident, &Type)> {
    let FnArg::Typed(typed) = argument else {
        return Err(Error::new_spanned(
            argument,
            "a kernel must be a free function: move it out of the `impl` block",
        ));
    };
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        Pat::Wild(_) => format_ident!("_{at}"),
        pattern => {
            return Err(Error::new_spanned(
                pattern,
                "a kernel argument must be a plain name, not a pattern",
            ));
        }
    };
    Ok((name, &typed.ty))
}

/// Returns the `KernelArg` type for a reference or a raw pointer, or `None` for another type.
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

/// Returns true for references and raw pointers. The host cannot check them, so a kernel that takes
/// one is never safe to launch.
///
/// For example, a kernel on the CPU could pass a reference to an OS thread that continues after a
/// faulting launch has returned.
pub(super) fn is_unchecked(ty: &Type) -> bool {
    match ty {
        Type::Paren(inner) => is_unchecked(&inner.elem),
        Type::Group(inner) => is_unchecked(&inner.elem),
        ty => matches!(ty, Type::Reference(_) | Type::Ptr(_)),
    }
}

/// Rejects references that a safe kernel must not have: `&mut` and `&'static`.
pub(super) fn check_reference(ty: &Type) -> syn::Result<()> {
    let reference = match ty {
        Type::Paren(inner) => return check_reference(&inner.elem),
        Type::Group(inner) => return check_reference(&inner.elem),
        Type::Reference(reference) => reference,
        _ => return Ok(()),
    };
    if reference.mutability.is_some() {
        let message = "every thread would hold this `&mut`: make the kernel an `unsafe fn`, or take a `SliceMut` or a `ViewMut`";
        return Err(Error::new_spanned(ty, message));
    }
    if reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static") {
        let message = "a kernel's memory is valid only during the launch: remove `'static`";
        return Err(Error::new_spanned(ty, message));
    }
    Ok(())
}
