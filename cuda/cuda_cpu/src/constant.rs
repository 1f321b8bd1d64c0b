//! Constant memory: named bytes that a launch can read and only the host can write.

use std::collections::BTreeMap;

/// The constant memory of one device, by symbol name.
#[derive(Clone, Debug, Default)]
pub struct ConstantBank {
    symbols: BTreeMap<&'static str, Vec<u128>>,
}

impl ConstantBank {
    /// Writes `bytes` to the start of `symbol`. The bytes after them keep their value, which is
    /// initially zero.
    pub fn set(&mut self, symbol: &'static str, bytes: &[u8]) {
        let words = self.symbols.entry(symbol).or_default();
        if words.len() < bytes.len().div_ceil(16) {
            words.resize(bytes.len().div_ceil(16), 0);
        }
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(16)) {
            let mut whole = word.to_ne_bytes();
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u128::from_ne_bytes(whole);
        }
    }

    /// Returns the 16-byte aligned words of `symbol`, or `None` if it was never set. A kernel reads
    /// zeros from a symbol that was never set.
    #[must_use]
    pub fn get(&self, symbol: &str) -> Option<&[u128]> {
        self.symbols.get(symbol).map(Vec::as_slice)
    }
}
