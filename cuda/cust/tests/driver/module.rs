//! Tests modules: loading PTX, and finding the kernels and constants that the PTX names.

use std::fs;

use cuda_std::launch::{KERNELS, KernelEntry, LaunchBounds};
use cust::__private::linkme::distributed_slice;
use cust::error::CudaError;
use cust::function::FunctionAttribute;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer, GpuBuffer};
use cust::module::{Module, ModuleJitOption, OptLevel};
use cust::stream::{Stream, StreamFlags};

use crate::{cpu, module, ptx};

#[test]
fn a_module_has_the_kernels_that_its_ptx_names() {
    let _context = cpu();
    let module = Module::from_ptx(ptx(&["add", "nowhere"], ""), &[]).expect("the PTX loads");
    assert!(module.get_function("add").is_ok());
    // `unlisted` is linked but not in the PTX. `nowhere` is in the PTX but not linked. `ad` is
    // neither. The last name is invalid because of its zero byte.
    for name in ["unlisted", "nowhere", "ad", "ad\0d"] {
        let expected = match name.contains('\0') {
            true => CudaError::InvalidValue,
            false => CudaError::NotFound,
        };
        assert_eq!(module.get_function(name).map(drop), Err(expected), "{name:?}");
    }
    let same = [module.get_function("add"), module.get_function("add")]
        .map(|function| function.expect("a kernel").to_raw());
    assert_eq!(same[0], same[1]);
    Module::drop(module).expect("unloaded");
}

/// Registers a kernel `twice` of the package `$package` with a limit of `$threads` threads per
/// block, as `#[kernel]` would.
macro_rules! twice {
    ($name:ident, $package:literal, $threads:literal) => {
        #[distributed_slice(KERNELS)]
        #[linkme(crate = cust::__private::linkme)]
        static $name: KernelEntry = KernelEntry {
            name: "twice",
            package: $package,
            bounds: LaunchBounds { max_threads: $threads, min_blocks: 0, block_multiple: 1 },
            dims: 1,
            params: &[],
            threads: |_, _| (),
            cpu: None,
        };
    };
}
twice!(FIRST, "first", 32);
twice!(SECOND, "second", 64);

#[test]
fn the_package_chooses_among_kernels_of_one_name() {
    let _context = cpu();
    let load = |comment: &str| {
        Module::from_ptx(format!("{comment}\n{}", ptx(&["add", "twice"], "")), &[])
            .expect("the PTX loads")
    };
    for (package, threads) in [("first", 32), ("second", 64)] {
        let module = load(&format!("// cuda_builder.package {package} 0.1.0"));
        let twice = module.get_function("twice").expect("a kernel");
        assert_eq!(twice.get_attribute(FunctionAttribute::MaxThreadsPerBlock), Ok(threads));
        assert!(module.get_function("add").is_ok(), "only one kernel has this name");
    }
    for comment in ["", "// cuda_builder.package third"] {
        let twice = load(comment).get_function("twice").map(drop);
        assert_eq!(twice, Err(CudaError::NotFound), "{comment:?}");
    }
}

#[test]
fn modules_load_from_files_and_options_are_accepted() {
    let _context = cpu();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels.ptx");
    fs::write(&path, ptx(&["add"], "")).expect("a file");
    assert!(Module::from_file(&path).expect("the file loads").get_function("add").is_ok());
    fs::write(&path, b"\x7fELF\x02").expect("a file");
    assert_eq!(Module::from_file(&path).map(drop), Err(CudaError::NoBinaryForGpu));
    let missing = Module::from_file(path.with_extension("missing")).map(drop);
    assert_eq!(missing, Err(CudaError::FileNotFound));
    let options = [ModuleJitOption::MaxRegisters(32), ModuleJitOption::OptLevel(OptLevel::O2)];
    assert!(Module::from_ptx(ptx(&["add"], ""), &options).is_ok());
}

#[test]
fn constants_are_set_by_name() {
    let _context = cpu();
    let (first, second) = (module(), module());
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let mut taps = first.get_global::<[f32; 4]>(c"TAPS").expect("a constant");
    let mut value = [9.0; 4];
    taps.copy_to(&mut value).expect("copied");
    assert_eq!(value, [0.0; 4]);
    taps.copy_from(&[1.0, 2.0, 3.0, 4.0]).expect("copied");

    let out = DeviceBuffer::<f32>::zeroed(4).expect("memory");
    for (module, expected) in [(&first, [1.0, 2.0, 3.0, 4.0]), (&second, [0.0; 4])] {
        // SAFETY: each of the four threads writes one of the four elements.
        unsafe { launch!(module.taps<<<1, 4, 0, stream>>>(GpuBuffer::as_device_ptr(&out))) }
            .expect("the kernel runs");
        assert_eq!(out.as_host_vec().expect("copied"), expected);
    }

    let wrong = first.get_global::<[f32; 3]>(c"TAPS").map(drop);
    assert_eq!(wrong, Err(CudaError::InvalidValue));
    let missing = first.get_global::<f32>(c"TAP").map(drop);
    assert_eq!(missing, Err(CudaError::NotFound));
}

#[test]
fn functions_have_attributes_and_a_launch_shape() {
    let _context = cpu();
    let module = module();
    let mut narrow = module.get_function("narrow").expect("a kernel");
    assert_eq!(narrow.get_attribute(FunctionAttribute::MaxThreadsPerBlock), Ok(64));
    assert_eq!(narrow.get_attribute(FunctionAttribute::NumRegisters), Ok(0));
    narrow.set_max_dynamic_shared_size_bytes(100 << 10).expect("a limit");
    let (grid, block) = narrow.suggested_launch_configuration(0, 0.into()).expect("a shape");
    assert!(grid >= 1);
    assert_eq!(block, 64);
    let (_, limited) = narrow.suggested_launch_configuration(0, 32.into()).expect("a shape");
    assert_eq!(limited, 32);
    let huge = narrow.suggested_launch_configuration(0, (u32::MAX, 2).into());
    assert_eq!(huge, Err(CudaError::InvalidValue));
}

#[test]
fn constants_over_a_modules_constant_memory_are_refused() {
    let _context = cpu();
    let constant =
        |name: &str, bytes: u64| format!(".visible .const .align 16 .b8 {name}[{bytes}];\n");
    for globals in [
        constant("HUGE", 1 << 40),
        constant("MOST", u64::MAX),
        constant("FIRST", 1 << 15) + &constant("SECOND", (1 << 15) + 1),
    ] {
        let module = Module::from_ptx(ptx(&["add"], &globals), &[]);
        assert_eq!(module.map(drop), Err(CudaError::InvalidPtx), "{globals}");
    }
    let globals = constant("FIRST", 1 << 15) + &constant("SECOND", 1 << 15);
    assert!(Module::from_ptx(ptx(&["add"], &globals), &[]).is_ok());
}
