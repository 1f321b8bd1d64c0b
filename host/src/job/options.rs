//! The options of a job, in groups that commands share. The documentation of a field is also its text in a program's help
//! and in the properties of an element.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobError;
use super::text::{File, Gain, Size, Sync};
use crate::device::Device;
use crate::frame::Rate;
use crate::geometry::MAX_CANVAS_AREA;
use crate::geometry::calibrate::{ModelChoice, RigOptions};
use crate::geometry::rig::{MAX_RIG_CAMERAS, ProjectionName};
use crate::io::video::{
    Medium, StreamFormat, VideoDecoder, VideoEncoder, VideoError, VideoInput, VideoLimits,
};
use crate::ops::blend::Blend;
use crate::ops::colour::Colour;
use crate::ops::multiband::MAX_LEVELS;
use crate::ops::refine::RefineOptions;
use crate::ops::stitch::{Colours, Lookup, StitchOptions};
use crate::warp::MAX_CAMERAS;

/// The warp, or the rig or homography from which it is computed. At most one of the three is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Map")]
pub struct MapOptions {
    /// Warp file, which contains the source coordinates and weights of every panorama pixel. `panoweave warp` writes
    /// such files. It can also be a folder with six raw planes; then `size` is required.
    #[schemars(extend("value-name" = "PATH"))]
    pub warp: Option<File>,
    /// Rig file (TOML) that describes the size and projection of the panorama, and the lens and direction of each
    /// camera. `panoweave calibrate` writes such files.
    pub rig: Option<File>,
    /// Text file with a homography: nine numbers, row by row, of the 3×3 matrix that maps pixels of the second
    /// picture to pixels of the first picture.
    pub homography: Option<File>,
    /// Size of the panorama in pixels. Required if `warp` is a folder of raw planes, which do not store their size. Not
    /// allowed for a warp file.
    pub size: Option<Size>,
    /// Scales the panorama of a rig or a calibration so that it just fits into this size in pixels. Its shape does not
    /// change, and its sides are even. Not for a warp or a homography.
    pub output_size: Option<Size>,
    /// Maximum number of pixels of the panorama that a rig or a homography describes. A stitch of two pictures takes
    /// about 45 bytes of memory per pixel. The default is 8192×4096; the highest value is twice as much.
    #[schemars(range(min = 1, max = MAX_CANVAS_AREA), title = "Limits")]
    pub max_pixels: u64,
}

impl Default for MapOptions {
    fn default() -> Self {
        let (warp, rig, homography) = (None, None, None);
        Self { warp, rig, homography, size: None, output_size: None, max_pixels: 1 << 25 }
    }
}

/// The format of input videos that do not store it, and limits on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Inputs")]
pub struct InputOptions {
    /// Format of all input videos: y4m, or the pixel format of raw frames without a header. Default: the file extension
    /// selects the format, and ffmpeg reads files with any other extension.
    pub input_format: Option<StreamFormat>,
    /// Frame size of raw input videos in pixels. Required for raw videos, because they do not store their size.
    pub input_size: Option<Size>,
    /// Frame rate in frames per second, such as 30 or 30000/1001, at which videos are stitched or measured. Default: the
    /// rate of the first video, which is an average if the times between its frames vary. To change the rate, frames are
    /// repeated or dropped; the playback speed stays the same. Required for raw videos and numbered pictures, which do
    /// not store a rate: they are read at this rate, too.
    pub fps: Option<Rate>,
    /// Aligns recordings that did not start together. N is the time in seconds from the start of the first video to the
    /// start of each further video, separated by commas; it is negative if that video started earlier. `audio` finds
    /// these times, up to 10 minutes, and the drift of the cameras' clocks from the sound of the files. `together`: all
    /// videos start together. `auto`: `audio` if all videos have sound that determines the times, otherwise `together`.
    /// Default: auto; together for `compare`.
    pub sync: Option<Sync>,
    /// Maximum number of pixels of a frame of an input video. If ffmpeg decodes, a larger frame is an error even if the
    /// file states a smaller size; NVDEC scales it down. The default is 16384×8192.
    #[schemars(title = "Limits")]
    pub max_input_pixels: u64,
    /// Maximum number of streams of an input file: pictures, sound, subtitles and data.
    #[schemars(title = "Limits")]
    pub max_input_streams: usize,
    /// Maximum duration in seconds that an input video may state, and that the frames of an encoded file may have. The
    /// default is 7 days.
    #[schemars(extend("value-name" = "SECONDS"), title = "Limits")]
    pub max_input_seconds: u64,
}

impl Default for InputOptions {
    fn default() -> Self {
        let VideoLimits { pixels, streams, duration } = VideoLimits::default();
        Self {
            input_format: None,
            input_size: None,
            fps: None,
            sync: None,
            max_input_pixels: pixels,
            max_input_streams: streams,
            max_input_seconds: duration.as_secs(),
        }
    }
}

/// Extensions of pictures, also of those that cannot be read, so that the error says so. No video has them.
const PICTURES: [&str; 11] =
    ["png", "jpg", "jpeg", "mpo", "webp", "tif", "tiff", "bmp", "heic", "heif", "avif"];

impl InputOptions {
    /// Returns true if all files are pictures, and false if all files are videos. A picture has a picture's extension,
    /// is not a pattern of numbered pictures, and has no `input-format`.
    ///
    /// # Errors
    /// Returns [`JobError`] if there are both, or if all files are pictures but an option for videos is given.
    pub fn are_pictures<P: AsRef<Path>>(&self, files: &[P]) -> Result<bool, JobError> {
        let mut kinds = Vec::with_capacity(files.len());
        for file in files.iter().map(AsRef::as_ref) {
            let extension = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
            let is_picture = PICTURES.contains(&&*extension);
            kinds.push(is_picture && Medium::of_input(file, self.input_format)? == Medium::File);
        }
        let of = |kind: bool| kinds.iter().position(|is| *is == kind).map(|i| files[i].as_ref());
        match (of(true), of(false)) {
            (Some(picture), Some(video)) => Err(JobError::input(
                picture,
                format!(
                    "it is a picture, but {} is a video; give only pictures or only videos",
                    video.display()
                ),
            )),
            (Some(_), None) if *self != Self::default() => Err(JobError::usage(
                "options for videos, such as `input-format`, `fps` and `sync`, do not apply to pictures; remove them",
            )),
            (picture, _) => Ok(picture.is_some()),
        }
    }

    /// Returns the description from which the video in `file` is opened. `ten_bit` states whether more than 8 bits per
    /// sample are read with 10. `decoder` is that of encoded files.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the name of the file does not determine its format.
    pub fn input(
        &self,
        file: &Path,
        ten_bit: bool,
        decoder: VideoDecoder,
        device: Option<Device>,
    ) -> Result<VideoInput, VideoError> {
        Ok(VideoInput {
            path: file.to_owned(),
            medium: Medium::of_input(file, self.input_format)?,
            size: self.input_size.map(|Size(size)| size),
            rate: self.fps,
            ten_bit,
            decoder,
            limits: VideoLimits {
                pixels: self.max_input_pixels,
                streams: self.max_input_streams,
                duration: Duration::from_secs(self.max_input_seconds),
            },
            start: 0.0,
            device,
        })
    }
}

/// The decoder of input files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecoderName {
    /// nvdec for files that it supports, otherwise ffmpeg.
    #[default]
    Auto,
    /// H.264 and HEVC with 4:2:0 chroma, on the GPU of the device.
    Nvdec,
    /// All formats, on the CPU.
    Ffmpeg,
}

impl DecoderName {
    /// Returns the decoder with this name, which puts its frames on `device` if it is a GPU.
    #[must_use]
    pub fn of(self, device: &Device) -> VideoDecoder {
        match self {
            Self::Auto => VideoDecoder::Auto(device.clone()),
            Self::Nvdec => VideoDecoder::Nvdec(device.clone()),
            Self::Ffmpeg => VideoDecoder::Ffmpeg,
        }
    }
}

/// Colours, orientation and lookup of a stitch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Colours")]
pub struct LookOptions {
    /// Factor by which the levels of a picture are multiplied: one number from 0 to 1000, or three such numbers for
    /// red, green and blue. Give one per camera, in the order of the cameras. Default: 1.
    pub gain: Vec<Gain>,
    /// Gamma of a picture: the exponent applied to its levels, which are scaled to 0 to 1, after the gain. A value
    /// below 1 brightens the picture, a value above 1 darkens it. Greater than 0 and at most 100. Give one per camera,
    /// in the order of the cameras. Default: 1.
    #[schemars(inner(range(min = 0.000_001, max = 100)), extend("value-name" = "G"))]
    pub gamma: Vec<f64>,
    /// Keeps highlights where a gain is not 1, given or found by colour matching. A gain above 1 compresses the levels
    /// above 90 % of white instead of clipping those above white, so that bright skies keep their hue and texture. With
    /// a gain below 1, pixels that are nearly white in all channels stay white. Not for the lookup `mesh`. Matching
    /// the colours of still pictures keeps highlights without this option.
    pub keep_highlights: bool,
    /// Number of the camera, from 1, that keeps its exposure and white balance when colours are matched. The other
    /// cameras are matched to it. Default: all cameras share the changes.
    #[schemars(range(min = 1, max = MAX_RIG_CAMERAS))]
    pub anchor: Option<usize>,
    /// Rotates the panorama by 180°.
    #[schemars(title = "Output")]
    pub flip: bool,
    /// Brightens the leftmost tenth and the rightmost tenth of the panorama. The factor grows to 1.35 at the left and
    /// right edges.
    pub edge_boost: bool,
    /// Method to find the source coordinates of each panorama pixel, to sample the pictures there and to compute
    /// gammas. `auto`: `mesh` for videos where it supports them, otherwise `planes` with fast powers. `mesh`: coordinates
    /// from a compact mesh, with an error of at most 1/32 pixel, and fast powers; fastest on GPUs. `planes`: exact
    /// coordinates from the warp's planes, and exact powers. `cubic`: the same with a cubic filter, which gives sharper
    /// panoramas; slowest. `textured-planes`, `hardware-bilinear` and `gamma-table`: variants of `planes` for two RGBA
    /// pictures, for comparison. Default: auto for videos, cubic for `stitch`, planes for pictures in `quality`.
    #[schemars(title = "Output")]
    pub lookup: Option<Lookup>,
}

impl LookOptions {
    /// Checks that gains and gammas are given once per camera, if at all, and that the anchor is a camera.
    pub fn check(&self, cameras: usize) -> Result<(), JobError> {
        for (option, found) in [("gain", self.gain.len()), ("gamma", self.gamma.len())] {
            if found > 0 && found != cameras {
                let s = if found == 1 { "" } else { "s" };
                return Err(JobError::Usage(format!(
                    "`{option}`: given {found} time{s} for {cameras} cameras; give one per camera, in the order of the cameras"
                )));
            }
        }
        if let Some(anchor) = self.anchor.filter(|anchor| *anchor > cameras) {
            return Err(JobError::Usage(format!(
                "`anchor` is {anchor}, but there are only {cameras} cameras; give a number from 1 to {cameras}"
            )));
        }
        if cameras > MAX_CAMERAS && !(self.gain.is_empty() && self.gamma.is_empty()) {
            return Err(JobError::usage(
                "`gain` and `gamma` support at most 16 cameras; remove them, or match the colours instead",
            ));
        }
        Ok(())
    }

    /// Returns the colour correction of each camera.
    fn colours(&self) -> Colours {
        let colour = |camera: usize| Colour {
            gain: self.gain.get(camera).map_or(glam::Vec3::ONE, |gain| gain.0),
            gamma: self.gamma.get(camera).map_or(1.0, |&gamma| gamma as f32),
            ..Colour::IDENTITY
        };
        let colours = Colours::of((0..MAX_CAMERAS).map(colour).collect::<Vec<_>>());
        if self.keep_highlights { colours.with_shoulders() } else { colours }
    }

    /// Returns whether the gains and gammas of all pictures are 1, so that the stitch does not change colours.
    #[must_use]
    pub fn leaves_colours(&self) -> bool {
        self.colours() == Colours::IDENTITY
    }

    /// Returns the index of the camera that keeps its colours.
    ///
    /// # Errors
    /// Returns [`JobError::Usage`] if there is one, but colours are not `matched`.
    pub fn anchor(&self, matched: bool) -> Result<Option<usize>, JobError> {
        if self.anchor.is_some() && !matched {
            return Err(JobError::usage(
                "`anchor` is for matched colours, but colours are not matched here; remove `anchor`",
            ));
        }
        Ok(self.anchor.map(|number| number - 1))
    }

    /// Returns the options of the stitch. `lookup` is the default of the field with this name.
    #[must_use]
    pub fn stitch(&self, lookup: Lookup) -> StitchOptions {
        StitchOptions {
            colours: self.colours(),
            flip: self.flip,
            edge_boost: self.edge_boost,
            lookup: self.lookup.unwrap_or(lookup),
            ..StitchOptions::default()
        }
    }
}

/// Blending where the pictures overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Blending")]
pub struct BlendOptions {
    /// Blending where the pictures overlap. `auto`: `seam` if the warp allows one, otherwise `feather`. `feather` fades
    /// from one camera to the other across the whole overlap. `seam` switches cameras along a line on which the pictures
    /// agree, so that near or moving objects appear only once. `multiband` is a seam across which differences in
    /// brightness fade over a longer distance than fine detail.
    /// Default: auto for `stitch` and for videos without a map, otherwise feather.
    pub blend: Option<Blend>,
    /// Width in panorama pixels, from 1 to 1000, of the fade from one camera to the other across a seam. Default: 16,
    /// and 4 for the blend `multiband`. Not allowed for the blend `feather`.
    #[schemars(range(min = 1, max = 1000), extend("value-name" = "PIXELS"))]
    pub feather: Option<f64>,
    /// Number of levels of multiband blending, from 1 to 6. With each level, differences fade over twice the distance.
    /// Default: 5. Only for the blend `multiband`.
    #[schemars(range(min = 1, max = MAX_LEVELS))]
    pub levels: Option<u32>,
    /// Moves the pictures in their overlaps so that near objects fit together, by up to PIXELS panorama pixels against
    /// each other (1 to 256, default: 24). In videos, they follow the objects once per second, in small steps.
    #[schemars(range(min = 1, max = 256), extend("value-name" = "PIXELS", "implied" = 24))]
    pub refine: Option<f64>,
}

impl BlendOptions {
    /// Returns the blending, which is `otherwise` by default.
    ///
    /// # Errors
    /// Returns [`JobError::Usage`] if there is a feather, but no seam, or if there are levels without multiband
    /// blending.
    pub fn blend(&self, otherwise: Blend) -> Result<Blend, JobError> {
        let mut blend = self.blend.unwrap_or(otherwise);
        if let Some(width) = self.feather {
            *blend.feather_mut().ok_or(JobError::usage(
                "`feather` sets the width of a seam and requires one; set `blend` to seam, too",
            ))? = width as f32;
        }
        if let Some(number) = self.levels {
            *blend.levels_mut().ok_or(JobError::usage(
                "`levels` sets the levels of multiband blending; set `blend` to multiband, too",
            ))? = number;
        }
        Ok(blend)
    }

    /// Returns how to move the pictures in their overlaps, if at all.
    #[must_use]
    pub fn refine(&self) -> Option<RefineOptions> {
        self.refine.map(|limit| RefineOptions { limit: limit as f32 })
    }
}

/// The view of a virtual camera instead of the panorama.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "View")]
pub struct ViewOptions {
    /// Writes the view of a virtual camera instead of the panorama. The file (CSV) has one keyframe per line, with the
    /// columns t, pan, tilt, fov and optionally roll. t is the time in seconds from the first frame. The other columns
    /// are angles in degrees. pan (to the right) and tilt (up) are relative to the centre of the rig's panorama. roll
    /// is clockwise. fov is the horizontal field of view. Requires a rig.
    #[schemars(extend("value-name" = "TRACK.csv"))]
    pub view: Option<File>,
    /// Size of the virtual camera's view in pixels. Default: 1920x1080.
    pub view_size: Option<Size>,
    /// Smoothing of the virtual camera's motion: the standard deviation in seconds, from 0 to 60, of a Gaussian over
    /// time. With 0, the camera passes exactly through every keyframe.
    #[schemars(range(min = 0, max = 60), extend("value-name" = "SECONDS"))]
    pub view_smooth: f64,
    /// Allows the view to leave the area that the cameras cover. Pixels outside this area are black. By default, the
    /// virtual camera is moved so that its view stays inside the area.
    pub view_free: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self { view: None, view_size: None, view_smooth: 0.2, view_free: false }
    }
}

/// An output video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Output")]
pub struct VideoOutputOptions {
    /// Video file to write, or - for standard output. By default, the file extension selects the format, and standard
    /// output is Y4M.
    #[schemars(extend("value-name" = "OUT"))]
    pub output: File,
    /// Encoder of ffmpeg for .mp4, .m4v, .mov and .mkv output. Default: libx264, or libx265 for 10 bits. Those of H.264
    /// write 8 bits. The ones with _nvenc run on an NVIDIA GPU, and h264_v4l2m2m on boards with such an encoder.
    #[schemars(extend("value-name" = "NAME"))]
    pub encoder: Option<VideoEncoder>,
    /// Format of the output: y4m, or the pixel format of raw frames without a header. Default: the file extension
    /// selects the format.
    #[schemars(extend("value-name" = "FORMAT"))]
    pub output_format: Option<StreamFormat>,
    /// Bits per sample of the output: 8 or 10. Default: 10 if the first video has more than 8 and the output can store
    /// them, otherwise 8.
    #[schemars(extend("enum" = [8, 10], "value-name" = "BITS"))]
    pub depth: Option<u8>,
    /// Quality of encoded output (.mp4, .m4v, .mov, .mkv): the CRF of libx264, libx265 and libsvtav1, and the constant
    /// quality of others. 0 makes the largest file, which is lossless for libx264 and libx265; 51 makes the smallest.
    #[schemars(range(min = 0, max = 51))]
    pub crf: u8,
    /// The virtual camera of the output.
    pub view: ViewOptions,
}

impl Default for VideoOutputOptions {
    fn default() -> Self {
        Self {
            output: File::default(),
            encoder: None,
            output_format: None,
            depth: None,
            crf: 20,
            view: ViewOptions::default(),
        }
    }
}

/// The parts of pictures to ignore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Inputs")]
pub struct MaskOptions {
    /// Picture of the size of the camera's pictures, PNG or JPEG: white where the camera's picture is used, black where
    /// it is ignored, for instance the rim of a fisheye or the body of a car. Give one for all pictures, or
    /// once for each picture in order. Transparent pixels of a picture are always ignored.
    pub mask: Vec<File>,
}

/// Known lenses of pictures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Calibration")]
pub struct LensOptions {
    /// OpenCV YAML file with the camera matrix and the distortion of a lens. Give one for all pictures, or one
    /// for each picture in order. From a file with numbered entries, such as M1 and M2, each picture takes those with
    /// its own number. Default: lenses are treated as pinholes, and their focal length is estimated.
    #[schemars(extend("value-name" = "FILE.yaml"))]
    pub lens: Vec<File>,
    /// Treats the lenses as fisheyes (OpenCV's equidistant model with four coefficients). Default: pinholes. Requires
    /// `lens`.
    pub fisheye: bool,
}

/// The geometric model of a calibration, and the shape of its panorama.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Calibration")]
pub struct ShapeOptions {
    /// Geometric model that maps the pixels of one picture to those of another.
    pub model: ModelChoice,
    /// Projection of the panorama. By default, the field of view determines the projection: planar below 80°,
    /// cylindrical for wider views, equirectangular for views that reach 50° above or below the horizon. With a
    /// homography, the projection must be planar.
    pub projection: Option<ProjectionName>,
    /// Crops the panorama to the largest rectangle that the cameras cover completely, without black edges. Default for
    /// `video` if it calibrates.
    pub crop: bool,
    /// Turns the panorama clockwise by this angle in degrees, to level a horizon that slopes down to the left.
    #[schemars(range(min = -180, max = 180), extend("value-name" = "DEGREES"))]
    pub roll: f64,
    /// Raises the scene ahead by this angle in degrees, to straighten a horizon that sags in the middle.
    #[schemars(range(min = -90, max = 90), extend("value-name" = "DEGREES"))]
    pub pitch: f64,
}

impl ShapeOptions {
    /// Returns how the rig of a calibration is made.
    #[must_use]
    pub fn rig(&self) -> RigOptions {
        let Self { projection, crop, roll, pitch, .. } = *self;
        RigOptions { projection, crop, roll, pitch }
    }
}
