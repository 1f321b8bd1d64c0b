//! Converts between numbers and their little-endian bytes in files.

/// The maximum number of bytes per read or write. It is a multiple of 4, so a chunk ends between two numbers.
pub(crate) const CHUNK: usize = 1 << 20;

/// Converts bytes to numbers of `N` bytes each. `number` converts the bytes of one number, as `f32::from_le_bytes`
/// does. Ignores an incomplete number at the end.
pub(crate) fn numbers_of<T, const N: usize>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> T,
) -> impl Iterator<Item = T> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(move |bytes| number(*bytes))
}

/// Converts numbers to bytes, and passes the bytes to `sink` in chunks of at most [`CHUNK`]. `number` converts one
/// number to bytes, as `f32::to_le_bytes` does.
pub(crate) fn bytes_of<T: Copy, const N: usize, E>(
    values: &[T],
    number: impl Fn(T) -> [u8; N],
    mut sink: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = Vec::with_capacity(CHUNK.min(values.len() * N));
    for chunk in values.chunks(CHUNK / N) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|value| number(*value)));
        sink(&bytes)?;
    }
    Ok(())
}
