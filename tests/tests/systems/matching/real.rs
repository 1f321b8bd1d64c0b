//! Matches and calibrates 18 pairs of photographs, and compares the results with external homographies. On the CPU,
//! only every fifth pair runs, unless `PANOWEAVE_EVERY_PAIR` is set.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use glam::{DMat3, UVec2};
use panoweave::device::Stream;
use panoweave::geometry::calibrate::{self, CalibrateOptions, Calibration, Refusal};
use panoweave::io::picture::Picture;
use panoweave::ops::matching::links;
use panoweave_tests::made_up::{flat, grid_distance, matrix, pair};
use panoweave_tests::{data, panoweave_devices};

/// The additional tolerance in pixels for camera models with lens distortion. No homography matches them exactly.
const LENS: f64 = 1.5;

/// Two pictures, their true homography from right to left pixels, and the allowed mean error of a calibration in
/// pixels.
struct Case {
    name: String,
    pictures: [PathBuf; 2],
    truth: DMat3,
    allowed: f64,
}

fn cases() -> Option<Vec<Case>> {
    let mut cases = Vec::new();
    for line in fs::read_to_string(data("stitch_ref/pairs.csv")?).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let path = |name: &str| data(format!("scenes/{}/{name}", fields[0]));
        let allowed = match fields[0] {
            // These scenes have objects at many distances, so many homographies are valid, and the reference is only
            // one of them.
            "roofs" | "mex_b" => 12.0,
            _ => 2.0,
        };
        cases.push(Case {
            name: format!("{} {}", fields[0], fields[1]),
            pictures: [path(fields[1])?, path(fields[2])?],
            truth: matrix(fields.last().unwrap()),
            allowed,
        });
    }
    for (name, extension) in
        [("Brussels", "jpg"), ("WhiteBoard", "jpg"), ("adam", "png"), ("city", "png")]
    {
        let at = |file: String| data(format!("homography/magsac/{name}/{name}{file}"));
        cases.push(Case {
            name: name.to_owned(),
            pictures: [at(format!("A.{extension}"))?, at(format!("B.{extension}"))?],
            truth: matrix(&fs::read_to_string(at("_model.txt".into())?).unwrap()),
            // The tolerance is larger, because the points for the reference homography were marked by hand.
            allowed: 3.0,
        });
    }
    let graf = |file: &str| data(format!("homography/graf/{file}"));
    cases.push(Case {
        name: "graf".to_owned(),
        pictures: [graf("img1.png")?, graf("img3.png")?],
        truth: matrix(&fs::read_to_string(graf("H1to3p")?).unwrap()).inverse(),
        allowed: 3.0,
    });
    Some(cases)
}

fn calibrate(stream: &Stream, paths: &[PathBuf; 2]) -> Result<Calibration, Refusal> {
    let pictures = paths.each_ref().map(|path| Picture::open(path).unwrap());
    let sizes = pictures.each_ref().map(|p| UVec2::new(p.width(), p.height()));
    let begin = Instant::now();
    let found = links(stream, &pictures).unwrap();
    let found = &found[0].correspondences;
    let matched = begin.elapsed();
    let named = [0, 1].map(|i| calibrate::Photo::new(["left", "right"][i], sizes[i]));
    let result = pair(found, named.each_ref(), &CalibrateOptions::default());
    println!("  {} matches in {matched:.1?}, then {:.1?}", found.len(), begin.elapsed() - matched);
    result
}

#[test]
fn real_pairs_are_calibrated_as_others_did() {
    let Some(cases) = cases() else { return };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut failed = Vec::new();
        // Run every fifth pair on the CPU, where a pair takes about ten seconds.
        let all =
            device.cuda_info().is_some() || std::env::var_os("PANOWEAVE_EVERY_PAIR").is_some();
        for case in cases.iter().step_by(if all { 1 } else { 5 }) {
            println!("{}", case.name);
            match calibrate(&stream, &case.pictures) {
                Ok(found) => {
                    let sizes = [found.pictures[0].size, found.pictures[1].size];
                    let truth = flat(case.truth);
                    let off = grid_distance(sizes, &truth, &flat(found.views.homography(0, 1))).0;
                    // Also compare the calibrated camera model, which may include lens distortion, with the homography.
                    let bent = grid_distance(sizes, &truth, &|p| found.views.map(0, 1, p)).0;
                    println!(
                        "  {:?}: {off:.2} px off, {bent:.2} px with the lenses, {:?}",
                        found.views.name(),
                        found.quality()
                    );
                    if off > case.allowed || bent > case.allowed + LENS {
                        failed.push(format!("{}: {off:.2} px off, {bent:.2} px", case.name));
                    }
                }
                Err(refusal) => failed.push(format!("{}: {refusal}", case.name)),
            }
        }
        assert!(failed.is_empty(), "{device}: {failed:#?}");
    }
}
