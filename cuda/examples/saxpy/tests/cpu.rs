//! Compares the kernels on the CPU with a loop.

use cust::typed::{Buffer, Device, DeviceError};

/// Runs the kernel with `x` and `y` of the given lengths and compares the result with a loop.
fn check(x: usize, y: usize) -> Result<(), DeviceError> {
    let stream = Device::cpu().stream()?;
    let x: Vec<f32> = (0..x).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..y).map(|i| 0.5 * i as f32 - 7.0).collect();
    let mut expected = y.clone();
    for (y, x) in expected.iter_mut().zip(&x) {
        *y += -2.0 * x;
    }
    let x = Buffer::from_slice(&stream, &x)?;
    let mut y = Buffer::from_slice(&stream, &y)?;
    saxpy::saxpy(&stream, -2.0, &x, &mut y)?;
    assert_eq!(y.download(&stream)?, expected);
    Ok(())
}

#[test]
fn groups_of_four() -> Result<(), DeviceError> {
    check(5000, 5000)?;
    check(5000, 1200)
}

#[test]
fn single_elements() -> Result<(), DeviceError> {
    check(4999, 5003)?;
    check(1, 2)
}
