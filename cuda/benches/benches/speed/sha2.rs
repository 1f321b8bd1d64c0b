//! SHA-256 by the crate `sha2` beside CUDA C++.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check, random};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};
use sha2::{Digest as _, Sha256};
use sha256::{Digest, Message, hash};

/// A function of the reference: stream, messages, length, digests.
type Nvcc = unsafe extern "C" fn(CUstream, u64, c_int, u64) -> c_int;

pub(crate) struct Sha2 {
    input: Vec<Buffer<Message>>,
    digests: Vec<Buffer<Digest>>,
    expected: Vec<Digest>,
    nvcc: Option<Nvcc>,
}

impl Sha2 {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let len = if bench.checks_only() { 1000 } else { 1 << 20 };
        let mut random = random();
        let messages: Vec<Message> =
            (0..len).map(|_| Message(std::array::from_fn(|_| random() as u8))).collect();
        let digest = |message: &Message| Digest(Sha256::digest(message.0).into());
        let expected: Vec<Digest> = messages.iter().map(digest).collect();
        Ok(Self {
            input: buffers(&bench.stream, 2, &messages)?,
            digests: buffers(&bench.stream, 2, &expected)?,
            expected,
            // SAFETY: `Nvcc` is the type of the function.
            nvcc: unsafe { Reference::open("sha2").function("sha2_nvcc") },
        })
    }
}

impl Case for Sha2 {
    fn name(&self) -> String {
        format!("SHA-256, 2^{} messages of 64 bytes", self.expected.len().ilog2())
    }

    fn work(&self) -> Work {
        Work::Operations(self.expected.len() as f64, "messages")
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), None)
    }

    fn sets(&self) -> usize {
        self.input.len()
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure> {
        let (input, digests) = (&self.input[set], &mut self.digests[set]);
        if variant == Variant::Rust {
            return Ok(hash(stream, input, digests)?);
        }
        let nvcc = self.nvcc.ok_or("the reference lacks a function")?;
        let (from, to) = (input.as_device_ptr().as_raw(), digests.as_device_ptr().as_raw());
        // SAFETY: the buffers have an element for each message.
        check(unsafe { nvcc(stream.as_raw(), from, input.len() as c_int, to) })
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.digests[0].clear(stream)?;
        self.launch(stream, variant, 0)?;
        let found = self.digests[0].download(stream)?;
        match (0..found.len()).find(|&i| found[i] != self.expected[i]) {
            None => Ok(()),
            Some(i) => Err(format!("the digest of message {i} is wrong").into()),
        }
    }
}
