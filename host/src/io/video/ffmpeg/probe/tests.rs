//! Tests of the properties that are read from ffprobe's output.

use panoweave_tests::skip::{Need, skip};

use super::super::FFMPEG;
use super::*;
use crate::frame::{Range, YuvMatrix};

fn probe(stream: &str) -> Probe {
    let pixels = if stream.contains("pix_fmt") { "" } else { r#""pix_fmt": "yuv420p", "# };
    let text = format!(
        r#"{{"streams": [
            {{"index": 0, "codec_type": "video", "width": 9, "height": 9,
              "disposition": {{"attached_pic": 1}}}},
            {{"index": 1, "codec_type": "audio", "codec_name": "aac", "channels": 2}},
            {{"index": 2, "codec_type": "video", "width": 1920, "height": 1080,
              {pixels}"start_time": "1.5", {stream}}}],
          "format": {{"start_time": "1.0", "duration": "9.0"}}}}"#
    );
    serde_json::from_str::<Answer>(&text)
        .unwrap()
        .probe(Path::new("a"), &VideoLimits::default())
        .unwrap()
}

#[test]
fn reads_the_video_stream_and_skips_the_cover() {
    let probe = probe(r#""r_frame_rate": "30/1", "avg_frame_rate": "30/1", "duration": "N/A""#);
    assert_eq!((probe.index, probe.size), (2, UVec2::new(1920, 1080)));
    assert_eq!(probe.sound.unwrap().video, 2);
    assert_eq!(probe.duration, Some(Duration::from_secs(9)));
}

#[test]
fn sizes_include_the_rotation() {
    for (rotation, size) in [(90, [1080, 1920]), (-90, [1080, 1920]), (180, [1920, 1080])] {
        let probe = probe(&format!(r#""side_data_list": [{{}}, {{"rotation": {rotation}}}]"#));
        assert_eq!(probe.size.to_array(), size, "{rotation}");
    }
}

/// ffmpeg turns the frames only near multiples of 90°. At other angles, it rotates them within their size.
#[test]
fn oblique_rotations_keep_the_size() {
    for (rotation, size) in [
        ("45", [1920, 1080]),
        ("-60", [1920, 1080]),
        ("-90.5", [1080, 1920]),
        ("271.5", [1920, 1080]),
    ] {
        let probe = probe(&format!(r#""side_data_list": [{{"rotation": {rotation}}}]"#));
        assert_eq!(probe.size.to_array(), size, "{rotation}");
    }
}

#[test]
fn varying_rates_become_their_average() {
    for (nominal, average, rate) in [
        ("30000/1001", "30000/1001", "30000/1001"),
        ("30/1", "2990/100", "30"),
        ("90000/1", "1797/60", "30000/1001"),
        ("120/1", "4113/150", "1371/50"),
        ("25/1", "0/0", "25"),
    ] {
        let probe =
            probe(&format!(r#""r_frame_rate": "{nominal}", "avg_frame_rate": "{average}""#));
        assert_eq!(probe.rate.unwrap().to_string(), rate, "{nominal} {average}");
    }
}

/// Returns the rate of a video whose first frames have these times in seconds, and whether it varies.
fn rate_at(stream: &str, times: impl Iterator<Item = f64>) -> (String, bool) {
    let packet = |time| format!(r#"{{"stream_index": 0, "pts_time": "{time:.3}"}}"#);
    let packets: Vec<_> = times.map(packet).collect();
    let text = format!(
        r#"{{"streams": [{{"index": 0, "codec_type": "video", "width": 9, "height": 9, {stream}}}],
            "packets": [{}]}}"#,
        packets.join(",")
    );
    let answer = serde_json::from_str::<Answer>(&text).unwrap();
    let probe = answer.probe(Path::new("x.mkv"), &VideoLimits::default()).unwrap();
    (probe.rate.unwrap().to_string(), probe.varies)
}

/// A camera with a constant rate may lose frames or pause. Its average rate is then lower, but the times of most frames
/// tell the rate.
#[test]
fn lost_frames_do_not_change_the_rate() {
    // The average rate is 18, and the third of each four frames of the start is missing.
    let rate = |nominal: &str, shake: f64| {
        let shown = (0..60).filter(|i| i % 4 != 2);
        let time = |i: u32| f64::from(i) / 30.0 + shake * f64::from(i * 7 % 5);
        let stream = format!(r#""r_frame_rate": "{nominal}", "avg_frame_rate": "18/1""#);
        rate_at(&stream, shown.map(time))
    };
    assert_eq!(rate("30/1", 0.0), ("30".to_owned(), false));
    assert_eq!(rate("30/1", 0.001), ("30".to_owned(), false));
    // ffmpeg's guess of a nominal rate that fits all times.
    assert_eq!(rate("120/1", 0.001), ("18".to_owned(), true));
    assert_eq!(rate("90000/1", 0.0), ("18".to_owned(), true));
}

/// Live recordings in Matroska state no average rate, and their nominal rate fits all times in milliseconds.
#[test]
fn without_an_average_rate_the_times_tell_it() {
    let rate = |nominal: &str, time: fn(u32) -> f64| {
        let stream = format!(r#""r_frame_rate": "{nominal}", "avg_frame_rate": "0/0""#);
        rate_at(&stream, (0..61).map(time))
    };
    let jitter = |i: u32| f64::from(i) / 30.0 + 0.006 * (f64::from(i) * 7.0).sin();
    let alternate = |i: u32| 0.1 * f64::from(i) + 0.03 * f64::from(i % 2);
    assert_eq!(rate("30/1", |i| f64::from(i) / 30.0), ("30".to_owned(), false));
    assert_eq!(rate("1000/1", jitter), ("30".to_owned(), true));
    assert_eq!(rate("100/1", alternate), ("10".to_owned(), true));
}

/// The average rate of a file whose last frame has no duration is that of one frame less.
#[test]
fn a_short_last_frame_does_not_change_the_rate() {
    let stream = r#""nb_frames": "30", "r_frame_rate": "10/1", "avg_frame_rate": "10000/967""#;
    let found = rate_at(stream, (0..30).map(|i| f64::from(i) / 10.0));
    assert_eq!(found, ("10".to_owned(), false));
}

/// Players show the default stream, not the first one.
#[test]
fn the_default_stream_is_read() {
    let stream = |index: u32, default: u8, cover: u8| {
        format!(
            r#"{{"index": {index}, "codec_type": "video", "width": 9, "height": 9,
                "disposition": {{"default": {default}, "attached_pic": {cover}}}}}"#
        )
    };
    for (streams, found) in [
        ([stream(0, 0, 0), stream(1, 1, 0)], 1),
        ([stream(0, 1, 1), stream(1, 0, 0)], 1),
        ([stream(0, 0, 0), stream(1, 0, 0)], 0),
        ([stream(0, 1, 0), stream(1, 1, 0)], 0),
    ] {
        let text = format!(r#"{{"streams": [{}]}}"#, streams.join(","));
        let answer = serde_json::from_str::<Answer>(&text).unwrap();
        let probe = answer.probe(Path::new("x.mkv"), &VideoLimits::default()).unwrap();
        assert_eq!(probe.index, found);
    }
}

#[test]
fn encoding_is_stored_or_customary() {
    let encoding = |text: &str| probe(text).encoding;
    let some = |matrix, range| Some(YuvEncoding { matrix, range });
    assert_eq!(encoding(r#""color_space": "bt709""#), some(YuvMatrix::Bt709, Range::Limited));
    assert_eq!(
        encoding(r#""color_space": "bt470bg", "color_range": "pc""#),
        some(YuvMatrix::Bt601, Range::Full)
    );
    assert_eq!(encoding(r#""profile": "x""#), some(YuvMatrix::Bt709, Range::Limited));
    assert_eq!(encoding(r#""color_space": "bt2020nc""#), some(YuvMatrix::Bt2020, Range::Limited));
    assert_eq!(encoding(r#""color_space": "bt2020c""#), None);
    // Formats of capture cards and cameras.
    for pixels in ["uyvy422", "yuyv422", "p010le", "ayuv64le"] {
        let packed = probe(&format!(r#""pix_fmt": "{pixels}""#));
        assert_eq!(packed.encoding, some(YuvMatrix::Bt709, Range::Limited), "{pixels}");
    }
    // Gray of JPEG and raw frames has the full range, but not that of H.264.
    for (codec, range) in
        [("mjpeg", Range::Full), ("rawvideo", Range::Full), ("h264", Range::Limited)]
    {
        let gray = probe(&format!(r#""pix_fmt": "gray10le", "codec_name": "{codec}""#));
        assert_eq!(gray.encoding, some(YuvMatrix::Bt709, range), "{codec}");
    }
    for pixels in ["rgb24", "bgra", "gbrp", "pal8", "monow", "xyz12le"] {
        assert_eq!(probe(&format!(r#""pix_fmt": "{pixels}""#)).encoding, None, "{pixels}");
    }
}

/// The size of a transport packet in bytes.
const PACKET: usize = 188;

#[test]
fn a_file_without_its_first_key_frame_begins_late() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ts");
    let mut command = FFMPEG.command();
    let input = "-v error -f lavfi -i testsrc2=s=64x48:r=25 -f lavfi -i sine -t 6";
    let output = "-c:v libx264 -g 50 -bf 2 -sc_threshold 0 -pix_fmt yuv420p -c:a aac";
    command.args(input.split(' ')).args(output.split(' ')).arg(&path);
    match command.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => return skip(Need::Ffmpeg, error),
    }
    let stop = Stop::default();
    let read = || super::probe(&path, &VideoLimits::default(), &stop).unwrap();
    let whole = read();
    assert!(whole.starts_with_key_frame);
    assert_eq!(whole.late, 0.0);
    // Remove the first quarter, so that the next key frame is the second one, at 2 s.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[bytes.len() / 4 / PACKET * PACKET..]).unwrap();
    let cut = read();
    assert!(!cut.starts_with_key_frame);
    let late = whole.start.zip(cut.start).map(|(whole, cut)| whole + 2.0 - cut).unwrap();
    assert!(late > 0.1 && (cut.late - late).abs() < 1e-4, "{late} {}", cut.late);
    assert!(cut.duration.unwrap() <= Duration::from_secs(4), "{:?}", cut.duration);
}
