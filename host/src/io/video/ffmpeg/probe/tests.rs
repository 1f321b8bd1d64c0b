//! Tests of the properties that are read from ffprobe's output.

use super::*;

fn probe(stream: &str) -> Probe {
    let text = format!(
        r#"{{"streams": [
            {{"index": 0, "codec_type": "video", "width": 9, "height": 9,
              "disposition": {{"attached_pic": 1}}}},
            {{"index": 1, "codec_type": "audio"}},
            {{"index": 2, "codec_type": "video", "width": 1920, "height": 1080,
              "pix_fmt": "yuv420p", "start_time": "1.5", {stream}}}],
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
    assert_eq!(probe.sound.unwrap().offset, Duration::from_millis(500));
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
}
