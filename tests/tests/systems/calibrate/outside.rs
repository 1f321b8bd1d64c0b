//! Compares calibrations with external homographies of photographs. The correspondences are simulated or come from the
//! matcher of the MAGSAC data set.

use std::fs;

use glam::{DMat3, DVec2, UVec2};
use image::image_dimensions;
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, Correspondence, ModelChoice, Photo,
};
use panoweave_tests::data;

use panoweave_tests::made_up::{Matcher, flat, grid_distance, matrix, pair};

fn picture(path: &std::path::Path) -> Photo {
    let (width, height) = image_dimensions(path).unwrap();
    Photo::new(path.file_stem().unwrap().to_string_lossy(), UVec2::new(width, height))
}

fn distance(found: &Calibration, truth: DMat3) -> f64 {
    let sizes = [found.pictures[0].size, found.pictures[1].size];
    grid_distance(sizes, &flat(truth), &|p| found.views.map(0, 1, p)).0
}

/// Calibrates 13 pairs of photographs from simulated correspondences. Half of the correspondences are wrong, and all
/// have a noise of 1 px. Each result must be within 0.9 px of the external homography (1.3 px with the default model),
/// or within that distance times the magnification if the homography magnifies the right picture.
#[test]
fn homographies_of_real_pairs_are_found_again() {
    let Some(list) = data("stitch_ref/pairs.csv") else { return };
    let mut many = 0;
    for line in fs::read_to_string(list).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let path = |name: &str| data(format!("scenes/{}/{name}", fields[0]));
        let (Some(a), Some(b)) = (path(fields[1]), path(fields[2])) else { return };
        let (left, right) = (picture(&a), picture(&b));
        let truth = matrix(fields.last().unwrap());
        let matcher = Matcher { many: 400, wrong: 0.5, noise: 1.0, seed: 11 };
        let found = matcher.find([left.size, right.size], &flat(truth));
        // If the homography magnifies the right picture, it also magnifies the noise of that picture's correspondences.
        let scale = truth.determinant().abs().cbrt().max(1.0);
        let share: f64 = fields[5].parse().unwrap();
        // A plane would stretch some pairs strongly, so by default they are rotating cameras, which fit less exactly.
        for (model, most) in [(ModelChoice::Homography, 0.9), (ModelChoice::Auto, 1.3)] {
            let options = CalibrateOptions { model, ..CalibrateOptions::default() };
            let found = pair(&found, [&left, &right], &options)
                .unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
            let off = distance(&found, truth);
            assert!(off < most * scale, "{line}: {model:?} off by {off} px");
            let overlap = found.pairs[0].overlap;
            assert!((overlap[0] - share).abs() < 0.05, "{line}: {overlap:?}");
        }
        many += 1;
    }
    assert_eq!(many, 13);
}

/// Checks that calibration from the matches of the MAGSAC data set finds a homography close to the annotated
/// homography. Only 6 to 60 % of these matches are correct.
#[test]
fn matches_of_a_real_matcher_give_the_annotated_homography() {
    for (name, allowed) in [("Brussels", 4.0), ("WhiteBoard", 4.0), ("adam", 3.0)] {
        let at = |file: String| data(format!("homography/magsac/{name}/{file}"));
        let extension = if name == "adam" { "png" } else { "jpg" };
        let files = (
            at(format!("{name}A.{extension}")),
            at(format!("{name}B.{extension}")),
            at(format!("{name}_model.txt")),
            at(format!("{name}_pts.txt")),
        );
        let (Some(a), Some(b), Some(model), Some(points)) = files else { return };
        let truth = matrix(&fs::read_to_string(model).unwrap());
        let points = fs::read_to_string(points).unwrap();
        let one = |line: &str| {
            let n: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let (left, right) = (DVec2::new(n[0], n[1]), DVec2::new(n[3], n[4]));
            // The matches of the data set are in no particular order and have no scores.
            Correspondence { left, right, score: 0.0 }
        };
        let points: Vec<_> = points.lines().map(one).collect();
        let (left, right) = (picture(&a), picture(&b));
        match pair(&points, [&left, &right], &CalibrateOptions::default()) {
            Ok(found) => {
                let off = distance(&found, truth);
                println!("{name}: off by {off:.2} px, {:?}", found.quality());
                assert!(off < allowed, "{name}: off by {off} px");
            }
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    }
}

/// Checks that calibration accepts two pictures that differ by a motion of only half a pixel, instead of rejecting them
/// because they show the same view.
#[test]
fn a_pair_that_hardly_differs_is_calibrated() {
    let (Some(model), Some(a)) =
        (data("homography/magsac/city/city_model.txt"), data("homography/magsac/city/cityA.png"))
    else {
        return;
    };
    let truth = matrix(&fs::read_to_string(model).unwrap());
    let left = picture(&a);
    let matcher = Matcher { many: 300, wrong: 0.4, noise: 0.1, seed: 2 };
    let found = matcher.find([left.size; 2], &flat(truth));
    let found = pair(&found, [&left, &left], &CalibrateOptions::default()).unwrap();
    let off = distance(&found, truth);
    assert!(off < 0.1, "off by {off} px");
}

/// Checks that calibration chooses the homography model for two pictures of a graffiti wall, because the wall is flat.
#[test]
fn a_flat_scene_is_a_homography() {
    let (Some(h), Some(a)) = (data("homography/graf/H1to3p"), data("homography/graf/img1.png"))
    else {
        return;
    };
    let truth = matrix(&fs::read_to_string(h).unwrap()).inverse();
    let left = picture(&a);
    let matcher = Matcher { many: 600, wrong: 0.6, noise: 0.7, seed: 5 };
    let found = matcher.find([left.size; 2], &flat(truth));
    let found = pair(&found, [&left, &left], &CalibrateOptions::default()).unwrap();
    assert_eq!(found.views.name(), panoweave::geometry::rig::ModelName::Homography);
    let off = distance(&found, truth);
    assert!(off < 0.5, "off by {off} px");
}
