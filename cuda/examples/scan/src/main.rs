//! Computes prefix sums on the first GPU, or on the CPU if there is none, checks them and prints the
//! time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};
use scan::Scan;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    let numbers: Vec<u32> = (0..1 << 22).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();

    let input = Buffer::from_slice(&stream, &numbers)?;
    let mut out = Buffer::new(&device, input.len())?;
    let mut scan = Scan::new(&device, input.len())?;
    let start = Instant::now();
    scan.sum(&stream, &input, &mut out)?;
    stream.synchronize()?;
    let time = start.elapsed();

    let mut sum = 0_u32;
    for (i, (number, found)) in numbers.iter().zip(out.download(&stream)?).enumerate() {
        sum = sum.wrapping_add(*number);
        if found != sum {
            return Err(format!("sum {i} is {found}, expected {sum}").into());
        }
    }
    println!("{} prefix sums in {time:.1?} on the {device}", numbers.len());
    Ok(())
}
