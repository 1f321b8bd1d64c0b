//! Hashes messages on the first GPU, or on the CPU if there is none, checks the digests and prints the
//! time.

use std::error::Error;
use std::time::Instant;

use cust::typed::{Buffer, Device};
use sha2::{Digest as _, Sha256};
use sha256::{Digest, Message, hash};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto();
    let stream = device.stream()?;
    let message = |i: u32| Message(std::array::from_fn(|k| (i >> (k % 4 * 8)) as u8 ^ k as u8));
    let messages: Vec<Message> = (0..1 << 20).map(message).collect();

    let input = Buffer::from_slice(&stream, &messages)?;
    let mut digests = Buffer::new(&device, input.len())?;
    let start = Instant::now();
    hash(&stream, &input, &mut digests)?;
    stream.synchronize()?;
    let time = start.elapsed();

    let digests: Vec<Digest> = digests.download(&stream)?;
    for (i, (message, digest)) in messages.iter().zip(digests).enumerate() {
        // The host's `sha2` uses instructions of the CPU, so it is an independent implementation.
        if digest.0 != *Sha256::digest(message.0) {
            return Err(format!("the digest of message {i} is wrong").into());
        }
    }
    println!("hashed {} messages in {time:.1?} on the {device}", messages.len());
    Ok(())
}
