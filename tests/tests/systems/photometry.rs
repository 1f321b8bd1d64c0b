//! Compares the photometric correction of pictures with its formula in f64, on every device, and checks that panoramas
//! of pictures with unequal exposures, vignetting and an S-shaped response show the scene.

use glam::{DMat3, DVec2, UVec2, Vec2, Vec3, dvec2, uvec2, vec2};
use kernels_gpu::photometry::{PhotometryCorrect, level};
use panoweave::device::{Buffer, Device, Image, LaunchConfig};
use panoweave::geometry::{Camera, Canvas, Geometry, Vignetting};
use panoweave::io::picture::{Picture, Rgba16};
use panoweave::ops::blend::Blend;
use panoweave::ops::photometry::{GainField, Photometry};
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{StitchOptions, Vignettes};
use panoweave::panorama::{Panorama, PanoramaOptions, stitch_geometry, vignetting};
use panoweave_tests::random::Random;
use panoweave_tests::{by_planes, oracle, panoweave_devices};
use shared_types::Rgba8;
use shared_types::photometry::{BLOCK, Correction, FieldGrid, Response, Vignette};

/// Returns the corrected levels (0 to 1) of a pixel by the formula of the kernel's documentation.
fn exact(lights: [f64; 3], gains: [f64; 3], response: Response) -> [f64; 3] {
    let (a, b) = (f64::from(response.a), f64::from(response.b));
    let level = |e: f64| {
        if e > 1.0 {
            1.0 + (e - 1.0) * (1.0 - a - b)
        } else {
            e + e * (1.0 - e) * (a + b * (2.0 * e - 1.0))
        }
    };
    let at: [f64; 3] = std::array::from_fn(|c| level(lights[c] * gains[c]));
    let most = gains.map(level);
    let least = (0..3).map(|c| at[c] / most[c]).fold(f64::INFINITY, f64::min);
    std::array::from_fn(|c| oracle::shoulder(at[c], most[c], 1.0, least).clamp(0.0, 1.0))
}

/// Returns the factor of a gain field at a position by the definition of a B-spline: the convolution of three boxes of
/// one cell. Returns 1 without a field, and `None` outside the cells.
fn field(grid: FieldGrid, factors: &[f32], at: DVec2) -> Option<f64> {
    if grid == FieldGrid::default() {
        return Some(1.0);
    }
    let at = (at + 0.5) * f64::from(grid.cells_per_pixel);
    // The convolution of three boxes, at a distance from its middle.
    let spline = |distance: f64| match distance.abs() {
        d if d < 0.5 => 0.75 - d * d,
        d if d < 1.5 => 0.5 * (1.5 - d).powi(2),
        _ => 0.0,
    };
    let node = |(i, factor): (usize, &f32)| {
        let place = uvec2(i as u32 % grid.nodes.x, i as u32 / grid.nodes.x).as_dvec2() - 0.5;
        f64::from(*factor) * spline(at.x - place.x) * spline(at.y - place.y)
    };
    let inside = at.cmplt((grid.nodes - 2).as_dvec2()).all();
    inside.then(|| factors.iter().enumerate().map(node).sum())
}

#[test]
fn corrected_pictures_are_within_half_a_level_of_f64() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..20 {
            let mut r = Random::new(seed);
            let size = uvec2(1 + r.below(70) as u32, 1 + r.below(40) as u32);
            let mut gain = || r.between(0.5, 2.0);
            let gain = Vec3::new(gain(), gain(), gain());
            let response = Response { a: r.between(-0.3, 0.3), b: r.between(-0.5, 0.5) };
            let vignette = r.vignette(size, 0.8);
            // Any rising curve may be the inverse of the response.
            let power = r.between(0.5, 2.0);
            let lights: Vec<f32> = (0..256).map(|i| (i as f32 / 255.0).powf(power)).collect();
            let mut byte = || r.bits() as u8;
            let pixels: Vec<Rgba8> = (0..size.element_product())
                .map(|_| Rgba8 { r: byte(), g: byte(), b: byte(), a: byte() })
                .collect();
            let mut image = Image::from_slice(&stream, size.x, size.y, &pixels).unwrap();
            let table = Buffer::from_slice(&stream, &lights).unwrap();
            let grid = match seed % 4 {
                0 => FieldGrid::default(),
                _ => FieldGrid {
                    nodes: uvec2(3 + r.below(8) as u32, 3 + r.below(8) as u32),
                    cells_per_pixel: r.between(0.02, 0.2),
                },
            };
            let factors: Vec<f32> = (0..grid.count()).map(|_| r.between(0.7, 1.4)).collect();
            // A buffer must not be empty.
            let nodes = Buffer::from_slice(&stream, &[&factors[..], &[1.0]].concat()).unwrap();
            let correction = Correction { gain, response, vignette };
            let kernel = PhotometryCorrect {
                correction,
                lights: table.view(),
                grid,
                nodes: nodes.view(),
                picture: image.view_mut(),
            };
            stream.launch(&LaunchConfig::cover(size.x, size.y, BLOCK), &kernel).unwrap();
            let found = image.download(&stream).unwrap();
            for (i, (found, pixel)) in found.iter().zip(&pixels).enumerate() {
                let at = dvec2((i as u32 % size.x).into(), (i as u32 / size.x).into());
                let factor = oracle::vignette(&vignette, at.x, at.y);
                let Some(field) = field(grid, &factors, at) else { continue };
                assert_eq!(found.a, pixel.a);
                let light = |level: u8| f64::from(lights[usize::from(level)]);
                let gains = gain.to_array().map(|gain| f64::from(gain) * factor * field);
                let exact = exact([pixel.r, pixel.g, pixel.b].map(light), gains, response);
                for (found, exact) in [found.r, found.g, found.b].into_iter().zip(exact) {
                    let exact = 255.0 * exact;
                    let off = (f64::from(found) - exact).abs();
                    assert!(off < 0.51, "{device}, seed {seed}: {found}, exact {exact}");
                }
            }
        }
    }
}

#[test]
fn tables_that_are_too_short_change_nothing() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (lights, nodes) in [(255, 9), (256, 8)] {
            let pixels = vec![Rgba8 { r: 9, g: 99, b: 199, a: 255 }; 64];
            let mut image = Image::from_slice(&stream, 8, 8, &pixels).unwrap();
            let [lights, nodes] = [lights, nodes]
                .map(|length| Buffer::from_slice(&stream, &vec![0.5; length]).unwrap());
            let kernel = PhotometryCorrect {
                correction: Correction {
                    gain: Vec3::ONE,
                    response: Response::default(),
                    vignette: Vignette::NONE,
                },
                lights: lights.view(),
                grid: FieldGrid { nodes: uvec2(3, 3), cells_per_pixel: 0.1 },
                nodes: nodes.view(),
                picture: image.view_mut(),
            };
            stream.launch(&LaunchConfig::cover(8, 8, BLOCK), &kernel).unwrap();
            assert_eq!(image.download(&stream).unwrap(), pixels, "{device}");
        }
    }
}

/// The size of the pictures, and the number of columns between neighbouring ones.
const PICTURE: UVec2 = uvec2(260, 200);
const STEP: u32 = 170;

/// Pictures of a scene that differ in their exposures. The lens darkens them towards the corners.
struct Shots {
    exposures: Vec<f64>,
    /// The part of the encoded light that the farthest corner loses.
    vignette: f64,
    /// The centre of the vignetting in pixels.
    centre: DVec2,
    response: Response,
    /// Whether an object is at another place in each picture.
    moving: bool,
    /// The part of the light that haze adds at the middle of the left side of each second picture.
    haze: f64,
}

/// Returns the encoded light of the scene.
fn scene(x: f64, y: f64) -> [f64; 3] {
    let wave = |a: f64, b: f64| 0.5 + 0.2 * (x * a).sin() + 0.15 * (y * b).cos();
    [wave(0.03, 0.02), wave(0.021, 0.05), wave(0.017, 0.033)]
}

impl Shots {
    fn level(&self, light: f64) -> f64 {
        255.0 * f64::from(level(&self.response, light.min(1.0) as f32))
    }

    fn picture(&self, index: usize) -> Picture {
        let last = PICTURE.as_dvec2() - 1.0;
        let corner = self.centre.max(last - self.centre).length_squared();
        let pixel = |i: u32| {
            let at = dvec2((i % PICTURE.x).into(), (i / PICTURE.x).into());
            let q = at.distance_squared(self.centre) / corner;
            let from = at.distance(dvec2(0.0, last.y / 2.0)) / 80.0;
            let haze = if index % 2 == 1 { self.haze * (-from * from).exp() } else { 0.0 };
            let factor = self.exposures[index] * (1.0 - self.vignette * q) * (1.0 + haze);
            let object = self.moving && at.x < 80.0 && at.y > 60.0 + 30.0 * index as f64;
            let light = if object {
                [0.9, 0.1, 0.1]
            } else {
                scene(at.x + f64::from(STEP) * index as f64, at.y)
            };
            let [r, g, b] = light.map(|light| self.level(light * factor).round() as u8);
            Rgba8::opaque(r, g, b)
        };
        let pixels = (0..PICTURE.element_product()).map(pixel).collect();
        Picture::from_pixels(PICTURE.x, PICTURE.y, pixels).unwrap()
    }

    /// Returns the cameras of the panorama and their pictures.
    fn set(&self) -> (Geometry, Vec<Picture>) {
        let count = self.exposures.len();
        let size = uvec2(PICTURE.x + STEP * (count as u32 - 1), PICTURE.y);
        let camera = |i: usize| {
            let shift = DVec2::new(f64::from(STEP) * i as f64, 0.0);
            Camera::from_matrix(DMat3::from_translation(-shift), PICTURE)
        };
        let geometry = Geometry {
            canvas: Canvas::of_pixels(DVec2::ZERO, size),
            cameras: (0..count).map(camera).collect(),
        };
        (geometry, (0..count).map(|i| self.picture(i)).collect())
    }

    fn stitch(&self, device: &Device, blend: Blend, anchor: Option<usize>) -> Panorama {
        let (geometry, pictures) = self.set();
        let options =
            PanoramaOptions { match_colour: true, anchor, blend, ..PanoramaOptions::default() };
        let stream = device.stream().unwrap();
        stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0
    }

    /// Returns the largest relative difference between a panorama and the scene, apart from one factor per channel.
    /// Rounding of dark pixels of the pictures is up to 2 % of it. Leaves out places that an object covers in a
    /// picture.
    fn mismatch(&self, panorama: &Panorama) -> f64 {
        let picture = &panorama.picture;
        let levels = |x: u32, y: u32| {
            let Rgba8 { r, g, b, .. } = picture.pixels()[(y * picture.width() + x) as usize];
            [r, g, b].map(f64::from)
        };
        let objects = |x: u32| self.moving && x % STEP < 82;
        let mut worst = 0.0_f64;
        for channel in 0..3 {
            let mut ratios = Vec::new();
            for y in (2..PICTURE.y - 2).step_by(7) {
                for x in (2..picture.width() - 2).step_by(5).filter(|x| !objects(*x)) {
                    let light = scene(x.into(), y.into())[channel];
                    ratios.push(levels(x, y)[channel] / self.level(light));
                }
            }
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            worst = ratios.iter().fold(worst, |worst, ratio| worst.max((ratio / mean - 1.0).abs()));
        }
        worst
    }
}

const PLAIN: Shots = Shots {
    exposures: Vec::new(),
    vignette: 0.0,
    centre: dvec2(129.5, 99.5),
    response: Response { a: 0.0, b: 0.0 },
    moving: false,
    haze: 0.0,
};

fn blends() -> [Blend; 2] {
    [Blend::Feather, Blend::Seam(SeamOptions::default())]
}

/// Panoramas show neither exposures nor vignetting, and objects that move do not change exposures.
#[test]
fn panoramas_show_the_scene() {
    for device in panoweave_devices() {
        for (exposures, vignette, moving, most) in [
            (vec![1.1, 0.85], 0.0, false, 0.04),
            (vec![1.1, 0.85], 0.25, false, 0.04),
            (vec![0.9, 1.15, 0.8, 1.1], 0.3, false, 0.04),
            (vec![1.1, 0.85, 1.0], 0.0, true, 0.03),
        ] {
            let shots = Shots { exposures, vignette, moving, ..PLAIN };
            for blend in blends().into_iter().skip(usize::from(moving)) {
                let panorama = shots.stitch(&device, blend, None);
                let mismatch = shots.mismatch(&panorama);
                assert!(mismatch < most, "{device}, {vignette}, {blend:?}: {mismatch}");
                assert!(panorama.unmatched.is_empty());
            }
        }
    }
}

/// The lens keeps a fifth of the light in the farthest corner. An estimate from the pictures refuses so much, but the
/// stitch is given the lens, as by a rig. The second lens has another centre, and its vignette another unit of distance.
#[test]
fn matched_panoramas_undo_a_given_vignetting() {
    let middle = Vignetting([-1.144, 0.357, -0.012]).vignette(PICTURE);
    let (centre, to_corner) = (vec2(90.0, 120.0), vec2(169.0, 120.0));
    let terms = middle.terms * Vec3::new(4.0, 16.0, 64.0);
    let beside = Vignette { terms, per_corner: 0.25 / to_corner.length_squared(), centre };
    let cases = panoweave_devices()
        .into_iter()
        .flat_map(|device| [middle, beside].map(|lens| (device.clone(), lens)));
    for (device, lens) in cases {
        let centre = lens.centre.as_dvec2();
        let shots = Shots { exposures: vec![1.0, 0.9, 1.05], vignette: 0.52, centre, ..PLAIN };
        let (geometry, pictures) = shots.set();
        let stream = device.stream().unwrap();
        for blend in blends() {
            let [stated, estimated] =
                [Vignettes::of([lens; 3]), Vignettes::NONE].map(|vignettes| {
                    let stitch = StitchOptions { vignettes, ..StitchOptions::default() };
                    let options = PanoramaOptions {
                        match_colour: true,
                        blend,
                        stitch,
                        ..PanoramaOptions::default()
                    };
                    let panorama =
                        stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0;
                    shots.mismatch(&panorama)
                });
            assert!(
                stated < 0.04 && estimated > 0.1,
                "{device}, {lens:?}, {blend:?}: {stated}, {estimated}"
            );
        }
    }
}

/// Gain fields share the difference between the pictures and fade away from the overlap, so the panorama keeps half of
/// the haze, but has no step at the cut.
#[test]
fn haze_leaves_no_step() {
    for device in panoweave_devices() {
        let shots = Shots { exposures: vec![1.0, 0.9], haze: 0.2, ..PLAIN };
        let panorama = shots.stitch(&device, Blend::Seam(SeamOptions::default()), None);
        let photometry = panorama.photometry.as_ref().unwrap();
        let (_, pictures) = shots.set();
        let stream = device.stream().unwrap();
        let uniform = Photometry { fields: vec![GainField::default(); 2], ..photometry.clone() };
        let [before, after] = [&uniform, photometry].map(|photometry| {
            let corrected = photometry.corrected(&stream, &pictures).unwrap();
            let mut differences = Vec::new();
            for y in (4..PICTURE.y - 4).step_by(3) {
                for x in (STEP + 4..PICTURE.x - 4).step_by(3) {
                    let level = |picture: usize, x: u32| {
                        let pixel = corrected[picture].pixels()[(y * PICTURE.x + x) as usize];
                        f64::from(pixel.g)
                    };
                    differences.push((level(1, x - STEP) - level(0, x)).powi(2));
                }
            }
            (differences.iter().sum::<f64>() / differences.len() as f64).sqrt()
        });
        assert!(before > 3.0 && after < 0.4 * before, "{device}: {before}, {after} levels");
    }
}

/// A rig's vignetting, estimated from pictures, is undone by a stitch that does not match colours.
#[test]
fn calibrated_vignetting_is_undone_by_stitches() {
    for device in panoweave_devices() {
        let shots = Shots { exposures: vec![1.0; 3], vignette: 0.3, ..PLAIN };
        let (geometry, pictures) = shots.set();
        let found = vignetting(&pictures, &geometry).unwrap();
        let vignettes: Vec<_> = found.iter().map(|of| of.vignette(PICTURE)).collect();
        let stitch = StitchOptions { vignettes: Vignettes::of(vignettes), ..by_planes() };
        let stream = device.stream().unwrap();
        let stitched = |stitch: StitchOptions| {
            let options = PanoramaOptions { stitch, ..PanoramaOptions::default() };
            stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0
        };
        let (before, after) = (stitched(by_planes()), stitched(stitch));
        let [before, after] = [before, after].map(|panorama| shots.mismatch(&panorama));
        assert!(before > 0.15 && after < 0.04, "{device}: {before}, {after}");
    }
}

#[test]
fn a_response_is_found_and_undone() {
    for device in panoweave_devices() {
        let response = Response { a: 0.0, b: 0.5 };
        let shots = Shots { exposures: vec![1.15, 0.8, 1.05], response, ..PLAIN };
        let panorama = shots.stitch(&device, Blend::Feather, None);
        let found = panorama.photometry.as_ref().unwrap().response;
        assert!(found.b > 0.2, "{device}: {found:?}");
        // Without the response, the best gains leave differences of 6 %.
        let seam = |x: u32| {
            let row = 100 * panorama.picture.width();
            f64::from(panorama.picture.pixels()[(row + x) as usize].g)
        };
        for x in (20..panorama.picture.width() - 20).step_by(3) {
            let truth = |x: u32| shots.level(scene(x.into(), 100.0)[1] * 0.99);
            let change = (seam(x + 15) - seam(x)) - (truth(x + 15) - truth(x));
            assert!(change.abs() < 7.0, "{device}: {change} levels from {x}");
        }
    }
}

#[test]
fn the_anchor_keeps_its_exposure() {
    for device in panoweave_devices() {
        let shots = Shots { exposures: vec![1.1, 0.85], ..PLAIN };
        let panorama = shots.stitch(&device, Blend::Feather, Some(1));
        assert_eq!(panorama.colours[1].gain, Vec3::ONE);
        let ratio = f64::from(panorama.colours[0].gain.y) / (0.85 / 1.1);
        assert!((ratio - 1.0).abs() < 5e-3, "{device}: {ratio}");
    }
}

#[test]
fn highlights_stay_white_and_are_not_clipped_earlier() {
    for device in panoweave_devices() {
        // The second picture is darker by half, so its gain is about 1.4 and that of the first 0.7.
        let shots = Shots { exposures: vec![1.0, 0.5], ..PLAIN };
        let photometry = shots.stitch(&device, Blend::Feather, None).photometry.unwrap();
        for picture in [0, 1] {
            let stream = device.stream().unwrap();
            let ramp: Vec<_> = (0..=255).map(|level| Rgba8::opaque(level, level, level)).collect();
            let mut image = Image::from_slice(&stream, 256, 1, &ramp).unwrap();
            photometry.correction(picture, PICTURE).apply(&stream, &mut image).unwrap();
            let found = image.download(&stream).unwrap();
            assert_eq!(found[255].g, 255, "{device}: white stays white");
            assert!(found.is_sorted_by_key(|pixel| pixel.g), "{device}: levels keep their order");
            assert!(found[240].g < 255, "{device}: bright levels differ from white");
        }
    }
}

/// Returns the model of one picture without vignetting and gain field.
fn model(gain: Vec3, response: Response) -> Photometry {
    Photometry {
        gains: vec![gain],
        vignetting: vec![Vignetting::NONE],
        centres: vec![Vec2::splat(0.5)],
        response,
        mismatch: 0.0,
        fields: vec![GainField::default()],
        unmatched: Vec::new(),
    }
}

/// A pixel of which only one channel is clipped keeps its hue: a gain below 1 does not leave that channel at white. A
/// bright pixel is raised by 255 · 0.4 · ((238 / 255 − 0.85) / 0.15)² = 31 levels in all channels.
#[test]
fn pixels_that_are_clipped_in_one_channel_keep_their_hue() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let model = model(Vec3::splat(0.6), Response::default());
        let pixels = vec![Rgba8::opaque(255, 240, 238), Rgba8::opaque(255, 170, 60)];
        let picture = Picture::from_pixels(2, 1, pixels).unwrap();
        let found = model.corrected(&stream, &[picture]).unwrap().remove(0);
        assert_eq!(
            found.pixels(),
            [Rgba8::opaque(153 + 31, 144 + 31, 143 + 31), Rgba8::opaque(153, 102, 36)],
            "{device}"
        );
    }
}

/// A picture with every level, corrected with 16 bits, is within half a step of the formula in f64, apart from the
/// error of f32 arithmetic.
#[test]
fn sixteen_bits_are_corrected_to_sixteen_bits() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (seed, response) in
            [Response::default(), Response { a: 0.2, b: -0.3 }].into_iter().enumerate()
        {
            let mut r = Random::new(seed as u64);
            let gain = Vec3::new(1.3, 0.8, r.between(0.7, 1.4));
            let model = model(gain, response);
            let pixels = (0..=u16::MAX).map(|v| Rgba16 { r: v, g: v, b: u16::MAX - v, a: v });
            let ramp = Picture::from_pixels(256, 256, pixels.collect()).unwrap();
            let found = &model.corrected(&stream, std::slice::from_ref(&ramp)).unwrap()[0];
            let mut most = 0.0_f64;
            for (found, pixel) in found.pixels().iter().zip(ramp.pixels()) {
                assert_eq!(found.a, pixel.a);
                let lights = [pixel.r, pixel.g, pixel.b];
                let lights = lights.map(|level| inverse(response, f64::from(level) / 65_535.0));
                let exact = exact(lights, gain.to_array().map(f64::from), response);
                for (found, exact) in [found.r, found.g, found.b].into_iter().zip(exact) {
                    most = most.max((f64::from(found) - 65_535.0 * exact).abs());
                }
            }
            println!("{device}: at most {most:.3} 16-bit steps");
            assert!(most < 0.6, "{device}: {most}");
        }
    }
}

/// Returns the light of a level from 0 to 1.
fn inverse(Response { a, b }: Response, level: f64) -> f64 {
    let (a, b) = (f64::from(a), f64::from(b));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let e = 0.5 * (low + high);
        if e + e * (1.0 - e) * (a + b * (2.0 * e - 1.0)) < level { low = e } else { high = e }
    }
    low
}

/// Colour matching finds the same model with 16 bits. It corrects each picture at 16 bits, so the panorama differs from
/// the 8-bit one by rounding, and has levels between those of 8 bits.
#[test]
fn colours_are_matched_with_sixteen_bits() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let shots = Shots { exposures: vec![1.1, 0.85, 1.0], vignette: 0.25, ..PLAIN };
        let (geometry, eight) = shots.set();
        let deep: Vec<_> = eight.iter().map(Picture::to_depth::<Rgba16>).collect();
        for blend in blends() {
            let options =
                PanoramaOptions { match_colour: true, blend, ..PanoramaOptions::default() };
            let of_eight = stitch_geometry(&stream, &eight, &geometry, &options).unwrap().0;
            let of_deep = stitch_geometry(&stream, &deep, &geometry, &options).unwrap().0;
            assert_eq!(of_deep.photometry, of_eight.photometry);
            let mut between = 0;
            for (eight, deep) in of_eight.picture.pixels().iter().zip(of_deep.picture.pixels()) {
                let off = f64::from(deep.g) - 257.0 * f64::from(eight.g);
                // Both roundings of an 8-bit panorama, half a level each.
                assert!(off.abs() <= 1.02 * 257.0, "{device}, {blend:?}: {eight:?}, {deep:?}");
                between += usize::from(deep.g % 257 != 0);
            }
            assert!(between > of_deep.picture.pixels().len() / 2, "{device}: {between}");
        }
    }
}
