//! The differential target: functions for whole launches on the CPU against the simulator, which runs the kernels.
//!
//! The environment variable `PANOWEAVE_FUZZ_DEVICE` names another device, such as `cuda:0`, that replaces the CPU.

use std::fmt::Debug;

use arbitrary::{Arbitrary, Result, Unstructured};
use bytemuck::{cast, cast_slice, pod_collect_to_vec};
use glam::{UVec2, Vec2, Vec3};
use panoweave::device::{DeviceName, Image, Stream};
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, PixelFormat, Range, Rgba8, YuvEncoding, YuvMatrix,
};
use panoweave::io::picture::Picture;
use panoweave::ops::convolve::{SeparableFilter, Taps};
use panoweave::ops::features::{FeatureOptions, good_features};
use panoweave::ops::ssim::compare_pictures;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, stitch};
use panoweave::ops::trajectory::Trajectory;
use panoweave::warp::{DeviceWarp, Plane, Warp};
use shared_types::stitch::Colour;

/// An operation on small pictures. The input selects the operation and all of its arguments.
pub(crate) fn cpu_paths(data: &[u8]) {
    let mut input = Unstructured::new(data);
    // Input that ends early gives zeros, so this fails only for arguments that an operation does not accept.
    let _ = operation(&mut input);
}

/// Returns whether the devices accepted the arguments, so that results were compared.
fn operation(input: &mut Unstructured<'_>) -> Result<bool> {
    // The convolutions of `features` take most of the time in the simulator, so it is rare.
    match input.int_in_range(0..=15)? {
        0..=9 => stitches(input),
        10 | 11 => convolutions(input),
        12 | 13 => similarities(input),
        14 => trajectories(input),
        _ => features(input),
    }
}

/// Runs `compute` on both devices, and returns the results: that of the device under test, and that of the simulator.
fn both<T>(compute: impl Fn(&Stream) -> Option<T>) -> Option<[T; 2]> {
    STREAMS.with(|streams| match streams.each_ref().map(compute) {
        [Some(own), Some(judge)] => Some([own, judge]),
        [None, None] => None,
        [own, _] => panic!("only one device accepts the arguments; the CPU: {}", own.is_some()),
    })
}

thread_local! {
    /// The stream of the device under test, and that of the simulator.
    static STREAMS: [Stream; 2] = [name(), DeviceName::Simulator]
        .map(|name| name.open().and_then(|device| device.stream()).expect("a device"));
}

fn name() -> DeviceName {
    std::env::var("PANOWEAVE_FUZZ_DEVICE")
        .map_or(DeviceName::Cpu, |name| name.parse().expect("the name of a device"))
}

/// A shift in pixels. Kernels interpolate coordinates in a tile with an error of up to 1/256.
const SHIFT: f32 = 1.0 / 128.0;

/// Checks that each sample is close to the judge's. The fractions of source coordinates have 8 bits, so a rounding
/// error in a coordinate may change a sample of noise by a level of 8 bits along each axis. `slope` is the factor by
/// which later steps may multiply this difference.
///
/// At an edge, a small error decides whether a pixel is inside. If a sample is not close, `shifted` computes the
/// judge's samples for coordinates that are shifted by [`SHIFT`], and the sample must be in the range of the results.
fn close(
    format: FrameFormat,
    [own, judge]: [Vec<u16>; 2],
    slope: f32,
    shifted: impl Fn(&Stream, Vec2) -> Option<Vec<u16>>,
    what: impl Debug,
) {
    let levels = if format.pixels.bits() > 8 { 8.0 } else { 2.0 };
    let limit = (levels * slope).ceil() as u16;
    assert_eq!(own.len(), judge.len());
    let far = |at: &usize| own[*at].abs_diff(judge[*at]) > limit;
    let far: Vec<_> = (0..own.len()).filter(far).collect();
    if far.is_empty() {
        return;
    }
    let shifts = [Vec2::X, Vec2::NEG_X, Vec2::Y, Vec2::NEG_Y].map(|shift| SHIFT * shift);
    let others = STREAMS.with(|[_, simulator]| {
        shifts.map(|shift| shifted(simulator, shift).expect("the result of shifted coordinates"))
    });
    for at in far {
        let near = others.iter().map(|other| other[at]).chain([judge[at]]);
        let low = near.clone().min().unwrap_or(0).saturating_sub(limit);
        let high = near.max().unwrap_or(0).saturating_add(limit);
        let (own, judge) = (own[at], judge[at]);
        assert!(
            (low..=high).contains(&own),
            "sample {at}: {own} instead of {judge}, or {low} to {high}: {what:?}"
        );
    }
}

/// Checks that each number is within `tolerance` of the judge's, or both are NaN or the same infinity.
fn near(own: &[f32], judge: &[f32], tolerance: f32, what: impl Debug) {
    assert_eq!(own.len(), judge.len());
    for (at, (own, judge)) in own.iter().zip(judge).enumerate() {
        let same = own.to_bits() == judge.to_bits() || own.is_nan() && judge.is_nan();
        let near = (own - judge).abs() <= tolerance;
        assert!(same || near, "number {at}: {own:e} instead of {judge:e}: {what:?}");
    }
}

fn size(input: &mut Unstructured<'_>, most: u32) -> Result<UVec2> {
    Ok(UVec2::new(input.int_in_range(1..=most)?, input.int_in_range(1..=most)?))
}

/// Returns a size that all pixel formats support.
fn even_size(input: &mut Unstructured<'_>, most: u32) -> Result<UVec2> {
    Ok((size(input, most)? + 1) / 2 * 2)
}

/// Returns a number from `low` to `high`.
fn number(input: &mut Unstructured<'_>, low: f32, high: f32) -> Result<f32> {
    Ok(low + (high - low) * f32::from(u16::arbitrary(input)?) / f32::from(u16::MAX))
}

/// Returns `count` bytes, which repeat the input's.
fn bytes(input: &mut Unstructured<'_>, count: usize) -> Result<Vec<u8>> {
    let given = input.bytes(input.len().min(count))?;
    Ok(given.iter().chain(std::iter::once(&0)).copied().cycle().take(count).collect())
}

fn pixels(input: &mut Unstructured<'_>) -> Result<PixelFormat> {
    let matrix = *input.choose(&[YuvMatrix::Bt601, YuvMatrix::Bt709, YuvMatrix::Bt2020])?;
    let encoding = YuvEncoding { matrix, range: *input.choose(&[Range::Limited, Range::Full])? };
    let formats = [PixelFormat::Rgba8, PixelFormat::Nv12(encoding), PixelFormat::P010(encoding)];
    Ok(*input.choose(&formats)?)
}

/// Returns the samples of a frame: 8 bits, or the 10 bits of P010.
fn samples(format: FrameFormat, frame: &[u8]) -> Vec<u16> {
    if format.pixels.bits() > 8 {
        pod_collect_to_vec::<u8, u16>(frame).iter().map(|sample| sample >> 6).collect()
    } else {
        frame.iter().copied().map(u16::from).collect()
    }
}

fn upload(stream: &Stream, format: FrameFormat, bytes: &[u8]) -> Option<DeviceFrame> {
    let mut frame = DeviceFrame::new(stream.device(), format).ok()?;
    frame.upload(stream, &Frame::tight(format, bytes).ok()?).ok()?;
    Some(frame)
}

fn download(stream: &Stream, frame: &DeviceFrame) -> Option<Vec<u16>> {
    let format = frame.format();
    let mut bytes = vec![0; format.bytes()];
    frame.download(stream, &mut bytes).ok()?;
    Some(samples(format, &bytes))
}

/// Stitches with arbitrary planes, colours and formats.
fn stitches(input: &mut Unstructured<'_>) -> Result<bool> {
    let format = pixels(input)?;
    let cameras = input.int_in_range(2..=4)?;
    let out = FrameFormat { size: even_size(input, 24)?, pixels: format };
    let source = FrameFormat { size: even_size(input, 24)?, pixels: format };
    let mut colours = vec![Colour::IDENTITY; cameras];
    let mut slope = 1.0_f32;
    let edge_boost = bool::arbitrary(input)?;
    if bool::arbitrary(input)? {
        for colour in &mut colours {
            let [red, green] = [number(input, 0.1, 4.0)?, number(input, 0.1, 4.0)?];
            // The slope of a power below 1 has no limit at black.
            let gamma = if bool::arbitrary(input)? { number(input, 1.0, 3.0)? } else { 1.0 };
            *colour = Colour { gain: Vec3::new(red, green, 1.0), gamma, ..*colour };
            slope = slope.max(red.max(green).max(1.0) * gamma + 1.0);
        }
    }
    slope *= if edge_boost { 1.35 } else { 1.0 };
    let options = StitchOptions {
        colours: Colours::of(&colours),
        flip: bool::arbitrary(input)?,
        edge_boost,
        lookup: *input.choose(&[Lookup::Mesh, Lookup::Planes, Lookup::Cubic])?,
        ..StitchOptions::default()
    };
    let mut planes = Vec::new();
    for plane in Plane::all(cameras) {
        planes.push(match plane {
            Plane::X(_) => ramp(input, out.size, source.size.x)?,
            Plane::Y(_) => ramp(input, out.size, source.size.y)?,
            Plane::Weight(_) => {
                let weights = bytes(input, 64)?;
                let weight = |i| f32::from(weights[i % weights.len()]) / 255.0;
                (0..out.size.element_product() as usize).map(weight).collect()
            }
        });
    }
    let mut frames = Vec::new();
    for _ in 0..cameras {
        frames.push(bytes(input, source.bytes())?);
    }
    let compute = |stream: &Stream, shift: Vec2| {
        let move_by = |mut plane: Vec<f32>, by: f32| {
            plane.iter_mut().for_each(|number| *number += by);
            plane
        };
        let planes: Vec<_> = Plane::all(cameras)
            .zip(planes.clone())
            .map(|(plane, numbers)| match plane {
                Plane::X(_) => move_by(numbers, shift.x),
                Plane::Y(_) => move_by(numbers, shift.y),
                Plane::Weight(_) => numbers,
            })
            .collect();
        let warp = Warp::new(out.size, vec![source.size; cameras], planes).ok()?;
        let warp = DeviceWarp::upload(stream, &warp).ok()?;
        let frames: Option<Vec<_>> =
            frames.iter().map(|bytes| upload(stream, source, bytes)).collect();
        let views: Vec<_> = frames.as_ref()?.iter().map(DeviceFrame::view).collect();
        let mut made = DeviceFrame::new(stream.device(), out).ok()?;
        stitch(stream, &views, &warp, &options, &mut made).ok()?;
        download(stream, &made)
    };
    let Some(samples) = both(|stream| compute(stream, Vec2::ZERO)) else { return Ok(false) };
    let what = (out, source, options.flip, options.lookup, edge_boost, colours);
    close(out, samples, slope, compute, what);
    Ok(true)
}

/// Returns source coordinates: a linear function with noise, so that most of them are in a source of `side` pixels.
fn ramp(input: &mut Unstructured<'_>, size: UVec2, side: u32) -> Result<Vec<f32>> {
    let start = number(input, -4.0, side as f32 + 4.0)?;
    let [across, down] = [number(input, -1.5, 1.5)?, number(input, -1.5, 1.5)?];
    let amplitude = number(input, 0.0, 0.4)?;
    let noise = bytes(input, 8)?;
    let at = |i: u32| {
        let [x, y] = [i % size.x, i / size.x].map(|n| n as f32);
        start + across * x + down * y + amplitude * f32::from(noise[i as usize % 8]) / 255.0
    };
    Ok((0..size.element_product()).map(at).collect())
}

/// Convolves with arbitrary taps, in one or two launches.
fn convolutions(input: &mut Unstructured<'_>) -> Result<bool> {
    let size = size(input, 24)?;
    let mut taps = || -> Result<Vec<f32>> {
        let width = match input.int_in_range(0..=15_usize)? {
            // More than 63 taps take two launches.
            0 => 65,
            half => 2 * half - 1,
        };
        (0..width).map(|_| number(input, -1.0, 1.0)).collect()
    };
    let [horizontal, vertical] = [taps()?, taps()?];
    // Each sum of products may differ by a rounding error per product.
    let sum = |taps: &[f32]| taps.iter().map(|tap| tap.abs()).sum::<f32>();
    let terms = (horizontal.len() + vertical.len()) as f32;
    let tolerance = 255.0 * sum(&horizontal) * sum(&vertical) * terms * f32::EPSILON;
    let (Ok(horizontal), Ok(vertical)) = (Taps::new(horizontal), Taps::new(vertical)) else {
        return Ok(false);
    };
    let levels = bytes(input, size.element_product() as usize)?;
    let levels: Vec<f32> = levels.into_iter().map(f32::from).collect();
    let compute = |stream: &Stream| {
        let mut filter = SeparableFilter::new(stream, &horizontal, &vertical).ok()?;
        let picture = Image::from_slice(stream, size.x, size.y, &levels).ok()?;
        let mut made = Image::new(stream.device(), size.x, size.y).ok()?;
        filter.convolve(stream, picture.view(), made.view_mut()).ok()?;
        made.download(stream).ok()
    };
    let Some([own, judge]) = both(compute) else { return Ok(false) };
    near(&own, &judge, tolerance, (size, horizontal.width(), vertical.width()));
    Ok(true)
}

fn picture(input: &mut Unstructured<'_>, size: UVec2) -> Result<Picture> {
    let levels = bytes(input, size.element_product() as usize * 4)?;
    let pixels: Vec<Rgba8> = cast_slice(&levels).to_vec();
    Picture::from_pixels(size.x, size.y, pixels).ok_or(arbitrary::Error::IncorrectFormat)
}

/// Compares a picture with one that differs in up to 32 pixels.
fn similarities(input: &mut Unstructured<'_>) -> Result<bool> {
    let size = size(input, 24)?;
    let changes = (0..input.int_in_range(0..=32_u8)?).map(|_| Arbitrary::arbitrary(input));
    let changes: Vec<(u16, [u8; 4])> = changes.collect::<Result<_>>()?;
    let first = picture(input, size)?;
    let mut pixels = first.pixels().to_vec();
    for (at, pixel) in changes {
        let count = pixels.len();
        pixels[usize::from(at) % count] = cast(pixel);
    }
    let second = Picture::from_pixels(size.x, size.y, pixels);
    let second = second.ok_or(arbitrary::Error::IncorrectFormat)?;
    let compute = |stream: &Stream| compare_pictures(stream, &first, &second).ok();
    let Some([own, judge]) = both(compute) else { return Ok(false) };
    near(&own.1, &judge.1, 2e-3, size);
    let means = [own.0.ssim, judge.0.ssim].map(|mean| mean as f32);
    near(&means[..1], &means[1..], 1e-4, size);
    Ok(true)
}

/// Finds features. The best one must have the same value on both devices. Positions are not compared, because a
/// rounding error decides between pixels that are equally good, and each choice excludes other pixels nearby.
fn features(input: &mut Unstructured<'_>) -> Result<bool> {
    let size = size(input, 24)?;
    let options = FeatureOptions {
        count: 16,
        window: *input.choose(&[3, 5, 7, 9])?,
        min_distance: input.int_in_range(0..=12)?,
        border: input.int_in_range(0..=4)?,
        smooth: bool::arbitrary(input)?,
        gradient_sigma: number(input, 0.5, 3.0)?,
        ..FeatureOptions::default()
    };
    let picture = picture(input, size)?;
    let compute = |stream: &Stream| {
        let image = picture.upload(stream).ok()?;
        good_features(stream, image.view(), &options).ok()
    };
    let Some([own, judge]) = both(compute) else { return Ok(false) };
    let best = |features: &[panoweave::ops::features::Feature]| {
        features.first().map_or(0.0, |feature| feature.value)
    };
    let [own, judge] = [best(&own), best(&judge)];
    near(&[own], &[judge], 1e-3 * judge.abs() + 1.0, (size, options));
    Ok(true)
}

/// Resamples a trajectory of arbitrary times and values.
fn trajectories(input: &mut Unstructured<'_>) -> Result<bool> {
    let rows = input.int_in_range(1..=40_usize)?;
    let columns = input.int_in_range(1..=4_usize)?;
    let mut time = 0.0;
    let mut times = Vec::new();
    for _ in 0..rows {
        time += f64::from(u16::arbitrary(input)?) / 1000.0;
        times.push(time);
    }
    let values: Vec<f64> = (0..rows * columns)
        .map(|_| Ok(f64::from(i32::arbitrary(input)?) / 1000.0))
        .collect::<Result<_>>()?;
    let targets: Vec<f64> = (0..input.int_in_range(1..=60_usize)?)
        .map(|_| Ok(f64::from(number(input, -1.0, 80.0)?)))
        .collect::<Result<_>>()?;
    let names = (0..columns).map(|i| format!("column{i}")).collect();
    let Ok(trajectory) = Trajectory::new(names, times, values) else { return Ok(false) };
    let compute = |stream: &Stream| trajectory.resample(stream, &targets).ok();
    let Some([own, judge]) = both(compute) else { return Ok(false) };
    for (own, judge) in own.values().iter().zip(judge.values()) {
        assert!((own - judge).abs() <= 1e-9 * judge.abs().max(1.0), "{own} {judge}");
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arbitrary input must not only reach arguments that the devices refuse.
    #[test]
    fn all_operations_compare_results() {
        let mut state = 1_u64;
        let mut random = || {
            // A linear congruential generator; the constants are Knuth's.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        for number in 0..16 {
            let compares = |data: &[u8]| operation(&mut Unstructured::new(data)) == Ok(true);
            let inputs =
                (0..20).map(|_| [vec![number], (0..400).map(|_| random()).collect()].concat());
            let compared = inputs.filter(|input| compares(input)).count();
            assert!(compared >= 4, "operation {number}: {compared} of 20");
        }
    }
}
