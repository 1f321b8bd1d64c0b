//! Checks that without a usable driver every call returns an ordinary error that can be printed.

mod common;

use std::path::Path;

use cust_raw::driver_sys::{self as sys, CUresult};

/// Checks that driver calls report `CUDA_ERROR_NO_DEVICE`, each time they are called.
fn no_device() {
    for _ in 0..2 {
        assert_eq!(cust_raw::init(), Err(CUresult::CUDA_ERROR_NO_DEVICE));
    }
    assert_eq!(common::device_count(), Err(CUresult::CUDA_ERROR_NO_DEVICE));
    let text = CUresult::CUDA_ERROR_NO_DEVICE.to_string();
    assert_eq!(text, "CUDA_ERROR_NO_DEVICE (100): no description");
    assert_eq!(cust_raw::missing_symbols(), sys::FUNCTIONS);
}

#[test]
fn the_machine_as_it_is() {
    match cust_raw::driver() {
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(cust_raw::DEFAULT_LIBRARY), "{text}");
            assert!(text.contains("install NVIDIA's driver"), "{text}");
            no_device();
        }
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
    // `no_device` runs before `driver()`, so its first driver call tries to load the library.
    no_device();
    let error = cust_raw::driver().expect_err("there is no such file");
    let text = error.to_string();
    assert!(text.contains("CUDA_DRIVER_LIBRARY: /nonexistent/libcuda.so.1"), "{text}");
}

#[test]
fn a_library_that_is_no_driver() {
    common::run_alone("alone_another_library", Path::new("libc.so.6"));
}

#[test]
#[ignore = "run by a_library_that_is_no_driver"]
fn alone_another_library() {
    let error = cust_raw::driver().expect_err("the C library has no cuInit");
    assert!(error.to_string().starts_with("libc.so.6 is not a CUDA driver"), "{error}");
    no_device();
}
