//! Tests of the Y4M reader and writer.
//!
//! The expected fields and error texts of each header line are written by hand. Random frames are written, and reading
//! them must return the same frames.

use panoweave_tests::random::Random;

use super::*;

fn header(line: &str) -> Header {
    Header::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn headers_of_other_programs() {
    let ffmpeg = header(
        "YUV4MPEG2 W1920 H1080 F30000:1001 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=FULL",
    );
    assert_eq!(ffmpeg.size, UVec2::new(1920, 1080));
    assert_eq!(ffmpeg.rate.unwrap().fraction(), (30_000, 1001));
    assert_eq!(ffmpeg.range, Range::Full);
    let PixelFormat::I420(encoding) = ffmpeg.format().pixels else { panic!() };
    assert_eq!(encoding.matrix, crate::frame::YuvMatrix::Bt709);
    let bare = header("YUV4MPEG2 W2 H4");
    let expected = Header {
        size: UVec2::new(2, 4),
        rate: None,
        range: Range::Limited,
        samples: Samples::Eight,
    };
    assert_eq!(bare, expected);
    assert_eq!(header("YUV4MPEG2  H4 Cmono  W2 F0:0 It").samples, Samples::Mono);
    assert_eq!(header("YUV4MPEG2 W2 H2 C420p10 XYSCSS=420P10").samples, Samples::Ten);
    assert_eq!(header(expected.line().trim_end()), expected);
}

#[test]
fn rejects_invalid_headers() {
    for (line, part) in [
        ("", "does not begin"),
        ("YUV4MPEG W2 H2", "does not begin"),
        ("YUV4MPEG22 W2 H2", "begins with YUV4MPEG22"),
        ("YUV4MPEG2", "lacks the width or the height"),
        ("YUV4MPEG2 W2 F30:1", "lacks the width or the height"),
        ("YUV4MPEG2 W-2 H2", "width or height \"-2\""),
        ("YUV4MPEG2 W+2 H2", "width or height \"+2\""),
        ("YUV4MPEG2 W H2", "width or height \"\""),
        ("YUV4MPEG2 W4294967296 H2", "width or height \"4294967296\""),
        ("YUV4MPEG2 W2 H2 F30:0", "F30:0: a frame rate"),
        ("YUV4MPEG2 W2 H2 F99999:1", "F99999:1: a frame rate"),
        ("YUV4MPEG2 W2 H2 Fx", "Fx: a frame rate"),
        ("YUV4MPEG2 W2 H2 C422", "is C422; convert it"),
        ("YUV4MPEG2 W2 H2 C420p12", "is C420p12;"),
        ("YUV4MPEG2 W2 H2 Cmono10", "is Cmono10;"),
        ("YUV4MPEG2 W2 H2 Cmono16", "is Cmono16;"),
        ("YUV4MPEG2 W2 H2 \u{e9}", "unknown parameter"),
    ] {
        let error = Header::parse(line.as_bytes()).unwrap_err();
        assert!(error.contains(part), "{line}: {error}");
    }
    assert!(Header::parse(b"YUV4MPEG2 W2 H2 \xff").is_err());
}

#[test]
fn reads_back_what_was_written() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut side = || 1 + (random.bits() % 40) as u32;
        let size = UVec2::new(side(), side());
        let rate = Rate::new(side(), side()).ok();
        let samples = if seed % 2 == 0 { Samples::Eight } else { Samples::Ten };
        let written = Header { size, rate, range: Range::Full, samples };
        let mut frames: Vec<Vec<u8>> = (0..3)
            .map(|_| (0..written.format().bytes()).map(|_| random.bits() as u8).collect())
            .collect();
        if samples == Samples::Ten {
            // The lower six bits of P010 are 0.
            frames.iter_mut().for_each(|frame| shifted(frame, |sample| sample & 0xffc0));
        }
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &written);
        for frame in &frames {
            writer.write(&Frame::tight(written.format(), frame).unwrap()).unwrap();
        }
        let mut reader = Reader::new(Path::new("a"), file.as_slice()).unwrap();
        assert_eq!(reader.header(), &written);
        assert_eq!(reader.frames_in(file.len() as u64), 3);
        let mut found = vec![0; written.format().bytes()];
        for frame in &frames {
            assert!(reader.read_frame(&mut found).unwrap());
            assert_eq!(&found, frame, "{size}");
        }
        assert!(!reader.read_frame(&mut found).unwrap());
        if samples == Samples::Ten {
            // In the file, the first luma sample is a number of 10 bits after the header line and the line of the
            // frame.
            let at = written.line().len() + b"FRAME\n".len();
            let stored = u16::from_le_bytes([file[at], file[at + 1]]);
            assert_eq!(stored << 6, u16::from_le_bytes([frames[0][0], frames[0][1]]), "{size}");
        }
        // Reading a truncated file must not panic.
        let cut = file.len() - 1 - random.bits() as usize % (file.len() - 1);
        if let Ok(mut reader) = Reader::new(Path::new("a"), &file[..cut]) {
            while let Ok(true) = reader.read_frame(&mut found) {}
        }
    }
}

/// A sample above 1023 would lose its upper bits in P010, so that white became black.
#[test]
fn samples_above_ten_bits_are_limited() {
    let samples = [0_u16, 1023, 1024, 65535, 2000, 512].map(u16::to_le_bytes).concat();
    let file = [b"YUV4MPEG2 W2 H2 C420p10\nFRAME\n".as_slice(), &samples].concat();
    let mut reader = Reader::new(Path::new("a"), file.as_slice()).unwrap();
    let mut frame = [0; 12];
    assert!(reader.read_frame(&mut frame).unwrap());
    let found = frame.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]) >> SHIFT);
    assert_eq!(found.collect::<Vec<_>>(), [0, 1023, 1023, 1023, 1023, 512]);
}
