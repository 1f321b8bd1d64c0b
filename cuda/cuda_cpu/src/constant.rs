//! Constant memory: named bytes that a launch can read and only the host can write.

use std::collections::BTreeMap;

/// The constant memory of one device, by symbol name.
#[derive(Clone, Debug, Default)]
pub struct ConstantBank {
    symbols: BTreeMap<&'static str, Box<[u128]>>,
}

impl ConstantBank {
    /// Replaces the value of `symbol`, zero-extended to whole 16-byte words.
    pub fn set(&mut self, symbol: &'static str, bytes: &[u8]) {
        let words = bytes
            .chunks(16)
            .map(|chunk| {
                let mut word = [0; 16];
                word[..chunk.len()].copy_from_slice(chunk);
                u128::from_ne_bytes(word)
            })
            .collect();
        self.symbols.insert(symbol, words);
    }

    /// The 16-byte aligned words of `symbol`; `None` where it was never set, which reads as zero.
    #[must_use]
    pub fn get(&self, symbol: &str) -> Option<&[u128]> {
        self.symbols.get(symbol).map(|words| &**words)
    }
}
