//! Multiplies matrices on the first GPU, or on the CPU if there is none, checks some elements and
//! prints the times.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Device, Image, Stream};
use half::bf16;
use matmul::{TensorCores, product_bf16, product_f32};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    // The CPU simulates each thread, so it gets a smaller matrix.
    let size: u32 = if device.cuda_info().is_some() { 4096 } else { 256 };
    let number = |i: u32| (i.wrapping_mul(0x9e37_79b9) >> 25) as f32 / 64.0 - 1.0;
    let [a, b] =
        [0, 1].map(|seed| -> Vec<f32> { (0..size * size).map(|i| number(2 * i + seed)).collect() });

    let mut out = Image::new(&device, size, size)?;
    let inputs = [image(&stream, size, &a)?, image(&stream, size, &b)?];
    run("f32", &stream, || product_f32(&stream, &inputs[0], &inputs[1], &mut out))?;
    check(size, &a, &b, &out.download(&stream)?, 1e-5)?;

    let narrow = |numbers: &[f32]| -> Vec<bf16> {
        numbers.iter().map(|&number| bf16::from_f32(number)).collect()
    };
    let inputs = [image(&stream, size, &narrow(&a))?, image(&stream, size, &narrow(&b))?];
    let mut out = Image::new(&device, size, size)?;
    let by = TensorCores::of(&stream);
    run("bf16", &stream, || product_bf16(&stream, by, &inputs[0], &inputs[1], &mut out))?;
    let found: Vec<f32> = out.download(&stream)?.into_iter().map(f32::from).collect();
    check(size, &a, &b, &found, 1.0 / 256.0)
}

fn image<T: bytemuck::Pod>(
    stream: &Stream,
    size: u32,
    elements: &[T],
) -> Result<Image<T>, Box<dyn Error>> {
    Ok(Image::from_slice(stream, size, size, elements)?)
}

/// Runs a product and prints its time.
fn run<E: Error + 'static>(
    name: &str,
    stream: &Stream,
    product: impl FnOnce() -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    product()?;
    stream.synchronize()?;
    println!("{name}: {:.1?} on the {}", start.elapsed(), stream.device());
    Ok(())
}

/// Compares the elements of the diagonal with sums in `f64`.
fn check(
    size: u32,
    a: &[f32],
    b: &[f32],
    found: &[f32],
    relative: f64,
) -> Result<(), Box<dyn Error>> {
    let size = size as usize;
    for i in 0..size {
        let products = (0..size).map(|k| f64::from(a[i * size + k]) * f64::from(b[k * size + i]));
        let (sum, found) = (products.sum::<f64>(), f64::from(found[i * size + i]));
        if (found - sum).abs() > relative * sum.abs() + 1e-5 * size as f64 {
            return Err(format!("element ({i}, {i}) is {found}, expected {sum}").into());
        }
    }
    Ok(())
}
