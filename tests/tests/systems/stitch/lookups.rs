//! Checks that a lookup that does not support a stitch is an error with the reason, and that all others stitch.

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::ops::stitch::{
    Lookup, LookupError, StitchError, StitchOptions, Unsupported, stitch,
};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::raster::padded;

use super::mesh::case::{NV12, P010};

const SIZE: UVec2 = uvec2(7, 4);
const RGBA: PixelFormat = PixelFormat::Rgba8;

#[test]
fn unsupported_lookups_are_errors_with_the_reason() {
    use Lookup::{Cubic, GammaTable, HardwareBilinear, Mesh, TexturedPlanes};
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let warp = Warp::new(SIZE, [SIZE; 2], vec![vec![0.5; 28]; 6]).unwrap();
    let warp = DeviceWarp::upload(&stream, &warp).unwrap();
    let frame = |pixels| DeviceFrame::new(&device, FrameFormat { size: SIZE, pixels }).unwrap();
    let check = |[left, right]: [&DeviceFrame; 2],
                 output,
                 options: &dyn Fn(&mut StitchOptions),
                 expected: &[(Lookup, Unsupported)]| {
        for lookup in Lookup::ALL {
            let mut stitched = StitchOptions { lookup, ..StitchOptions::default() };
            options(&mut stitched);
            let frames = [left.into(), right.into()];
            let found = stitch(&stream, &frames, &warp, &stitched, &mut frame(output));
            let found = found.err().map(|error| match error {
                StitchError::Lookup(LookupError { reason, .. }) => reason,
                error => panic!("{lookup}: {error}"),
            });
            let expected = expected.iter().find(|(other, _)| *other == lookup);
            assert_eq!(found, expected.map(|(_, reason)| *reason), "{lookup} to {output}");
        }
    };
    let [rgba, nv12, p010] = [RGBA, NV12, P010].map(frame);
    let for_two = |reason| [TexturedPlanes, HardwareBilinear, GammaTable].map(|it| (it, reason));
    let not_two_rgba = for_two(Unsupported::NotTwoRgba);
    let with = |more| [&[more][..], &not_two_rgba].concat();
    let shoulder = |options: &mut StitchOptions| {
        options.colours[1] = options.colours[1].with_shoulder();
        options.colours[1].gain.x = 1.2;
    };
    let corrections = [(Mesh, Unsupported::Shoulder), (GammaTable, Unsupported::Corrections)];
    check([&rgba; 2], RGBA, &|_| (), &[]);
    check([&rgba; 2], RGBA, &shoulder, &corrections);
    check([&rgba; 2], RGBA, &|it| it.covers.parts[1] = 0.5, &for_two(Unsupported::Covers));
    check([&rgba, &nv12], RGBA, &|_| (), &not_two_rgba);
    check([&p010; 2], P010, &|_| (), &with((Cubic, Unsupported::TenBits)));
    check([&nv12; 2], P010, &|_| (), &with((Mesh, Unsupported::Depths)));
    check([&nv12; 2], NV12, &|it| it.flip = true, &with((Mesh, Unsupported::OddFlip)));
    let unaligned = DeviceFrame::Rgba8(padded(&device, SIZE, 8));
    let reason = Unsupported::Unaligned(1);
    check([&rgba, &unaligned], RGBA, &|_| (), &[(Mesh, reason), (HardwareBilinear, reason)]);
}
