//! Compares the counts of the kernels on the CPU with those of a loop.

use cust::typed::{Buffer, Device, DeviceError};
use histogram::{BINS, histogram};

/// Counts `bytes`, twice into the same bins.
fn check(bytes: &[u8]) -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut expected = vec![0; BINS as usize];
    bytes.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
    let input = Buffer::from_slice(&stream, bytes)?;
    let mut bins = Buffer::new(&device, BINS)?;
    for _ in 0..2 {
        histogram(&stream, &input, &mut bins)?;
        assert_eq!(bins.download(&stream)?, expected, "{} bytes", bytes.len());
    }
    Ok(())
}

fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect()
}

#[test]
fn groups_of_sixteen() -> Result<(), DeviceError> {
    check(&bytes(16))?;
    check(&bytes(20_000))
}

#[test]
fn single_bytes() -> Result<(), DeviceError> {
    check(&bytes(1))?;
    check(&bytes(9_999))
}

#[test]
fn equal_bytes() -> Result<(), DeviceError> {
    check(&[255; 10_000])
}
