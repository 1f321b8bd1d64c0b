//! Constant memory: named bytes that a launch can read and only the host can write.

use std::collections::BTreeMap;

/// The constant memory of one device, by symbol name.
///
/// ```
/// use cuda_cpu::{ConstantBank, Launch, launch, with_constant};
///
/// let mut constants = ConstantBank::default();
/// constants.set("SCALE", &2.5_f32.to_ne_bytes());
/// assert_eq!(constants.get("SCALE").map(<[u128]>::len), Some(1));
/// assert_eq!(constants.get("OFFSET"), None);
///
/// let config = Launch { constants: &constants, ..Launch::new("scale", [1, 1, 1], [32, 1, 1]) };
/// launch(&config, &|| {
///     let bits = with_constant("SCALE", |words| words.map(|words| words[0] as u32));
///     assert_eq!(bits.map(f32::from_bits), Some(2.5));
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ConstantBank {
    symbols: BTreeMap<String, Vec<u128>>,
}

impl ConstantBank {
    /// A bank without symbols: every constant reads as zero.
    pub(crate) const EMPTY: Self = Self { symbols: BTreeMap::new() };

    /// Writes `bytes` to the start of `symbol`. The bytes after them keep their value, which is
    /// initially zero.
    pub fn set(&mut self, symbol: &str, bytes: &[u8]) {
        let words = self.symbols.entry(symbol.to_owned()).or_default();
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
