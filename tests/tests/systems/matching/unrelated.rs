//! Checks that two pictures that do not form a pair are rejected, and that the error gives the reason: different
//! scenes, the same view, or no features.

use glam::UVec2;
use panoweave::device::{Image, Stream};
use panoweave::geometry::calibrate::{self, CalibrateOptions, Refusal, pair};
use panoweave::io::picture::Picture;
use panoweave::ops::matching::{Described, Describer, MatchOptions, pairs};
use panoweave_tests::random::Random;
use panoweave_tests::{data, panoweave_devices};
use shared_types::Rgba8;

/// The name and size of a picture, and the descriptions of its feature points.
struct Seen {
    name: &'static str,
    size: UVec2,
    described: Described,
}

fn seen(stream: &Stream, name: &'static str, picture: &Picture) -> Seen {
    let size = UVec2::new(picture.width(), picture.height());
    let image = Image::from_slice(stream, size.x, size.y, picture.pixels()).unwrap();
    let mut describer = Describer::new(stream, size, &MatchOptions::default()).unwrap();
    Seen { name, size, described: describer.describe(stream, image.view()).unwrap() }
}

fn refusal(stream: &Stream, left: &Seen, right: &Seen) -> Refusal {
    let options = MatchOptions::default();
    let found = pairs(stream, &left.described, &right.described, &options).unwrap();
    let pictures = [left, right].map(|seen| calibrate::Photo::new(seen.name, seen.size));
    let refusal =
        pair(&found, pictures.each_ref(), &CalibrateOptions::default()).expect_err(right.name);
    println!("{}, {}: {} matches: {refusal}", left.name, right.name, found.len());
    refusal
}

/// Returns a picture whose levels are independent random numbers from 0 to 255.
fn noise(size: UVec2, seed: u64) -> Picture {
    let mut random = Random::new(seed);
    let mut level = || random.below(256) as u8;
    let pixels = (0..size.x * size.y).map(|_| Rgba8::opaque(level(), level(), level())).collect();
    Picture::from_pixels(size.x, size.y, pixels).unwrap()
}

#[test]
fn pictures_that_make_no_pair_are_refused_with_the_reason() {
    let (Some(weir), Some(river)) =
        (data("scenes/weir/weir_1.jpg"), data("scenes/river/river2.jpg"))
    else {
        return;
    };
    let (weir, river) = (Picture::open(weir).unwrap(), Picture::open(river).unwrap());
    let size = UVec2::new(640, 480);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let weir = seen(&stream, "weir", &weir);
        let river = seen(&stream, "river", &river);
        let blank = Picture::filled(size.x, size.y, Rgba8::opaque(120, 130, 140));
        let blank = seen(&stream, "blank", &blank);
        let noises = [noise(size, 1), noise(size, 2)].map(|n| seen(&stream, "noise", &n));

        // Pictures of different scenes have enough similar points, but no consistent geometry.
        let found = refusal(&stream, &weir, &river);
        assert!(matches!(found, Refusal::Chance { .. }), "{device}: {found}");
        let found = refusal(&stream, &river, &weir);
        assert!(matches!(found, Refusal::Chance { .. }), "{device}: {found}");
        // Two copies of a picture show the same view.
        let found = refusal(&stream, &weir, &weir);
        assert!(
            matches!(found, Refusal::SameView { shift_px } if shift_px < 0.01),
            "{device}: {found}"
        );
        // A blank picture, such as one taken with the lens cap on, has no features.
        for (left, right) in [(&weir, &blank), (&blank, &weir), (&blank, &blank)] {
            let found = refusal(&stream, left, right);
            assert!(matches!(found, Refusal::TooFew { found: 0 }), "{device}: {found}");
        }
        // A picture of noise has too few matches, or only matches due to chance.
        for (left, right) in [(&weir, &noises[0]), (&noises[0], &weir), (&noises[0], &noises[1])] {
            let found = refusal(&stream, left, right);
            assert!(
                matches!(found, Refusal::TooFew { .. } | Refusal::Chance { .. }),
                "{device}: {found}"
            );
        }
    }
}
