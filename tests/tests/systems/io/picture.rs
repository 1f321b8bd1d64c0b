//! Tests of PNG and JPEG files. They check that a picture can be written and read back, and test pixel formats,
//! orientations, and malformed files, which must be rejected.

use std::fs;
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ExtendedColorType};
use panoweave::io::Conversion;
use panoweave::io::picture::{Picture, PictureError, PictureFormat};
use panoweave_tests::data;
use shared_types::Rgba8;

use crate::malformed::{assert_variant, refusal};

fn sample(width: u32, height: u32) -> Picture {
    let pixels = (0..width * height).map(|i| {
        let (x, y) = (i % width, i / width);
        Rgba8 { r: (x * 7) as u8, g: (y * 5) as u8, b: (x + y) as u8, a: 255 - (x % 3) as u8 }
    });
    Picture::from_pixels(width, height, pixels.collect()).unwrap()
}

/// Returns a PNG file with the data of 4×4 pixels, whose header states a size of `width`×`height`.
fn claiming(width: u32, height: u32) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    sample(4, 4).save(&path).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32fast::hash(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let rgb: Vec<u8> =
        sample(width, height).pixels().iter().flat_map(|p| [p.r, p.g, p.b]).collect();
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 95)
        .encode(&rgb, width, height, ExtendedColorType::Rgb8)
        .unwrap();
    bytes
}

#[test]
fn png_keeps_every_byte_and_leaves_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    for (width, height) in [(1, 1), (65, 63), (256, 3)] {
        let path = dir.path().join("a.PNG");
        sample(width, height).save(&path).unwrap();
        assert_eq!(Picture::open(&path).unwrap(), sample(width, height));
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn in_memory_pictures_are_what_files_are() {
    let dir = tempfile::tempdir().unwrap();
    for (name, format) in [("a.png", PictureFormat::Png), ("a.jpg", PictureFormat::Jpeg)] {
        let path = dir.path().join(name);
        sample(65, 63).save(&path).unwrap();
        let content = sample(65, 63).encode(format).unwrap();
        assert_eq!(content, fs::read(&path).unwrap());
        assert_eq!(Picture::decode(&content, name).unwrap(), Picture::open(&path).unwrap());
        let cut = &content[..content.len() / 2];
        let error = refusal(Path::new(name), |name| Picture::decode(cut, name));
        assert_variant!(error, PictureError::Truncated { .. });
    }
    let error = refusal(Path::new("body"), |name| Picture::decode(b"", name));
    assert_variant!(error, PictureError::NotAPicture { .. });
    let nothing = Picture::from_pixels(0, 0, Vec::<Rgba8>::new()).unwrap();
    assert_variant!(
        nothing.encode(PictureFormat::Png).unwrap_err(),
        PictureError::Unencodable { .. }
    );
}

#[test]
fn jpeg_is_close_and_opaque() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jpg");
    let flat = Picture::filled(33, 17, Rgba8 { r: 200, g: 100, b: 50, a: 7 });
    flat.save(&path).unwrap();
    let read = Picture::open(&path).unwrap();
    assert_eq!((read.width(), read.height()), (33, 17));
    for p in read.pixels() {
        let far = p.r.abs_diff(200).max(p.g.abs_diff(100)).max(p.b.abs_diff(50));
        assert!(far <= 3 && p.a == 255, "{p:?}");
    }
}

#[test]
fn every_kind_of_pixel_becomes_rgba8() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let deep = image::ImageBuffer::from_fn(40, 30, |x, y| {
        image::Rgba([(x * 1600) as u16, (y * 2100) as u16, 65535, (x * y * 50) as u16])
    });
    let deep = DynamicImage::ImageRgba16(deep);
    let kinds = [
        DynamicImage::ImageLuma8(deep.to_luma8()),
        DynamicImage::ImageLumaA8(deep.to_luma_alpha8()),
        DynamicImage::ImageRgb8(deep.to_rgb8()),
        DynamicImage::ImageRgba8(deep.to_rgba8()),
        DynamicImage::ImageLuma16(deep.to_luma16()),
        DynamicImage::ImageLumaA16(deep.to_luma_alpha16()),
        DynamicImage::ImageRgb16(deep.to_rgb16()),
        deep,
    ];
    for kind in kinds {
        kind.save(&path).unwrap();
        let read = Picture::open(&path).unwrap();
        let bytes: &[u8] = bytemuck::cast_slice(read.pixels());
        assert_eq!(bytes, kind.to_rgba8().as_raw(), "{:?}", kind.color());
        let deep = kind.color().bytes_per_pixel() > kind.color().channel_count();
        let expected = deep.then_some(Conversion::Depth { from: 16, to: 8 });
        assert!(read.conversions().eq(expected), "{:?}", kind.color());
        assert_eq!(read.is_opaque(), !kind.color().has_alpha(), "{:?}", kind.color());
    }
}

#[test]
fn exif_orientation_is_applied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jpg");
    let plain = jpeg(24, 16);
    for exif in 1..=8u8 {
        let mut tagged = plain[..2].to_vec();
        tagged
            .extend(b"\xFF\xE1\x00\x22Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0");
        tagged.extend([exif, 0, 0, 0, 0, 0, 0]);
        tagged.extend(&plain[2..]);
        fs::write(&path, &tagged).unwrap();
        let mut expected = image::load_from_memory(&plain).unwrap();
        expected.apply_orientation(Orientation::from_exif(exif).unwrap());
        let read = Picture::open(&path).unwrap();
        assert_eq!((read.width(), read.height()), (expected.width(), expected.height()));
        let bytes: &[u8] = bytemuck::cast_slice(read.pixels());
        assert_eq!(bytes, expected.to_rgba8().as_raw(), "orientation {exif}");
    }
}

#[test]
fn malformed_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let open = |path: &Path| Picture::open(path);
    let missing = refusal(&dir.path().join("missing.png"), open);
    assert_variant!(missing, PictureError::Unreadable { .. });
    assert_variant!(refusal(dir.path(), open), PictureError::Unreadable { .. });
    for (name, bytes) in [("empty.png", &b""[..]), ("text.jpg", b"hello"), ("nul.png", &[0; 999])] {
        assert_variant!(refusal(&file(name, bytes), open), PictureError::NotAPicture { .. });
    }
    let gif = file("gif.png", b"GIF89a\x01\0\x01\0\0\0\0;");
    assert_variant!(refusal(&gif, open), PictureError::WrongFormat { found, .. } if found == "GIF");
    for brand in ["heic", "heix", "hevc", "mif1"] {
        let heic =
            file("IMG_0001.JPG", format!("\0\0\0\x18ftyp{brand}\0\0\0\0mif1heic").as_bytes());
        let said = Picture::open(&heic).unwrap_err().to_string();
        assert!(
            said.contains("HEIC is not supported") && said.contains("Most Compatible"),
            "{said}"
        );
    }
    let huge = file("huge.png", &claiming(60_000, 60_000));
    assert_variant!(
        refusal(&huge, open),
        PictureError::TooLarge { width: 60_000, height: 60_000, .. }
    );
    let large = file("large.png", &claiming(16_000, 16_000));
    assert_variant!(refusal(&large, open), PictureError::TooMuchMemory { width: 16_000, .. });
    let zero = file("zero.png", &claiming(0, 4));
    assert_variant!(refusal(&zero, open), PictureError::Corrupt { .. });
    let mut crc = claiming(4, 4);
    crc[30] ^= 1;
    assert_variant!(refusal(&file("crc.png", &crc), open), PictureError::Corrupt { .. });
    let mut sof = jpeg(16, 16);
    let at = sof.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
    sof[at + 5..at + 9].fill(0xFF);
    assert_variant!(
        refusal(&file("sof.jpg", &sof), open),
        PictureError::TooLarge { width: 65_535, height: 65_535, .. }
    );
}

#[test]
fn truncated_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.png");
    sample(64, 48).save(&path).unwrap();
    let png = fs::read(&path).unwrap();
    let jpeg = jpeg(64, 48);
    // The last 12 bytes of a PNG are only an end marker, and the pixels are complete without it. A JPEG must be
    // complete.
    for (whole, needed) in [(&png, png.len() - 12), (&jpeg, jpeg.len())] {
        for length in (16..needed).step_by(41).chain([needed - 1]) {
            fs::write(&path, &whole[..length]).unwrap();
            let error = refusal(&path, |path| Picture::open(path));
            assert_variant!(error, PictureError::Truncated { .. } | PictureError::Corrupt { .. });
        }
    }
    // This JPEG is cut in half. The JPEG decoder alone would fill the missing part with grey and report no error.
    fs::write(&path, &jpeg[..jpeg.len() / 2]).unwrap();
    assert_variant!(refusal(&path, |p| Picture::open(p)), PictureError::Truncated { .. });
    // `open` must accept extra bytes after the picture, because some cameras append data such as depth maps.
    fs::write(&path, [&jpeg[..], b"more"].concat()).unwrap();
    assert!(Picture::open(&path).is_ok());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 96, ..Default::default() })]
    #[test]
    fn flipped_bits_never_panic(at in 0.0..1.0f64, bit in 0..8u8, kind in 0..2) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flip.png");
        sample(32, 24).save(&path).unwrap();
        let mut bytes = if kind == 0 { fs::read(&path).unwrap() } else { jpeg(32, 24) };
        let index = (at * bytes.len() as f64) as usize;
        bytes[index] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = Picture::open(&path) {
            proptest::prop_assert!(error.to_string().contains("flip.png"));
        }
    }
}

#[test]
fn what_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let picture = sample(3, 2);
    let save = |path: &Path| picture.save(path);
    let other = refusal(&dir.path().join("a.bmp"), save);
    assert_variant!(other, PictureError::Extension { .. });
    let nowhere = refusal(&dir.path().join("no/such/dir/a.png"), save);
    assert_variant!(nowhere, PictureError::Unwritable { .. });
    let none = Picture::filled(0, 5, Rgba8::BLACK);
    let empty = refusal(&dir.path().join("a.png"), |path| none.save(path));
    assert_variant!(empty, PictureError::Unencodable { .. });
    let wide = Picture::filled(70_000, 1, Rgba8::BLACK);
    let wide = refusal(&dir.path().join("a.jpg"), |path| wide.save(path));
    assert_variant!(wide, PictureError::Unencodable { .. });
    // A call of `save` that fails must not leave a file behind.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(Picture::from_pixels(2, 2, vec![Rgba8::BLACK; 3]).is_none());
}

#[test]
fn photographs_open() {
    let Some(path) = data("homography/magsac/city/cityA.png") else {
        return;
    };
    let picture = Picture::open(path).unwrap();
    assert_eq!((picture.width(), picture.height()), (329, 278));
    let Some(path) = data("rigs/opencv_stereo/left01.jpg") else {
        return;
    };
    let picture = Picture::open(path).unwrap();
    assert_eq!((picture.width(), picture.height()), (640, 480));
}

/// Returns a PNG of 4×4 pixels with an extra chunk before its image data.
fn with_chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut bytes = claiming(4, 4);
    let mut chunk = (content.len() as u32).to_be_bytes().to_vec();
    chunk.extend(kind);
    chunk.extend(content);
    chunk.extend(crc32fast::hash(&chunk[4..]).to_be_bytes());
    bytes.splice(33..33, chunk);
    bytes
}

#[test]
fn chunks_of_a_png_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chunk.png");
    for (kind, length, word) in [
        (b"PLTE", 4, "palette"),
        (b"PLTE", 771, "palette"),
        (b"iCCP", 200_000, "profile"),
        (b"tEXt", 200_000, "text"),
        (b"abCd", 200_000, "not picture data"),
    ] {
        fs::write(&path, with_chunk(kind, &vec![b'a'; length])).unwrap();
        let error = refusal(&path, |path| Picture::open(path));
        assert!(error.to_string().contains(word), "{error}");
        assert_variant!(error, PictureError::Corrupt { .. });
    }
    fs::write(&path, with_chunk(b"tEXt", b"Comment\0harmless")).unwrap();
    assert_eq!(Picture::open(&path).unwrap().width(), 4);
}

#[test]
fn a_jpeg_is_measured_by_its_scans() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scans.jpg");
    // The header states a size of 2000×2000 pixels. With its metadata, the file is large enough for this size, but the
    // picture data alone is too short.
    let mut padded = jpeg(16, 16);
    let frame = padded.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    padded[frame + 5..frame + 9].copy_from_slice(&[0x07, 0xD0, 0x07, 0xD0]);
    let mut application = vec![0xFF, 0xE5, 0xFF, 0xFF];
    application.resize(2 + 0xFFFF, 0x11);
    padded.splice(2..2, application);
    fs::write(&path, &padded).unwrap();
    let error = refusal(&path, |path| Picture::open(path));
    assert!(error.to_string().contains("cannot hold 2000×2000"), "{error}");
    assert_variant!(error, PictureError::Corrupt { .. });

    let mut scans = jpeg(16, 16);
    let end = scans.len() - 2;
    let scan = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0];
    scans.splice(end..end, scan.repeat(64));
    fs::write(&path, &scans).unwrap();
    let error = refusal(&path, |path| Picture::open(path));
    assert!(error.to_string().contains("65 scans"), "{error}");
    assert_variant!(error, PictureError::Corrupt { .. });
}
