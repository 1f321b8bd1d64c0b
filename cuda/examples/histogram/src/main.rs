//! Counts bytes on the first GPU, or on the CPU if there is none, checks the counts and prints the
//! time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};
use histogram::{BINS, histogram};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    let bytes: Vec<u8> =
        (0..1_u32 << 22).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 23) as u8).collect();
    let mut expected = [0; BINS as usize];
    for &byte in &bytes {
        expected[usize::from(byte)] += 1;
    }

    let input = Buffer::from_slice(&stream, &bytes)?;
    let mut bins = Buffer::new(&device, BINS)?;
    let start = Instant::now();
    histogram(&stream, &input, &mut bins)?;
    stream.synchronize()?;
    let time = start.elapsed();

    let found = bins.download(&stream)?;
    if let Some(byte) = (0..found.len()).find(|&byte| found[byte] != expected[byte]) {
        let (found, expected) = (found[byte], expected[byte]);
        return Err(format!("{found} bytes are {byte}, expected {expected}").into());
    }
    println!("counted {} bytes in {time:.1?} on the {device}", bytes.len());
    Ok(())
}
