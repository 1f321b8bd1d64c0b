//! Tests of PNG files with 16 bits per channel: against files and samples of the `image` crate, round trips,
//! conversions between 8 and 16 bits, and limits.

use std::fs;
use std::path::Path;

use image::{DynamicImage, ImageBuffer};
use panoweave::io::Conversion;
use panoweave::io::picture::{Picture, PictureError, PictureFormat, Pixel, Rgba16, StoredPicture};
use panoweave_tests::random::Random;
use shared_types::Rgba8;

use crate::malformed::{assert_variant, refusal};

/// Returns a random picture that has opaque, half opaque and transparent pixels.
fn sample(width: u32, height: u32) -> Picture<Rgba16> {
    let mut random = Random::new(5);
    let mut pixel = |_| {
        let [r, g, b, a] = [0; 4].map(|_| random.bits() as u16);
        Rgba16 { r, g, b, a }
    };
    let pixels = (0..width * height).map(&mut pixel).collect();
    Picture::from_pixels(width, height, pixels).unwrap()
}

/// Returns the picture with 16 bits per channel, which must be stored with them.
fn deep(picture: StoredPicture) -> Picture<Rgba16> {
    match picture {
        StoredPicture::Rgba16(picture) => picture,
        StoredPicture::Rgba8(_) => panic!("8 bits"),
    }
}

#[test]
fn a_png_keeps_every_level() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let picture = sample(65, 63);
    picture.save(&path).unwrap();
    let stored = StoredPicture::open(&path).unwrap();
    assert_eq!((stored.bits(), stored.size()), (16, picture.size()));
    let read = deep(stored);
    assert_eq!(read, picture);
    assert_eq!((read.conversions().count(), read.is_opaque()), (0, false));
    // Another reader finds the same samples.
    let other = image::open(&path).unwrap();
    assert!(matches!(other, DynamicImage::ImageRgba16(_)));
    assert_eq!(other.to_rgba16().as_raw(), bytemuck::cast_slice::<_, u16>(picture.pixels()));
    // In memory as in a file.
    let content = picture.encode(PictureFormat::Png).unwrap();
    assert_eq!(content, fs::read(&path).unwrap());
    assert_eq!(deep(StoredPicture::decode(&content, "a.png").unwrap()), picture);
    let cut = &content[..content.len() / 2];
    let error = refusal(Path::new("a.png"), |name| StoredPicture::decode(cut, name));
    assert_variant!(error, PictureError::Truncated { .. });
}

#[test]
fn every_kind_of_pixel_keeps_its_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    let image = ImageBuffer::from_fn(40, 30, |x, y| {
        image::Rgba([(x * 1601) as u16, (y * 2103) as u16, 65_535, (x * y * 51) as u16])
    });
    let image = DynamicImage::ImageRgba16(image);
    let kinds = [
        DynamicImage::ImageLuma8(image.to_luma8()),
        DynamicImage::ImageLumaA8(image.to_luma_alpha8()),
        DynamicImage::ImageRgb8(image.to_rgb8()),
        DynamicImage::ImageRgba8(image.to_rgba8()),
        DynamicImage::ImageLuma16(image.to_luma16()),
        DynamicImage::ImageLumaA16(image.to_luma_alpha16()),
        DynamicImage::ImageRgb16(image.to_rgb16()),
        image,
    ];
    for kind in kinds {
        kind.save(&path).unwrap();
        let stored = StoredPicture::open(&path).unwrap();
        let is_deep = kind.color().bytes_per_pixel() > kind.color().channel_count();
        assert_eq!(stored.bits(), if is_deep { 16 } else { 8 }, "{:?}", kind.color());
        // The `image` crate widens 8 bits by a factor of 257, too.
        let wide = stored.clone().into_rgba16();
        let samples: &[u16] = bytemuck::cast_slice(wide.pixels());
        assert_eq!(samples, kind.to_rgba16().as_raw(), "{:?}", kind.color());
        assert_eq!(wide.conversions().count(), 0);
        // Reducing a stored picture is the same as reading it with 8 bits.
        let reduced = stored.into_rgba8();
        assert_eq!(reduced, Picture::open(&path).unwrap());
        let expected = is_deep.then_some(Conversion::Depth { from: 16, to: 8 });
        assert!(reduced.conversions().eq(expected), "{:?}", kind.color());
    }
}

#[test]
fn depths_convert_without_loss_and_to_the_nearest_level() {
    for level in 0..=u16::MAX {
        let Rgba8 { r, g, b, a } = Rgba16 { r: level, g: level, b: level, a: level }.into();
        let exact = (f64::from(level) * 255.0 / 65_535.0).round() as u8;
        assert_eq!([r, g, b, a], [exact; 4], "{level}");
    }
    for level in 0..=u8::MAX {
        let pixel = Rgba8 { r: level, g: 255 - level, b: level / 2, a: level };
        let wide = Rgba16::from(pixel);
        assert_eq!(wide.r, (f64::from(level) / 255.0 * 65_535.0).round() as u16);
        assert_eq!(Rgba8::from(wide), pixel);
    }
    assert_eq!([<Rgba8 as Pixel>::BITS, <Rgba16 as Pixel>::BITS], [8, 16]);
    let eight = Picture::filled(3, 2, Rgba8::opaque(1, 2, 3));
    let wide = eight.to_depth::<Rgba16>();
    // A picture that was widened loses nothing when it is reduced again.
    assert_eq!(wide.to_depth::<Rgba8>(), eight);
    assert_eq!(wide.to_depth::<Rgba8>().conversions().count(), 0);
    let reduced = Picture::filled(3, 2, Rgba16::opaque(300, 400, 500)).to_depth::<Rgba8>();
    assert!(reduced.conversions().eq([Conversion::Depth { from: 16, to: 8 }]));
}

#[test]
fn pictures_with_eight_bits_are_not_copied() {
    let eight = [Picture::filled(3, 2, Rgba8::opaque(1, 2, 3))];
    assert!(matches!(Picture::all_rgba8(&eight), std::borrow::Cow::Borrowed(_)));
    let deep = [eight[0].to_depth::<Rgba16>()];
    assert_eq!(*Picture::all_rgba8(&deep), eight);
}

#[test]
fn a_jpeg_has_eight_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jpg");
    let picture = Picture::filled(33, 17, Rgba16 { r: 51_400, g: 25_700, b: 12_850, a: 7 });
    picture.save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), {
        let eight: Picture = picture.to_depth();
        eight.encode(PictureFormat::Jpeg).unwrap()
    });
    assert_eq!(StoredPicture::open(&path).unwrap().bits(), 8);
}

/// A picture of 6000×4000 pixels with 16 bits needs more memory than the limit for 8 bits, and less than that for 16. A
/// header that states more pixels is an error before memory is allocated.
#[test]
fn the_memory_for_decoding_is_bounded() {
    let file = |width: u32, height: u32| {
        let mut bytes = sample(4, 4).encode(PictureFormat::Png).unwrap();
        bytes[16..20].copy_from_slice(&width.to_be_bytes());
        bytes[20..24].copy_from_slice(&height.to_be_bytes());
        let crc = crc32fast::hash(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        bytes
    };
    let large = file(16_000, 16_000);
    let error = refusal(Path::new("a.png"), |name| StoredPicture::decode(&large, name));
    assert_variant!(error, PictureError::TooMuchMemory { limit, .. } if limit == 496 << 20);
    let error = refusal(Path::new("a.png"), |name| Picture::decode(&large, name));
    assert_variant!(error, PictureError::TooMuchMemory { limit, .. } if limit == 248 << 20);
    let huge = file(60_000, 4);
    let error = refusal(Path::new("a.png"), |name| StoredPicture::decode(&huge, name));
    assert_variant!(error, PictureError::TooLarge { width: 60_000, .. });
}

#[test]
fn masks_clear_the_opacity() {
    let mut picture = Picture::filled(4, 1, Rgba16::opaque(1, 2, 3));
    let mut mask = Picture::filled(4, 1, Rgba8::opaque(255, 255, 255));
    mask.pixels_mut()[2] = Rgba8::BLACK;
    assert!(picture.mask(&mask) && !picture.mask(&Picture::filled(4, 2, Rgba8::BLACK)));
    let alphas: Vec<_> = picture.pixels().iter().map(|pixel| pixel.a).collect();
    assert_eq!(alphas, [65_535, 65_535, 0, 65_535]);
}
