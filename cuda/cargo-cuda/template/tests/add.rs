//! Tests the library on the first GPU, or on the CPU if there is no GPU.

use cust::typed::{Device, DeviceError};

#[test]
fn adds_every_element() -> Result<(), DeviceError> {
    let a: Vec<f32> = (0_u16..10_000).map(f32::from).collect();
    let b: Vec<f32> = a.iter().map(|a| 2.0 * a).collect();
    let expected: Vec<f32> = a.iter().map(|a| 3.0 * a).collect();
    assert_eq!(my_program::add(&Device::auto(), &a, &b)?, expected);
    Ok(())
}
