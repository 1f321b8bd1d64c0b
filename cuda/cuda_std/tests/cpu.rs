//! Tests the option `cpu` of `#[kernel]`: functions that compute whole launches on the CPU.

use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use cust::typed::{Buffer, Checks, Device, Image, Profile};

/// Writes 1 from each thread, or 2 by the function for the CPU.
#[kernel(dims(1), cpu(write_all))]
pub fn write(factors: &[u32], limit: u32, out: SliceMut<u32>) {
    let i = thread::unique_1d();
    if i.index() < limit {
        out.set(i, factors[0]);
    }
}

/// Computes a launch of `write`. Leaves launches without a limit to the simulator.
///
/// # Safety
/// The memory must be valid host memory that nothing else accesses.
unsafe fn write_all(
    config: &LaunchConfig,
    factors: &[u32],
    limit: u32,
    out: SliceMut<u32>,
) -> bool {
    if limit == u32::MAX {
        return false;
    }
    assert!(limit != PANICS, "this limit panics");
    let threads = config.grid[0] * config.block[0];
    // SAFETY: the caller guarantees it.
    let out = unsafe { out.as_host_slice() };
    out[..limit.min(threads) as usize].fill(2 * factors[0]);
    true
}

/// The limit with which `write_all` panics.
const PANICS: u32 = u32::MAX - 1;

fn written(device: &Device, limit: u32) -> Vec<u32> {
    let stream = device.stream().unwrap();
    let factors = Buffer::from_slice(&stream, &[1]).unwrap();
    let mut out = Buffer::from_slice(&stream, &[0; 4]).unwrap();
    let write = Write { factors: factors.view(), limit, out: out.view_mut() };
    // SAFETY: the slice has an element, and each thread writes its own element.
    unsafe { stream.launch_unchecked(&LaunchConfig::for_1d(4, 2), &write) }.unwrap();
    out.download(&stream).unwrap()
}

#[test]
fn the_function_computes_launches_on_the_cpu_device_alone() {
    assert_eq!(written(&Device::cpu(), 3), [2, 2, 2, 0]);
    assert_eq!(written(&Device::simulator(), 3), [1, 1, 1, 0]);
    assert_eq!(written(&Device::cpu_with(Checks::default()), 3), [1, 1, 1, 0]);
}

#[test]
fn the_function_can_leave_a_launch_to_the_simulator() {
    assert_eq!(written(&Device::cpu(), u32::MAX), [1; 4]);
}

#[test]
fn a_panic_of_the_function_is_the_error_of_the_launch() {
    let stream = Device::cpu().stream().unwrap();
    let factors = Buffer::from_slice(&stream, &[1]).unwrap();
    let mut out = Buffer::from_slice(&stream, &[0; 4]).unwrap();
    let write = Write { factors: factors.view(), limit: PANICS, out: out.view_mut() };
    // SAFETY: the slice has an element, and each thread writes its own element.
    let error = unsafe { stream.launch_unchecked(&LaunchConfig::for_1d(4, 2), &write) };
    let text = error.unwrap_err().to_string();
    assert!(text.contains("panic: this limit panics"), "{text}");
}

/// A profile counts the memory requests of kernels, so they must run.
#[test]
fn profiled_launches_run_in_the_simulator() {
    let (values, profile) = Profile::record(|| written(&Device::cpu(), 2));
    assert_eq!(values, [1, 1, 0, 0]);
    assert_eq!(profile.kernels["write"].launches, 1);
}

/// Adds a number to an image, with an instance per number.
///
/// # Safety
/// There are no requirements.
#[kernel(instances(add_1 = add::<1>, add_2 = add::<2>), cpu(add_rows))]
pub unsafe fn add<const N: u32>(number: [u32; 1], image: ViewMut<u32>) {
    let at = thread::unique_2d();
    if let Some(value) = image.get(at) {
        image.set(at, value + number[0] * N);
    }
}

/// Computes a launch of an instance of `add`, but adds 100 times the number.
///
/// # Safety
/// The image must be valid host memory that nothing else accesses.
unsafe fn add_rows(_: &LaunchConfig, number: [u32; 1], image: ViewMut<u32>) -> bool {
    for y in 0..image.height() {
        // SAFETY: the row exists, and the caller guarantees its memory.
        unsafe { image.host_row(y) }.iter_mut().for_each(|value| *value += 100 * number[0]);
    }
    true
}

#[test]
fn instances_share_a_function() {
    for (device, expected) in [(Device::cpu(), 300), (Device::simulator(), 6)] {
        let stream = device.stream().unwrap();
        let mut image = Image::from_slice(&stream, 3, 2, &[0; 6]).unwrap();
        let add = Add2 { number: [3], image: image.view_mut() };
        // SAFETY: each thread accesses its own element.
        unsafe { stream.launch_unchecked(&LaunchConfig::cover(3, 2, [2, 2]), &add) }.unwrap();
        assert_eq!(image.download(&stream).unwrap(), [expected; 6]);
    }
}

#[test]
fn devices_on_the_cpu_have_names() {
    assert_eq!(Device::cpu().to_string(), "CPU");
    assert_eq!(Device::simulator().to_string(), "CPU simulator");
}
