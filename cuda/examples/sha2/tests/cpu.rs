//! Compares digests of the kernel on the CPU with published ones.

use cust::typed::{Buffer, Device, DeviceError};
use sha256::{Digest, Message, hash};

#[test]
fn digests_are_the_published_ones() -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    // `head -c 64 /dev/zero | sha256sum`, and the same for 64 times the letter a.
    let expected = [
        "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
    ];
    let messages = [Message([0; 64]), Message([b'a'; 64])];
    let input = Buffer::from_slice(&stream, &messages)?;
    let mut digests = Buffer::new(&device, 2)?;
    hash(&stream, &input, &mut digests)?;
    for (Digest(digest), expected) in digests.download(&stream)?.into_iter().zip(expected) {
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }
    Ok(())
}

#[test]
fn a_last_block_with_a_few_messages() -> Result<(), DeviceError> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let input = Buffer::from_slice(&stream, &[Message([7; 64]); 300])?;
    let mut digests = Buffer::new(&device, 301)?;
    hash(&stream, &input, &mut digests)?;
    let digests = digests.download(&stream)?;
    assert!(digests[..300].iter().all(|digest| *digest == digests[0]));
    assert_eq!(digests[300], Digest([0; 32]));
    Ok(())
}
