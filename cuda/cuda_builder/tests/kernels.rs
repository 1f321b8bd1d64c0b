//! Tests that build kernel crates which depend on `cuda_std`, as users write them, and check the
//! PTX.
//!
//! The crates are strings in this file and have no crate attributes. All tests share the compiled
//! `core` and `cuda_std`.

use cuda_builder::{Arch, Build, CudaBuilder};
use std::fs;
use std::path::{Path, PathBuf};

const MANIFEST: &str = r#"
[package]
name = "NAME"
version = "0.3.0"
edition = "2024"

[lib]
crate-type = ["cdylib", "rlib"]

[dependencies]
cuda_std = { package = "stable-cuda-std", path = "CUDA_STD" }

[workspace]
"#;

const KERNELS: &str = r#"
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::{kernel, shared_array, thread};

#[kernel]
pub unsafe fn arithmetic(out: SliceMut<f32>, a: f32, b: f32) {
    unsafe {
        out.store(0, out.load(0) * a + b);
        out.store(1, a / b);
        out.store(2, b.sqrt());
    }
}

#[kernel]
pub unsafe fn features(out: SliceMut<u32>) {
    #[cfg(target_feature = "compute_70")]
    unsafe {
        out.store(0, 70707)
    }
    #[cfg(target_feature = "compute_80")]
    unsafe {
        out.store(1, 80808)
    }
}

static COUNT: AtomicU32 = AtomicU32::new(0);

#[kernel]
pub unsafe fn orderings(n: u32) {
    COUNT.fetch_add(n, Ordering::Relaxed);
    COUNT.fetch_max(n, Ordering::Release);
    COUNT.fetch_xor(n, Ordering::AcqRel);
    COUNT.swap(n, Ordering::SeqCst);
}

/// A barrier in a loop. The compiler unrolls the loop, so the PTX has several barriers.
#[kernel]
pub unsafe fn tree(out: SliceMut<f32>) {
    let shared = shared_array![f32; 256];
    let i = thread::thread_idx_x();
    let mut width = 128;
    while width > 0 {
        if i < width {
            unsafe { shared.store(i, shared.load(i) + shared.load(i + width)) };
        }
        thread::sync_threads();
        width /= 2;
    }
    unsafe { out.store(i, shared.load(0)) };
}
"#;

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Writes a kernel crate. Returns a builder for it, and the crate's folder `out`, where the builder
/// writes the PTX.
fn kernel_crate(name: &str, source: &str) -> (CudaBuilder, PathBuf) {
    let folder = scratch().join("kernels").join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("cuda_std");
    let manifest = MANIFEST.replace("NAME", name).replace("CUDA_STD", cuda_std.to_str().unwrap());
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), source).unwrap();
    // An earlier run may have left a lock file for other dependencies of `cuda_std`.
    let _ = fs::remove_file(folder.join("Cargo.lock"));
    let out = folder.join("out");
    (CudaBuilder::new(&folder).copy_to(out.join("all.ptx")), out)
}

/// Returns the body of a kernel in the PTX of a build.
fn body(build: &Build, kernel: &str) -> String {
    let text = fs::read_to_string(&build.archs[0].ptx).unwrap();
    let (_, rest) = text.split_once(&format!(".entry {kernel}(")).unwrap();
    rest.split_once("\n}").unwrap().0.to_owned()
}

#[track_caller]
fn contains_all(body: &str, instructions: &[&str]) {
    for instruction in instructions {
        assert!(body.contains(instruction), "no `{instruction}` in {body}");
    }
}

#[test]
fn a_crate_without_attributes_compiles() {
    let (builder, out) = kernel_crate("plain", KERNELS);
    let module = out.join("module.ll");
    let build = builder.clone().final_module_path(&module).build().unwrap();
    assert_eq!(build.archs[0].arch, Arch::Sm75);

    let text = fs::read_to_string(&build.archs[0].ptx).unwrap();
    assert!(text.starts_with("// cuda_builder.package plain 0.3.0\n//\n"), "{text}");
    assert!(fs::read_to_string(module).unwrap().contains("define ptx_kernel void @tree("));
    let arithmetic = body(&build, "arithmetic");
    contains_all(&arithmetic, &["fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"]);
    let features = body(&build, "features");
    assert!(features.contains("70707") && !features.contains("80808"), "{features}");
    contains_all(
        &body(&build, "orderings"),
        &[
            "\tatom.global.add.u32",
            "\tatom.release.sys.global.max.u32",
            "\tatom.acq_rel.sys.global.xor.b32",
            "\tfence.sc.sys;\n\tatom.acquire.sys.global.exch.b32",
        ],
    );
    let tree = build.archs[0].kernel("tree").unwrap();
    assert_eq!(tree.barriers_declared, None);
    assert!(tree.barriers_counted > 1, "the loop is unrolled");

    let rust = build.write_rust().unwrap();
    assert_eq!(rust, out.join("all.rs"));
    let rust = fs::read_to_string(rust).unwrap();
    contains_all(&rust, &["::cust::kernels!", "\"plain\"", "(7, 5, include_str!(\"all.ptx\"))"]);

    let exact = builder.fma_contraction(false).ftz(true).fast_div(true).fast_sqrt(true);
    let arithmetic = body(&exact.build().unwrap(), "arithmetic");
    assert!(!arithmetic.contains("fma."), "{arithmetic}");
    contains_all(
        &arithmetic,
        &["mul.rn.ftz.f32", "add.rn.ftz.f32", "div.full.ftz.f32", "sqrt.approx.ftz.f32"],
    );
}

#[test]
fn a_missing_function_names_its_kernel() {
    let source = "
use cuda_std::prelude::*;
unsafe extern \"C\" {
    fn vprintf(format: *const u8, arguments: *const u8) -> i32;
    fn elsewhere(n: u32) -> u32;
}
#[cuda_std::kernel]
pub unsafe fn calls(out: SliceMut<u32>, n: u32) {
    unsafe {
        vprintf(c\"hello\\n\".as_ptr().cast(), core::ptr::null());
        out.store(0, elsewhere(n));
    }
}
";
    let (builder, _) = kernel_crate("missing", source);
    let error =
        builder.clone().ptxas("").build().expect_err("the kernel does not load").to_string();
    assert!(error.contains("kernel `calls` calls `elsewhere`, which is not in the PTX"), "{error}");
    builder.external_function("elsewhere").ptxas("").build().unwrap();
}

#[test]
fn large_functions_are_inlined_on_request() {
    let source = "
use cuda_std::prelude::*;
macro_rules! repeat {
    ($f:ident!($($argument:tt)*)) => { $f!($($argument)*); $f!($($argument)*); $f!($($argument)*); $f!($($argument)*); };
}
macro_rules! round {
    ($x:ident, $k:ident, $($n:literal)*) => {$(
        let at = ($n + $k as usize) % $x.len();
        $x[at] = $x[at].rotate_left($n) ^ $x[$n % 8].wrapping_mul($k | 1).count_ones();
    )*};
}
macro_rules! rounds {
    ($x:ident, $k:ident) => { repeat!(round!($x, $k, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)) };
}
fn mix(x: &mut [u32; 8], k: u32) {
    repeat!(rounds!(x, k));
}
#[cuda_std::kernel]
pub unsafe fn mixes(out: SliceMut<u32>, n: u32) {
    let mut x = [n; 8];
    mix(&mut x, 0x1234);
    mix(&mut x, 0x5678);
    unsafe { out.store(0, x[n as usize % 8]) };
}
";
    let (builder, _) = kernel_crate("inlines", source);
    let calls = body(&builder.clone().build().unwrap(), "mixes");
    assert!(calls.contains("call"), "the function is small enough to be inlined: {calls}");
    let inlined = body(&builder.inline_threshold(100_000).build().unwrap(), "mixes");
    assert!(!inlined.contains("call"), "{inlined}");
}

#[test]
fn kernels_may_allocate_and_check_overflow() {
    let source = "
extern crate alloc;
use core::alloc::{GlobalAlloc, Layout};
use cuda_std::prelude::*;
unsafe extern \"C\" {
    fn malloc(size: usize) -> *mut u8;
    fn free(at: *mut u8);
}
struct Device;
unsafe impl GlobalAlloc for Device {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { malloc(layout.size()) }
    }
    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        unsafe { free(at) }
    }
}
#[cfg(target_arch = \"nvptx64\")]
#[global_allocator]
static DEVICE: Device = Device;
#[cuda_std::kernel]
pub unsafe fn fills(out: SliceMut<u32>, n: u32) {
    let all: alloc::vec::Vec<u32> = (0..n).map(|i| i * n).collect();
    unsafe { out.store(0, all[n as usize / 2]) };
}
";
    let (builder, _) = kernel_crate("allocates", source);
    let build = builder.alloc(true).debug_assertions(true).build().unwrap();
    contains_all(&body(&build, "fills"), &["malloc", "free", "panic_const_mul_overflow"]);
}
