//! Tests the limits of the service: clients that stall, and clients that send too much, must not lock out other
//! clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use panoweave::frame::Rgba8;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave_examples::service::{GRACE, MOST, MOST_PER_ADDRESS, MOST_VIEWERS, WORK_GRACE};

use crate::client::{Service, beginning, form};
use crate::{pictures, png};

// Containers are killed 10 seconds after SIGTERM.
const _: () = assert!(GRACE.as_secs() + WORK_GRACE.as_secs() < 10);

/// A request with two pictures of noise, whose panorama has about 8 MB as PNG.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, r, g, b] = state.to_le_bytes();
        Rgba8::opaque(r, g, b)
    };
    let pixels = (0..1024 * 1024).map(|_| noise()).collect();
    let picture = Picture::from_pixels(1024, 1024, pixels).unwrap();
    let jpeg = picture.encode(PictureFormat::Jpeg).unwrap();
    form(&[("left", &jpeg), ("right", &jpeg), ("homography", b"1 0 1000  0 1 0  0 0 1")])
}

/// Sends a `POST /stitch` request without waiting for the response.
fn post(service: &Service, form: &[u8]) -> TcpStream {
    service.begin(form.len(), form)
}

/// Twenty unfinished requests must not delay a complete one. If unfinished requests together exceed the memory limit,
/// the service must reject some with status 503, but not a small complete request. Bytes of an unfinished header count
/// like those of a picture. SIGTERM ends the service in order.
#[test]
fn unfinished_requests_use_memory_but_no_work_slot() {
    let mut service = Service::start_small(MOST_PER_ADDRESS, 16);
    let pair = pictures();
    let [left, right] = [png(&pair[0]), png(&pair[1])];
    let good = |service: &Service| service.post(&[("left", &left), ("right", &right)]);
    let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
    let slow: Vec<_> = (0..20).map(|_| service.begin(1 << 20, head)).collect();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(good(&service).status, 200);
    // Six unfinished requests with 3 MiB each exceed the memory limit of 16 MiB.
    let header = b"--X\r\nContent-Disposition: form-data; name=\"";
    let refused = |stream: &mut TcpStream| {
        let mut answer = String::new();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        drop(stream.read_to_string(&mut answer));
        answer.contains(" 503 ")
    };
    for start in [head.as_slice(), header] {
        let much = [start, &vec![b'a'; 3 << 20]].concat();
        let mut large: Vec<_> = (0..6).map(|_| service.begin(4 << 20, &much)).collect();
        let begin = Instant::now();
        while !large.iter_mut().any(refused) {
            assert!(begin.elapsed() < Duration::from_secs(30), "no request is refused");
        }
        // The rest of them makes room for a complete request.
        assert_eq!(good(&service).status, 200);
        drop(large);
    }
    drop(slow);
    assert_eq!(good(&service).status, 200);
    assert!(service.end("-TERM").success());
}

/// Many small requests of one client, each of which is below the average, must make room for a request of another
/// client.
#[test]
fn many_small_requests_make_room_for_another_client() {
    let service = Service::start_small(MOST_PER_ADDRESS, 16);
    let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\n";
    let small = [head.as_slice(), &vec![b'a'; 250 << 10]].concat();
    let small: Vec<_> = (0..64).map(|_| service.begin(1 << 20, &small)).collect();
    thread::sleep(Duration::from_millis(1500));
    let noise = noise();
    let mut other = service.send_from_elsewhere(&beginning(noise.len(), &noise));
    let mut start = [0; 12];
    other.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.0 200", "{} bytes", noise.len());
    drop(small);
}

/// Viewers must leave connections for other requests.
#[test]
fn viewers_leave_room() {
    let service = Service::start_limited(1024, MOST);
    let viewers: Vec<_> = (0..MOST_VIEWERS).map(|_| service.open("GET /live", b"")).collect();
    assert!(viewers.iter().all(|(status, ..)| *status == 200));
    assert_eq!(service.get("/live").status, 503);
    assert_eq!(service.get("/health").status, 200);
    drop(viewers);
    let start = Instant::now();
    while service.open("GET /live", b"").0 == 503 {
        assert!(start.elapsed() < Duration::from_secs(20), "the places stay occupied");
        thread::sleep(Duration::from_millis(100));
    }
}

/// A client that still sends a request when it is refused must get the whole response, also if it sends more than the
/// buffers of a connection hold.
#[test]
fn a_refusal_reaches_a_client_that_still_sends() {
    let service = Service::start();
    let head = b"--X\r\nContent-Disposition: form-data; name=\"middle\"\r\n\r\n";
    let mut stream = service.begin(64 << 20, head);
    thread::sleep(Duration::from_millis(200));
    stream.write_all(&vec![b'a'; 8 << 20]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 400 "), "{answer}");
    assert!(answer.ends_with("homography`\n"), "{answer}");
}

/// A request with more bytes than the memory limit can never be handled, so its status must not ask for another try.
#[test]
fn a_request_larger_than_the_memory_is_too_large() {
    let service = Service::start_small(MOST_PER_ADDRESS, 1);
    let picture = vec![b'a'; 2 << 20];
    assert_eq!(service.post(&[("left", &picture)]).status, 413);
    let small = &picture[..1 << 19];
    assert_eq!(service.post(&[("left", small)]).status, 415);
}

/// Responses that clients do not read must not use more than the memory limit: the oldest one makes room.
#[test]
fn unread_responses_make_room() {
    let service = Service::start_small(MOST_PER_ADDRESS, 24);
    let form = noise();
    let mut unread: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = post(&service, &form);
            // Wait for the beginning of the response.
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut start = [0; 12];
            stream.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.0 200");
            stream
        })
        .collect();
    let mut length = |index: usize| {
        let mut received = Vec::new();
        drop(unread[index].read_to_end(&mut received));
        received.len()
    };
    let (last, first) = (length(3), length(0));
    assert!(last > 6 << 20, "{last}");
    assert!(first < last, "{first} of {last}");
}

/// Complete requests wait for a work slot. Requests whose clients have gone leave the queue.
#[test]
fn complete_requests_wait_for_a_slot() {
    let service = Service::start();
    let form = noise();
    let start = Instant::now();
    let waiting: Vec<_> = (0..10).map(|_| post(&service, &form)).collect();
    for mut stream in waiting {
        let mut start = [0; 12];
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.0 200");
    }
    let time_of_ten = start.elapsed();
    let gone: Vec<_> = (0..30).map(|_| post(&service, &form)).collect();
    thread::sleep(Duration::from_millis(300));
    drop(gone);
    let start = Instant::now();
    let [left, right] = pictures().map(|picture| png(&picture));
    let answer = service.post(&[("left", &left), ("right", &right)]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    // At most 4 requests were in a work slot.
    assert!(start.elapsed() < time_of_ten * 2, "{:?} {time_of_ten:?}", start.elapsed());
}

/// Connections without a complete request head must not keep out other clients, neither if they use up the descriptors
/// of the process, nor if they use up the connections of the service or of their address. They must not end a request
/// that arrives meanwhile, and they must not end a live stream.
#[test]
fn idle_connections_make_room() {
    let cases = [(128, MOST, 300), (1024, MOST, 700), (1024, MOST_PER_ADDRESS, 300)];
    for (descriptors, per_address, idle) in cases {
        let service = Service::start_limited(descriptors, per_address);
        let pair = pictures();
        let [left, right] = [png(&pair[0]), png(&pair[1])];
        let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
        let mut slow = service.begin(1 << 20, head);
        let (status, _, mut viewer) = service.open("GET /live", b"");
        assert_eq!(status, 200);
        thread::sleep(Duration::from_millis(500));
        let idle: Vec<_> = (0..idle).map(|_| service.send(b"G")).collect();
        assert_eq!(service.get("/health").status, 200);
        assert_eq!(service.post(&[("left", &left), ("right", &right)]).status, 200);
        slow.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let waits = slow.read(&mut [0]).unwrap_err().kind();
        assert!(matches!(waits, std::io::ErrorKind::WouldBlock), "{waits}");
        // After a second, the viewer has read what its connection held, so more bytes come from a stream that goes on.
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            assert!(viewer.read(&mut [0; 1 << 16]).unwrap() > 0);
        }
        viewer.read_exact(&mut vec![0; 1 << 16]).unwrap();
        drop(idle);
    }
}

/// One client address has a limited number of connections with requests. Its idle connections make room for its new
/// ones.
#[test]
fn one_address_cannot_use_all_connections() {
    let service = Service::start_small(8, 256);
    let idle: Vec<_> = (0..8).map(|_| service.connect()).collect();
    let head = b"--X\r\nContent-Disposition: form-data; name=\"left\"\r\n\r\nabc";
    let mut open: Vec<_> = (0..12)
        .map(|_| {
            let stream = service.begin(1 << 20, head);
            // Wait until the request of the connection has begun.
            thread::sleep(Duration::from_millis(50));
            stream
        })
        .collect();
    let is_closed = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        match stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    };
    let closed = open.iter_mut().map(is_closed).filter(|closed| *closed).count();
    assert!((4..12).contains(&closed), "{closed}");
    let answer = service.get_from_elsewhere("/health");
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    drop(idle);
}

/// A connection that does not complete the head of a request must end, even if nobody needs its place.
#[test]
fn an_unfinished_head_times_out() {
    let service = Service::start();
    for start in ["", "GET /health HTTP/1.1\r\nHost: a\r\nA: "] {
        let mut stream = service.send(start.as_bytes());
        let end = stream.read(&mut [0]).map_err(|error| error.kind());
        assert!(matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{end:?}");
    }
}
