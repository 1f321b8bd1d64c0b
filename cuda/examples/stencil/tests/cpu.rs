//! Compares the kernels on the CPU with a loop over all neighbours in f64.

use cust::typed::{Buffer, Device, DeviceError};
use glam::{UVec3, uvec3};
use stencil::{Star, apply};

/// Applies `star`, whose weights are `weights` by distance, to noise of `size` points.
fn check(star: Star, weights: &[f32], size: UVec3) -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let noise = |i: u32| (i.wrapping_mul(0x9e37_79b9).rotate_left(i % 31) >> 8) as f32 / 1e7;
    let volume: Vec<f32> = (0..size.element_product()).map(noise).collect();
    let input = Buffer::from_slice(&stream, &volume)?;
    let mut out = Buffer::from_slice(&stream, &vec![-7.5; volume.len()])?;
    apply(&stream, star, size, &input, &mut out)?;

    let radius = weights.len() - 1;
    let extent = size.to_array().map(|points| points as usize);
    let strides = [1, extent[0], extent[0] * extent[1]];
    for (i, found) in out.download(&stream)?.into_iter().enumerate() {
        let at = [i % extent[0], i / strides[1] % extent[1], i / strides[2]];
        let inside = (0..3).all(|axis| at[axis] >= radius && at[axis] + radius < extent[axis]);
        let mut expected = if inside { f64::from(weights[0] * volume[i]) } else { -7.5 };
        for (distance, weight) in weights.iter().enumerate().skip(1).filter(|_| inside) {
            for stride in strides {
                let sum = volume[i - distance * stride] + volume[i + distance * stride];
                expected += f64::from(weight * sum);
            }
        }
        assert!((f64::from(found) - expected).abs() < 1e-3, "{at:?}: {found}, {expected}");
    }
    Ok(())
}

#[test]
fn seven_points() -> Result<(), DeviceError> {
    for size in [uvec3(34, 18, 3), uvec3(70, 40, 9), uvec3(3, 3, 3)] {
        check(Star::Near(0.5, [-2.0]), &[0.5, -2.0], size)?;
    }
    Ok(())
}

#[test]
fn twenty_five_points() -> Result<(), DeviceError> {
    for size in [uvec3(40, 24, 9), uvec3(75, 30, 12)] {
        let weights = [1.0, 0.5, -0.25, 2.0, -3.0];
        check(Star::Far(1.0, [0.5, -0.25, 2.0, -3.0]), &weights, size)?;
    }
    Ok(())
}

#[test]
fn a_volume_without_inner_points() -> Result<(), DeviceError> {
    check(Star::LAPLACE_8, &[0.0; 5], uvec3(8, 30, 30))
}
