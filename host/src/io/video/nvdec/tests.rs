//! Tests of a session with a decoder in C that has the interface of NVDEC.

use std::ffi::c_int;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use libloading::Library;
use panoweave_tests::skip::{Need, skip};

use super::library::{Codec, Functions};
use super::session::{DecodeSession, NvdecError};
use crate::device::Device;
use crate::frame::{FrameFormat, YuvEncoding};
use crate::lock::lock;

/// The library of the fake decoder, which one test at a time uses.
struct Fake {
    functions: &'static Functions,
    library: Library,
    _only: MutexGuard<'static, ()>,
}

impl Fake {
    /// Compiles and loads the fake decoder. Returns `None` and reports a skip if there is no C compiler.
    fn new() -> Option<Self> {
        static ONLY: Mutex<()> = Mutex::new(());
        let only = lock(&ONLY);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libfake_nvdec.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/io/video/nvdec/fake.c");
        let mut cc = Command::new("cc");
        match cc.args(["-shared", "-fPIC", "-O1"]).arg(&source).arg("-o").arg(&file).status() {
            Ok(status) => assert!(status.success(), "cc could not build {}", source.display()),
            Err(error) => {
                skip(Need::Cc, error);
                return None;
            }
        }
        let functions = Box::leak(Box::new(Functions::open(file.as_os_str()).unwrap()));
        // SAFETY: the library has no initialisers.
        let library = unsafe { Library::new(&file) }.unwrap();
        Some(Self { functions, library, _only: only })
    }

    /// Makes the `n`-th call from now on fail, or none if `n` is 0.
    fn fail(&self, n: c_int) {
        // SAFETY: the type is that of the C function.
        unsafe { self.library.get::<unsafe extern "C" fn(c_int)>("fake_fail").unwrap()(n) }
    }

    /// Returns the number of parsers, decoders and mapped pictures that exist.
    fn objects(&self) -> c_int {
        // SAFETY: the type is that of the C function.
        unsafe { self.library.get::<unsafe extern "C" fn() -> c_int>("fake_objects").unwrap()() }
    }

    fn session(&self, format: FrameFormat) -> Result<DecodeSession, NvdecError> {
        DecodeSession::new(self.functions, &Device::cpu(), Codec::H264, format)
    }
}

/// Decodes packets with their timestamps. Returns the timestamp of each frame, its first luma and chroma bytes, and
/// whether all bytes of both planes equal these.
fn decode(
    session: &mut DecodeSession,
    packets: &[(i64, &[u8])],
) -> Result<Vec<(i64, [u8; 2])>, NvdecError> {
    let mut frames = Vec::new();
    let stream = Device::cpu().stream()?;
    let mut take = |session: &mut DecodeSession| {
        while let Some((frame, timestamp)) = session.frame() {
            let format = frame.format();
            let mut bytes = vec![0; format.bytes()];
            frame.download(&stream, &mut bytes)?;
            let luma = format.planes().next().map_or(0, |plane| plane.bytes());
            let (luma, chroma) = bytes.split_at(luma);
            assert!(luma.iter().all(|byte| *byte == luma[0]), "{timestamp}");
            assert!(chroma.iter().all(|byte| *byte == chroma[0]), "{timestamp}");
            frames.push((timestamp, [luma[0], chroma[0]]));
        }
        Ok::<_, NvdecError>(())
    };
    for (timestamp, bytes) in packets {
        session.decode(bytes, *timestamp)?;
        take(session)?;
    }
    session.finish()?;
    take(session)?;
    Ok(frames)
}

fn nv12(width: u32, height: u32) -> FrameFormat {
    FrameFormat::nv12(width, height, YuvEncoding::default())
}

#[test]
fn frames_are_in_display_order_with_their_timestamps() {
    let Some(fake) = Fake::new() else { return };
    fake.fail(0);
    let p010 = FrameFormat::p010(48, 32, YuvEncoding::default());
    for (format, bits) in [(nv12(48, 32), 8), (p010, 10)] {
        let mut session = fake.session(format).unwrap();
        let packets: [(i64, &[u8]); 6] = [
            (0, &[b'S', bits, 3, 2, 4]),
            (0, b"P\x10"),
            (30, b"P\x40"),
            (10, b"D\x20"),
            (20, b"P\x30"),
            (40, b"P\x50"),
        ];
        let frames = decode(&mut session, &packets).unwrap();
        let expected = [0x10, 0x20, 0x30, 0x40, 0x50].map(|value| [value, value + 1]);
        let expected: Vec<_> = [0, 10, 20, 30, 40].into_iter().zip(expected).collect();
        assert_eq!(frames, expected, "{format}");
        assert_eq!(session.damaged(), 1);
        assert_eq!(fake.objects(), 2);
        drop(session);
        assert_eq!(fake.objects(), 0);
    }
}

#[test]
fn a_sequence_of_another_size_is_scaled_and_another_depth_is_an_error() {
    let Some(fake) = Fake::new() else { return };
    fake.fail(0);
    let mut session = fake.session(nv12(48, 32)).unwrap();
    let packets: [(i64, &[u8]); 5] = [
        (0, b"S\x08\x03\x02\x04"),
        (0, b"P\x10"),
        (10, b"S\x08\x09\x07\x04"),
        (10, b"P\x20"),
        (20, b"P\x30"),
    ];
    let frames = decode(&mut session, &packets).unwrap();
    assert_eq!(frames.iter().map(|frame| frame.1[0]).collect::<Vec<_>>(), [0x10, 0x20, 0x30]);
    let error = session.decode(b"S\x0a\x03\x02\x04", 30).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stream changes to 4:2:0 with 10 bits per sample, which is not supported"
    );
    drop(session);
    assert_eq!(fake.objects(), 0);
}

#[test]
fn pictures_that_await_their_display_come_from_the_decoder_that_decoded_them() {
    let Some(fake) = Fake::new() else { return };
    fake.fail(0);
    // The second sequence needs more surfaces, so it gets another decoder, and begins before two pictures are shown.
    for (surfaces, decoders) in [(4, 1), (7, 2)] {
        let mut session = fake.session(nv12(48, 32)).unwrap();
        session.decode(b"S\x08\x03\x02\x04", 0).unwrap();
        session.decode(b"P\x10", 0).unwrap();
        session.decode(b"P\x20", 10).unwrap();
        session.decode(&[b'S', 8, 3, 2, surfaces], 20).unwrap();
        session.decode(b"P\x30", 20).unwrap();
        assert_eq!(fake.objects(), 1 + decoders, "{surfaces}");
        let frames = decode(&mut session, &[(30, b"P\x40")]).unwrap();
        let values: Vec<_> = frames.iter().map(|frame| frame.1[0]).collect();
        assert_eq!(values, [0x10, 0x20, 0x30, 0x40]);
        assert_eq!(fake.objects(), 2, "the old decoder is freed after its last picture");
    }
    assert_eq!(fake.objects(), 0);
}

#[test]
fn pictures_of_a_damaged_sequence_are_skipped() {
    let Some(fake) = Fake::new() else { return };
    fake.fail(0);
    let mut session = fake.session(nv12(48, 32)).unwrap();
    let packets: [(i64, &[u8]); 8] = [
        (0, b"S\x08\x03\x02\x04"),
        (0, b"P\x10"),
        (10, b"S\xf0\x03\x02\x04"),
        (10, b"P\x20"),
        (15, b"S\xf1\x03\x02\x04"),
        (15, b"P\x28"),
        (20, b"S\x08\x03\x02\x04"),
        (20, b"P\x30"),
    ];
    let frames = decode(&mut session, &packets).unwrap();
    assert_eq!(frames.iter().map(|frame| frame.1[0]).collect::<Vec<_>>(), [0x10, 0x30]);
    assert_eq!(session.damaged(), 2);
    drop(session);
    assert_eq!(fake.objects(), 0);
}

#[test]
fn a_failure_of_any_call_is_an_error_that_names_it_and_frees_everything() {
    let Some(fake) = Fake::new() else { return };
    let packets: [(i64, &[u8]); 5] =
        [(0, b"S\x08\x03\x02\x04"), (0, b"P\x10"), (10, b"P\x20"), (20, b"P\x30"), (30, b"P\x40")];
    let mut failed = Vec::new();
    for n in 1.. {
        fake.fail(n);
        let run = fake.session(nv12(48, 32)).and_then(|mut session| {
            let first = decode(&mut session, &packets);
            // After an error, the session can still be completed or dropped.
            let _ = session.finish();
            first
        });
        assert_eq!(fake.objects(), 0, "call {n}");
        match run {
            Ok(frames) => {
                assert_eq!(frames.len(), 4);
                break;
            }
            Err(NvdecError::Call { function, .. }) => failed.push(function),
            Err(error) => panic!("call {n}: {error}"),
        }
    }
    for function in [
        "cuvidCreateVideoParser",
        "cuvidParseVideoData",
        "cuvidCreateDecoder",
        "cuvidDecodePicture",
        "cuvidMapVideoFrame64",
        "cuvidUnmapVideoFrame64",
    ] {
        assert!(failed.contains(&function), "{function}: {failed:?}");
    }
}
