//! Tests files that NVENC writes, with a fake of the driver's library on the CPU, which checks each call.

mod fake_nvenc;

use glam::UVec2;
use serde_json::Value;

pub(crate) use self::fake_nvenc::Fake;
use crate::device::{Device, DeviceError};
use crate::frame::{
    ColourTags, DeviceFrame, Frame, FrameFormat, Primaries, Range, Rate, Transfer, YuvEncoding,
    YuvMatrix,
};
use crate::io::video::nvenc::{Functions, VideoEncoder};
use crate::io::video::{
    Crf, Medium, Stop, StreamFormat, TenBit, VideoError, VideoInput, VideoOutput, VideoSink,
    VideoSource,
};

/// Returns the bytes of a frame, which depend on `seed`.
fn noise(format: FrameFormat, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as u8
    })
    .take(format.bytes())
    .collect();
    if format.pixels.bits() > 8 {
        bytes.iter_mut().step_by(2).for_each(|low| *low &= 0xc0);
    }
    bytes
}

fn device_frame(format: FrameFormat, bytes: &[u8]) -> Result<DeviceFrame, DeviceError> {
    let device = Device::cpu();
    let mut frame = DeviceFrame::new(&device, format)?;
    frame.upload(&device.stream()?, &Frame::of_tight(format, bytes))?;
    Ok(frame)
}

/// Returns the planes of the top left even part of a frame.
fn even_part(format: FrameFormat, bytes: &[u8]) -> Vec<u8> {
    let part = FrameFormat { size: format.size & !UVec2::ONE, ..format };
    let frame = Frame::of_tight(format, bytes);
    let mut even = Vec::new();
    for (plane, extent) in frame.planes().iter().zip(part.planes()) {
        for row in 0..extent.rows {
            even.extend_from_slice(&plane.bytes[row * plane.pitch..][..extent.row]);
        }
    }
    even
}

/// Encodes `count` frames of noise in device memory, and returns them.
fn encode(mut sink: VideoSink, count: u32) -> Result<Vec<Vec<u8>>, VideoError> {
    let format = sink.format();
    let frames: Vec<_> = (0..count).map(|seed| noise(format, seed)).collect();
    for bytes in &frames {
        sink.write_device(&device_frame(format, bytes).unwrap())?;
    }
    sink.finish()?;
    Ok(frames)
}

#[test]
fn an_h264_file_has_the_frames_and_the_tags() {
    let Some(fake) = Fake::new() else { return };
    for (name, size, rate, count) in [
        ("a.mp4", UVec2::new(64, 48), "30000/1001", 1),
        ("b.mkv", UVec2::new(67, 49), "25", 11),
        ("c.mov", UVec2::new(130, 35), "60", 5),
    ] {
        let sink = fake.sink(name, size, rate.parse().unwrap());
        assert!(sink.takes_device_frames() && sink.encoder() == Some("nvenc"));
        let format = sink.format();
        let frames = encode(sink, count).unwrap();
        fake.check(name);
        let decoded = fake.run(&format!("-i {name} -f rawvideo -pix_fmt nv12 pipe:1"));
        let expected: Vec<u8> = frames.iter().flat_map(|frame| even_part(format, frame)).collect();
        assert!(decoded == expected, "{name}");
        let [video] = &fake.probe(name)[..] else { panic!("{name}: several streams") };
        let field = |key: &str| video[key].as_str().unwrap_or_default().to_owned();
        assert_eq!(field("codec_name"), "h264");
        assert_eq!(field("nb_read_frames"), count.to_string());
        let even = size & !UVec2::ONE;
        assert_eq!(
            [&video["width"], &video["height"]],
            [even.x, even.y].map(Value::from).each_ref()
        );
        let rate: Rate = rate.parse().unwrap();
        assert_eq!(field("r_frame_rate").parse::<Rate>().unwrap(), rate);
        let tags = ["color_range", "color_space", "color_primaries", "color_transfer"].map(field);
        assert_eq!(tags, ["tv", "bt709", "bt709", "bt709"], "{name}");
        assert_eq!(video["chroma_location"], "center");
    }
}

#[test]
fn frames_in_host_memory_are_uploaded() {
    let Some(fake) = Fake::new() else { return };
    let mut sink = fake.sink("a.mp4", UVec2::new(32, 32), "25".parse().unwrap());
    let format = sink.format();
    for seed in 0..6 {
        let bytes = noise(format, seed);
        sink.write(&Frame::of_tight(format, &bytes)).unwrap();
        assert!(fake.input() == bytes);
    }
    let other = FrameFormat::nv12(30, 32, YuvEncoding::default());
    let error = sink.write_device(&device_frame(other, &noise(other, 1)).unwrap()).unwrap_err();
    assert!(error.to_string().contains("a frame of 30×32"), "{error}");
    drop(sink);
    fake.check("dropped");
    assert!(!fake.path("a.mp4").exists());
}

#[test]
fn ten_bits_become_hevc_main_10() {
    let Some(fake) = Fake::new() else { return };
    fake.run(
        "-f lavfi -i testsrc=s=66x50:r=25 -frames:v 7 -c:v libx265 -pix_fmt yuv420p10le \
         -x265-params log-level=error:bframes=0:aud=1:range=full -f hevc s.hevc",
    );
    fake.stream(&fake.path("s.hevc"));
    let encoding = YuvEncoding { matrix: YuvMatrix::Bt2020, range: Range::Full };
    let tags = ColourTags { primaries: Primaries::Bt2020, transfer: Transfer::Pq };
    let output = VideoOutput { ten_bit: Some(TenBit { encoding, tags }), ..fake.output("a.mp4") };
    let sink = fake.sink_of(&output, UVec2::new(67, 51), "25").unwrap();
    let format = sink.format();
    let frames = encode(sink, 7).unwrap();
    assert!(fake.input() == even_part(format, &frames[6]));
    fake.check("HEVC");
    let [video] = &fake.probe("a.mp4")[..] else { panic!("several streams") };
    let fields = ["codec_name", "codec_tag_string", "pix_fmt", "nb_read_frames"];
    let fields = fields.map(|key| video[key].as_str().unwrap_or_default());
    assert_eq!(fields, ["hevc", "hvc1", "yuv420p10le", "7"]);
    // The first words of the codec and the profile, the depth, and the tags.
    assert_eq!([fake.field(true, 4), fake.field(false, 4)], [0x790c_dc88, 0xfa4d_2b6c]);
    assert_eq!(fake.field(false, 168 + 16), 1 << 9 | 2 << 11);
    let vui = [8, 16, 20, 24, 28, 32, 36, 40, 44].map(|at| fake.field(false, 168 + 64 + at));
    assert_eq!(vui, [1, 1, 1, 9, 16, 9, 1, 1, 1]);
}

#[test]
fn frames_too_wide_for_h264_become_hevc() {
    let Some(fake) = Fake::new() else { return };
    fake.run(
        "-f lavfi -i testsrc=s=4100x64:r=25 -frames:v 2 -c:v libx265 -pix_fmt yuv420p \
         -x265-params log-level=error:bframes=0:aud=1 -f hevc s.hevc",
    );
    fake.stream(&fake.path("s.hevc"));
    encode(fake.sink("a.mkv", UVec2::new(4100, 64), "25".parse().unwrap()), 2).unwrap();
    fake.check("wide");
    let [video] = &fake.probe("a.mkv")[..] else { panic!("several streams") };
    assert_eq!([&video["codec_name"], &video["nb_read_frames"]], ["hevc", "2"]);
    // HEVC Main of 8 bits.
    assert_eq!(fake.field(false, 4), 0xb514_c39a);
    assert_eq!(fake.field(false, 168 + 16), 1 << 9);
}

#[test]
fn the_crf_is_the_level_of_constant_quality() {
    let Some(fake) = Fake::new() else { return };
    for (crf, tuning, mode, quality) in [(20, 1, 1, 20), (51, 1, 1, 51), (0, 4, 0, 0)] {
        let output = VideoOutput { crf: Crf::new(crf).unwrap(), ..fake.output("a.mp4") };
        encode(fake.sink_of(&output, UVec2::new(32, 32), "25").unwrap(), 2).unwrap();
        assert_eq!(fake.field(true, 136), tuning);
        assert_eq!([fake.field(false, 44), fake.field(false, 40 + 88) & 0xffff], [mode, quality]);
        // Key pictures, no B pictures, no reordering.
        let structure = [20, 24, 168 + 8].map(|at| fake.field(false, at));
        assert_eq!(structure, [250, 1, 250]);
        assert_eq!(fake.field(false, 40 + 36) & 0x220, 0x200);
        assert_eq!(fake.field(false, 168) >> 15 & 1 == 1, crf == 0);
        fake.check("quality");
    }
}

#[test]
fn pictures_that_come_late_are_not_lost() {
    let Some(fake) = Fake::new() else { return };
    for delay in 0..4 {
        fake.set("delay", delay);
        let sink = fake.sink("a.mp4", UVec2::new(32, 32), "25".parse().unwrap());
        encode(sink, 9).unwrap();
        fake.check("delay");
        assert_eq!(fake.probe("a.mp4")[0]["nb_read_frames"], "9", "{delay}");
    }
    fake.set("delay", 9);
    let sink = fake.sink("b.mp4", UVec2::new(32, 32), "25".parse().unwrap());
    let error = encode(sink, 9).unwrap_err();
    assert!(
        error.to_string().contains("accepts no more frames, but returns no pictures"),
        "{error}"
    );
    fake.check("stalled");
    assert!(!fake.path("b.mp4").exists());
    // NV_ENC_ERR_ENCODER_BUSY
    fake.set("delay", 0);
    fake.fail("encode", 3, 18);
    encode(fake.sink("c.mp4", UVec2::new(32, 32), "25".parse().unwrap()), 9).unwrap();
    assert_eq!(fake.probe("c.mp4")[0]["nb_read_frames"], "9");
    fake.check("busy");
}

#[test]
fn sound_is_added() {
    let Some(fake) = Fake::new() else { return };
    fake.run("-f lavfi -i testsrc=s=32x32:r=25 -f lavfi -i sine -t 1 -c:v libx264 -c:a aac in.mp4");
    let input = VideoInput::new(fake.path("in.mp4"), Medium::File);
    let source = VideoSource::open(&input, None, &Stop::default()).unwrap();
    let output = VideoOutput { sound: source.sound().cloned(), ..fake.output("a.mp4") };
    assert!(output.sound.is_some());
    encode(fake.sink_of(&output, UVec2::new(32, 32), "25").unwrap(), 20).unwrap();
    let streams = fake.probe("a.mp4");
    let kinds: Vec<_> = streams.iter().map(|stream| stream["codec_name"].clone()).collect();
    assert_eq!(kinds, ["h264", "aac"]);
    for stream in &streams {
        let seconds: f64 = stream["duration"].as_str().unwrap().parse().unwrap();
        assert!((seconds - 0.8).abs() < 0.05, "{stream}");
    }
}

#[test]
fn every_call_that_fails_is_reported_and_frees_all_handles() {
    let Some(fake) = Fake::new() else { return };
    let size = UVec2::new(32, 32);
    for (name, function, calls) in [
        ("open", "nvEncOpenEncodeSessionEx", 1),
        ("caps", "nvEncGetEncodeCaps", 4),
        ("preset", "nvEncGetEncodePresetConfigEx", 1),
        ("initialize", "nvEncInitializeEncoder", 1),
        ("register_input", "nvEncRegisterResource", 4),
        ("create_output", "nvEncCreateBitstreamBuffer", 4),
        ("map", "nvEncMapInputResource", 6),
        ("encode", "nvEncEncodePicture", 7),
        ("lock", "nvEncLockBitstream", 6),
        ("unlock", "nvEncUnlockBitstream", 6),
        ("unmap", "nvEncUnmapInputResource", 6),
    ] {
        for skip in 0..calls {
            let context = format!("{function} {skip}");
            fake.fail(name, skip, 8);
            let error = fake
                .sink_of(&fake.output("a.mp4"), size, "25")
                .and_then(|sink| encode(sink, 6))
                .expect_err(&context);
            let text = error.to_string();
            assert!(text.contains(function) && text.contains("NV_ENC_ERR_INVALID_PARAM"), "{text}");
            assert!(text.ends_with("; use --encoder ffmpeg instead"), "{text}");
            assert!(error.is_of_output() && !fake.path("a.mp4").exists(), "{context}");
            fake.check(&context);
        }
    }
}

#[test]
fn libraries_and_gpus_without_nvenc_are_errors() {
    let start = |fake: &Fake, output: &VideoOutput| {
        let sink = fake.sink_of(output, UVec2::new(32, 32), "25");
        sink.err().expect("an error").to_string().replace(&*output.path.to_string_lossy(), "a.mp4")
    };
    let Some(fake) = Fake::prepared(|fake| fake.set("version", 11 << 4 | 1)) else { return };
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: the driver supports version 11.1 of the interface, but 12.0 is required; install a driver of CUDA 12 or later; use --encoder ffmpeg instead");
    let Some(fake) = Fake::prepared(|fake| fake.fail("list", 0, 1)) else { return };
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: libnvidia-encode.so.1 has no function nvEncGetEncodePresetConfigEx; install the NVIDIA driver again; use --encoder ffmpeg instead");
    let Some(fake) = Fake::prepared(|fake| fake.fail("create", 0, 8)) else { return };
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: NvEncodeAPICreateInstance failed: NV_ENC_ERR_INVALID_PARAM; use --encoder ffmpeg instead");
    let Some(fake) = Fake::new() else { return };
    let missing = Functions::load("/no/libnvidia-encode.so.1").err().expect("an error").to_string();
    assert!(
        missing.contains("/no/libnvidia-encode.so.1")
            && missing.contains("NVIDIA_DRIVER_CAPABILITIES"),
        "{missing}"
    );
    // NV_ENC_ERR_NO_ENCODE_DEVICE, NV_ENC_ERR_UNSUPPORTED_DEVICE and NV_ENC_ERR_OUT_OF_MEMORY.
    fake.fail("open", 0, 1);
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: the GPU has no video encoder (NV_ENC_ERR_NO_ENCODE_DEVICE); A100, H100 and H200 have none; use --encoder ffmpeg instead");
    fake.fail("open", 0, 2);
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: the GPU has no video encoder (NV_ENC_ERR_UNSUPPORTED_DEVICE); A100, H100 and H200 have none; use --encoder ffmpeg instead");
    fake.fail("open", 0, 10);
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: nvEncOpenEncodeSessionEx failed: NV_ENC_ERR_OUT_OF_MEMORY; GeForce GPUs limit the number of encoders, so end other programs that encode; use --encoder ffmpeg instead");
    fake.fail("initialize", 0, 12);
    insta::assert_snapshot!(start(&fake, &fake.output("a.mp4")), @"a.mp4: NVENC does not encode this video: nvEncInitializeEncoder failed: NV_ENC_ERR_UNSUPPORTED_PARAM (fake reason); use --encoder ffmpeg instead");
    fake.set("ten", 0);
    let ten_bit = Some(TenBit::default());
    insta::assert_snapshot!(start(&fake, &VideoOutput { ten_bit, ..fake.output("a.mp4") }), @"a.mp4: NVENC does not encode this video: the GPU does not encode HEVC of 10 bits; --depth 8 selects 8 bits; use --encoder ffmpeg instead");
    fake.set("lossless", 0);
    let crf = Crf::new(0).unwrap();
    insta::assert_snapshot!(start(&fake, &VideoOutput { crf, ..fake.output("a.mp4") }), @"a.mp4: NVENC does not encode this video: the GPU does not encode H.264 without loss; give a --crf of at least 1; use --encoder ffmpeg instead");
    let large = fake.sink_of(&fake.output("a.mp4"), UVec2::new(9000, 64), "25").err().unwrap();
    assert!(
        large
            .to_string()
            .contains("HEVC with 16×16 to 8192×8192 pixels, but the frames have 9000×64"),
        "{large}"
    );
    fake.check("errors");
}

#[test]
fn only_files_on_a_gpu_are_encoded() {
    let output = |path: &str, medium| VideoOutput {
        encoder: VideoEncoder::Nvenc(Device::cpu()),
        ..VideoOutput::new(path, medium)
    };
    let error = |output: VideoOutput| {
        let checked = output.check_encoder().unwrap_err().to_string();
        let created =
            VideoSink::create(&output, UVec2::ONE, Rate::new(25, 1).unwrap(), &Stop::default());
        assert_eq!(created.err().expect("an error").to_string(), checked);
        checked
    };
    insta::assert_snapshot!(error(output("a.mp4", Medium::File)), @"a.mp4: NVENC does not encode this video: the device is the CPU; select a GPU with --device; use --encoder ffmpeg instead");
    insta::assert_snapshot!(error(output("-", Medium::Stream(StreamFormat::Y4m))), @"stdout: NVENC does not encode this video: it writes only .mp4, .m4v, .mov and .mkv files; use --encoder ffmpeg instead");
}

#[test]
fn other_media_copy_frames_from_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let output = VideoOutput::new(folder.path().join("a.nv12"), Medium::Stream(StreamFormat::Nv12));
    let rate = Rate::new(25, 1).unwrap();
    let sink = VideoSink::create(&output, UVec2::new(31, 17), rate, &Stop::default()).unwrap();
    assert!(!sink.takes_device_frames());
    let frames = encode(sink, 3).unwrap();
    assert_eq!(std::fs::read(output.path).unwrap(), frames.concat());
}

/// Writers rely on the size and the planes of their frames.
#[test]
fn frames_of_another_format_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let size = UVec2::new(4, 2);
    for name in ["a.y4m", "a.nv12", "a.rgba", "a%d.png"] {
        let path = folder.path().join(name);
        let output = VideoOutput::new(&path, Medium::of_output(&path, None).unwrap());
        let rate = Rate::new(30, 1).unwrap();
        let mut sink = VideoSink::create(&output, size, rate, &Stop::default()).unwrap();
        let own = sink.format();
        let wrong = [
            FrameFormat { size: size * 2, ..own },
            FrameFormat::p010(4, 2, YuvEncoding::default()),
        ];
        for format in wrong {
            let bytes = format.black();
            let error = sink.write(&Frame::tight(format, &bytes).unwrap()).unwrap_err();
            assert!(matches!(error, VideoError::FrameFormat { .. }), "{name}: {error}");
        }
        let bytes = own.black();
        sink.write(&Frame::tight(own, &bytes).unwrap()).unwrap();
        sink.finish().unwrap();
    }
}
