//! Parses the options of `#[kernel]`.

use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Token, parenthesized, parse_quote};

use crate::instances::Instance;

/// The options in the attribute's parentheses. All numbers are constant expressions of type `u32`.
pub(crate) struct Options {
    pub(super) max_threads: Expr,
    pub(super) min_blocks: Expr,
    /// The exact number of barriers in the compiled kernel, if the option is given.
    pub(super) barriers: Option<Expr>,
    pub(super) dims: Option<Expr>,
    pub(super) block_multiple: Expr,
    /// The function that computes a whole launch on the CPU, if the option is given.
    pub(super) cpu: Option<Expr>,
    /// The kernels to generate from a generic function.
    pub(super) instances: Vec<Instance>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        // The default limit is that of CUDA: 1024 threads per block.
        let mut options = Self {
            max_threads: parse_quote!(1024),
            min_blocks: parse_quote!(0),
            barriers: None,
            dims: None,
            block_multiple: parse_quote!(1),
            cpu: None,
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
                ("cpu", Some(function), None, None) => options.cpu = Some(function),
                _ => {
                    let message = "expected `launch_bounds(THREADS)`, `launch_bounds(THREADS, BLOCKS)`, `barriers(N)`, `dims(N)`, `block_multiple(N)`, `cpu(FUNCTION)` or `instances(NAME = FUNCTION::<…>)`";
                    return Err(Error::new(key.span(), message));
                }
            }
            parse_comma(input)?;
        }
        Ok(options)
    }
}

/// Parses the comma that follows an option. The last option may omit the comma.
fn parse_comma(input: ParseStream) -> syn::Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}
