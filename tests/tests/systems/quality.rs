//! Tests the measures of seam visibility, colour difference and flicker. The expected results are known from generated
//! steps, gains and alternations, or computed with independent formulas in f64.

use glam::{UVec2, Vec3, uvec2};
use panoweave::frame::{Frame, FrameFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::io::picture::Picture;
use panoweave::ops::colour::Colours;
use panoweave::ops::stitch::Vignettes;
use panoweave::quality::{
    FlickerMeter, Levels, NOBODY, OverlapMeter, QualityError, SPANS, SeamLine, colour_score,
    flicker_score, owners_of_warp, owners_of_weights, seam_score,
};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::oracle::grade;
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;
use shared_types::stitch::Colour;

/// Returns an opaque picture whose pixel at `(x, y)` has the levels `at(x, y)`.
fn picture(size: UVec2, mut at: impl FnMut(u32, u32) -> [u8; 3]) -> Picture {
    let pixels = (0..size.element_product()).map(|i| {
        let [r, g, b] = at(i % size.x, i / size.x);
        Rgba8::opaque(r, g, b)
    });
    Picture::from_pixels(size.x, size.y, pixels.collect()).unwrap()
}

fn gray(size: UVec2, at: impl Fn(u32, u32) -> u8) -> Picture {
    picture(size, |x, y| [at(x, y); 3])
}

fn owners(size: UVec2, at: impl Fn(u32, u32) -> u8) -> Vec<u8> {
    (0..size.element_product()).map(|i| at(i % size.x, i / size.x)).collect()
}

#[test]
fn a_planted_step_has_its_ratio() {
    // The picture has a slope of one level per pixel along one axis, and a step in the middle.
    for (size, across) in [(uvec2(120, 30), true), (uvec2(30, 120), false)] {
        let along = |x, y| if across { x } else { y };
        let line = SeamLine::new(&owners(size, |x, y| u8::from(along(x, y) >= 60)), size).unwrap();
        for step in [0, 1, 5, 40] {
            let levels = gray(size, |x, y| {
                let at = along(x, y);
                (50 + at + if at >= 60 { step } else { 0 }) as u8
            });
            let found = line.visibility(&Levels::of_picture(&levels)).unwrap().unwrap();
            assert_eq!(found.spans.len(), SPANS.len());
            for span in &found.spans {
                let (slope, step) = (f64::from(span.span), f64::from(step));
                assert_eq!((span.across, span.beside, span.step), (slope + step, slope, step));
                assert_eq!(span.places, 30);
                assert_eq!(span.ratio(), (slope + step + 0.5) / (slope + 0.5));
            }
            // The ratio of the seam is that of the shortest span, which compares adjacent pixels. It is the largest.
            assert_eq!(found.ratio(), (1.5 + f64::from(step)) / 1.5);
            assert_eq!(found.worst().span, 1);
        }
    }
}

#[test]
fn a_step_that_fades_shows_at_a_longer_span() {
    let size = uvec2(160, 20);
    let line = SeamLine::new(&owners(size, |x, _| u8::from(x >= 80)), size).unwrap();
    // The picture changes by 30 levels over 16 pixels at the seam, and is flat elsewhere.
    let levels =
        gray(size, |x, _| (80.0 + 30.0 * ((f64::from(x) - 71.5) / 16.0).clamp(0.0, 1.0)) as u8);
    let found = line.visibility(&Levels::of_picture(&levels)).unwrap().unwrap();
    let worst = found.worst();
    assert_eq!((worst.span, worst.across, worst.step), (25, 30.0, 30.0));
    assert_eq!(found.ratio(), 61.0);
    assert!(found.spans[0].ratio() < 2.0, "{found:?}");
}

/// Checks a seam with a step in brightness that is smaller than the noise. The ratio cannot show this step, but the
/// mean `step` must, with the right sign.
#[test]
fn a_step_among_texture() {
    let mut random = Random::new(4);
    let size = uvec2(200, 2000);
    let line = SeamLine::new(&owners(size, |x, _| 3 - u8::from(x >= 100)), size).unwrap();
    let levels = picture(size, |x, _| {
        [0; 3].map(|_| (100 + random.below(81) + if x >= 100 { 6 } else { 0 }) as u8)
    });
    let found = line.visibility(&Levels::of_picture(&levels)).unwrap().unwrap();
    assert!((found.ratio() - 1.0).abs() < 0.06, "{found:?}");
    assert!(found.spans.iter().all(|span| (span.step - 6.0).abs() < 2.0), "{found:?}");
}

/// Compares the measured seam visibility with a direct implementation of its definition. The panorama contains noise, a
/// jagged seam line and pixels that no camera covers.
#[test]
fn visibility_is_that_of_the_definition() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let size = uvec2(90 + 7 * seed as u32, 80);
        let mut edge = 45;
        let edges: Vec<u32> = (0..size.y)
            .map(|_| {
                edge = (edge + random.below(3) as u32 - 1).clamp(30, 60);
                edge
            })
            .collect();
        let owner = |x: u32, y: u32| match x {
            x if x + y < 12 => NOBODY,
            x => u8::from(x >= edges[y as usize]),
        };
        let owners = owners(size, owner);
        let levels = picture(size, |_, _| [0; 3].map(|_| random.bits() as u8));
        let of = |x: i64, y: i64| -> Option<(u8, Rgba8)> {
            let inside = x >= 0 && y >= 0 && x < size.x.into() && y < size.y.into();
            inside.then(|| {
                let at = (y * i64::from(size.x) + x) as usize;
                (owners[at], levels.pixels()[at])
            })
        };
        let found = SeamLine::new(&owners, size).unwrap();
        let found = found.visibility(&Levels::of_picture(&levels)).unwrap().unwrap();
        for span in found.spans {
            let length = i64::from(span.span);
            let (mut places, mut across, mut beside) = (0, Vec::new(), Vec::new());
            for (x, y) in
                (0..i64::from(size.y)).flat_map(|y| (0..i64::from(size.x)).map(move |x| (x, y)))
            {
                for (dx, dy) in [(1, 0), (0, 1)] {
                    let (Some((p, _)), Some((q, _))) = (of(x, y), of(x + dx, y + dy)) else {
                        continue;
                    };
                    if p == q || p == NOBODY || q == NOBODY {
                        continue;
                    }
                    let four = [-1, 0, 1, 2].map(|i| {
                        let by = -(length - 1) / 2 + i * length;
                        of(x + by * dx, y + by * dy)
                    });
                    let [Some(a), Some(b), Some(c), Some(d)] = four else { continue };
                    if [a.0, b.0, c.0, d.0] != [p, p, q, q] {
                        continue;
                    }
                    places += 1;
                    let difference = |a: Rgba8, b: Rgba8| {
                        let by = |a: u8, b: u8| f64::from(a.abs_diff(b));
                        (by(a.r, b.r) + by(a.g, b.g) + by(a.b, b.b)) / 3.0
                    };
                    across.push(difference(b.1, c.1));
                    beside.push(0.5 * (difference(a.1, b.1) + difference(c.1, d.1)));
                }
            }
            let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
            assert_eq!(span.places, places, "{seed}");
            assert!((span.across - mean(&across)).abs() < 1e-9, "{seed}: {span:?}");
            assert!((span.beside - mean(&beside)).abs() < 1e-9, "{seed}: {span:?}");
        }
    }
}

#[test]
fn where_cameras_do_not_meet_there_is_no_line() {
    let size = uvec2(100, 20);
    let levels = gray(size, |_, _| 9);
    let levels = Levels::of_picture(&levels);
    for owner in
        [|_| 0, |_| NOBODY, |x| if x == 50 { NOBODY } else { u8::from(x > 50) }, |x| (x % 2) as u8]
    {
        let line = SeamLine::new(&owners(size, |x, _| owner(x)), size).unwrap();
        assert_eq!(line.visibility(&levels).unwrap(), None);
    }
    // This seam line is so near to the edge that the longer spans leave the picture.
    let line = SeamLine::new(&owners(size, |x, _| u8::from(x >= 3)), size).unwrap();
    let found = line.visibility(&levels).unwrap().unwrap();
    assert_eq!(found.spans.iter().map(|span| span.span).collect::<Vec<_>>(), [1]);
    assert_eq!(found.ratio(), 1.0);
    // A panorama of one pixel has no seam line.
    let line = SeamLine::new(&[0], UVec2::ONE).unwrap();
    let one = gray(UVec2::ONE, |_, _| 1);
    assert_eq!(line.visibility(&Levels::of_picture(&one)).unwrap(), None);
    assert!(matches!(SeamLine::new(&[0; 3], size), Err(QualityError::Invalid(_))));
    assert!(matches!(line.visibility(&levels), Err(QualityError::Invalid(_))));
}

/// Returns a warp in which panorama pixel `(x, y)` is pixel `(x, y)` of both cameras. `weights` returns the weights of
/// both cameras in a column.
fn warp(size: UVec2, weights: impl Fn(u32) -> [f32; 2]) -> Warp {
    let plane = |of: &dyn Fn(u32, u32) -> f32| -> Vec<f32> {
        (0..size.element_product()).map(|i| of(i % size.x, i / size.x)).collect()
    };
    let (x, y) = (plane(&|x, _| x as f32), plane(&|_, y| y as f32));
    let [left, right] = [0, 1].map(|i| plane(&|x, _| weights(x)[i]));
    Warp::new(size, [size; 2], [x.clone(), y.clone(), x, y, left, right]).unwrap()
}

#[test]
fn the_line_of_a_warp_is_the_middle_of_its_blend() {
    let size = uvec2(41, 2);
    let warp = warp(size, |x| match x {
        0 => [0.0, 0.0],
        _ => [1.0 - x as f32 / 40.0, x as f32 / 40.0],
    });
    let expected = owners(size, |x, _| if x == 0 { NOBODY } else { u8::from(x > 20) });
    assert_eq!(owners_of_warp(&warp), expected);
    assert_eq!(
        owners_of_weights(&[[0.0, 0.001, 1.0, 0.3], [0.0, 0.0, 1.0, 0.4]]),
        [NOBODY, NOBODY, 0, 1]
    );
}

#[test]
fn cameras_are_as_far_apart_as_the_definition_says() {
    let colours = Colours::of([
        Colour { gain: Vec3::new(1.3, 0.9, 1.0), gamma: 0.9, ..Colour::IDENTITY },
        Colour { gain: Vec3::new(0.8, 1.1, 1.2), gamma: 1.0, ..Colour::IDENTITY },
    ]);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut random = Random::new(1);
        let size = uvec2(60, 25);
        // The overlap is the middle third of the panorama. In the other thirds, the weight of one camera is too small.
        let warp =
            warp(size, |x| [if x < 40 { 0.5 } else { 0.05 }, if x < 20 { 0.05 } else { 0.5 }]);
        let warp = DeviceWarp::upload(&stream, &warp).unwrap();
        let meter = OverlapMeter::new(&stream, &warp, [0, 1]).unwrap().unwrap();
        assert!((meter.share() - 1.0 / 3.0).abs() < 1e-12);
        let both = [0, 1].map(|_| picture(size, |_, _| [0; 3].map(|_| random.bits() as u8)));
        let frames = both.each_ref().map(|picture| {
            let bytes = bytemuck::cast_slice(picture.pixels());
            Frame::tight(FrameFormat::rgba8(size.x, size.y), bytes).unwrap()
        });
        for colours in [Colours::IDENTITY, colours] {
            let found = meter.measure(&frames, &colours, &Vignettes::NONE).unwrap();
            for c in 0..3 {
                let (mut sum, mut magnitudes) = (0.0, 0.0);
                for i in (0..size.element_product()).filter(|i| (20..40).contains(&(i % size.x))) {
                    let level = |side: usize, colour: &Colour| {
                        let pixel = both[side].pixels()[i as usize];
                        grade(colour, c, [pixel.r, pixel.g, pixel.b][c].into())
                    };
                    let difference = level(0, &colours[0]) - level(1, &colours[1]);
                    sum += difference;
                    magnitudes += difference.abs();
                }
                let many = 20.0 * 25.0;
                assert!((found.means[c] - (sum / many).abs()).abs() < 1e-3, "{found:?}");
                assert!((found.pixels[c] - magnitudes / many).abs() < 1e-3, "{found:?}");
            }
        }
        let small = Frame::tight(FrameFormat::rgba8(1, 1), &[0; 4]).unwrap();
        let refused = meter.measure(&[frames[0], small], &Colours::IDENTITY, &Vignettes::NONE);
        assert!(matches!(refused, Err(QualityError::Invalid(_))));
        let apart =
            self::warp(size, |x| [f32::from(u8::from(x < 30)), f32::from(u8::from(x >= 30))]);
        let apart = DeviceWarp::upload(&stream, &apart).unwrap();
        assert!(OverlapMeter::new(&stream, &apart, [0, 1]).unwrap().is_none());
    }
}

#[test]
fn nv12_is_compared_in_colours() {
    let encoding = YuvEncoding { matrix: YuvMatrix::Bt601, range: Range::Full };
    let size = uvec2(31, 17);
    let format = FrameFormat::nv12(size.x, size.y, encoding);
    let frame = |luma: u8, cb: u8, cr: u8| {
        let mut bytes = vec![luma; size.element_product() as usize];
        bytes.extend((0..16 * 9).flat_map(|_| [cb, cr]));
        bytes
    };
    let (left, right) = (frame(100, 128, 138), frame(110, 118, 128));
    let frames = [&left, &right].map(|bytes| Frame::tight(format, bytes).unwrap());
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &warp(size, |_| [0.5; 2])).unwrap();
        let meter = OverlapMeter::new(&stream, &warp, [0, 1]).unwrap().unwrap();
        let found = meter.measure(&frames, &Colours::IDENTITY, &Vignettes::NONE).unwrap();
        // In BT.601, R = Y + 1.402 Cr, G = Y − 0.344136 Cb − 0.714136 Cr and B = Y + 1.772 Cb.
        let exact =
            [100.0 + 14.02 - 110.0, 100.0 - 7.14136 - (110.0 + 3.44136), 100.0 - (110.0 - 17.72)];
        for (c, exact) in exact.into_iter().enumerate() {
            assert!((found.means[c] - f64::abs(exact)).abs() < 1e-3, "{found:?}");
            assert!((found.pixels[c] - f64::abs(exact)).abs() < 1e-3, "{found:?}");
        }
    }
}

/// Measures the flicker of `frames` frames and returns the meter. `level` returns the level of a pixel for a frame
/// number, a column and a row.
fn flicker(
    size: UVec2,
    owners: &[u8],
    frames: u32,
    level: impl Fn(u32, u32, u32) -> u8,
) -> FlickerMeter {
    let mut meter = FlickerMeter::new(size, owners).unwrap();
    for t in 0..frames {
        let frame = gray(size, |x, y| level(t, x, y));
        let found = meter.add(&Levels::of_picture(&frame)).unwrap();
        assert_eq!((found.step.is_some(), found.flicker.is_some()), (t > 0, t > 1));
    }
    meter
}

#[test]
fn flicker_is_what_was_planted() {
    let texture = |x: u32, y: u32| 40 + (x * 7 + y * 13) % 100;
    for size in [uvec2(97, 55), uvec2(8, 6), uvec2(5, 3), uvec2(1, 1)] {
        let all = owners(size, |_, _| 0);
        let still = flicker(size, &all, 9, |_, x, y| texture(x, y) as u8).found();
        assert_eq!((still.frames, still.mean, still.most.value), (9, 0.0, 0.0));
        assert_eq!(still.largest_step.value, 0.0);
        let up_and_down =
            flicker(size, &all, 9, |t, x, y| (texture(x, y) + 6 * (t % 2)) as u8).found();
        assert!((up_and_down.mean - 3.0).abs() < 1e-9, "{up_and_down:?}");
        assert!((up_and_down.largest_step.value - 6.0).abs() < 1e-9, "{up_and_down:?}");
        // A linear change of brightness over time must not count as flicker.
        let fade = flicker(size, &all, 9, |t, x, y| (texture(x, y) + 2 * t) as u8).found();
        assert!(fade.mean.abs() < 1e-9, "{fade:?}");
        assert!((fade.largest_step.value - 2.0).abs() < 1e-9, "{fade:?}");
        // The meter must attribute a single jump of the exposure to its frame.
        let jump =
            flicker(size, &all, 9, |t, x, y| (texture(x, y) + if t < 5 { 0 } else { 20 }) as u8);
        let jump = jump.found();
        assert_eq!((jump.largest_step.frame, jump.most.frame), (5, 5), "{jump:?}");
        assert!((jump.largest_step.value - 20.0).abs() < 1e-9, "{jump:?}");
        // The jump adds a flicker of 20 / 4 to each of two frames. The mean is over seven frames, so it is 2 · 5 / 7.
        assert!((jump.mean - 10.0 / 7.0).abs() < 1e-9, "{jump:?}");
    }
}

#[test]
fn what_moves_or_is_black_does_not_count() {
    let size = uvec2(160, 120);
    let all = owners(size, |_, _| 0);
    // A bright object moves through the left third of the panorama. This motion must not count as flicker.
    let moving =
        flicker(size, &all, 9, |t, x, y| if x < 50 && y / 10 == t * 5 % 12 { 250 } else { 80 });
    assert_eq!(moving.found().mean, 0.0);
    // Two thirds of the panorama are black. The meter ignores them if no camera owns them.
    let third = owners(size, |x, _| if x < 54 { 1 } else { NOBODY });
    let level = |t: u32, x: u32| if x < 54 { 100 + 6 * (t % 2) as u8 } else { 0 };
    let some = flicker(size, &third, 9, |t, x, _| level(t, x)).found();
    assert!((some.mean - 3.0).abs() < 0.4, "{some:?}");
    let blind = flicker(size, &all, 9, |t, x, _| level(t, x)).found();
    assert_eq!(blind.mean, 0.0);
    let size = uvec2(0, 3);
    assert!(matches!(FlickerMeter::new(size, &[]), Err(QualityError::Invalid(_))));
    assert!(matches!(FlickerMeter::new(uvec2(2, 2), &[0]), Err(QualityError::Invalid(_))));
}

#[test]
fn scores_are_one_at_best() {
    assert_eq!([0.2, 1.0, 2.0].map(seam_score), [1.0, 1.0, 0.5]);
    assert_eq!([0.0, 3.0, 30.0, 99.0].map(colour_score), [1.0, 0.9, 0.0, 0.0]);
    assert_eq!([0.0, 1.0, 10.0, 99.0].map(flicker_score), [1.0, 0.9, 0.0, 0.0]);
}
