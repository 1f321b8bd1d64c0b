//! Compares the statistics of pictures with sums that this test computes from the documented places of the samples.

use glam::{UVec2, uvec2};
use panoweave::frame::{DeviceFrame, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::ops::frame_statistics::{FrameStatistics, SAMPLES, StatisticsSampler};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};
use shared_types::Rgba8;

const NV12: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited });

const P010: PixelFormat =
    PixelFormat::P010(YuvEncoding { matrix: YuvMatrix::Bt2020, range: Range::Limited });

/// The finaliser of MurmurHash3, in 64-bit arithmetic.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 16)) * 0x85eb_ca6b % (1 << 32);
    let x = (x ^ (x >> 13)) * 0xc2b2_ae35 % (1 << 32);
    x ^ (x >> 16)
}

/// MurmurHash3 (32 bits) of an empty string is the finaliser of its seed. These values are from the published test
/// vectors of that hash.
#[test]
fn the_hash_is_that_of_murmurhash3() {
    assert_eq!(mix(0), 0);
    assert_eq!(mix(1), 0x514e_28b7);
    assert_eq!(mix(0xffff_ffff), 0x81f1_6f39);
}

/// Returns the places of all samples in a picture, with the hashes of the indices.
fn places(size: UVec2) -> Vec<(UVec2, u64)> {
    let at = |cell: u64, hash: u64, side: u32| {
        // The offset inside the cell has 26 bits.
        let offset = hash / 64;
        u128::from(cell * (1 << 26) + offset) * u128::from(side) / (1 << 32)
    };
    let place = |i: u64| {
        let hash = mix(i);
        let x = at(i % 64, hash, size.x);
        let y = at(i / 64, mix(hash), size.y);
        (uvec2(x as u32, y as u32), hash)
    };
    (0..u64::from(SAMPLES)).map(place).collect()
}

fn expected(picture: &Raster) -> FrameStatistics {
    let (mut checksum, mut sum, mut squares) = (0_u64, 0, 0);
    for (place, hash) in places(picture.size) {
        let at = (place.y * picture.size.x + place.x) as usize;
        let (bytes, luma) = match &picture.pixels {
            Pixels::Nv12 { y, .. } => (u64::from(y[at]), u32::from(y[at])),
            Pixels::P010 { y, .. } => (u64::from(y[at]), u32::from(y[at] >> 8)),
            Pixels::Rgba8(pixels) => {
                let Rgba8 { r, g, b, .. } = pixels[at];
                let bytes = u64::from(r) + 256 * u64::from(g) + 65536 * u64::from(b);
                let luma = 77.0 * f64::from(r) + 150.0 * f64::from(g) + 29.0 * f64::from(b);
                (bytes, (luma / 256.0 + 0.5).floor() as u32)
            }
        };
        checksum += mix(hash ^ bytes);
        sum += luma;
        squares += luma * luma;
    }
    FrameStatistics { checksum: checksum as u32, sum, squares }
}

/// Returns a picture of noise around a random level.
fn picture(random: &mut Random, most: usize, formats: &[PixelFormat]) -> Raster {
    let size = uvec2(1 + random.below(most) as u32, 1 + random.below(most) as u32);
    let format = random.pick(formats);
    let (low, range) = (random.below(256), 1 + random.below(255));
    Raster::from_bytes(size, format, || (low + random.below(range)).min(255) as u8)
}

#[test]
fn vitals_equal_naive_sums() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut sampler = StatisticsSampler::new(&device).unwrap();
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let most = random.pick(&[1, 3, 70, 400]);
            // P010 is sampled by a kernel of its own.
            let formats: &[_] = if seed % 5 == 4 { &[P010] } else { &[PixelFormat::Rgba8, NV12] };
            let picture = |_| picture(&mut random, most, formats);
            let pictures: Vec<_> = (0..1 + seed % 16).map(picture).collect();
            let padding = random.pick(&[0, 4, 64]);
            let frames: Vec<_> = pictures.iter().map(|p| p.upload(&stream, padding)).collect();
            let views: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
            let found = sampler.sample(&stream, &views).unwrap();
            let expected: Vec<_> = pictures.iter().map(expected).collect();
            assert_eq!(found, expected, "{device}, seed {seed}");
        }
    }
}

/// Pictures as large as a camera's, and with the largest side. The sides are multiples of the number of cells.
#[test]
fn samples_of_large_pictures_are_one_per_cell() {
    for size in [uvec2(3840, 2176), uvec2(32_768, 64)] {
        let mut cells = vec![0; SAMPLES as usize];
        for (place, _) in places(size) {
            assert!(place.x < size.x && place.y < size.y);
            let cell = place * 64 / size;
            cells[(cell.y * 64 + cell.x) as usize] += 1;
        }
        assert!(cells.iter().all(|&count| count == 1));
        let mut random = Random::new(1);
        let picture = Raster::noise(&mut random, size, NV12);
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let frame = picture.upload(&stream, 0);
            let found =
                StatisticsSampler::new(&device).unwrap().sample(&stream, &[frame.view()]).unwrap();
            assert_eq!(found, [expected(&picture)], "{device}, {size}");
        }
    }
}

#[test]
fn wrong_numbers_of_pictures_are_rejected() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut sampler = StatisticsSampler::new(&device).unwrap();
        let frame = Raster::from_bytes(uvec2(2, 2), NV12, || 1).upload(&stream, 0);
        for count in [0, 17] {
            let views = vec![frame.view(); count];
            let error = sampler.sample(&stream, &views).unwrap_err().to_string();
            assert!(error.contains(&format!("{count} pictures were passed")), "{error}");
        }
        assert_eq!(sampler.sample(&stream, &vec![frame.view(); 16]).unwrap().len(), 16);
    }
}
