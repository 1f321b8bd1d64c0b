//! The orientation of a picture in EXIF data (TIFF 6.0, tag 0x0112). Other tags are ignored.

/// Returns the orientation, from 1 (upright) to 8. Returns `None` if the data state none, or are damaged.
pub(super) fn orientation(exif: &[u8]) -> Option<u8> {
    const TAG: u16 = 0x112;
    const SHORT: u16 = 3;
    let is_big = match exif.first_chunk()? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = *exif.get(at..)?.first_chunk()?;
        Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let long = |at: usize| {
        let (first, second) = (u32::from(short(at)?), u32::from(short(at + 2)?));
        Some(if is_big { first << 16 | second } else { second << 16 | first })
    };
    // A directory is a number of entries of 12 bytes: tag, type, number of values, and value.
    let directory = long(4)? as usize;
    let entries = (0..usize::from(short(directory)?)).map(|entry| directory + 2 + 12 * entry);
    for entry in entries {
        if (short(entry)?, short(entry + 2)?, long(entry + 4)?) == (TAG, SHORT, 1) {
            return u8::try_from(short(entry + 8)?).ok().filter(|value| (1..=8).contains(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::orientation;

    #[test]
    fn both_byte_orders_are_read_and_damage_is_not_followed() {
        let big = b"MM\0*\0\0\0\x08\0\x02\x01\x00\0\x03\0\0\0\x01\0\x09\0\0\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0";
        assert_eq!((orientation(big), orientation(little)), (Some(6), Some(8)));
        for whole in [&big[..], little] {
            // The last value ends two bytes before the entry does.
            (0..whole.len() - 2).for_each(|end| assert_eq!(orientation(&whole[..end]), None));
            for at in 0..whole.len() {
                let mut changed = whole.to_vec();
                changed[at] = 255;
                assert!(orientation(&changed).is_none_or(|value| (1..=8).contains(&value)), "{at}");
            }
        }
    }
}
