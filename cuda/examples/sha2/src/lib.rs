//! Hashes many messages with the crate `sha2`, on a GPU or on the CPU.

use cust::typed::{Buffer, DeviceError, LaunchConfig, Stream};
use sha256_kernels::Hash;

pub use sha256_kernels::{Digest, Message};

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of threads per block.
const BLOCK: u32 = 256;

/// Writes the SHA-256 digest of each message to the element of `digests` with the same index.
///
/// # Errors
/// Returns the error of the device, for example if a buffer belongs to another device.
pub fn hash(
    stream: &Stream,
    messages: &Buffer<Message>,
    digests: &mut Buffer<Digest>,
) -> Result<(), DeviceError> {
    let config = LaunchConfig::for_1d(messages.len(), BLOCK);
    stream.launch(&config, &Hash { messages: messages.view(), digests: digests.view_mut() })
}
