//! Checks with a fake driver, written in C, that calls pass arguments and results unchanged, even
//! if several threads make the first call at once.

mod common;

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Barrier;

use cust_raw::driver_sys::{self as sys, CUresult};

fn fake(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("libfake_cuda.so");
    let source = common::c_source("fake_cuda.c");
    common::shared_library(&library, &[source.to_str()?]).then_some(library)
}

fn launch() -> CUresult {
    // SAFETY: the fake `cuLaunchKernel` compares the arguments and dereferences no pointer.
    unsafe {
        sys::cuLaunchKernel(
            ptr::without_provenance_mut(0x1111_2222_3333_4444),
            0xffff_fff2,
            3,
            4,
            5,
            6,
            7,
            0x8000_0008,
            ptr::without_provenance_mut(0x9999_aaaa_bbbb_cccc),
            ptr::without_provenance_mut::<*mut c_void>(0xaaaa_0000_bbbb_0000),
            ptr::without_provenance_mut::<*mut c_void>(0xbbbb_1111_cccc_2222),
        )
    }
}

fn context_synchronize() -> CUresult {
    // SAFETY: the fake drivers only return a result code.
    unsafe { sys::cuCtxSynchronize() }
}

#[test]
fn arguments_and_results_are_unchanged() {
    let folder = common::folder("fake");
    let Some(library) = fake(&folder) else { return };
    // Each function has only one first call per process, so the test starts several processes to
    // provoke races.
    for _ in 0..16 {
        common::run_alone("alone_concurrent_first_calls_reach_the_driver", &library);
    }
    common::run_alone("alone_an_old_driver_lacks_functions", &library);
}

#[test]
#[ignore = "run by arguments_and_results_are_unchanged, with the fake driver"]
fn alone_concurrent_first_calls_reach_the_driver() {
    const THREADS: usize = 8;
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                // The first round looks up the functions; the second round uses the stored
                // addresses.
                for _ in 0..2 {
                    if thread % 2 == 0 {
                        assert_eq!(launch(), CUresult::CUDA_SUCCESS);
                    }
                    assert_eq!(context_synchronize(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
                    assert_eq!(launch(), CUresult::CUDA_SUCCESS);
                }
            });
        }
    });
}

#[test]
#[ignore = "run by arguments_and_results_are_unchanged, with the fake driver"]
fn alone_an_old_driver_lacks_functions() {
    let driver = cust_raw::driver().expect("the fake is a driver");
    assert_eq!(driver.cuda_version(), Some((12, 4)));
    assert!(driver.path().expect("a mapped file").ends_with("libfake_cuda.so"));
    assert_eq!(cust_raw::init(), Ok(()));
    assert_eq!(common::device_count(), Ok(7));

    let missing = cust_raw::missing_symbols();
    assert!(missing.contains(&"cuMemAlloc_v2") && !missing.contains(&"cuInit"));
    assert_eq!(sys::FUNCTIONS.len() - missing.len(), 7);
    let mut pointer = 0;
    // SAFETY: the fake driver lacks `cuMemAlloc_v2`, so the call writes nothing.
    let result = unsafe { sys::cuMemAlloc_v2(&raw mut pointer, 16) };
    assert_eq!(result, CUresult::CUDA_ERROR_NOT_FOUND);

    // The fake driver has `cuGetErrorString` but no `cuGetErrorName`.
    assert_eq!(result.to_string(), "CUDA_ERROR_NOT_FOUND (500): text of the fake");
    // SAFETY: the fake `cuStreamSynchronize` ignores the null stream and only returns a code.
    let unknown = unsafe { sys::cuStreamSynchronize(ptr::null_mut()) };
    assert_eq!(unknown.to_result(), Err(CUresult(12345)));
    assert_eq!(unknown.to_string(), "unknown CUDA error (12345): text of the fake");
    assert_eq!(format!("{unknown:?}"), "CUresult(12345)");
}

#[test]
fn a_shim_replaces_one_function() {
    let folder = common::folder("shim");
    if fake(&folder).is_none() {
        return;
    }
    let shim = folder.join("libshim.so");
    let source = common::c_source("failing_shim.c");
    let search = format!("-L{}", folder.display());
    let arguments = [
        source.to_str().unwrap(),
        "-Wl,--no-as-needed",
        &search,
        "-lfake_cuda",
        "-Wl,-rpath,$ORIGIN",
    ];
    assert!(common::shared_library(&shim, &arguments));
    common::run_alone("alone_the_second_call_fails", &shim);
}

#[test]
#[ignore = "run by a_shim_replaces_one_function, with the shim"]
fn alone_the_second_call_fails() {
    assert_eq!(cust_raw::init(), Ok(()));
    assert_eq!(launch(), CUresult::CUDA_SUCCESS);
    let results = [(); 3].map(|()| context_synchronize());
    let failed = CUresult::CUDA_ERROR_LAUNCH_FAILED;
    assert_eq!(results, [CUresult::CUDA_SUCCESS, failed, CUresult::CUDA_SUCCESS]);
}
