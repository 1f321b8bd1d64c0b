//! Stitches a made-up case with the library and judges the panorama: the whole path from pictures to scores, without
//! other programs.

use crate::case::Case;
use crate::classes::{Background, CLASSES, Class};
use crate::grid;
use crate::judge::{Scores, judge};
use panoweave::device::Device;
use panoweave::geometry::calibrate::{CalibrateOptions, Photo, RigOptions, calibrate};
use panoweave::io::picture::Picture;
use panoweave::ops::blend::Blend;
use panoweave::ops::matching::links;
use panoweave::ops::seam::SeamOptions;
use panoweave::panorama::{PanoramaOptions, stitch_geometry};

/// Stitches two cameras of different exposure and judges the panorama.
fn scores(match_colour: bool) -> Scores {
    let class = CLASSES.iter().find(|class| class.name == "exposure").expect("the class");
    let class = Class { backgrounds: &[Background::Foliage], cameras: (2, 2), ..*class };
    let case = Case::new(&class, 0, 0.6, "".as_ref()).expect("no file is read").expect("a case");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let pictures: Vec<Picture> = (0..2)
        .map(|i| {
            case.photograph(i).save(&file("camera.png")).expect("saved");
            Picture::open(file("camera.png")).expect("a picture")
        })
        .collect();
    let device = Device::cpu();
    let stream = device.stream().expect("a stream");
    let found = links(&stream, &pictures).expect("matches");
    let photos = [0, 1].map(|i| Photo::new(format!("{i}"), pictures[i].size()));
    let calibration =
        calibrate(&photos, &found, &CalibrateOptions::default()).expect("the cameras overlap");
    let rig = calibration.rig(&RigOptions::default()).expect("a rig");
    let geometry = rig.geometry().expect("a geometry");
    let blend = Blend::Seam(SeamOptions::default());
    let options = PanoramaOptions { match_colour, blend, ..PanoramaOptions::default() };
    let (panorama, _) =
        stitch_geometry(&stream, &pictures, &geometry, &options).expect("a panorama");
    panorama.picture.save(file("panorama.png")).expect("saved");
    let (picture, mask) = grid::open(&file("panorama.png")).expect("a picture");
    judge(&picture, &mask, &case.truth()).expect("it is registered").scores
}

#[test]
fn the_library_gets_good_scores_and_unmatched_colours_bad_ones() {
    let (good, bad) = (scores(true), scores(false));
    assert!(good.geometry < 0.5 && good.misalignment < 0.6, "{good:?}");
    assert!(good.psnr > 26.0 && good.ssim > 0.9 && good.coverage > 0.97, "{good:?}");
    assert!(bad.colour > 3.0 * good.colour && bad.psnr < good.psnr - 2.0, "{good:?} {bad:?}");
}
