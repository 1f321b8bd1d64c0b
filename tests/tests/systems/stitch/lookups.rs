//! Checks that a lookup that does not support a stitch is an error with the reason, and that all others stitch.

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::ops::stitch::{Lookup, LookupError, StitchError, StitchOptions, stitch};
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
                 expected: &[(Lookup, &str)]| {
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
            let begins = |(found, (_, text)): (&String, &(_, &str))| found.starts_with(text);
            let is_expected = found.as_ref().zip(expected).is_some_and(begins);
            assert!(
                is_expected || (found.is_none() && expected.is_none()),
                "{lookup} to {output}: {found:?}"
            );
        }
    };
    let [rgba, nv12, p010] = [RGBA, NV12, P010].map(frame);
    let for_two = |reason| [TexturedPlanes, HardwareBilinear, GammaTable].map(|it| (it, reason));
    let not_two_rgba = for_two("frames and panoramas other than two RGBA");
    let with = |more| [&[more][..], &not_two_rgba].concat();
    let shoulder = |options: &mut StitchOptions| {
        options.colours[1] = options.colours[1].with_shoulder();
        options.colours[1].gain.x = 1.2;
    };
    let corrections =
        [(Mesh, "colour corrections that keep"), (GammaTable, "vignettes, and colour")];
    check([&rgba; 2], RGBA, &|_| (), &[]);
    check([&rgba; 2], RGBA, &shoulder, &corrections);
    check([&rgba; 2], RGBA, &|it| it.covers.parts[1] = 0.5, &for_two("colours that cover"));
    check([&rgba, &nv12], RGBA, &|_| (), &not_two_rgba);
    check([&p010; 2], P010, &|_| (), &with((Cubic, "frames with 10 bits")));
    check([&nv12; 2], P010, &|_| (), &with((Mesh, "a mix of frames")));
    check([&nv12; 2], NV12, &|it| it.flip = true, &with((Mesh, "a flip of a panorama in Y'CbCr")));
    let unaligned = DeviceFrame::Rgba8(padded(&device, SIZE, 8));
    let reason = "the frame of camera 2, whose rows";
    check([&rgba, &unaligned], RGBA, &|_| (), &[(Mesh, reason), (HardwareBilinear, reason)]);
}
