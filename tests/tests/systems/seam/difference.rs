//! Tests of the kernels that compute the costs of a seam. They compare the colour differences and the costs of the
//! cells of the seam's grid with the formulas in f64, for RGBA and NV12.

use glam::{Vec2, Vec3, Vec4, uvec2};
use kernels_gpu::seam::{SeamCost, SeamDifferenceNv12, SeamDifferenceRgba8};
use panoweave::device::{Image, LaunchConfig, Stream};
use panoweave::frame::{FrameView, PixelFormat, YuvEncoding};
use panoweave_tests::oracle;
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::{DevicePlanes, Raster};
use shared_types::seam::{
    BASE, BLOCK, LARGEST, MOTION_DECAY, NOISE, PER_LEVEL, STILL, SeamGrid, SeamLook, Sees,
};
use shared_types::stitch::{Colour, StitchParams};

/// The size of the panorama, in columns and rows.
const PANORAMA: [usize; 2] = [57, 41];

fn look() -> SeamLook {
    SeamLook {
        left: Colour { gain: Vec3::new(1.2, 0.9, 1.0), gamma: 0.9, ..Colour::IDENTITY },
        right: Colour { gain: Vec3::new(0.8, 1.1, 1.3), gamma: 1.1, ..Colour::IDENTITY },
        decode: YuvEncoding::default().to_rgb(),
    }
}

fn differences(
    stream: &Stream,
    sources: &[Raster; 2],
    planes: &[Vec<f32>],
    grid: SeamGrid,
    before: &[Vec2],
) -> (Vec<Vec4>, Vec<Vec2>) {
    let size = uvec2(PANORAMA[0] as u32, PANORAMA[1] as u32);
    let planes = DevicePlanes::upload(stream, size, planes, [8, 40]);
    let [planes_left, planes_right] = planes.cameras();
    let frames = sources.each_ref().map(|source| source.upload(stream, 16));
    let cells = grid.cells();
    let mut out = Image::<Vec4>::new(stream.device(), cells.x, cells.y).unwrap();
    let mut motion = Image::from_slice(stream, cells.x, cells.y, before).unwrap();
    let look = look();
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident) => {
            stream.launch(
                &LaunchConfig::cover(cells.x, cells.y, BLOCK),
                &$kernel {
                    left: $left,
                    right: $right,
                    planes_left,
                    planes_right,
                    grid,
                    look,
                    motion: motion.view_mut(),
                    out: out.view_mut(),
                },
            )
        };
    }
    match (frames[0].view(), frames[1].view()) {
        (FrameView::Rgba8(l), FrameView::Rgba8(r)) => launch!(SeamDifferenceRgba8, l, r),
        (FrameView::Nv12(l, _), FrameView::Nv12(r, _)) => launch!(SeamDifferenceNv12, l, r),
        _ => unreachable!("both are of one format"),
    }
    .unwrap();
    (out.download(stream).unwrap(), motion.download(stream).unwrap())
}

/// Returns the expected colour difference of each cell: the mean difference between a stitch of only the left camera
/// and a stitch of only the right camera, computed by the formula of the specification. The fourth number is the mean
/// level of both.
fn exact(sources: &[Raster; 2], planes: &[Vec<f32>], grid: SeamGrid) -> Vec<[f64; 4]> {
    let look = look();
    let params = StitchParams { left: look.left, right: look.right, ..StitchParams::default() };
    let one = |camera: usize| {
        let mut planes = planes.to_vec();
        planes[5 - camera].fill(0.0);
        let size = uvec2(PANORAMA[0] as u32, PANORAMA[1] as u32);
        oracle::stitch(size, [&sources[0], &sources[1]], &planes, &params, oracle::grade_pixel)
    };
    let (left, right) = (one(0), one(1));
    let cells = grid.cells();
    let mut means = Vec::new();
    for b in 0..cells.y {
        for a in 0..cells.x {
            let (cx, cy) = if grid.transposed != 0 { (b, a) } else { (a, b) };
            let (mut sum, mut count) = ([0.0; 4], 0.0_f64);
            for y in (grid.min.y + cy * grid.cell..grid.max.y).take(grid.cell as usize) {
                for x in (grid.min.x + cx * grid.cell..grid.max.x).take(grid.cell as usize) {
                    let at = y as usize * PANORAMA[0] + x as usize;
                    if let (Some(l), Some(r)) = (left[at], right[at]) {
                        (0..3).for_each(|c| sum[c] += l[c] - r[c]);
                        sum[3] += (0..3).map(|c| l[c] + r[c]).sum::<f64>() / 6.0;
                        count += 1.0;
                    }
                }
            }
            means.push(sum.map(|sum| sum / count.max(1.0)));
        }
    }
    means
}

#[test]
fn differences_are_those_of_what_the_stitch_shows() {
    let mut random = Random::new(5);
    for case in 0..12 {
        let r = &mut random;
        let format = r.pick(&[PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default())]);
        let sources = [uvec2(31, 22), uvec2(40, 17)].map(|size| Raster::noise(r, size, format));
        let area = PANORAMA[0] * PANORAMA[1];
        let planes: [Vec<f32>; 6] = std::array::from_fn(|plane| {
            let value = |_| match plane {
                4.. => r.pick(&[0.0, 0.0005, 0.2, 0.7, 1.0]),
                _ => r.between(-3.0, 40.0),
            };
            (0..area).map(value).collect()
        });
        let min = uvec2(r.below(9) as u32, r.below(9) as u32);
        let max = uvec2(57 - r.below(9) as u32, 41 - r.below(9) as u32);
        let grid = SeamGrid {
            min,
            max,
            cell: 1 << r.below(4),
            transposed: r.below(2) as u32,
            swapped: 0,
            reserved: 0,
        };
        let exact = exact(&sources, &planes, grid);
        // A level of 0 stands for no comparison.
        let before = exact.iter().map(|exact| {
            let (any, change) = (r.between(1.0, 256.0), r.between(0.0, 80.0));
            Vec2::new(r.pick(&[0.0, exact[3] as f32 + 3.0, any]), r.pick(&[0.0, change]))
        });
        let before: Vec<Vec2> = before.collect();
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let (found, motion) = differences(&stream, &sources, &planes, grid, &before);
            for (i, (found, exact)) in found.iter().zip(&exact).enumerate() {
                let [level, last] = before[i].to_array().map(f64::from);
                let now = 1.0 + exact[3];
                let change = if level > 0.0 { (now - level).abs() - f64::from(STILL) } else { 0.0 };
                let change = change.max(f64::from(MOTION_DECAY) * last).max(0.0);
                for (c, exact) in [exact[0], exact[1], exact[2], change].iter().enumerate() {
                    let off = (f64::from(found[c]) - exact).abs();
                    assert!(off < 0.02, "case {case} on {device}: {found} is not {exact:?}");
                }
                let [level, stored] = motion[i].to_array().map(f64::from);
                assert!((level - now).abs() < 0.02 && (stored - change).abs() < 0.02, "{case}");
            }
        }
    }
}

#[test]
fn costs_are_smoothed_differences_and_slopes() {
    let mut random = Random::new(6);
    for _ in 0..20 {
        let (across, along) = (1 + random.below(40), 1 + random.below(30));
        let reach = 1 + random.below(9) as u32;
        let area = across * along;
        let cells: Vec<u32> = (0..area)
            .map(|_| {
                random.pick(&[Sees::BOTH, Sees::BOTH, Sees::BOTH | 77 << Sees::COST, Sees::NEAR, 0])
            })
            .collect();
        let mut level = || random.pick(&[0.0, 1.0, 30.0, 900.0]) * random.between(-1.0, 1.0);
        let levels: Vec<Vec4> =
            (0..area).map(|_| Vec4::new(level(), level(), level(), level().abs())).collect();

        let at = |x: usize, y: usize| {
            let inside = x < across && y < along && cells[y * across + x] & Sees::BOTH != 0;
            inside.then(|| levels[y * across + x].to_array().map(f64::from))
        };
        let mean = |a: [f64; 4]| a[..3].iter().map(|a| a.abs()).sum::<f64>() / 3.0;
        let single = |x: usize, y: usize| {
            let here = at(x, y)?;
            let slope = |next: Option<[f64; 4]>| {
                next.map_or(0.0, |next| mean(std::array::from_fn(|c| next[c] - here[c])))
            };
            Some(mean(here) + here[3] + (slope(at(x + 1, y)) + slope(at(x, y + 1))) / 2.0)
        };
        let mut exact = Vec::new();
        for y in 0..along {
            for x in 0..across {
                let (mut sum, mut weights) = (0.0, 0.0);
                for apart in [1, reach as isize] {
                    for (dy, v) in [(-apart, 1.0), (0, 2.0), (apart, 1.0)] {
                        for (dx, u) in [(-apart, 1.0), (0, 2.0), (apart, 1.0)] {
                            let place = (x.checked_add_signed(dx), y.checked_add_signed(dy));
                            let (Some(x), Some(y)) = place else { continue };
                            if let Some(levels) = single(x, y) {
                                sum += u * v * levels;
                                weights += u * v;
                            }
                        }
                    }
                }
                let levels = (sum / weights - f64::from(NOISE)).clamp(0.0, f64::from(LARGEST));
                let cell = cells[y * across + x];
                let free = f64::from(BASE + (cell >> Sees::COST)) + levels * f64::from(PER_LEVEL);
                exact.push(if cell & Sees::BOTH == 0 { 0.0 } else { free });
            }
        }
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let size = [across as u32, along as u32];
            let cells = Image::from_slice(&stream, size[0], size[1], &cells).unwrap();
            let levels = Image::from_slice(&stream, size[0], size[1], &levels).unwrap();
            let mut out = Image::<u32>::new(&device, size[0], size[1]).unwrap();
            let config = LaunchConfig::cover(size[0], size[1], BLOCK);
            let (difference, to) = (levels.view(), out.view_mut());
            let cells = cells.view();
            stream.launch(&config, &SeamCost { cells, difference, reach, out: to }).unwrap();
            for (found, exact) in out.download(&stream).unwrap().into_iter().zip(&exact) {
                assert!(
                    (f64::from(found) - exact).abs() < 0.51,
                    "{found} is not {exact} on {device}"
                );
            }
        }
    }
}
