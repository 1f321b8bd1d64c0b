//! Adds numbers on the first GPU, or on the CPU if there is none, checks the sum and prints the
//! time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};
use reduce::Reduction;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    // The sums are exact, because all of them are multiples of 1/8 below 2²¹.
    let numbers: Vec<f32> = (0..1 << 22).map(|i| (i % 9) as f32 / 8.0 - 0.5).collect();
    let expected: f64 = numbers.iter().copied().map(f64::from).sum();

    let numbers = Buffer::from_slice(&stream, &numbers)?;
    let mut reduction = Reduction::new(&device)?;
    let start = Instant::now();
    let sum = reduction.sum(&stream, &numbers)?;
    stream.synchronize()?;
    let time = start.elapsed();

    let found = sum.download(&stream)?[0];
    if f64::from(found) != expected {
        return Err(format!("the sum is {found}, expected {expected}").into());
    }
    println!("the sum of {} numbers is {found}, in {time:.1?} on the {device}", numbers.len());
    Ok(())
}
