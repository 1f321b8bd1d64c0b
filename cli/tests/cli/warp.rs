//! Tests `panoweave warp`, which makes warp files from rigs, homographies and planes, and `panoweave warp inspect`.

use panoweave::warp::Warp;
use serde_json::{Value, json};

use crate::Folder;

#[test]
fn a_rig_on_its_own_canvas_and_on_another() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o whole.safetensors");
    folder.quiet("warp --device cpu --rig rig.toml --size 32x16 -o half.safetensors");
    let whole = Warp::open(folder.path("whole.safetensors")).unwrap();
    let half = Warp::open(folder.path("half.safetensors")).unwrap();
    assert_eq!(half.size() * 2, whole.size());
    let (whole, half) = (whole.stats(), half.stats());
    // Both warps show the same area at different scales, so each camera must cover the same fraction of both.
    for (a, b) in whole.cameras.iter().zip(&half.cameras) {
        assert!((a.coverage - b.coverage).abs() < 0.05, "{whole:?} {half:?}");
    }
}

#[test]
fn a_homography_takes_sizes_or_pictures() {
    let folder = Folder::new();
    let line = "warp --device cpu --homography shift.txt";
    folder.quiet(&format!("{line} --left-size 40x30 --right-size 40X30 -o sizes.safetensors"));
    folder.quiet(&format!("{line} --left left.png --right right.png -o pictures.safetensors"));
    folder.quiet(&format!("{line} --left left.png --right-size 40×30 -o mixed.safetensors"));
    let sizes = folder.read("sizes.safetensors");
    assert_eq!(folder.read("pictures.safetensors"), sizes);
    assert_eq!(folder.read("mixed.safetensors"), sizes);
}

#[test]
fn raw_planes_are_imported_unchanged() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    folder.export_planes("rig.safetensors");
    let line = "warp --import planes --size 64x32 --left-size 40x30 --right right.png";
    let json = folder.quiet_json(&format!("{line} -o imported.safetensors --json"));
    assert_eq!(json["output"], "imported.safetensors");
    assert_eq!(json["warp"]["projection"], "unknown");
    assert_eq!(json["warp"]["rig"], json!(null));
    let made = Warp::open(folder.path("rig.safetensors")).unwrap();
    let imported = Warp::open(folder.path("imported.safetensors")).unwrap();
    assert_eq!(imported.planes(), made.planes());
}

#[test]
fn inspect_says_what_there_is() {
    let folder = Folder::new();
    let line = "warp --device cpu --homography shift.txt --left left.png --right right.png";
    folder.quiet(&format!("{line} -o shift.safetensors"));
    let text = folder.quiet("warp inspect shift.safetensors --preview look.png");
    insta::assert_snapshot!(text, @r"
    shift.safetensors
    panorama  65×32 pixels, planar
    checksum  valid
    camera 1  40×30 pixels, fills 57.7 % from columns 0.00 to 39.00 and rows 0.00 to 29.00
    camera 2  40×30 pixels, fills 57.7 % from columns 0.00 to 39.00 and rows 0.00 to 29.00
    filled    95.2 %
    overlap   20.2 % within 15×28 pixels at column 25, row 2
    made from
      1.0 0.0 25.0
      0.0 1.0 2.0
      0.0 0.0 1.0
    ");
    let look = folder.picture("look.png");
    assert_eq!((look.width(), look.height()), (65, 32));
}

#[test]
fn inspect_as_json() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    let json = folder.quiet_json("--json warp inspect rig.safetensors");
    assert_eq!(json["checksum"], "valid");
    assert_eq!(json["preview"], json!(null));
    let warp = &json["warp"];
    assert_eq!(warp["projection"], "cylindrical");
    assert!(warp["rig"].as_str().unwrap().contains("[[camera]]"));
    assert_eq!(warp["stats"]["size"], json!([64, 32]));
    assert_eq!(warp["stats"]["cameras"][1]["size"], json!([40, 30]));
    assert!(warp["stats"]["overlap_box"]["width"].as_u64().unwrap() > 0);
    let most = warp["stats"]["cameras"][0]["most"][0].as_f64().unwrap();
    assert!((38.0..40.0).contains(&most), "{json}");
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    let mut bytes = folder.read("rig.safetensors");
    let last = bytes.len() - 1;
    bytes[last] ^= 0x01;
    folder.write("rig.safetensors", bytes);
    let done = folder.words("warp inspect rig.safetensors --json");
    assert_eq!(done.code, Some(2));
    let json = done.json();
    assert_eq!(json["error"]["kind"], "input");
    assert!(json["error"]["message"].as_str().unwrap().contains("checksum"), "{json}");
}

/// A rig of four cameras of different sizes on a canvas of 96×24 pixels. Neighbours overlap.
fn four_cameras() -> String {
    let mut rig =
        "[panorama]\nprojection = \"cylindrical\"\nwidth = 96\nheight = 24\nfov = 190.0\n"
            .to_owned();
    for (i, width) in [40, 44, 48, 52].into_iter().enumerate() {
        let (yaw, centre) = (-67.5 + 45.0 * i as f64, f64::from(width - 1) / 2.0);
        rig += &format!(
            "[[camera]]\nname = \"{i}\"\nsize = [{width}, 30]\nlens = \"pinhole\"\n\
             matrix = {{ fx = 30.0, fy = 30.0, cx = {centre:.1}, cy = 14.5 }}\nyaw = {yaw:.1}\n"
        );
    }
    rig
}

#[test]
fn a_warp_file_of_four_cameras() {
    let folder = Folder::new();
    folder.write("four.toml", four_cameras());
    folder.quiet("warp --device cpu --rig four.toml -o four.safetensors");
    let warp = Warp::open(folder.path("four.safetensors")).unwrap();
    let sizes: Vec<u32> = warp.sources().iter().map(|size| size.x).collect();
    assert_eq!((sizes, warp.planes().len()), (vec![40, 44, 48, 52], 12));
    // Writing the warp again must give the same bytes.
    warp.save(folder.path("again.safetensors")).unwrap();
    assert_eq!(folder.read("again.safetensors"), folder.read("four.safetensors"));

    // The planes must have the same areas as the geometry, apart from half a pixel along each border.
    let json = folder.words("--json warp inspect four.safetensors --preview look.png").json();
    let areas = folder.words("--json rig four.toml").json();
    let stats = &json["warp"]["stats"];
    for (camera, width) in [40, 44, 48, 52].into_iter().enumerate() {
        assert_eq!(stats["cameras"][camera]["size"], json!([width, 30]));
        let found = stats["cameras"][camera]["coverage"].as_f64().unwrap();
        let exact = areas["cameras"][camera]["canvas"].as_f64().unwrap();
        assert!((found - exact).abs() < 0.03, "{camera}: {found} {exact}");
    }
    let text = folder.quiet("warp inspect four.safetensors");
    assert!(text.contains("\ncamera 1 ") && text.contains("\ncamera 4 "), "{text}");
    assert_eq!(folder.picture("look.png").size(), (96, 24).into());
}

#[test]
fn a_damaged_file_of_four_cameras_is_refused() {
    let folder = Folder::new();
    folder.write("four.toml", four_cameras());
    folder.quiet("warp --device cpu --rig four.toml -o four.safetensors");
    let bytes = folder.read("four.safetensors");
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    assert_eq!(header["__metadata__"]["version"], "1");
    assert_eq!(header["__metadata__"]["sources"], "40x30 44x30 48x30 52x30");
    let refused = |header: &Value, tensors: &[u8], words: &str| {
        let json = serde_json::to_vec(header).unwrap();
        let file = [&(json.len() as u64).to_le_bytes()[..], &json, tensors].concat();
        folder.write("bad.safetensors", file);
        let error = Warp::open(folder.path("bad.safetensors")).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    };
    let tensors = &bytes[8 + length..];
    let with = |key: &str, value: &str| {
        let mut header = header.clone();
        header["__metadata__"][key] = value.into();
        header
    };
    let many = ["40x30"; 17].join(" ");
    for sources in ["", "40x30 44x30 48x30  52x30", "40x030 44x30 48x30", &many] {
        refused(&with("sources", sources), tensors, "metadata sources");
    }
    // The number of sizes must match the number of planes, and the checksum covers each size.
    refused(&with("sources", "40x30 44x30"), tensors, "unexpected tensor");
    refused(&with("sources", "40x30 44x30 48x30"), tensors, "unexpected tensor");
    refused(&with("sources", "40x30 44x30 48x30 52x30 40x30"), tensors, "is missing");
    refused(&with("sources", "40x30 44x30 48x30 53x30"), tensors, "checksum");
    refused(&with("version", "2"), tensors, "version");
    refused(&header, &tensors[..tensors.len() - 4], "bytes");
    let mut renamed = header.clone();
    let plane = renamed.as_object_mut().unwrap().remove("lut_3_x").unwrap();
    renamed["lut_5_x"] = plane;
    refused(&renamed, tensors, "lut_5_x");
    let mut flipped = tensors.to_vec();
    flipped[tensors.len() / 2] ^= 1;
    refused(&header, &flipped, "checksum");
}
