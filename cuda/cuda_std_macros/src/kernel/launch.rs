//! Generates the host side of a kernel: its launch type, and its entry in the registry.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse_quote;

use super::argument::Argument;
use super::options::Options;
use super::{Kernel, unraw};

impl Kernel<'_> {
    /// Generates compile-time checks of the launch bounds and the number of parameters.
    fn checks(&self) -> TokenStream {
        let Options { max_threads, min_blocks, barriers, block_multiple, .. } = self.options;
        let Self { cfgs, .. } = self;
        let dims = self.dims();
        let barriers = barriers.clone().unwrap_or_else(|| parse_quote!(0));
        let params = self.params();
        quote! {
            #(#cfgs)*
            const _: () = {
                let [threads, _blocks, _barriers, dims, multiple]: [u32; 5] =
                    [#max_threads, #min_blocks, #barriers, #dims, #block_multiple];
                assert!(dims >= 1 && dims <= 3, "`dims` must be 1 to 3");
                assert!(
                    threads >= 1 && threads <= 1024,
                    "the threads of `launch_bounds` must be 1 to 1024"
                );
                assert!(
                    multiple >= 1 && multiple <= threads,
                    "`block_multiple` must be 1 to the maximum number of threads per block"
                );
            };

            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                let params = ::cuda_std::arg::list::count(
                    &[#(<#params as ::cuda_std::arg::ParamList>::LAYOUTS),*],
                );
                assert!(
                    params <= ::cuda_std::launch::MAX_PARAMS,
                    "a kernel can take at most 128 parameters, and each view takes four: use fewer arguments"
                );
            };
        }
    }

    /// Returns the parameter list of each argument.
    fn params(&self) -> Vec<TokenStream> {
        let list = |argument: &Argument| {
            let ty = &argument.ty;
            quote!(<#ty as ::cuda_std::KernelArg>::Params)
        };
        self.arguments.iter().map(list).collect()
    }

    /// Declares the launch struct, with a public field for each argument.
    fn declaration(&self) -> TokenStream {
        let Self { name, vis, cfgs, arguments, .. } = self;
        let launch = self.launch_name();
        let lifetime = (!arguments.is_empty()).then(|| quote!(<'a>));
        let doc = format!("The arguments of the kernel [`{}`], for a launch.", unraw(name));
        let fields = arguments.iter().map(|Argument { name, ty, .. }| {
            let doc = format!("The argument `{name}`.");
            quote! {
                #[doc = #doc]
                pub #name: <#ty as ::cuda_std::KernelArg>::Host<'a>
            }
        });
        quote! {
            #[doc = #doc]
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(dead_code, reason = "the kernel may be launched by name alone")]
            #vis struct #launch #lifetime {
                #(#fields,)*
            }

            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl #lifetime ::core::fmt::Debug for #launch #lifetime {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(::core::stringify!(#launch))
                }
            }
        }
    }

    /// Generates the host side: the struct that the host fills in to launch the kernel, and the
    /// kernel's entry in the registry.
    pub(super) fn host(&self) -> TokenStream {
        let Options { max_threads, min_blocks, block_multiple, .. } = self.options;
        let Self { name: function_name, cfgs, arguments, .. } = self;
        let (dims, scope) = (self.dims(), self.scope());
        let name = unraw(function_name);
        let launch = self.launch_name();
        let lifetime = (!arguments.is_empty()).then(|| quote!(<'a>));
        let names: Vec<_> = arguments.iter().map(|a| &a.name).collect();
        let types: Vec<_> = arguments.iter().map(|a| &a.ty).collect();
        let params = self.params();
        let count = arguments.len();
        let read: Vec<_> = (0..count).map(|at| format_ident!("cuda_std_argument_{at}")).collect();
        let values: Vec<_> = (arguments.iter().zip(&read))
            .map(|(argument, read)| argument.given(quote!(#read), self.is_unsafe))
            .collect();
        let read = quote! {
            #[allow(unused_mut, unused_variables, reason = "a kernel without arguments")]
            let mut cuda_std_params = cuda_std_params;
            #(
                let #read = <#types as ::cuda_std::KernelArg>::from_params(
                    <#params as ::cuda_std::arg::ParamList>::read(&mut cuda_std_params),
                );
            )*
            #scope
        };
        let cpu = match &self.options.cpu {
            None => quote!(::core::option::Option::None),
            Some(function) => quote! {
                ::core::option::Option::Some({
                    unsafe fn cuda_std_cpu(
                        config: &::cuda_std::launch::LaunchConfig,
                        cuda_std_params: *const *const ::core::ffi::c_void,
                    ) -> bool {
                        // SAFETY: the caller upholds the safety contract of `KernelEntry::cpu`.
                        #[allow(unused_unsafe, reason = "a kernel without arguments")]
                        unsafe {
                            #read
                            #function(config, #(#values),*)
                        }
                    }
                    cuda_std_cpu
                })
            },
        };
        let safe = self.safe_launch.then(|| {
            quote! {
                // SAFETY: the kernel is no `unsafe fn` and takes no reference or pointer.
                // Without this attribute, the compiler error about a kernel that is not safe to
                // launch would list other kernels that are safe.
                #[diagnostic::do_not_recommend]
                #(#cfgs)*
                #[cfg(not(target_arch = "nvptx64"))]
                unsafe impl #lifetime ::cuda_std::launch::SafeKernel for #launch #lifetime {}
            }
        });
        let (checks, declaration) = (self.checks(), self.declaration());
        quote! {
            #checks

            #declaration

            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                const LAYOUTS: &[::cuda_std::arg::list::Layouts] =
                    &[#(<#params as ::cuda_std::arg::ParamList>::LAYOUTS),*];
                const PARAMS: &[::cuda_std::launch::ParamLayout] = &::cuda_std::arg::list::join::<
                    { ::cuda_std::arg::list::count(LAYOUTS) },
                >(LAYOUTS);

                #[::cuda_std::__private::linkme::distributed_slice(::cuda_std::launch::KERNELS)]
                #[linkme(crate = ::cuda_std::__private::linkme)]
                static ENTRY: ::cuda_std::launch::KernelEntry = ::cuda_std::launch::KernelEntry {
                    name: #name,
                    package: ::core::env!("CARGO_PKG_NAME"),
                    bounds: ::cuda_std::launch::LaunchBounds {
                        max_threads: #max_threads,
                        min_blocks: #min_blocks,
                        block_multiple: #block_multiple,
                    },
                    dims: #dims,
                    params: PARAMS,
                    threads: cuda_std_threads,
                    cpu: #cpu,
                };

                // SAFETY: the parameters match the entry generated by the same macro.
                unsafe impl #lifetime ::cuda_std::launch::Kernel for #launch #lifetime {
                    const ENTRY: &'static ::cuda_std::launch::KernelEntry = &ENTRY;

                    fn params(&self) -> ::cuda_std::launch::Params<'_> {
                        #[allow(unused_mut, reason = "a kernel without arguments")]
                        let mut params = ::cuda_std::launch::Params::default();
                        #(<_ as ::cuda_std::arg::HostArg<#types>>::push(&self.#names, &mut params);)*
                        params
                    }
                }

                // The function's name must differ from the name of every kernel, because it calls
                // the kernel.
                unsafe fn cuda_std_threads(
                    cuda_std_params: *const *const ::core::ffi::c_void,
                    cuda_std_threads: &mut ::cuda_std::cpu::Threads<'_>,
                ) {
                    // SAFETY: the caller upholds the safety contract of the kernel.
                    #[allow(unused_unsafe, reason = "a safe kernel without arguments")]
                    unsafe {
                        #read
                        while cuda_std_threads.next() {
                            #function_name(#(#values),*)
                        }
                    }
                }
            };

            #safe
        }
    }
}
