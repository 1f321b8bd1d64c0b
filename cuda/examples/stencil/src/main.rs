//! Computes the Laplacian of a polynomial on the first GPU, or on the CPU if there is none, checks it
//! and prints the time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};
use glam::uvec3;
use stencil::{Star, apply};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    let size = uvec3(200, 150, 100);
    let at = |i: u32| [i % size.x, i / size.x % size.y, i / (size.x * size.y)];
    // The Laplacian of x² + 2y² - 4z² is -2, and all numbers are exact in f32.
    let value = |i: u32| {
        let [x, y, z] = at(i).map(|axis| axis as f32 - 50.0);
        x * x + 2.0 * y * y - 4.0 * z * z
    };
    let volume: Vec<f32> = (0..size.element_product()).map(value).collect();

    let input = Buffer::from_slice(&stream, &volume)?;
    let mut out = Buffer::new(&device, input.len())?;
    let start = Instant::now();
    apply(&stream, Star::LAPLACE_8, size, &input, &mut out)?;
    stream.synchronize()?;
    let time = start.elapsed();

    for (i, found) in (0..).zip(out.download(&stream)?) {
        let inside =
            at(i).into_iter().zip(size.to_array()).all(|(at, size)| at >= 4 && at < size - 4);
        let expected = if inside { -2.0 } else { 0.0 };
        if (found - expected).abs() > 0.05 {
            return Err(format!("point {:?} is {found}, expected {expected}", at(i)).into());
        }
    }
    println!("{} points in {time:.1?} on the {device}", volume.len());
    Ok(())
}
