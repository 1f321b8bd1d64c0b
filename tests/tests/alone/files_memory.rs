//! Checks that malformed files are rejected within 2 seconds and with at most 256 MiB of memory. The test runs in its
//! own process, because it measures the process's peak memory.
//!
//! The time limit applies only to optimized builds, because a debug build decodes ten times slower.

use panoweave_tests::alone::alone;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use glam::UVec2;
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, GrayImage};
use panoweave::io::picture::{Picture, PictureError};
use panoweave::warp::Warp;

/// Returns the peak resident memory of this process in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn timed<T, E>(what: &str, read: impl FnOnce() -> Result<T, E>) -> E {
    let start = Instant::now();
    let Err(error) = read() else { panic!("{what} was accepted") };
    let took = start.elapsed();
    eprintln!("{what}: {took:?}, peak {} MiB", peak() >> 20);
    assert!(took < Duration::from_secs(2), "{what} took {took:?}");
    error
}

/// Writes a PNG file of the largest accepted size, without its last 40 bytes.
fn cut_png(path: &Path) {
    GrayImage::new(7680, 4320).save(path).unwrap();
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 40]).unwrap();
}

/// Writes a JPEG file with the data of 8×8 pixels and a header that states a size of `width`×`height`. The header also
/// states a progressive JPEG if `progressive`, otherwise a baseline JPEG.
fn claiming_jpeg(path: &Path, width: u16, height: u16, progressive: bool) {
    let mut bytes = Vec::new();
    JpegEncoder::new(&mut bytes).encode(&[90; 192], 8, 8, ExtendedColorType::Rgb8).unwrap();
    let at = bytes.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
    bytes[at + 1] = if progressive { 0xC2 } else { 0xC0 };
    bytes[at + 5..at + 7].copy_from_slice(&height.to_be_bytes());
    bytes[at + 7..at + 9].copy_from_slice(&width.to_be_bytes());
    fs::write(path, bytes).unwrap();
}

/// Writes a JPEG file of the largest accepted size, in which a marker overwrites the data of the last rows.
fn jpeg_with_a_bad_end(path: &Path) {
    let mut bytes = Vec::new();
    JpegEncoder::new(&mut bytes)
        .encode(&vec![90; 7680 * 4320], 7680, 4320, ExtendedColorType::L8)
        .unwrap();
    let at = bytes.len() - 500;
    bytes[at..at + 4].copy_from_slice(&[0xFF, 0xE5, 0, 2]);
    fs::write(path, bytes).unwrap();
}

/// Writes a warp file for a panorama of 5700×1900 pixels whose planes contain only zeros and whose checksum is wrong.
fn damaged_warp(path: &Path) {
    let size = UVec2::new(5700, 1900);
    let one = [(); 6].map(|()| vec![0.0]);
    Warp::new(UVec2::ONE, [UVec2::ONE; 2], one).unwrap().save(path).unwrap();
    let bytes = fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let plane = u64::from(size.x) * u64::from(size.y) * 4;
    for (i, (_, tensor)) in (0..)
        .zip(header.as_object_mut().unwrap().iter_mut().filter(|(name, _)| *name != "__metadata__"))
    {
        tensor["shape"] = serde_json::json!([size.y, size.x]);
        tensor["data_offsets"] = serde_json::json!([i * plane, (i + 1) * plane]);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let start = [&(header.len() as u64).to_le_bytes()[..], &header].concat();
    fs::write(path, &start).unwrap();
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(start.len() as u64 + 6 * plane)
        .unwrap();
}

#[test]
fn malformed_files_cost_little() {
    alone(malformed_files_cost_little, || {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for (width, height) in [(65_535, 65_535), (16_000, 16_000), (7680, 4320)] {
            for progressive in [false, true] {
                claiming_jpeg(&path, width, height, progressive);
                let what = format!("JPEG of {width}×{height}, progressive {progressive}");
                let error = timed(&what, || Picture::open(&path));
                let expected = match width {
                    65_535 => matches!(error, PictureError::TooLarge { .. }),
                    16_000 => matches!(error, PictureError::TooMuchMemory { .. }),
                    _ => matches!(error, PictureError::Corrupt { .. }),
                };
                assert!(expected, "{error}");
            }
        }
        // Unlike the files above, this file contains about as much data as its header states, so decoding fails only at
        // the last rows.
        jpeg_with_a_bad_end(&path);
        let error = timed("JPEG with a bad end", || Picture::open(&path));
        assert!(matches!(error, PictureError::Corrupt { .. }), "{error}");
        damaged_warp(&path);
        let error = timed("warp", || Warp::open(&path));
        assert!(error.to_string().contains("the checksum of the contents"), "{error}");
        // This case is last, because writing its file also needs memory, which would raise the measured peak of later
        // cases.
        cut_png(&dir.path().join("a.png"));
        let error = timed("PNG", || Picture::open(dir.path().join("a.png")));
        assert!(
            matches!(error, PictureError::Truncated { .. } | PictureError::Corrupt { .. }),
            "{error}"
        );
        assert!(peak() < 256 << 20, "peak {} MiB", peak() >> 20);
    });
}
