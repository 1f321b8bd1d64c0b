//! Compares the scans of the kernels on the CPU with those of a loop.

use cust::typed::{Buffer, Device, DeviceError};
use scan::{Scan, TILE};

fn numbers(len: u32) -> Vec<u32> {
    (0..len).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(i % 32)).collect()
}

/// Scans `len` numbers, twice with the same memory.
fn check(len: u32) -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let numbers = numbers(len);
    let expected = |combine: fn(u32, u32) -> u32| -> Vec<u32> {
        let next = |sum: &mut u32, number: &u32| {
            *sum = combine(*sum, *number);
            Some(*sum)
        };
        numbers.iter().scan(0, next).collect()
    };
    let input = Buffer::from_slice(&stream, &numbers)?;
    let mut out = Buffer::new(&device, len)?;
    let mut scan = Scan::new(&device, len)?;
    scan.sum(&stream, &input, &mut out)?;
    assert!(out.download(&stream)? == expected(u32::wrapping_add), "sums of {len} numbers");
    scan.max(&stream, &input, &mut out)?;
    assert!(out.download(&stream)? == expected(u32::max), "maxima of {len} numbers");
    Ok(())
}

#[test]
fn part_of_a_tile() -> Result<(), DeviceError> {
    [1, 100, TILE - 1].into_iter().try_for_each(check)
}

#[test]
fn whole_tiles_and_a_part() -> Result<(), DeviceError> {
    [TILE, 5 * TILE, 3 * TILE + 77].into_iter().try_for_each(check)
}

#[test]
fn look_back_over_several_windows() -> Result<(), DeviceError> {
    check(70 * TILE + 1)
}
