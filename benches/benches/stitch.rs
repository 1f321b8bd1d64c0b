//! Benchmarks the stitch of two 3840×2160 pictures to a panorama of 5700×1900, with every lookup and pair of formats.
//! The bench compares it with a copy of as many bytes as the pictures and the panorama have, and with the kernel of the
//! original system, reimplemented in CUDA C++ (`benches/cuda/stitch_planes.cu`), if `PANOWEAVE_REFERENCE_PTX` names a
//! folder with `stitch_planes.ptx`. It then measures the default lookup at sizes from
//! 720p to 8K, and the stitch of 2, 4 and 6 cameras of 1080p.
//!
//! The lookup `planes` also reads six f32 planes, 24 bytes per panorama pixel. The copy does not include these bytes.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_std::prelude::*;
use panoweave::device::{LaunchConfig, Stream};
use panoweave::frame::{
    DeviceFrame, FrameFormat, FrameView, FrameViewMut, PixelFormat, YuvEncoding,
};
use panoweave::geometry::Vignetting;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, Vignettes, stitch};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_benches::{
    Group, SETS, SIZES, bench, bench_copy, bench_original, camera_row, frame, gpu, home_geometry,
    home_geometry_for, reference,
};
use shared_types::Rgba8;
use shared_types::stitch::{BLOCK, Colour, StitchParams};

fn options(is_linear: bool) -> StitchOptions {
    let colour =
        |gain: f32, gamma| Colour { gain: glam::Vec3::splat(gain), gamma, ..Colour::IDENTITY };
    let gamma = if is_linear { (1.0, 1.0) } else { (0.9, 1.1) };
    StitchOptions {
        colours: Colours::of([colour(1.1, gamma.0), colour(0.9, gamma.1)]),
        ..StitchOptions::default()
    }
}

/// Declares a CUDA C++ kernel, whose body is in the PTX.
macro_rules! original {
    ($name:ident) => {
        /// Stitches RGBA to RGBA like `stitch_planes_rgba8`, but takes each plane as a separate argument.
        ///
        /// # Safety
        /// Each `lut_*` and `weight_*` plane must have the panorama's size.
        #[kernel(launch_bounds(256, 4))]
        #[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
        unsafe fn $name(
            left: View<Rgba8>,
            right: View<Rgba8>,
            lut_left_x: View<f32>,
            lut_left_y: View<f32>,
            lut_right_x: View<f32>,
            lut_right_y: View<f32>,
            weight_left: View<f32>,
            weight_right: View<f32>,
            params: StitchParams,
            out: ViewMut<Rgba8>,
        ) {
        }
    };
}

original!(stitch_planes_linear);
original!(stitch_planes_exact);

/// Launches the CUDA C++ kernel for the gammas of `options`.
fn stitch_by_original(
    stream: &Stream,
    [left, right]: &[DeviceFrame; 2],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: &mut DeviceFrame,
) {
    let (FrameView::Rgba8(left), FrameView::Rgba8(right), FrameViewMut::Rgba8(out)) =
        (left.view(), right.view(), out.view_mut())
    else {
        unreachable!("the original takes and makes RGBA")
    };
    let linear = options.colours[0].gamma == 1.0 && options.colours[1].gamma == 1.0;
    let (width, height) = out.size();
    let config = LaunchConfig::cover(width, height, BLOCK);
    macro_rules! launch {
        ($kernel:ident) => {{
            let kernel = $kernel {
                left,
                right,
                lut_left_x: warp.plane(Plane::X(0)).view(),
                lut_left_y: warp.plane(Plane::Y(0)).view(),
                lut_right_x: warp.plane(Plane::X(1)).view(),
                lut_right_y: warp.plane(Plane::Y(1)).view(),
                weight_left: warp.plane(Plane::Weight(0)).view(),
                weight_right: warp.plane(Plane::Weight(1)).view(),
                params: StitchParams {
                    left: options.colours[0],
                    right: options.colours[1],
                    ..StitchParams::default()
                },
                out,
            };
            // SAFETY: The planes of `warp` have the panorama's size.
            unsafe { stream.launch_unchecked(&config, &kernel) }
        }};
    }
    if linear { launch!(StitchPlanesLinear) } else { launch!(StitchPlanesExact) }
        .expect("a stitch");
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("stitch") else { return };
    let reference = reference("stitch_planes").map(|device| device.stream().expect("a stream"));
    let stream = device.stream().expect("a stream");
    let geometry = home_geometry().expect("the home rig");
    let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
    let (rgba, nv12) = (PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default()));
    let p010 = PixelFormat::P010(YuvEncoding::default());
    let pairs = [
        ("rgba", rgba, rgba),
        ("nv12", nv12, nv12),
        ("p010", p010, p010),
        ("nv12-rgba", nv12, rgba),
        ("rgba-nv12", rgba, nv12),
    ];
    for (pair, input, output) in pairs {
        let format = |size, pixels| FrameFormat { size, pixels };
        let inputs = [0, 1].map(|camera| format(warp.sources()[camera], input));
        let output = format(warp.size(), output);
        let frames: Vec<[_; 2]> = (0..SETS as u32)
            .map(|set| [0, 1].map(|i| frame(&stream, inputs[i], 2 * set + i as u32)))
            .collect();
        let mut outputs: Vec<_> =
            (0..SETS).map(|_| DeviceFrame::new(&device, output).expect("an output")).collect();
        let bytes = (inputs[0].bytes() + inputs[1].bytes() + output.bytes()) as u64;

        let size = warp.size().to_array();
        let mut group = Group::new(criterion, &device, "stitch", pair, size, bytes);
        bench_copy(&mut group, &stream, bytes);
        // A label consists of the power of the lookup, `/` and the lookup. The report compares the CUDA C++ kernel with
        // all variants with the same power.
        for (label, lookup) in [
            ("fast/mesh", Lookup::Mesh),
            ("fast/mesh with vignetting", Lookup::Mesh),
            ("linear/mesh", Lookup::Mesh),
            ("linear/planes", Lookup::Planes),
            ("exact/planes", Lookup::Planes),
            ("exact/planes with shoulders", Lookup::Planes),
            ("exact/planes with vignetting", Lookup::Planes),
            ("exact/cubic", Lookup::Cubic),
            ("fast/textured planes", Lookup::TexturedPlanes),
            ("fast/hardware bilinear", Lookup::HardwareBilinear),
            ("table/planes", Lookup::GammaTable),
        ] {
            // The variants of the planes stitch 8-bit RGBA only, and the cubic filter 8 bits.
            let has_all = matches!(lookup, Lookup::Mesh | Lookup::Planes);
            if pair != "rgba" && !has_all && (pair == "p010" || lookup != Lookup::Cubic) {
                continue;
            }
            let lens = Vignetting([-0.3, 0.0, -0.1]);
            let lens = if label.ends_with("vignetting") { lens } else { Vignetting::NONE };
            let vignettes = [0, 1].map(|camera| lens.vignette(warp.sources()[camera]));
            let vignettes = Vignettes::of(vignettes);
            let mut options =
                StitchOptions { lookup, vignettes, ..options(label.starts_with("linear")) };
            for camera in 0..2 {
                let has_shoulder = label.ends_with("shoulders");
                options.colours[camera].shoulder = f32::from(u8::from(has_shoulder));
            }
            bench(&mut group, label, &stream, |set| {
                let ([left, right], out) = (&frames[set], &mut outputs[set]);
                stitch(&stream, &[left.into(), right.into()], &warp, &options, out)
                    .expect("a stitch");
            });
            // The C++ kernels support only RGBA and the lookup `planes`.
            let Some(stream) = &reference else { continue };
            if pair != "rgba" || lookup != Lookup::Planes {
                continue;
            }
            bench_original(&mut group, &label.replace("planes", "c++"), stream, |set| {
                stitch_by_original(stream, &frames[set], &warp, &options, &mut outputs[set]);
            });
        }
        group.finish();
    }
}

/// Measures the default lookup with pictures from 720p to 8K, and panoramas scaled in proportion.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("stitch, by size") else { return };
    let stream = device.stream().expect("a stream");
    let options = options(false);
    for source in SIZES {
        let geometry = home_geometry_for(source.y).expect("the home rig");
        let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
        for (pair, format) in
            [("rgba", PixelFormat::Rgba8), ("nv12", PixelFormat::Nv12(YuvEncoding::default()))]
        {
            let format = |size| FrameFormat { size, pixels: format };
            let [input, output] = [source, warp.size()].map(format);
            let bytes = (2 * input.bytes() + output.bytes()) as u64;
            let size = warp.size().to_array();
            let mut group = Group::new(criterion, &device, "stitch", pair, size, bytes).briefly();
            let frames: Vec<[_; 2]> = (0..group.sets() as u32)
                .map(|set| [0, 1].map(|i| frame(&stream, input, 2 * set + i)))
                .collect();
            let output = |_: &[_; 2]| DeviceFrame::new(&device, output).expect("an output");
            let mut outputs: Vec<_> = frames.iter().map(output).collect();
            bench_copy(&mut group, &stream, bytes);
            bench(&mut group, "fast/mesh", &stream, |set| {
                let ([left, right], out) = (&frames[set], &mut outputs[set]);
                stitch(&stream, &[left.into(), right.into()], &warp, &options, out)
                    .expect("a stitch");
            });
            group.finish();
        }
    }
}

/// Measures the stitch of 2, 4 and 6 cameras by the mesh, which is one launch, and by planes, with frames of one format
/// and of two.
fn cameras(criterion: &mut Criterion) {
    let Some(device) = gpu("stitch, several cameras") else { return };
    let stream = device.stream().expect("a stream");
    let (rgba, nv12) = (PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default()));
    for count in [2, 4, 6] {
        let geometry = camera_row(count).expect("a row of cameras");
        let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
        let colours: Vec<_> = (0..count)
            .map(|i| Colour {
                gain: glam::Vec3::ONE,
                gamma: if i % 2 == 0 { 0.9 } else { 1.1 },
                ..Colour::IDENTITY
            })
            .collect();
        for (label, inputs, output) in
            [("rgba", [rgba; 2], rgba), ("nv12", [nv12; 2], nv12), ("mixed", [rgba, nv12], nv12)]
        {
            let format = |size, pixels| FrameFormat { size, pixels };
            let inputs: Vec<_> = (0..warp.sources().len())
                .map(|camera| format(warp.sources()[camera], inputs[camera % 2]))
                .collect();
            let output = format(warp.size(), output);
            let bytes = inputs.iter().map(|input| input.bytes()).sum::<usize>() + output.bytes();
            let (bytes, size) = (bytes as u64, warp.size().to_array());
            let name = format!("{label}, {count} cameras");
            let mut group = Group::new(criterion, &device, "stitch", &name, size, bytes).briefly();
            let frames: Vec<Vec<_>> = (0..group.sets() as u32)
                .map(|set| {
                    let inputs = (0..).zip(&inputs);
                    inputs.map(|(i, input)| frame(&stream, *input, count * set + i)).collect()
                })
                .collect();
            let output = |_: &Vec<_>| DeviceFrame::new(&device, output).expect("an output");
            let mut outputs: Vec<_> = frames.iter().map(output).collect();
            bench_copy(&mut group, &stream, bytes);
            for (label, lookup) in [("fast/mesh", Lookup::Mesh), ("exact/planes", Lookup::Planes)] {
                let colours = Colours::of(&colours);
                let options = StitchOptions { colours, lookup, ..StitchOptions::default() };
                bench(&mut group, label, &stream, |set| {
                    let frames: Vec<_> = frames[set].iter().map(DeviceFrame::view).collect();
                    stitch(&stream, &frames, &warp, &options, &mut outputs[set]).expect("a stitch");
                });
            }
            group.finish();
        }
    }
}

criterion_group!(all, benches, sizes, cameras);
criterion_main!(all);
