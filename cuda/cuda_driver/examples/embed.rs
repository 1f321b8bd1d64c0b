//! A program that uses `cust` and starts on any machine.
//!
//! `cargo run -p cuda_driver --example embed` prints the driver or why there is none, then what
//! `cust` makes of it. `tests/link.rs` builds it with several linkers.

use cust::CudaFlags;

fn main() {
    match cuda_driver::driver() {
        Ok(driver) => {
            println!("driver: {:?} CUDA {:?}", driver.path(), driver.cuda_version());
            println!("missing functions: {:?}", cuda_driver::missing_symbols());
        }
        Err(error) => println!("driver: {error}"),
    }
    match cust::init(CudaFlags::empty()) {
        Ok(()) => println!("cust: ready, {:?} devices", cust::device::Device::num_devices()),
        Err(error) => println!("cust: {error:?}: {error}"),
    }
}
