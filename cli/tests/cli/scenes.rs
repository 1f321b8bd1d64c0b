//! Tests `panoweave stitch` and `panoweave warp` on photos with known homographies and overlaps. The test data contains
//! the photos in the folder `scenes`, and the homographies and overlaps in `stitch_ref/pairs.csv`.

use std::path::PathBuf;

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::warp::{Plane, Warp};
use panoweave_tests::data;

use crate::Folder;

/// A pair of photos from the test data.
struct Pair {
    left: PathBuf,
    right: PathBuf,
    /// The text of a homography file, which maps pixels of the right photo to pixels of the left photo.
    homography: String,
    /// The true fraction of the left photo that the right photo also shows.
    overlap: f64,
}

fn pair(scene: &str, left: &str) -> Option<Pair> {
    let table = std::fs::read_to_string(data("stitch_ref/pairs.csv")?).unwrap();
    let row = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = row.into_iter().find(|row| row[0] == scene && row[1] == left).unwrap();
    Some(Pair {
        left: data(format!("scenes/{scene}/{}", row[1]))?,
        right: data(format!("scenes/{scene}/{}", row[2]))?,
        homography: row[9].to_owned(),
        overlap: row[5].parse().unwrap(),
    })
}

/// Stitches a pair of photos. Checks the size and the coverage of the panorama. Also checks that the panorama contains
/// the left photo's pixels unchanged outside the overlap.
fn check(scene: &str, left: &str) {
    let Some(pair) = pair(scene, left) else { return };
    let folder = Folder::new();
    folder.write("h.txt", &pair.homography);
    let mut command = folder.command();
    command.args([
        "stitch",
        "--device",
        "cpu",
        "--json",
        "--homography",
        "h.txt",
        "-o",
        "pano.png",
    ]);
    let done = crate::Done::from(command.args([&pair.left, &pair.right]).output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let json = done.json();
    let mut command = folder.command();
    command.args(["warp", "--device", "cpu", "--homography", "h.txt", "-o", "h.safetensors"]);
    command.arg("--left").arg(&pair.left).arg("--right").arg(&pair.right);
    assert!(command.output().unwrap().status.success());

    let panorama = folder.picture("pano.png");
    let warp = Warp::open(folder.path("h.safetensors")).unwrap();
    let left = Picture::open(&pair.left).unwrap();
    let (width, height) = (panorama.width(), panorama.height());
    assert_eq!(json["size"], serde_json::json!([width, height]));
    assert_eq!(warp.size(), [width, height].into());
    assert!(width >= left.width() && height >= left.height());

    let area = f64::from(width) * f64::from(height);
    let left_area = f64::from(left.width()) * f64::from(left.height());
    let coverage = |name: &str| json.pointer(name).unwrap().as_f64().unwrap();
    assert!((coverage("/cameras/0/coverage") * area - left_area).abs() < 0.5, "{json}");
    let overlap = coverage("/overlap") * area / left_area;
    assert!((overlap - pair.overlap).abs() < 0.01, "{overlap} is not {}", pair.overlap);

    let [u, v] = [Plane::X(0), Plane::Y(0)].map(|plane| warp.plane(plane));
    let [weight_left, weight_right] =
        [Plane::Weight(0), Plane::Weight(1)].map(|plane| warp.plane(plane));
    let (mut alone, mut black) = (0, 0);
    for (at, &pixel) in panorama.pixels().iter().enumerate() {
        match (weight_left[at] > 0.0, weight_right[at] > 0.0) {
            (true, false) => {
                assert_eq!((u[at].fract(), v[at].fract()), (0.0, 0.0));
                let from = v[at] as usize * left.width() as usize + u[at] as usize;
                assert_eq!(pixel, left.pixels()[from], "{scene}: panorama pixel {at}");
                alone += 1;
            }
            (false, false) => {
                assert_eq!(pixel, Rgba8::BLACK);
                black += 1;
            }
            _ => {}
        }
    }
    let expected = ((1.0 - overlap) * left_area).round() as usize;
    assert_eq!(alone, expected, "{scene}");
    assert_eq!(black, ((1.0 - coverage("/coverage")) * area).round() as usize, "{scene}");
}

#[test]
fn s() {
    check("s", "s1.jpg");
}

#[test]
fn weir() {
    check("weir", "weir_1.jpg");
}

#[test]
fn arches() {
    check("arches_b", "JDW_9518.jpg");
}

#[test]
fn river() {
    check("river", "river1.jpg");
}
