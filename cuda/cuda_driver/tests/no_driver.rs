//! Without a usable driver every call is an ordinary error that can be printed.

mod common;

use std::path::Path;

use cuda_driver::DriverError;
use cust::CudaFlags;
use cust::error::CudaError;

/// `cust` as on a machine without a GPU.
fn cust_finds_no_device() {
    for _ in 0..2 {
        assert_eq!(cust::init(CudaFlags::empty()), Err(CudaError::NoDevice));
    }
    assert_eq!(cust::device::Device::num_devices(), Err(CudaError::NoDevice));
    // `cust` asks the driver for the texts, and panics where it gets none.
    assert!(CudaError::NoDevice.to_string().contains("no CUDA-capable device"));
    assert!(!CudaError::LaunchFailed.to_string().is_empty());
    assert_eq!(cuda_driver::missing_symbols(), cuda_driver::exported_symbols());
}

#[test]
fn the_machine_as_it_is() {
    match cuda_driver::driver() {
        Err(error @ DriverError::NotLoaded { .. }) => {
            let text = error.to_string();
            assert!(text.contains(cuda_driver::DEFAULT_LIBRARY), "{text}");
            assert!(text.contains("install NVIDIA's driver"), "{text}");
            cust_finds_no_device();
        }
        Err(error) => panic!("unexpected: {error}"),
        Ok(driver) => {
            eprintln!("SKIPPED: this machine has a driver: {:?}", driver.path());
            assert!(driver.cuda_version().is_some());
        }
    }
}

#[test]
fn a_library_that_is_not_there() {
    common::run_alone("alone_nothing_to_load", Path::new("/nonexistent/libcuda.so.1"));
}

#[test]
#[ignore = "run by a_library_that_is_not_there"]
fn alone_nothing_to_load() {
    // A call before `driver()`, so that the trampoline is what loads.
    cust_finds_no_device();
    let error = cuda_driver::driver().expect_err("there is no such file");
    assert!(matches!(error, DriverError::OverrideNotLoaded { .. }), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/libcuda.so.1"), "{error}");
}

#[test]
fn a_library_that_is_no_driver() {
    common::run_alone("alone_another_library", Path::new("libc.so.6"));
}

#[test]
#[ignore = "run by a_library_that_is_no_driver"]
fn alone_another_library() {
    let error = cuda_driver::driver().expect_err("the C library has no cuInit");
    assert_eq!(error, DriverError::NotADriver { library: "libc.so.6".into() });
    cust_finds_no_device();
}
