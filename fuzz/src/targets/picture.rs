//! Targets of picture files.

use std::sync::OnceLock;

use panoweave::frame::Rgba8;
use panoweave::io::picture::{Picture, PictureFormat, StoredPicture};

use super::NAME;

/// A PNG file. A valid one survives encoding and decoding.
pub(crate) fn png(data: &[u8]) {
    match StoredPicture::decode(data, NAME) {
        Ok(StoredPicture::Rgba8(picture)) => {
            let encoded = picture.encode(PictureFormat::Png).expect("an encoded picture");
            let again = Picture::decode(&encoded, NAME).expect("a decoded picture");
            assert_eq!(again.pixels(), picture.pixels());
        }
        Ok(StoredPicture::Rgba16(picture)) => {
            let encoded = picture.encode(PictureFormat::Png).expect("an encoded picture");
            let again = StoredPicture::decode(&encoded, NAME).expect("a decoded picture");
            assert_eq!(again.into_rgba16().pixels(), picture.pixels());
        }
        Err(_) => {}
    }
}

/// A JPEG file.
pub(crate) fn jpeg(data: &[u8]) {
    if let Ok(picture) = Picture::decode(data, NAME) {
        assert!(picture.is_opaque());
        assert_eq!(picture.pixels().len() as u64, area(&picture));
    }
}

/// A segment of metadata in a valid JPEG: EXIF or an ICC profile, as the first byte selects. It may turn the picture,
/// but may not change the number of pixels or make the file unreadable.
pub(crate) fn metadata(data: &[u8]) {
    static PLAIN: OnceLock<Vec<u8>> = OnceLock::new();
    let plain = PLAIN.get_or_init(|| {
        let picture = Picture::filled(16, 8, Rgba8::opaque(90, 120, 60));
        picture.encode(PictureFormat::Jpeg).expect("an encoded picture")
    });
    let Some((&kind, contents)) = data.split_first() else { return };
    let (marker, name) = match kind % 2 {
        0 => (0xe1, b"Exif\0\0".as_slice()),
        _ => (0xe2, b"ICC_PROFILE\0\x01\x01".as_slice()),
    };
    let Ok(length) = u16::try_from(2 + name.len() + contents.len()) else { return };
    let (start, rest) = plain.split_at(2);
    let file = [start, &[0xff, marker], &length.to_be_bytes(), name, contents, rest].concat();
    let picture = Picture::decode(&file, NAME).expect("a picture with metadata");
    assert_eq!(area(&picture), 16 * 8);
}

fn area(picture: &Picture) -> u64 {
    u64::from(picture.width()) * u64::from(picture.height())
}
