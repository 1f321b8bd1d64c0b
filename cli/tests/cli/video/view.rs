//! Tests `panoweave video --view`: a virtual camera that follows a track and stays inside the area that the cameras
//! cover. The expected frames are rendered by the library.

use glam::UVec2;
use panoweave::device::{Device, Image};
use panoweave::frame::{FrameView, Rate};
use panoweave::geometry::rig::Rig;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{Track, Viewer};
use serde_json::json;

use super::{Ffmpeg, flat, rgba, seconds};
use crate::{Folder, RIG, pattern};

/// A track that pans within half a second from straight ahead to a direction that no camera covers.
const TRACK: &str = "t,pan,tilt,fov\n0,0,0,30\n0.5,90,5,20\n1,90,5,20\n";

const SIZE: UVec2 = UVec2::new(33, 19);

const LINE: &str = "video l.rgba r.rgba --input-size 40x30 --fps 30 --rig rig.toml --device cpu --no-colour --view-size 33x19";

/// Writes the track file and one second of raw video of each camera. Each video repeats one picture 30 times. Returns
/// these two pictures.
fn clip(folder: &Folder) -> [Picture; 2] {
    let pictures = [pattern(7), pattern(91)];
    for (name, picture) in ["l.rgba", "r.rgba"].into_iter().zip(&pictures) {
        folder.write(name, rgba(picture).repeat(30));
    }
    folder.write("track.csv", TRACK);
    pictures
}

/// Renders the 30 expected views of a rig with the library. Returns their bytes, and the number of views that were
/// moved into the area that the cameras cover.
fn expected(
    folder: &Folder,
    rig: &str,
    pictures: &[Picture],
    smooth: f64,
    free: bool,
) -> (Vec<u8>, u64) {
    let stream = Device::cpu().stream().unwrap();
    let geometry = Rig::parse(rig, "rig").unwrap().geometry().unwrap();
    let images: Vec<_> = pictures.iter().map(|picture| picture.upload(&stream).unwrap()).collect();
    let frames: Vec<_> = images.iter().map(FrameView::from).collect();
    let viewer = Viewer::new(&geometry, false).unwrap();
    let rate: Rate = "30".parse().unwrap();
    let track = Track::open(&stream, folder.path("track.csv"), rate, smooth).unwrap();
    let limits = viewer.limits().unwrap();
    let (mut bytes, mut limited) = (Vec::new(), 0);
    for frame in 0..30 {
        let asked = track.at(rate.time(frame));
        let view = if free { asked } else { limits.keep(&asked, SIZE) };
        limited += u64::from(view != asked);
        let options = StitchOptions::default();
        let mut out = Image::new(stream.device(), SIZE.x, SIZE.y).unwrap();
        viewer.submit(&stream, &frames, None, &view, &options, &mut out).unwrap();
        bytes.extend_from_slice(bytemuck::cast_slice(&out.download(&stream).unwrap()));
    }
    (bytes, limited)
}

fn dark(bytes: &[u8]) -> usize {
    bytes.chunks(4).filter(|pixel| *pixel == [0, 0, 0, 255]).count()
}

#[test]
fn a_view_along_a_track_is_kept_inside() {
    let folder = Folder::new();
    let pictures = clip(&folder);
    let json = folder.quiet_json(&format!("--json {LINE} --view track.csv -o v.rgba"));
    let (bytes, limited) = expected(&folder, RIG, &pictures, 0.2, false);
    assert!(folder.read("v.rgba") == bytes);
    assert_eq!(dark(&bytes), 0);
    assert!((5..30).contains(&limited), "{limited}");
    assert_eq!(json["view"]["limited"], limited);
    let most = json["view"]["most_degrees"].as_f64().unwrap();
    assert!(most > 0.5 && most < 180.0 && json["view"]["at"].as_f64().unwrap() < 3.0, "{json}");
    assert_eq!((&json["size"], &json["frames"]["written"]), (&json!([33, 19]), &json!(30)));

    // With `--view-free`, the view leaves the area that the cameras cover.
    let free = folder
        .words(&format!("--json {LINE} --view track.csv --view-free --view-smooth 0 -o free.rgba"));
    assert_eq!(free.code, Some(0), "{free:?}");
    assert_eq!(free.json()["view"]["limited"], 0);
    let (bytes, _) = expected(&folder, RIG, &pictures, 0.0, true);
    assert!(folder.read("free.rgba") == bytes);
    let last = &bytes[29 * 4 * SIZE.element_product() as usize..];
    assert_eq!(dark(last), SIZE.element_product() as usize, "the view lies outside both cameras");

    // If `--view` is not given, the field `view` of the JSON summary must be null.
    let line = LINE.replace(" --view-size 33x19", "");
    let none = folder.words(&format!("--json {line} -o p.rgba"));
    assert_eq!(none.json()["view"], json!(null), "{none:?}");
}

/// Tests a rig with a third camera to the right of the two others. The track ends where only the third camera sees.
#[test]
fn a_view_along_a_track_passes_through_three_cameras() {
    let folder = Folder::new();
    let [left, right] = clip(&folder);
    let pictures = [left, right, pattern(33)];
    folder.write("far.rgba", rgba(&pictures[2]).repeat(30));
    let (panorama, cameras) = RIG.split_once("[[camera]]").unwrap();
    let (_, last) = cameras.split_once("[[camera]]").unwrap();
    let last = last.replace("right", "far").replace("yaw = 20.0", "yaw = 60.0");
    let panorama = panorama.replace("100.0", "180.0");
    let rig = format!("{panorama}[[camera]]{cameras}[[camera]]{last}");
    folder.write("rig.toml", &rig);
    let line = LINE.replace("r.rgba", "r.rgba far.rgba");

    let done = folder.words(&format!("--json {line} --view track.csv -o v.rgba"));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    let (bytes, limited) = expected(&folder, &rig, &pictures, 0.2, false);
    assert!(folder.read("v.rgba") == bytes);
    assert_eq!(dark(&bytes), 0);
    assert!((5..30).contains(&limited), "{limited}");
    assert_eq!(done.json()["view"]["limited"], limited);

    // The last view shows the third camera only. Without this camera, the whole view is black.
    let (two, _) = expected(&folder, RIG, &pictures[..2], 0.0, true);
    let (three, _) = expected(&folder, &rig, &pictures, 0.0, true);
    let last = 29 * 4 * SIZE.element_product() as usize..;
    assert_eq!(dark(&two[last.clone()]), SIZE.element_product() as usize);
    assert!(dark(&three[last]) < SIZE.element_product() as usize);
}

#[test]
fn what_is_printed_names_the_size_of_the_view() {
    let folder = Folder::new();
    clip(&folder);
    let said = folder.quiet(&format!("{LINE} --view track.csv --frames 2 -o v.rgba"));
    assert!(said.starts_with("v.rgba: 2 frames of 33×19 pixels, "), "{said}");
    // Unlike H.264, Y4M supports views with an odd width and height.
    folder.quiet(&format!("{LINE} --view track.csv --frames 2 -o v.y4m"));
    assert!(folder.read("v.y4m").starts_with(b"YUV4MPEG2 W33 H19 F30:1 "));
}

/// Tests views with `--flip`, which rotates the panorama by 180°. If the pan and tilt of a track are negated, its view
/// with `--flip` must be its former view upside down.
#[test]
fn a_view_is_turned_over_with_the_panorama() {
    let folder = Folder::new();
    clip(&folder);
    folder.write("track.csv", "t,pan,tilt,fov\n0,12,3,30\n");
    folder.quiet(&format!("{LINE} --view track.csv --frames 1 -o v.rgba"));
    folder.write("track.csv", "t,pan,tilt,fov\n0,-12,-3,30\n");
    folder.quiet(&format!("{LINE} --view track.csv --frames 1 --flip -o over.rgba"));
    let (upright, over) = (folder.read("v.rgba"), folder.read("over.rgba"));
    let pairs = upright.chunks(4).zip(over.rchunks(4));
    let off = pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap());
    assert!(off.clone().max() <= Some(1), "{:?} levels", off.max());
    assert!(upright != over);
}

#[test]
fn a_view_through_ffmpeg() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 1.0);
    folder.write("track.csv", TRACK);
    let line = "video left.mp4 right.mp4 --rig rig.toml --device cpu --view track.csv";
    let done = folder.succeeds(&format!("--json {line} --view-size 64x37 -o v.mp4"));
    assert!(done.json()["view"]["limited"].as_u64().unwrap() > 0, "{done:?}");
    let probe = ffmpeg.probe(&folder, "v.mp4");
    let video = probe.video();
    // H.264 needs an even width and height, so the last of the view's 37 rows must be cropped.
    assert_eq!((&video["width"], &video["height"]), (&json!(64), &json!(36)));
    assert_eq!(probe.frames(), 30);
    assert!((seconds(probe.stream("audio").unwrap()) - 1.0).abs() < 0.1, "{probe:?}");
}

/// Tests views that must be rejected, each with the kind of the error and a part of its message.
#[test]
fn views_that_are_refused() {
    let folder = Folder::new();
    clip(&folder);
    folder.write("a.y4m", flat("30:1", 0..2));
    folder.write("track.y4m", TRACK);
    for (name, text) in [
        ("nofov.csv", "t,pan,tilt\n0,1,2\n"),
        ("zoom.csv", "t,pan,tilt,fov,zoom\n0,1,2,60,1\n"),
        ("wide.csv", "t,pan,tilt,fov\n0,0,0,60\n1.5,0,0,180\n"),
        ("late.csv", "t,pan,tilt,fov\n0,0,0,60\n1e9,0,0,60\n"),
        ("word.csv", "t,pan,tilt,fov\n0,left,0,60\n"),
        ("empty.csv", ""),
    ] {
        folder.write(name, text);
    }
    // These cameras look straight up. The limits of a view are computed on a cylinder that ends at an elevation of 76°.
    // The cameras cover nothing of this cylinder, so there are no limits.
    folder.write(
        "up.toml",
        RIG.replace("yaw = -20.0", "pitch = 90.0")
            .replace("yaw = 20.0", "pitch = 90.0")
            .replace("x = 30.0, fy = 30.0", "x = 900.0, fy = 900.0"),
    );
    folder.quiet("warp --rig rig.toml --device cpu -o rig.safetensors");
    folder.refuses("video a.y4m a.y4m --device cpu @", "v.rgba", r#"
        --homography shift.txt --view track.csv -o v.rgba | usage | give `rig`
        --warp rig.safetensors --view track.csv -o v.rgba | usage | which only a rig describes
        --rig up.toml --view track.csv -o v.rgba | usage | set `view-free`
        --rig rig.toml --view track.csv --edge-boost -o v.rgba | usage | does not apply to a view
        --rig rig.toml --view missing.csv -o v.rgba | input | missing.csv: cannot be read
        --rig rig.toml --view nofov.csv -o v.rgba | input | nofov.csv: column fov is missing; a track needs the columns t, pan, tilt and fov, and may have roll
        --rig rig.toml --view zoom.csv -o v.rgba | input | zoom.csv: unknown column "zoom"; the first line must name the columns t, pan, tilt, fov and optionally roll
        --rig rig.toml --view wide.csv -o v.rgba | input | wide.csv: the keyframe at 1.5 s: view: invalid pose (pan 0, tilt 0, roll 0, field of view 180 degrees)
        --rig rig.toml --view late.csv -o v.rgba | input | late.csv: the last keyframe is at 1000000000 s
        --rig rig.toml --view word.csv -o v.rgba | input | word.csv:2: column 2: "left" is not a number
        --rig rig.toml --view empty.csv -o v.rgba | input | empty.csv: the file has no rows
        --rig rig.toml --view left.png -o v.rgba | input | left.png: not UTF-8 text
        --rig rig.toml --view track.y4m -o track.y4m | output | track.y4m: cannot be written: it is an input too
        --rig rig.toml --view track.csv --output-format y4m -o track.csv | output | it is an input too
        --rig rig.toml --view-size 32x18 -o v.rgba | usage | require `view`
        --rig rig.toml --view-free -o v.rgba | usage | require `view`
        --rig rig.toml --view-smooth 1 -o v.rgba | usage | require `view`
        --rig rig.toml --view track.csv --view-size 0x18 -o v.rgba | usage | 1 to 32768 pixels
        --rig rig.toml --view track.csv --view-size 32 -o v.rgba | usage | --view-size
        --rig rig.toml --view track.csv --view-size 16384x16384 -o v.mp4 | usage | `view-size` is 16384x16384, but must have at most
        --rig rig.toml --view track.csv --view-smooth 61 -o v.rgba | usage | a number from 0 to 60
        --rig rig.toml --view track.csv --view-smooth=-1 -o v.rgba | usage | a number from 0 to 60
        --rig rig.toml --view track.csv --view-smooth nan -o v.rgba | usage | a number from 0 to 60
    "#);
    assert_eq!(folder.read("track.y4m"), TRACK.as_bytes());
    // With `--view-free`, the same rig is accepted.
    folder.quiet("video a.y4m a.y4m --device cpu --rig up.toml --view track.csv --view-size 8x8 --view-free -o v.rgba");
}

/// Tests a track that ends after 0.1 s in a video that ends after 1 s. From 0.1 s on, the view must stay at the last
/// keyframe.
#[test]
fn after_its_last_keyframe_a_view_stays() {
    let folder = Folder::new();
    clip(&folder);
    folder.write("track.csv", "t,pan,tilt,fov\n0,-5,0,30\n0.1,5,1,25\n");
    folder.quiet(&format!("{LINE} --view track.csv --view-smooth 0 -o v.rgba"));
    let bytes = folder.read("v.rgba");
    let frames: Vec<_> = bytes.chunks(4 * SIZE.element_product() as usize).collect();
    assert_eq!(frames.len(), 30);
    assert!(frames[3..].iter().all(|frame| *frame == frames[3]));
    assert!(frames[..4].windows(2).all(|pair| pair[0] != pair[1]));
}

/// A job may have several outputs, which are made from the same sets.
#[test]
fn a_panorama_and_views_come_from_one_job() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("25:1", [90, 110, 130]));
    folder.write("track.csv", "t,pan,tilt,fov\n0,0,0,20\n");
    let line = "video a.y4m a.y4m --rig rig.toml --device cpu -o";
    let view = "--view track.csv --view-size 32x18 --view-free";
    folder.quiet(&format!("{line} p.rgba"));
    folder.quiet(&format!("{line} v.rgba {view}"));
    let job = folder.quiet(&format!("{line} v2.rgba {view} --print-job"));
    folder.write("job.toml", job + "\n[[video.outputs]]\noutput = \"p2.rgba\"\n");
    let done = folder.words("--json run job.toml").json();
    assert_eq!(done["outputs"][0]["size"], json!([32, 18]), "{done}");
    assert_eq!(done["outputs"][1]["output"], "p2.rgba", "{done}");
    for name in ["p", "v"] {
        assert!(
            folder.read(&format!("{name}.rgba")) == folder.read(&format!("{name}2.rgba")),
            "{name}"
        );
    }
}
