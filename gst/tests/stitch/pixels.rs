//! Panoramas have the same pixels as those of `stitch_video`, which `panoweave video` runs, from the same frames.

use glam::UVec2;
use gst::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrame, VideoInfo};
use panoweave::device::Device;
use panoweave::frame::Rate;
use panoweave::geometry::rig::Rig;
use panoweave::io::video::{
    Crf, Medium, Stop, TenBit, VideoInput, VideoOutput, VideoSink, VideoSource,
};
use panoweave::live::{ColourOptions, LiveRig};
use panoweave::ops::blend::Blend;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::view::{Track, ViewPath, Viewer};
use panoweave::video::{VideoOptions, stitch_video};
use panoweave::warp::DeviceWarp;

use crate::support::{
    Harnesses, PANORAMA, PICTURE, RATE, Scene, buffer, bytes, frame, gain, picture_info, text,
};

const FRAMES: usize = 12;

/// Stitches raw videos with the library and returns the bytes of all panoramas.
pub(crate) fn expected(
    scene: &Scene,
    format: VideoFormat,
    size: (u32, u32),
    options: VideoOptions,
) -> Vec<u8> {
    expected_of(scene, format, size, options, None)
}

/// Like [`expected`], for a view if it is given.
fn expected_of(
    scene: &Scene,
    format: VideoFormat,
    size: (u32, u32),
    options: VideoOptions,
    view: Option<(Viewer, ViewPath)>,
) -> Vec<u8> {
    let extension = match format {
        VideoFormat::P01010le => "p010".to_owned(),
        other => other.to_str().to_ascii_lowercase(),
    };
    let rate = Rate::new(RATE as u32, 1).unwrap();
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let rig = Rig::open(scene.path("rig.toml")).unwrap();
    let warp = DeviceWarp::render(&stream, &rig.geometry().unwrap()).unwrap();
    let stop = Stop::default();
    let source = |camera: usize| {
        let path = scene.path(&format!("{camera}.{extension}"));
        let video: Vec<u8> =
            (0..FRAMES).flat_map(|n| frame(format, camera, n, gain(camera))).collect();
        std::fs::write(&path, video).unwrap();
        let medium = Medium::of_input(&path, None).unwrap();
        let size = Some(UVec2::from(PICTURE));
        let input = VideoInput { size, rate: Some(rate), ..VideoInput::new(path, medium) };
        VideoSource::open(&input, None, &stop).unwrap()
    };
    let sources = (0..scene.cameras).map(source).collect();
    let path = scene.path(&format!("panorama.{extension}"));
    let medium = Medium::of_output(&path, None).unwrap();
    let ten_bit = (format == VideoFormat::P01010le).then(TenBit::default);
    let output =
        VideoOutput { crf: Crf::new(20).unwrap(), ten_bit, ..VideoOutput::new(&path, medium) };
    let sink = VideoSink::create(&output, size.into(), rate, &stop).unwrap();
    let (viewer, path_of_view) = view.unzip();
    let (rig, sinks) = (LiveRig { warp, viewer }, vec![(sink, path_of_view)]);
    let summary = stitch_video(&device, rig, sources, sinks, &options, |_| ()).unwrap();
    assert_eq!((summary.written, summary.filled), (FRAMES as u64, 0));
    std::fs::read(path).unwrap()
}

pub(crate) fn options(blend: Blend) -> VideoOptions {
    let colour = ColourOptions::at_rate(f64::from(RATE));
    VideoOptions { colour, blend, ..VideoOptions::default() }
}

/// Stitches the same frames with the element.
fn stitched(element: &gst::Element, scene: &Scene, format: VideoFormat) -> Vec<u8> {
    let mut harnesses = Harnesses::new(element, scene.cameras);
    harnesses.play(&picture_info(format));
    for number in 0..FRAMES {
        harnesses.push(format, number);
    }
    harnesses.end();
    let panoramas = harnesses.rest();
    assert_eq!(panoramas.len(), FRAMES);
    panoramas.iter().flat_map(bytes).collect()
}

#[test]
fn every_format_equals_the_library() {
    for format in [
        VideoFormat::Nv12,
        VideoFormat::Rgba,
        VideoFormat::P01010le,
        VideoFormat::I420,
        VideoFormat::Yuy2,
        VideoFormat::Uyvy,
        VideoFormat::Gray8,
    ] {
        let scene = Scene::new(2);
        let expected = expected(&scene, format, PANORAMA, options(Blend::Feather));
        assert!(stitched(&scene.element(), &scene, format) == expected, "{format:?}");
    }
}

/// Creates a pool in the memory that the element proposes, with padded rows and as many buffers as two cameras need.
fn proposed_pool(element: &gst::Element, info: &VideoInfo) -> gst_video::VideoBufferPool {
    let caps = info.to_caps().unwrap();
    let mut query = gst::query::Allocation::new(Some(&caps), true);
    assert!(element.static_pad("sink_0").unwrap().query(&mut query));
    let (allocator, _) = query.allocation_params().next().unwrap();
    assert_eq!(allocator.as_ref().unwrap().type_().name(), "GstPanoweaveAllocator");
    let (_, size, held, _) = query.allocation_pools().next().unwrap();
    let pool = gst_video::VideoBufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&caps), size, 0, 2 * held);
    let params = gst::AllocationParams::new(gst::MemoryFlags::empty(), 63, 5, 7);
    config.set_allocator(allocator.as_ref(), Some(&params));
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_ref());
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_ALIGNMENT.as_ref());
    config.set_video_alignment(&gst_video::VideoAlignment::new(0, 0, 0, 32, &[0; 4]));
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    pool
}

#[test]
fn buffers_of_the_proposed_memory_are_read_and_returned() {
    for format in [VideoFormat::Nv12, VideoFormat::I420] {
        let (scene, info) = (Scene::new(2), picture_info(format));
        let expected = stitched(&scene.element(), &scene, format);
        let element = scene.element();
        let mut harnesses = Harnesses::new(&element, 2);
        harnesses.play(&info);
        let pool = proposed_pool(&element, &info);
        let flags = gst::BufferPoolAcquireFlags::DONTWAIT;
        let params = gst::BufferPoolAcquireParams::with_flags(flags);
        let mut found = Vec::new();
        for number in 0..FRAMES {
            for (i, camera) in harnesses.cameras.iter_mut().enumerate() {
                let from = buffer(frame(format, i, number, gain(i)), number);
                let mut to = pool.acquire_buffer(Some(&params)).expect("a returned buffer");
                from.copy_into(to.get_mut().unwrap(), gst::BUFFER_COPY_METADATA, ..).unwrap();
                let from = VideoFrame::from_buffer_readable(from, &info).unwrap();
                let mut to = VideoFrame::from_buffer_writable(to, &info).unwrap();
                from.copy(&mut to).unwrap();
                assert!(to.plane_stride()[0] > info.stride()[0]);
                camera.push(to.into_buffer()).unwrap();
            }
            found.extend(bytes(&harnesses.cameras[0].pull().unwrap()));
        }
        assert!(found == expected, "{format:?}");
    }
}

#[test]
fn three_cameras_with_a_seam_equal_the_library() {
    let scene = Scene::new(3);
    let format = VideoFormat::Nv12;
    let seam = Blend::Seam(SeamOptions { feather: 6.0 });
    let expected = expected(&scene, format, PANORAMA, options(seam));
    let element = scene.element();
    element.set_property_from_str("blend", "seam");
    element.set_property("feather", 6.0);
    assert!(stitched(&element, &scene, format) == expected);
}

#[test]
fn a_warp_file_gives_the_panoramas_of_its_rig() {
    let scene = Scene::new(2);
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let rig = Rig::open(scene.path("rig.toml")).unwrap();
    let warp = DeviceWarp::render(&stream, &rig.geometry().unwrap()).unwrap();
    let warp = warp.download(&stream).unwrap();
    let file = scene.path("warp.safetensors");
    warp.made_from(Some(rig.panorama.projection), Some(rig.to_toml().unwrap()))
        .save(&file)
        .unwrap();
    let element = scene.element();
    let by_rig = stitched(&element, &scene, VideoFormat::Rgba);
    let element = scene.element();
    element.set_property("rig", None::<String>);
    element.set_property("warp", text(&file));
    assert!(stitched(&element, &scene, VideoFormat::Rgba) == by_rig);
}

#[test]
fn the_view_of_a_virtual_camera_equals_the_library() {
    let scene = Scene::new(2);
    let format = VideoFormat::Rgba;
    let size = (64, 48);
    let track = scene.path("track.csv");
    std::fs::write(&track, "t,pan,tilt,fov\n0,-10,0,40\n0.4,12,2,35\n").unwrap();
    let camera = {
        let stream = Device::cpu().stream().unwrap();
        let geometry = Rig::open(scene.path("rig.toml")).unwrap().geometry().unwrap();
        let viewer = Viewer::new(&geometry, false).unwrap();
        let rate = Rate::new(RATE as u32, 1).unwrap();
        let track = Track::open(&stream, &track, rate, 0.1).unwrap();
        let limits = viewer.limits().unwrap();
        let path = move |time| limits.keep(&track.at(time), size.into());
        (viewer, ViewPath::new(path))
    };
    let expected = expected_of(&scene, format, size, options(Blend::Feather), Some(camera));
    let element = scene.element();
    element.set_property("view", text(&track));
    element.set_property("view-size", format!("{}x{}", size.0, size.1));
    element.set_property("view-smooth", 0.1);
    assert!(stitched(&element, &scene, format) == expected);
}

#[test]
fn gains_and_gammas_of_pads_change_their_pictures() {
    let scene = Scene::new(2);
    let mut sums = Vec::new();
    for (gain, gamma) in [(0.0f32, 1.0f32), (1.0, 1.0), (1.0, 0.5)] {
        let element = scene.element();
        element.set_property("match-colours", false);
        let mut harnesses = Harnesses::new(&element, 2);
        for camera in 0..2 {
            let pad = element.static_pad(&format!("sink_{camera}")).unwrap();
            pad.set_property("gain-red", gain);
            pad.set_property("gamma", gamma);
        }
        harnesses.play(&picture_info(VideoFormat::Rgba));
        harnesses.push(VideoFormat::Rgba, 0);
        harnesses.end();
        let panorama = bytes(&harnesses.rest()[0]);
        let sum = |channel| panorama.chunks(4).map(|pixel| u64::from(pixel[channel])).sum::<u64>();
        sums.push([sum(0), sum(1)]);
    }
    assert_eq!(sums[0][0], 0);
    assert_eq!(sums[0][1], sums[1][1]);
    assert!(sums[2][0] > sums[1][0] && sums[2][1] > sums[1][1], "{sums:?}");
}

#[test]
fn the_property_camera_orders_the_pads() {
    let scene = Scene::new(2);
    let stitched = |cameras: [i32; 2]| {
        let element = scene.element();
        let mut harnesses = Harnesses::new(&element, 2);
        for (pad, camera) in cameras.into_iter().enumerate() {
            let pad = element.static_pad(&format!("sink_{pad}")).unwrap();
            pad.set_property("camera", camera);
        }
        harnesses.play(&picture_info(VideoFormat::Nv12));
        for (i, &camera) in cameras.iter().enumerate() {
            let camera = usize::try_from(camera).unwrap_or(i);
            let bytes = frame(VideoFormat::Nv12, camera, 0, gain(camera));
            harnesses.cameras[i].push(buffer(bytes, 0)).unwrap();
        }
        harnesses.end();
        bytes(&harnesses.rest()[0])
    };
    assert!(stitched([-1, -1]) == stitched([1, 0]));
}

#[test]
fn gains_of_pads_replace_matched_colours() {
    let scene = Scene::new(2);
    let stitched = |match_colours: bool| {
        let element = scene.element();
        element.set_property("match-colours", match_colours);
        let mut harnesses = Harnesses::new(&element, 2);
        element.static_pad("sink_1").unwrap().set_property("gain-red", 0.9f32);
        harnesses.play(&picture_info(VideoFormat::Nv12));
        harnesses.push(VideoFormat::Nv12, 0);
        harnesses.end();
        bytes(&harnesses.rest()[0])
    };
    assert!(stitched(true) == stitched(false));
}
