//! Compares the sums of the kernels on the CPU with those of a loop in f64.

use cust::typed::{Buffer, Device, DeviceError};
use reduce::Reduction;

/// Adds the numbers of `len` elements twice with the same memory.
fn check(len: usize) -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut reduction = Reduction::new(&device)?;
    for factor in [1.0_f32, -3.0] {
        // All partial sums are integers below 2²⁴, so the order of additions makes no difference.
        let numbers: Vec<f32> = (0..len).map(|i| factor * (i % 23) as f32).collect();
        let expected: f64 = numbers.iter().copied().map(f64::from).sum();
        let numbers = Buffer::from_slice(&stream, &numbers)?;
        let sum = reduction.sum(&stream, &numbers)?.download(&stream)?[0];
        assert_eq!(f64::from(sum), expected, "{len} numbers");
    }
    Ok(())
}

#[test]
fn groups_of_four() -> Result<(), DeviceError> {
    [4, 1024, 50_000].into_iter().try_for_each(check)
}

#[test]
fn single_elements() -> Result<(), DeviceError> {
    [1, 31, 1023, 20_001].into_iter().try_for_each(check)
}
