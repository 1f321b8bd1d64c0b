//! Tests texture reads of every format, from images and from arrays. A sampler in f64 computes the expected samples.

use std::collections::BTreeSet;

use bytemuck::Pod;
use conformance::memory::Quad;
use conformance::texture::{Sample, SampleElements};
use conformance_devices::on_each_device;
use cust::typed::{Address, Array, Filter, Image, Stream, Texel, Texture, TextureMode};
use glam::{UVec4, Vec2, Vec4, vec2};

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// The width of the picture in texels. Width and height are odd, and each row is shorter than the row pitch.
const WIDTH: u32 = 13;
const HEIGHT: u32 = 7;

/// The maximum error of a linear sample that is caused by rounding the product of both fractions to 8 bits. The
/// rounding error is at most 1/512. It is multiplied by a sum of four texels with alternating signs, which is at most
/// 2.
const LINEAR_PRODUCT: f64 = 1.0 / 256.0;

/// The maximum total error of a linear sample. In addition to `LINEAR_PRODUCT`, it contains the errors from rounding
/// both fractions to 8 bits, up to 1/512 each.
const LINEAR_TO_EXACT: f64 = LINEAR_PRODUCT + 2.0 / 512.0;

/// The maximum error of a point sample. Its only cause is the rounding of floats.
const ROUNDING: f64 = 1e-6;

/// The type of a channel of a texel, and its conversion to a number.
trait Scalar: Pod {
    const MAX: f64;
    /// The maximum difference between linear samples of a GPU and of the CPU, as a fraction of full scale. GPU and CPU
    /// use the same 8-bit weights, but round the weighted sum differently: an H100 rounds sums of integers to 16 bits.
    const FILTERED: f64;
    fn of(noise: u32) -> Self;
    fn value(self) -> f64;
}

impl Scalar for u8 {
    const MAX: f64 = 255.0;
    const FILTERED: f64 = 1.02 / (1 << 17) as f64;
    fn of(noise: u32) -> Self {
        // Return 0 and 255 frequently, because these values reveal scaling errors.
        match noise % 4 {
            0 => 0,
            1 => 255,
            _ => (noise >> 24) as u8,
        }
    }
    fn value(self) -> f64 {
        self.into()
    }
}

impl Scalar for u16 {
    const MAX: f64 = 65535.0;
    const FILTERED: f64 = 1.02 / (1 << 17) as f64;
    fn of(noise: u32) -> Self {
        match noise % 4 {
            0 => 0,
            1 => 65535,
            _ => (noise >> 16) as u16,
        }
    }
    fn value(self) -> f64 {
        self.into()
    }
}

impl Scalar for f32 {
    const MAX: f64 = 1.0;
    const FILTERED: f64 = 1e-6;
    fn of(noise: u32) -> Self {
        noise as f32 / u32::MAX as f32
    }
    fn value(self) -> f64 {
        self.into()
    }
}

/// A picture with `channels` channels.
struct Picture<S> {
    channels: usize,
    scalars: Vec<S>,
}

impl<S: Scalar> Picture<S> {
    fn new(channels: usize) -> Self {
        let count = (WIDTH * HEIGHT) as usize * channels;
        let scalars = noise(count as u32).into_iter().map(S::of).collect();
        Self { channels, scalars }
    }

    fn texels<T: Texel>(&self) -> Vec<T> {
        assert_eq!(size_of::<T>(), self.channels * size_of::<S>());
        bytemuck::pod_collect_to_vec(&self.scalars)
    }

    /// Returns channel `c` of texel `(x, y)`. If the texel is outside the picture, `address` determines the result.
    fn texel(&self, x: i64, y: i64, c: usize, address: Address) -> f64 {
        let (w, h) = (i64::from(WIDTH), i64::from(HEIGHT));
        let inside = x >= 0 && x < w && y >= 0 && y < h;
        if !inside && address == Address::Border {
            return 0.0;
        }
        let (x, y) = (x.max(0).min(w - 1), y.max(0).min(h - 1));
        self.scalars[(y * w + x) as usize * self.channels + c].value()
    }

    /// Returns the expected sample of channel `c` at position `at`, computed in f64, as a fraction of full scale.
    fn exact(&self, at: Vec2, c: usize, mode: TextureMode) -> f64 {
        let (x, y) = (f64::from(at.x), f64::from(at.y));
        let texel = |x, y| self.texel(x as i64, y as i64, c, mode.address);
        let value = match mode.filter {
            Filter::Point => texel(x.floor(), y.floor()),
            Filter::Linear => {
                let (i, j) = ((x - 0.5).floor(), (y - 0.5).floor());
                let (a, b) = (x - 0.5 - i, y - 0.5 - j);
                let top = texel(i, j) * (1.0 - a) + texel(i + 1.0, j) * a;
                let bottom = texel(i, j + 1.0) * (1.0 - a) + texel(i + 1.0, j + 1.0) * a;
                top * (1.0 - b) + bottom * b
            }
        };
        value / S::MAX
    }
}

/// Returns coordinates inside the picture, on each of its edges and outside it. Some coordinates are multiples of
/// 1/256, so that their fractions need no rounding. The others are not on the borders between texels, where a point
/// sample may return the texel on either side.
fn coordinates() -> Vec<Vec2> {
    let mut coordinates = Vec::new();
    for y in -5..=2 * HEIGHT as i32 + 5 {
        for x in -5..=2 * WIDTH as i32 + 5 {
            coordinates.push(vec2(x as f32 * 0.5, y as f32 * 0.5));
        }
    }
    let n = noise(2000);
    for pair in n.chunks(2) {
        let coordinate = |n: u32, size: u32| {
            let texel = (n >> 16) % (size + 4);
            texel as f32 - 2.0 + ((n & 0xff) as f32 + 0.37) / 256.25
        };
        coordinates.push(vec2(coordinate(pair[0], WIDTH), coordinate(pair[1], HEIGHT)));
        let exact = |n: u32, size: u32| (n % ((size + 4) * 256)) as f32 / 256.0 - 2.0;
        coordinates.push(vec2(exact(pair[0], WIDTH), exact(pair[1], HEIGHT)));
    }
    coordinates
}

fn modes() -> impl Iterator<Item = TextureMode> {
    [Filter::Point, Filter::Linear].into_iter().flat_map(|filter| {
        [Address::Clamp, Address::Border].map(|address| TextureMode { filter, address })
    })
}

fn read(stream: &Stream, texture: &Texture<'_, Vec4>, coordinates: &[Vec2]) -> Vec<[f32; 4]> {
    let coordinates = upload(stream, coordinates);
    let mut out = zeros(stream, coordinates.len());
    let kernel =
        Sample { texture: texture.view(), coordinates: coordinates.view(), out: out.view_mut() };
    launch(stream, line(coordinates.len().div_ceil(128), 128), &kernel);
    download(stream, &out).iter().map(|quad: &Quad| quad.0).collect()
}

/// Returns an image and an array of `T` with the same content.
fn image_and_array<T: Texel>(stream: &Stream, texels: &[T]) -> (Image<T>, Array<T>) {
    let image = Image::from_slice(stream, WIDTH, HEIGHT, texels).unwrap();
    let mut array = Array::new(stream.device(), WIDTH, HEIGHT).unwrap();
    array.copy_from(stream, &image).unwrap();
    (image, array)
}

fn check<T: Texel, S: Scalar>(format: &str) {
    let picture = Picture::<S>::new(size_of::<T>() / size_of::<S>());
    let texels = picture.texels::<T>();
    let coordinates = coordinates();
    for mode in modes() {
        let results = on_each_device(|stream| {
            let (image, array) = image_and_array(stream, &texels);
            let of_image = Texture::of_image(&image, mode).unwrap();
            let of_array = Texture::of_array(&array, mode).unwrap();
            [&of_image, &of_array].map(|texture| read(stream, texture, &coordinates))
        });
        for (device, pair) in ["CPU", "GPU"].iter().zip(&results) {
            for (source, samples) in ["image", "array"].iter().zip(pair) {
                let name = format!(
                    "{device} {format} {:?} {:?} over an {source}",
                    mode.filter, mode.address
                );
                compare(&name, &picture, mode, &coordinates, samples, &results[0][0]);
            }
        }
    }
}

/// Compares a device's samples with the exact samples and with the CPU's samples at the same coordinates. Prints the
/// largest differences, and then panics if a difference exceeds its tolerance.
fn compare<S: Scalar>(
    name: &str,
    picture: &Picture<S>,
    mode: TextureMode,
    coordinates: &[Vec2],
    samples: &[[f32; 4]],
    on_cpu: &[[f32; 4]],
) {
    // The error minus the tolerance of the worst sample, and a description of this sample.
    let mut worst = (f64::NEG_INFINITY, String::new());
    let (mut from_exact, mut from_cpu) = (0.0_f64, 0.0_f64);
    let mut missing = BTreeSet::new();
    for ((&at, sample), on_cpu) in coordinates.iter().zip(samples).zip(on_cpu) {
        let tolerance = match mode.filter {
            Filter::Point => ROUNDING,
            Filter::Linear if (at * 256.0).fract() == Vec2::ZERO => LINEAR_PRODUCT + S::FILTERED,
            Filter::Linear => LINEAR_TO_EXACT + S::FILTERED,
        };
        for c in 0..picture.channels {
            let exact = picture.exact(at, c, mode);
            let error = (f64::from(sample[c]) - exact).abs();
            from_exact = from_exact.max(error);
            from_cpu = from_cpu.max((f64::from(sample[c]) - f64::from(on_cpu[c])).abs());
            if error - tolerance > worst.0 || error.is_nan() {
                let what = format!("at {at}, channel {c} of {sample:?} is {error} from {exact}");
                worst = (error - tolerance, what);
            }
        }
        missing.extend((picture.channels..4).map(|c| (c, sample[c].to_string())));
    }
    eprintln!("{name}: {from_exact:.2e} from exact, {from_cpu:.2e} from the CPU");
    if !missing.is_empty() {
        eprintln!("{name}: missing channels read as {missing:?}");
    }
    assert!(worst.0 <= 0.0, "{name}: {}", worst.1);
    assert!(from_cpu <= S::FILTERED, "{name}: {from_cpu} from the CPU");
    assert!(missing.iter().all(|(_, value)| value == "0"), "{name}: {missing:?}");
}

/// Checks that point samples of integer textures return the integers exactly.
fn check_elements<T: Texel, S: Scalar>(format: &str) {
    let picture = Picture::<S>::new(size_of::<T>() / size_of::<S>());
    let texels = picture.texels::<T>();
    let coordinates = coordinates();
    for address in [Address::Clamp, Address::Border] {
        let mode = TextureMode { filter: Filter::Point, address };
        on_each_device(|stream| {
            let (image, array) = image_and_array(stream, &texels);
            let of_image = Texture::<UVec4>::of_image(&image, mode).unwrap();
            let of_array = Texture::<UVec4>::of_array(&array, mode).unwrap();
            for texture in [&of_image, &of_array] {
                let at = upload(stream, &coordinates);
                let mut out = zeros(stream, at.len());
                let kernel = SampleElements {
                    texture: texture.view(),
                    coordinates: at.view(),
                    out: out.view_mut(),
                };
                launch(stream, line(at.len().div_ceil(128), 128), &kernel);
                let mut missing = BTreeSet::new();
                for (at, found) in coordinates.iter().zip(download(stream, &out)) {
                    for (c, found) in found.into_iter().enumerate() {
                        if c >= picture.channels {
                            missing.insert((c, found));
                            continue;
                        }
                        let (x, y) = (at.x.floor() as i64, at.y.floor() as i64);
                        let expected = picture.texel(x, y, c, address) as u32;
                        assert_eq!(
                            found,
                            expected,
                            "{format} {address:?} at {at} on {}",
                            stream.device()
                        );
                    }
                }
                if !missing.is_empty() {
                    eprintln!("{} {format}: missing channels read as {missing:?}", stream.device());
                }
            }
        });
    }
}

#[test]
fn bytes() {
    check::<u8, u8>("u8");
    check::<[u8; 2], u8>("u8×2");
    check::<[u8; 4], u8>("u8×4");
}

#[test]
fn shorts() {
    check::<u16, u16>("u16");
    check::<[u16; 2], u16>("u16×2");
    check::<[u16; 4], u16>("u16×4");
}

#[test]
fn floats() {
    check::<f32, f32>("f32");
    check::<Vec2, f32>("f32×2");
    check::<Vec4, f32>("f32×4");
}

#[test]
fn whole_integers() {
    check_elements::<u8, u8>("u8");
    check_elements::<[u8; 2], u8>("u8×2");
    check_elements::<[u8; 4], u8>("u8×4");
    check_elements::<u16, u16>("u16");
    check_elements::<[u16; 2], u16>("u16×2");
    check_elements::<[u16; 4], u16>("u16×4");
}

#[test]
fn whole_integers_are_not_filtered() {
    let linear = TextureMode { filter: Filter::Linear, address: Address::Clamp };
    on_each_device(|stream| {
        let (image, array) = image_and_array(stream, &Picture::<u8>::new(1).texels::<u8>());
        assert!(Texture::<UVec4>::of_image(&image, linear).is_err());
        assert!(Texture::<UVec4>::of_array(&array, linear).is_err());
        let (image, _) = image_and_array(stream, &Picture::<f32>::new(1).texels::<f32>());
        let point = TextureMode { filter: Filter::Point, ..linear };
        assert!(Texture::<UVec4>::of_image(&image, point).is_err());
    });
}
