//! Tests the service over HTTP: panoramas must equal those of the library's `stitch_pictures`. Further tests cover
//! rejected requests, fast and slow live viewers, shutdown, and the limits of the service.

mod client;
mod limits;

use std::io::{BufRead, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::Duration;

use panoweave::device::Device;
use panoweave::frame::Rgba8;
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::Rig;
use panoweave::glam::UVec2;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave::ops::stitch::{Lookup, StitchOptions, Vignettes, stitch_pictures};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{MadeUpCamera, RIG, geometry};
use serde_json::Value;

use client::Service;

const SHIFT: &str = "1 0 30  0 1 2  0 0 1";

fn png(picture: &Picture) -> Vec<u8> {
    picture.encode(PictureFormat::Png).unwrap()
}

/// Returns the first picture of the left and the right simulated camera.
fn pictures() -> [Picture; 2] {
    MadeUpCamera::pair().unwrap().map(|camera| camera.picture(Duration::ZERO))
}

fn expected(pair: &[Picture; 2], geometry: &Geometry) -> Picture {
    expected_with(pair, geometry, Vignettes::NONE)
}

fn expected_with(
    [left, right]: &[Picture; 2],
    geometry: &Geometry,
    vignettes: Vignettes,
) -> Picture {
    let stream = Device::cpu().stream().unwrap();
    let warp = DeviceWarp::render(&stream, geometry).unwrap();
    let options = StitchOptions { lookup: Lookup::Planes, vignettes, ..StitchOptions::default() };
    stitch_pictures(&stream, &[left, right], &warp, &options).unwrap()
}

#[test]
fn two_pictures_become_the_panorama_that_the_library_makes() {
    let service = Service::start();
    let pair = pictures();
    let [left, right] = [png(&pair[0]), png(&pair[1])];
    let answer = service.post(&[("left", &left), ("right", &right)]);
    assert_eq!((answer.status, &*answer.kind), (200, "image/png"), "{}", answer.text());
    let panorama = Picture::decode(&answer.body, "answer").unwrap();
    assert!(panorama == expected(&pair, &geometry().unwrap()));

    // A homography in the request replaces the service's geometry. The picture sizes, the formats and the order of the
    // parts differ from the first request, too.
    let right = Picture::filled(40, 50, Rgba8::opaque(200, 120, 40));
    let jpeg = right.encode(PictureFormat::Jpeg).unwrap();
    let pair = [Picture::filled(60, 50, Rgba8::BLACK), Picture::decode(&jpeg, "right").unwrap()];
    let left = png(&pair[0]);
    let parts = [("homography", SHIFT.as_bytes()), ("right", &jpeg), ("left", &left)];
    let answer = service.post(&parts);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shift = Homography::parse(SHIFT, "shift").unwrap();
    let geometry = shift.geometry(UVec2::new(60, 50), UVec2::new(40, 50)).unwrap();
    assert!(Picture::decode(&answer.body, "answer").unwrap() == expected(&pair, &geometry));
}

#[test]
fn the_vignetting_of_the_rig_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rig.toml");
    let lens = "lens = \"pinhole\"";
    let text = RIG.replace(lens, &format!("{lens}\nvignetting = [-0.6, 0.0, 0.0]"));
    std::fs::write(&file, &text).unwrap();
    let service = Service::start_rig(file.to_str().unwrap());
    let pair = pictures();
    let [left, right] = [png(&pair[0]), png(&pair[1])];
    let answer = service.post(&[("left", &left), ("right", &right)]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let rig = Rig::parse(&text, "a rig").unwrap();
    let vignettes = Vignettes::of_rig(&rig);
    let found = Picture::decode(&answer.body, "answer").unwrap();
    let geometry = rig.geometry().unwrap();
    assert!(found == expected_with(&pair, &geometry, vignettes));
    assert!(found != expected(&pair, &geometry));
}

/// The hidden colour of transparent pixels must not appear in the panorama.
#[test]
fn transparent_pixels_are_left_out() {
    let service = Service::start();
    let (green, blue) = (Rgba8::opaque(0, 255, 0), Rgba8::opaque(0, 0, 255));
    let mut left = Picture::filled(60, 50, green);
    let hidden = Rgba8 { a: 0, ..green };
    for (i, pixel) in left.pixels_mut().iter_mut().enumerate() {
        if i % 60 >= 30 {
            *pixel = hidden;
        }
    }
    let (left, right) = (png(&left), png(&Picture::filled(60, 50, blue)));
    let shift = b"1 0 30  0 1 0  0 0 1";
    let answer = service.post(&[("left", &left), ("right", &right), ("homography", shift)]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let panorama = Picture::decode(&answer.body, "answer").unwrap();
    assert_eq!((panorama.width(), panorama.height()), (90, 50));
    let row = &panorama.pixels()[25 * 90..26 * 90];
    // A filter may read the neighbours of a pixel, so the pixels at the edge of the mask may stay black.
    assert!(row[..28].iter().all(|pixel| *pixel == green), "{row:?}");
    assert!(row[32..].iter().all(|pixel| *pixel == blue), "{row:?}");
}

#[test]
fn hostile_requests_are_refused_and_the_service_goes_on() {
    let service = Service::start();
    let pair = pictures();
    let [left, right] = [png(&pair[0]), png(&pair[1])];
    let small = png(&Picture::filled(8, 8, Rgba8::BLACK));
    // The header of this PNG states 65,535 pixels per side.
    let mut huge = small.clone();
    huge[16..24].copy_from_slice(&[0, 0, 255, 255, 0, 0, 255, 255]);
    let crc = crc32(&huge[12..29]);
    huge[29..33].copy_from_slice(&crc.to_be_bytes());
    let far = b"1 0 6000  0 1 6000  0 0 1";
    type Parts<'a> = &'a [(&'a str, &'a [u8])];
    let wanted: [(u16, &str, Parts<'_>); 12] = [
        (422, "left: truncated", &[("left", &left[..left.len() / 2]), ("right", &right)]),
        (413, "right: the picture is 65535×65535", &[("left", &left), ("right", &huge)]),
        (415, "right: not a picture", &[("left", &left), ("right", b"hello")]),
        (
            415,
            "right: the format GIF is not supported",
            &[("left", &left), ("right", b"GIF89a\x01\0\x01\0\0\0\0;")],
        ),
        (415, "left: not a picture", &[("left", b""), ("right", &right)]),
        (400, "`right` is missing", &[("left", &left)]),
        (400, "`left` is missing", &[]),
        (400, "unknown part `third`", &[("left", &left), ("right", &right), ("third", &left)]),
        (400, "`left` occurs twice", &[("left", &left), ("right", &right), ("left", &left)]),
        (422, "the right picture is 8×8", &[("left", &left), ("right", &small)]),
        (422, "homography", &[("left", &left), ("right", &right), ("homography", b"1 2 x")]),
        (413, "at most", &[("left", &left), ("right", &right), ("homography", far)]),
    ];
    for (status, reason, parts) in wanted {
        let answer = service.post(parts);
        assert_eq!(answer.status, status, "{reason}: {}", answer.text());
        assert!(answer.text().contains(reason), "{reason}: {}", answer.text());
    }
    // An error message contains only the start of a name.
    let name = "n".repeat(1 << 20);
    for parts in [&[(&*name, b"".as_slice())][..], &[("left", &left), (&name, b"")]] {
        let answer = service.post(parts);
        assert!(answer.status == 400 && answer.body.len() < 200, "{} bytes", answer.body.len());
    }
    let cut = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
    assert_eq!(service.post_raw(cut).status, 400);
    assert_eq!(service.post_raw(b"").status, 400);
    // The connection ends before the form, or a chunk has no valid length.
    let mut early = service.begin(1 << 20, cut);
    early.shutdown(Shutdown::Write).unwrap();
    let kind = "Content-Type: multipart/form-data; boundary=X";
    let head = format!("POST /stitch HTTP/1.1\r\nHost: a\r\n{kind}\r\nTransfer-Encoding: chunked");
    let mut chunk = service.send(format!("{head}\r\n\r\nzz\r\n").as_bytes());
    for stream in [&mut early, &mut chunk] {
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        assert!(answer[8..].starts_with(" 400 "), "{answer}");
    }
    assert_eq!(service.get("/stitch").status, 405);
    assert_eq!(service.get("/nothing").status, 404);
    let flood = vec![0; 80 << 20];
    assert_eq!(service.post(&[("left", &flood), ("right", &right)]).status, 413);
    assert_eq!(service.post(&[("left", &left), ("right", &right)]).status, 200);
}

/// Returns the checksum of a PNG chunk.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}

/// Reads the next part of a live stream and decodes its picture.
fn part(reader: &mut BufReader<TcpStream>) -> Picture {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    assert_eq!(line(), "--frame");
    assert_eq!(line(), "Content-Type: image/jpeg");
    let length = line().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
    assert_eq!(line(), "");
    let mut jpeg = vec![0; length];
    reader.read_exact(&mut jpeg).unwrap();
    let mut end = [0; 2];
    reader.read_exact(&mut end).unwrap();
    assert_eq!(&end, b"\r\n");
    Picture::decode(&jpeg, "a part").unwrap()
}

fn health(service: &Service) -> Value {
    let answer = service.get("/health");
    assert_eq!((answer.status, &*answer.kind), (200, "application/json"));
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn live_viewers_share_a_stitcher_that_waits_for_none_and_ends_on_ctrl_c() {
    let mut service = Service::start();
    let watch = || {
        let (status, kind, reader) = service.open("GET /live", b"");
        assert_eq!((status, &*kind), (200, "multipart/x-mixed-replace; boundary=frame"));
        reader
    };
    // This viewer never reads, so the service must drop pictures for it.
    let asleep = watch();
    let mut viewers = [watch(), watch()];
    for _ in 0..6 {
        for viewer in &mut viewers {
            let picture = part(viewer);
            assert_eq!((picture.width(), picture.height()), (720, 240));
        }
    }
    // Run until 60 more panoramas fill the buffers of the connection that the viewer `asleep` does not read.
    let panoramas = |health: &Value| health["counters"]["panoramas"].as_u64().unwrap();
    let before = panoramas(&health(&service));
    while panoramas(&health(&service)) < before + 60 {
        std::thread::sleep(Duration::from_millis(50));
        part(&mut viewers[0]);
    }
    // A new viewer sees no panorama that an earlier viewer has seen.
    let [mut first, second] = viewers;
    drop((asleep, second));
    first.get_ref().shutdown(Shutdown::Write).unwrap();
    let mut seen = Vec::new();
    first.read_to_end(&mut seen).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let mut later = watch();
    let mut fresh = vec![0; 20_000];
    later.read_exact(&mut fresh).unwrap();
    assert!(!seen.windows(fresh.len()).any(|window| window == fresh), "an old panorama");

    let health = health(&service);
    assert_eq!(health["failure"], Value::Null);
    assert_eq!(health["device"], "CPU");
    assert_eq!(health["colour"]["following"], true);
    assert_eq!(health["counters"]["dropped"]["reader"], 0);
    // The right camera has less exposure, so its gain is above 1.
    assert!(health["colour"]["right"]["gain"][0].as_f64().unwrap() > 1.0, "{health}");

    assert!(service.end("-INT").success());
    let mut rest = Vec::new();
    later.read_to_end(&mut rest).unwrap();
}

#[test]
fn wrong_arguments_are_refused() {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_service")).args(arguments).output().unwrap()
    };
    for arguments in [&["localhost:0", "", "gpu"][..], &["localhost:0", "", "cpu", "0"], &["a"; 6]]
    {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{output:?}");
    }
    assert!(run(&["--help"]).status.success());
}
