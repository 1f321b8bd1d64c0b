//! Moves bodies by a few steps on the first GPU, or on the CPU if there is none, checks the first
//! step and prints the time.

use std::error::Error;
use std::time::Instant;

use cust::typed::Device;
use nbody::{Bodies, after_first_step, spiral};

const STEPS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    // A GPU needs many bodies to be busy. The CPU would take minutes for them.
    let count = if device.cuda_info().is_some() { 65_536 } else { 4096 };
    let start = spiral(count);

    let mut bodies = Bodies::new(&stream, &start)?;
    bodies.step(&stream, 0.01)?;
    for (i, found) in bodies.download(&stream)?.into_iter().enumerate().step_by(count / 16) {
        let expected = after_first_step(&start, i, 0.01);
        let found = found.as_dvec4().to_array();
        if found.iter().zip(expected).any(|(found, expected)| (found - expected).abs() > 1e-6) {
            return Err(format!("body {i} is at {found:?}, expected {expected:?}").into());
        }
    }

    let begin = Instant::now();
    for _ in 0..STEPS {
        bodies.step(&stream, 0.01)?;
    }
    stream.synchronize()?;
    let time = begin.elapsed() / STEPS;
    println!("a step of {count} bodies takes {time:.1?} on the {device}");
    Ok(())
}
