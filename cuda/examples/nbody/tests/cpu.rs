//! Compares the kernel on the CPU with a computation in f64.

use cust::typed::{Device, DeviceError};
use nbody::{Bodies, after_first_step, spiral};

/// Moves `count` bodies by a step and compares their positions.
fn check(count: usize) -> Result<(), DeviceError> {
    let start = spiral(count);
    let stream = Device::cpu().stream()?;
    let mut bodies = Bodies::new(&stream, &start)?;
    bodies.step(&stream, 0.1)?;
    let moved = bodies.download(&stream)?;
    assert_eq!(moved.len(), count);
    for (i, found) in moved.iter().enumerate() {
        let expected = after_first_step(&start, i, 0.1);
        for (found, expected) in found.to_array().into_iter().zip(expected) {
            assert!((f64::from(found) - expected).abs() < 1e-5, "body {i}: {found}, {expected}");
        }
        assert_eq!(found.w, start[i].w, "the mass of body {i}");
    }
    Ok(())
}

#[test]
fn one_block_and_several() -> Result<(), DeviceError> {
    [1, 200, 256, 600].into_iter().try_for_each(check)
}

#[test]
fn velocities_add_up() -> Result<(), DeviceError> {
    // Two bodies that attract each other move by 1, 2 and 3 times the same distance, as long as
    // they are far apart.
    let stream = Device::cpu().stream()?;
    let start = [glam::Vec4::new(0.0, 0.0, 0.0, 1.0), glam::Vec4::new(100.0, 0.0, 0.0, 1.0)];
    let mut bodies = Bodies::new(&stream, &start)?;
    let mut positions = vec![0.0];
    for _ in 0..3 {
        bodies.step(&stream, 1.0)?;
        positions.push(bodies.download(&stream)?[0].x);
    }
    let moves: Vec<f32> = positions.windows(2).map(|two| two[1] - two[0]).collect();
    for (i, moved) in moves.iter().enumerate() {
        let expected = 1e-4 * (i + 1) as f32;
        assert!((moved - expected).abs() < 1e-8, "{moves:?}");
    }
    Ok(())
}
