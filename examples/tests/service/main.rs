//! Tests the service over HTTP: panoramas must equal those of the library's `stitch_pictures`. Further tests cover
//! rejected requests, fast and slow live viewers, and shutdown.

mod client;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Duration;

use panoweave::device::Device;
use panoweave::frame::Rgba8;
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::glam::UVec2;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave::ops::stitch::{Lookup, StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{MadeUpCamera, geometry};
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

fn expected([left, right]: &[Picture; 2], geometry: &Geometry) -> Picture {
    let stream = Device::cpu().stream().unwrap();
    let warp = DeviceWarp::render(&stream, geometry).unwrap();
    let options = StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() };
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
    let cut = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
    assert_eq!(service.post_raw(cut).status, 400);
    assert_eq!(service.post_raw(b"").status, 400);
    assert_eq!(service.get("/stitch").status, 405);
    assert_eq!(service.get("/nothing").status, 404);
    let flood = vec![0; 80 << 20];
    assert_eq!(service.post(&[("left", &flood), ("right", &right)]).status, 413);
    assert_eq!(service.post(&[("left", &left), ("right", &right)]).status, 200);
}

/// Twenty unfinished requests must not delay a complete one. If unfinished requests together exceed the memory limit,
/// the service must reject some with status 503. Bytes of an unfinished header count like those of a picture. SIGTERM ends
/// the service in order.
#[test]
fn unfinished_requests_use_memory_but_no_work_slot() {
    let mut service = Service::start();
    let pair = pictures();
    let [left, right] = [png(&pair[0]), png(&pair[1])];
    let good = |service: &Service| service.post(&[("left", &left), ("right", &right)]);
    let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
    let slow: Vec<_> = (0..20).map(|_| service.begin(1 << 20, head)).collect();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(good(&service).status, 200);
    // Six unfinished requests with 50 MiB each exceed the memory limit of 256 MiB.
    let header = b"--X\r\nContent-Disposition: form-data; name=\"";
    let refused = |stream: &mut TcpStream| {
        let mut answer = String::new();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        drop(stream.read_to_string(&mut answer));
        answer.contains(" 503 ")
    };
    for start in [head.as_slice(), header] {
        let much = [start, &vec![b'a'; 50 << 20]].concat();
        let mut large: Vec<_> = (0..6).map(|_| service.begin(60 << 20, &much)).collect();
        assert!(large.iter_mut().map(refused).filter(|refused| *refused).count() > 0);
        drop(large);
        std::thread::sleep(Duration::from_millis(500));
    }
    drop(slow);
    assert_eq!(good(&service).status, 200);
    assert!(service.end("-TERM").success());
}

/// Idle connections must not keep out other clients, neither if they use up the descriptors of the process, nor if they use
/// up the connections of the service. They must not end a request that arrives meanwhile.
#[test]
fn idle_connections_make_room() {
    for (descriptors, idle) in [(128, 300), (1024, 700)] {
        let service = Service::start_limited(descriptors);
        let pair = pictures();
        let [left, right] = [png(&pair[0]), png(&pair[1])];
        let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
        let mut slow = service.begin(1 << 20, head);
        std::thread::sleep(Duration::from_millis(100));
        let idle: Vec<_> = (0..idle).map(|_| service.connect()).collect();
        assert_eq!(service.get("/health").status, 200);
        assert_eq!(service.post(&[("left", &left), ("right", &right)]).status, 200);
        slow.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let waits = slow.read(&mut [0]).unwrap_err().kind();
        assert!(matches!(waits, std::io::ErrorKind::WouldBlock), "{waits}");
        drop(idle);
    }
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
    let health = health(&service);
    assert_eq!(health["failure"], Value::Null);
    assert_eq!(health["device"], "CPU");
    assert_eq!(health["colour"]["following"], true);
    assert_eq!(health["counters"]["dropped"]["reader"], 0);
    // The right camera has less exposure, so its gain is above 1.
    assert!(health["colour"]["right"]["gain"][0].as_f64().unwrap() > 1.0, "{health}");

    assert!(service.end("-INT").success());
    let mut rest = Vec::new();
    viewers[1].read_to_end(&mut rest).unwrap();
    drop(asleep);
}
