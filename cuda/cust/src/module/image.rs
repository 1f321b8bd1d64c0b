//! Checks that a binary module image is complete. The driver gets no length: it reads as many bytes
//! as the image says, so a truncated image would make it read past the end.

/// The first bytes of a cubin, which is an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// The first bytes of a fatbin.
const FATBIN: &[u8] = &[0x50, 0xed, 0x55, 0xba];

/// The type of a section that occupies no bytes in the file.
const NO_BITS: u64 = 8;

/// Returns whether all parts that the headers of a cubin or fatbin mention are within `bytes`.
/// Returns `true` for other contents, which the driver reads as zero-terminated text.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    if bytes.starts_with(ELF) {
        elf(bytes).is_some()
    } else if bytes.starts_with(FATBIN) {
        fatbin(bytes).is_some()
    } else {
        true
    }
}

/// Returns the little-endian number in `size` bytes at `at`, or `None` if they are outside.
fn number(bytes: &[u8], at: u64, size: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Returns `Some` if `size` bytes at `at` are inside.
fn inside(bytes: &[u8], at: u64, size: u64) -> Option<()> {
    (at.checked_add(size)? <= bytes.len() as u64).then_some(())
}

fn fatbin(bytes: &[u8]) -> Option<()> {
    let (header, content) = (number(bytes, 6, 2)?, number(bytes, 8, 8)?);
    inside(bytes, header, content)
}

/// Checks a 64-bit ELF file: its header, its segments and its sections.
fn elf(bytes: &[u8]) -> Option<()> {
    const HEADER: u64 = 64;
    inside(bytes, 0, HEADER)?;
    (bytes[4] == 2).then_some(())?;
    let (segments, size, count) =
        (number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?);
    for i in 0..count {
        let segment = segments.checked_add(i.checked_mul(size)?)?;
        inside(
            bytes,
            number(bytes, segment.checked_add(8)?, 8)?,
            number(bytes, segment.checked_add(32)?, 8)?,
        )?;
    }
    let (sections, size) = (number(bytes, 40, 8)?, number(bytes, 58, 2)?);
    // With more than 65,279 sections, the first section has their number.
    let count = match number(bytes, 60, 2)? {
        0 if sections > 0 => number(bytes, sections.checked_add(32)?, 8)?,
        count => count,
    };
    inside(bytes, sections, size.checked_mul(count)?)?;
    for i in 0..count {
        let section = sections.checked_add(i.checked_mul(size)?)?;
        let (kind, at) = (
            number(bytes, section.checked_add(4)?, 4)?,
            number(bytes, section.checked_add(24)?, 8)?,
        );
        if i > 0 && kind != NO_BITS {
            inside(bytes, at, number(bytes, section.checked_add(32)?, 8)?)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
        bytes[at..at + value.len()].copy_from_slice(value);
    }

    /// An ELF file with a segment of 16 bytes, an empty section, one of 24 bytes, and one without
    /// bytes in the file.
    fn cubin() -> Vec<u8> {
        let (segments, sections) = (64_u64, 64_u64 + 56 + 40);
        let mut bytes = vec![0; sections as usize + 3 * 64];
        put(&mut bytes, 0, b"\x7fELF\x02");
        put(&mut bytes, 32, &segments.to_le_bytes());
        put(&mut bytes, 40, &sections.to_le_bytes());
        put(&mut bytes, 54, &[56, 0, 1, 0, 64, 0, 3, 0]);
        put(&mut bytes, 64 + 8, &120_u64.to_le_bytes());
        put(&mut bytes, 64 + 32, &16_u64.to_le_bytes());
        let section = |i: usize| sections as usize + 64 * i;
        put(&mut bytes, section(1) + 24, &136_u64.to_le_bytes());
        put(&mut bytes, section(1) + 32, &24_u64.to_le_bytes());
        put(&mut bytes, section(2) + 4, &[NO_BITS as u8]);
        put(&mut bytes, section(2) + 32, &(1_u64 << 40).to_le_bytes());
        bytes
    }

    #[test]
    fn every_truncated_image_is_noticed() {
        let mut fatbin = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0].to_vec();
        fatbin.extend([1; 8]);
        for image in [cubin(), fatbin] {
            assert!(is_complete(&image));
            for length in FATBIN.len()..image.len() {
                assert!(!is_complete(&image[..length]), "{length} of {} bytes", image.len());
            }
        }
    }

    #[test]
    fn impossible_numbers_are_noticed() {
        for field in [32, 40, 64 + 8, 64 + 32, 64 + 56 + 40 + 64 + 24, 64 + 56 + 40 + 64 + 32] {
            for value in [u64::MAX, u64::MAX - 7, 1 << 32] {
                let mut image = cubin();
                put(&mut image, field, &value.to_le_bytes());
                assert!(!is_complete(&image), "{value:#x} at {field}");
            }
        }
        let mut counted = cubin();
        put(&mut counted, 60, &[0, 0]);
        assert!(is_complete(&counted));
        put(&mut counted, 64 + 56 + 40 + 32, &u64::MAX.to_le_bytes());
        assert!(!is_complete(&counted));
    }

    #[test]
    fn text_is_complete() {
        assert!(is_complete(b".version 7.0"));
        assert!(is_complete(b""));
    }
}
