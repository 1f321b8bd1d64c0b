//! SHA-256 digests by the published crate [`sha2`], which knows nothing of GPUs.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use sha2::{Digest as _, Sha256};

/// A message of 64 bytes. The GPU loads 16 of them with one instruction.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Message(pub [u8; 64]);

/// The digest of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Digest(pub [u8; 32]);

/// Writes the digest of each message to the element of `digests` with the same index.
#[kernel(dims(1), launch_bounds(256))]
pub fn hash(messages: Slice<Message>, digests: SliceMut<Digest>) {
    let i = thread::unique_1d();
    if let Some(Message(message)) = messages.get(i) {
        digests.set(i, Digest(Sha256::digest(message).into()));
    }
}
