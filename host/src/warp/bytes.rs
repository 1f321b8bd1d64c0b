//! Converts between numbers and their little-endian bytes in files.

/// Bytes per read or write; a multiple of 4.
pub(crate) const CHUNK: usize = 1 << 20;

/// Yields the numbers in little-endian bytes.
pub(crate) fn numbers_of<T, const N: usize>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> T,
) -> impl Iterator<Item = T> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(move |bytes| number(*bytes))
}

/// Passes the little-endian bytes of numbers to `sink`, in chunks.
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
