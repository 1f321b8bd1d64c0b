//! Calls arrive at the driver as they were made: first calls of several threads at once included.

mod common;

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use cust::CudaFlags;
use cust::error::CudaError;
use cust::sys::{self, cudaError_enum as Status};

/// What `cuParamSetv` of the fake takes.
type Mixed = unsafe extern "C" fn(
    c_int,
    f64,
    i64,
    f32,
    usize,
    f64,
    i16,
    f64,
    i64,
    f64,
    i64,
    f64,
    f32,
    f64,
    f64,
    f32,
    i8,
    i64,
    i64,
    i64,
    f64,
) -> c_int;

fn fake(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("libfake_cuda.so");
    let source = common::c_source("fake_cuda.c");
    common::shared_library(&library, &[source.to_str()?]).then_some(library)
}

fn launch() -> Status {
    // SAFETY: the fake compares the arguments and follows no pointer.
    unsafe {
        sys::cuLaunchKernel(
            0x1111_2222_3333_4444_usize as *mut _,
            0xffff_fff2,
            3,
            4,
            5,
            6,
            7,
            0x8000_0008,
            0x9999_aaaa_bbbb_cccc_usize as *mut _,
            0xaaaa_0000_bbbb_0000_usize as *mut *mut c_void,
            0xbbbb_1111_cccc_2222_usize as *mut *mut c_void,
        )
    }
}

fn mixed() -> c_int {
    // SAFETY: the trampoline takes whatever its target takes, and the fake takes exactly this.
    let function: Mixed = unsafe { std::mem::transmute(sys::cuParamSetv as *const ()) };
    // SAFETY: the fake compares the arguments and follows no pointer.
    unsafe {
        function(
            -1,
            2.5,
            i64::MIN,
            4.25,
            0x5555_6666_7777_8888,
            -6.5,
            -7,
            8e300,
            9,
            10.5,
            0x1111_1111_1111_1111,
            12.5,
            -13.5,
            14.5,
            15.5,
            16.5,
            -17,
            18,
            -19,
            20,
            21.5,
        )
    }
}

#[test]
fn arguments_and_results_are_unchanged() {
    let folder = common::folder("fake");
    let Some(library) = fake(&folder) else { return };
    // Each process has one first call, so a race needs several processes to show.
    for _ in 0..16 {
        common::run_alone("alone_threads_meet_in_their_first_calls", &library);
    }
    common::run_alone("alone_an_old_driver_lacks_functions", &library);
}

#[test]
#[ignore = "run by arguments_and_results_are_unchanged, with the fake driver"]
fn alone_threads_meet_in_their_first_calls() {
    const THREADS: usize = 8;
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                // Twice: through `cold`, then through the slot that it filled.
                for _ in 0..2 {
                    if thread % 2 == 0 {
                        assert_eq!(launch(), Status::CUDA_SUCCESS);
                        assert_eq!(mixed(), 0);
                    } else {
                        assert_eq!(mixed(), 0);
                        assert_eq!(launch(), Status::CUDA_SUCCESS);
                    }
                    // SAFETY: no arguments; the fake does nothing.
                    unsafe {
                        assert_eq!(sys::cuCtxSynchronize(), Status::CUDA_ERROR_INVALID_CONTEXT);
                        assert_eq!(
                            sys::cuProfilerStart(),
                            Status::CUDA_ERROR_PROFILER_ALREADY_STARTED
                        );
                        assert_eq!(
                            sys::cuProfilerStop(),
                            Status::CUDA_ERROR_PROFILER_ALREADY_STOPPED
                        );
                    }
                }
            });
        }
    });
}

#[test]
#[ignore = "run by arguments_and_results_are_unchanged, with the fake driver"]
fn alone_an_old_driver_lacks_functions() {
    let driver = cuda_driver::driver().expect("the fake is a driver");
    assert_eq!(driver.cuda_version(), Some((12, 4)));
    assert!(driver.path().expect("a mapped file").ends_with("libfake_cuda.so"));
    assert_eq!(cust::init(CudaFlags::empty()), Ok(()));
    assert_eq!(cust::device::Device::num_devices(), Ok(7));

    let missing = cuda_driver::missing_symbols();
    assert!(missing.contains(&"cuMemAlloc_v2") && !missing.contains(&"cuInit"));
    let all = cuda_driver::exported_symbols().len();
    assert!(missing.len() < all && missing.len() > all / 2);
    let mut pointer = 0;
    // SAFETY: the function is missing, so nothing is written.
    let status = unsafe { sys::cuMemAlloc_v2(&mut pointer, 16) };
    assert_eq!(status, Status::CUDA_ERROR_NOT_FOUND);
    assert_eq!(CudaError::NotFound.to_string(), "\"text of the fake\"");
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
    assert_eq!(cust::init(CudaFlags::empty()), Ok(()));
    assert_eq!(launch(), Status::CUDA_SUCCESS);
    // SAFETY: no arguments; the shim counts.
    let statuses = [(); 3].map(|()| unsafe { sys::cuCtxSynchronize() });
    let failed = Status::CUDA_ERROR_LAUNCH_FAILED;
    assert_eq!(statuses, [Status::CUDA_SUCCESS, failed, Status::CUDA_SUCCESS]);
}
