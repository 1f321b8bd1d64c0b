//! Rigs, made-up frames, and an element in harnesses.

use std::path::{Path, PathBuf};
use std::sync::Once;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use tempfile::TempDir;

/// The size of the cameras' pictures, and of the panorama of two cameras.
pub(crate) const PICTURE: (u32, u32) = (96, 72);
pub(crate) const PANORAMA: (u32, u32) = (160, 64);

/// The frame rate.
pub(crate) const RATE: i32 = 25;

/// Registers the plugin.
pub(crate) fn init() {
    static INIT: Once = Once::new();
    INIT.call_once(|| {
        gst::init().expect("GStreamer");
        gstpanoweave::plugin_register_static().expect("the plugin");
    });
}

/// A folder with a rig of `cameras` cameras in a row, which overlap.
pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) cameras: usize,
}

impl Scene {
    pub(crate) fn new(cameras: usize) -> Self {
        init();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ((width, height), (canvas_width, canvas_height)) = (PICTURE, PANORAMA);
        let mut text = format!(
            "[panorama]\nprojection = \"cylindrical\"\nwidth = {canvas_width}\nheight = {canvas_height}\nfov = {}\n",
            50 + 45 * (cameras - 1)
        );
        for camera in 0..cameras {
            let yaw = 45.0 * (camera as f64 - 0.5 * (cameras as f64 - 1.0));
            text += &format!(
                "[[camera]]\nname = \"camera {camera}\"\nsize = [{width}, {height}]\nlens = \"pinhole\"\n\
                 matrix = {{ fx = 80.0, fy = 80.0, cx = 47.5, cy = 35.5 }}\nyaw = {yaw:.1}\n"
            );
        }
        std::fs::write(folder.path().join("rig.toml"), text).expect("rig.toml");
        Self { folder, cameras }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the rig as the value of a property.
    pub(crate) fn rig(&self) -> String {
        text(&self.path("rig.toml"))
    }

    /// Creates an element for this rig.
    pub(crate) fn element(&self) -> gst::Element {
        gst::ElementFactory::make("panoweavestitch")
            .property("rig", self.rig())
            .property("device", "cpu")
            .build()
            .expect("panoweavestitch")
    }
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Returns the info of the cameras' frames.
pub(crate) fn picture_info(format: VideoFormat) -> VideoInfo {
    let (width, height) = PICTURE;
    let builder = VideoInfo::builder(format, width, height).fps(gst::Fraction::new(RATE, 1));
    let bt709 = "bt709".parse().expect("a colorimetry");
    // Raw videos of the library are BT.709; GStreamer's default for small pictures is BT.601.
    let builder = if format == VideoFormat::Rgba { builder } else { builder.colorimetry(&bt709) };
    builder.build().expect("info")
}

/// Returns the bytes of a made-up frame without padding: a smooth texture that moves. `gain` scales the levels.
pub(crate) fn frame(format: VideoFormat, camera: usize, number: usize, gain: f64) -> Vec<u8> {
    let (width, height) = PICTURE;
    // Cameras 45° apart see the same texture, shifted by about the tangent of the angle.
    let shift = 66.0 * camera as f64;
    let level = |x: f64, y: f64| {
        let (x, y) = (x + shift, y + 1.5 * number as f64);
        let wave = (0.11 * x).sin()
            + (0.17 * y + 0.05 * x).cos()
            + (0.031 * x * (1.0 + 0.1 * y.cos())).sin();
        (gain * (110.0 + 25.0 * wave)).clamp(20.0, 230.0)
    };
    let mut bytes = Vec::new();
    let mut put = |level: f64| match format {
        VideoFormat::P01010le => {
            bytes.extend(((level * 4.0).round() as u16).wrapping_shl(6).to_le_bytes());
        }
        _ => bytes.push(level.round() as u8),
    };
    for y in 0..height {
        for x in 0..width {
            let level = level(f64::from(x), f64::from(y));
            match format {
                VideoFormat::Rgba => [level, 0.8 * level, 255.0 - level, 255.0].map(&mut put),
                _ => [put(level); 4],
            };
        }
    }
    if format != VideoFormat::Rgba {
        for y in 0..height / 2 {
            for x in 0..width / 2 {
                let level = level(f64::from(2 * x), f64::from(2 * y));
                put(128.0 + 0.2 * (level - 110.0));
                put(128.0 - 0.3 * (level - 110.0));
            }
        }
    }
    // Any bytes are a frame of the other formats.
    match format {
        VideoFormat::Gray8 => bytes.truncate((width * height) as usize),
        VideoFormat::Yuy2 | VideoFormat::Uyvy => {
            bytes = bytes.repeat(2);
            bytes.truncate((width * height * 2) as usize);
        }
        _ => {}
    }
    bytes
}

/// Returns the time of a frame.
pub(crate) fn time(number: usize) -> gst::ClockTime {
    gst::ClockTime::SECOND.mul_div_floor(number as u64, RATE as u64).expect("a time")
}

/// Returns a buffer with a frame.
pub(crate) fn buffer(bytes: Vec<u8>, number: usize) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let inside = buffer.get_mut().expect("a new buffer");
    inside.set_pts(time(number));
    inside.set_duration(time(number + 1) - time(number));
    buffer
}

/// An element whose pads are connected to harnesses.
pub(crate) struct Harnesses {
    pub(crate) element: gst::Element,
    /// A harness per camera. The first one also receives the panoramas.
    pub(crate) cameras: Vec<Harness>,
}

impl Harnesses {
    pub(crate) fn new(element: &gst::Element, cameras: usize) -> Self {
        Self::with(element, cameras, false)
    }

    /// Connects the element to sources that are live or not.
    pub(crate) fn with(element: &gst::Element, cameras: usize, live: bool) -> Self {
        let harness = |camera: usize| {
            let source = (camera == 0).then_some("src");
            let name = format!("sink_{camera}");
            let mut harness = Harness::with_element(element, Some(&name), source);
            harness.set_live(live);
            harness
        };
        let cameras = (0..cameras).map(harness).collect();
        Self { element: element.clone(), cameras }
    }

    /// Sets the caps of all cameras and starts the element.
    pub(crate) fn play(&mut self, info: &VideoInfo) {
        for camera in &mut self.cameras {
            camera.set_src_caps(info.to_caps().expect("caps"));
        }
        self.cameras.iter_mut().for_each(Harness::play);
    }

    /// Pushes a made-up frame of each camera.
    pub(crate) fn push(&mut self, format: VideoFormat, number: usize) {
        for (i, camera) in self.cameras.iter_mut().enumerate() {
            let bytes = frame(format, i, number, gain(i));
            camera.push(buffer(bytes, number)).expect("the pad takes the frame");
        }
    }

    /// Ends all videos.
    pub(crate) fn end(&mut self) {
        for camera in &mut self.cameras {
            assert!(camera.push_event(gst::event::Eos::new()));
        }
    }

    /// Returns the panoramas until the end of the stream.
    pub(crate) fn rest(&mut self) -> Vec<gst::Buffer> {
        let mut panoramas = Vec::new();
        while let Some(panorama) = self.cameras[0].pull_until_eos().expect("a panorama or the end")
        {
            panoramas.push(panorama);
        }
        panoramas
    }
}

/// Returns the exposure of a camera.
pub(crate) fn gain(camera: usize) -> f64 {
    1.0 - 0.15 * (camera % 2) as f64
}

/// Returns the bytes of a buffer.
pub(crate) fn bytes(buffer: &gst::Buffer) -> Vec<u8> {
    buffer.map_readable().expect("a readable buffer").to_vec()
}
