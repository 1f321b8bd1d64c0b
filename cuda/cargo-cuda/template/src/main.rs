//! Adds two short slices and prints the sum and the device.

use cust::typed::{Device, DeviceError};

fn main() -> Result<(), DeviceError> {
    // The first GPU, or the CPU if there is no GPU.
    let device = Device::auto();
    let sum = my_program::add(&device, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0])?;
    println!("{sum:?} on the {device}");
    Ok(())
}
