//! Runs `y ← a·x + y` on the first GPU, or on the CPU if there is none, checks the result and prints
//! the time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    let a = 3.0;
    let x: Vec<f32> = (0..1 << 22).map(|i| (i % 1000) as f32).collect();
    let y = vec![1.0; x.len()];

    let x_on_device = Buffer::from_slice(&stream, &x)?;
    let mut y_on_device = Buffer::from_slice(&stream, &y)?;
    let start = Instant::now();
    saxpy::saxpy(&stream, a, &x_on_device, &mut y_on_device)?;
    stream.synchronize()?;
    let time = start.elapsed();

    let found = y_on_device.download(&stream)?;
    let wrong = (0..x.len()).find(|&i| found[i] != a * x[i] + y[i]);
    if let Some(i) = wrong {
        return Err(format!("element {i} is {}, expected {}", found[i], a * x[i] + y[i]).into());
    }
    println!("{} elements in {time:.1?} on the {device}", x.len());
    Ok(())
}
