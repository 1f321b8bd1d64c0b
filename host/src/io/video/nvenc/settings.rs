//! The properties of a video, and the configuration of an encoder for them.

use glam::UVec2;

use super::structures::{self as sys, Config, Guid};
use crate::frame::{ColourTags, FrameFormat, Range, Rate};
use crate::io::video::code_points::{CHROMA_CENTRE, CodePoints};

/// The largest distance between two key pictures, which is also the default of libx264 and libx265.
const KEY_INTERVAL: u32 = 250;

/// The alignment of rows in bytes. The interface requires 4; whole memory transactions make the copies faster.
const ROW: usize = 512;

/// The properties of a video.
#[derive(Clone, Copy, Debug)]
pub(in crate::io::video) struct Settings {
    /// The format of the frames. An odd last column or row is not encoded.
    pub(in crate::io::video) format: FrameFormat,
    pub(in crate::io::video) rate: Rate,
    /// The level of constant quality: 0 is lossless, and 51 is the worst.
    pub(in crate::io::video) quality: u8,
    pub(in crate::io::video) tags: ColourTags,
}

/// The format of the encoded pictures, in Annex B of its standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io::video) enum Bitstream {
    H264,
    Hevc,
}

impl Bitstream {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::H264 => "H.264",
            Self::Hevc => "HEVC",
        }
    }

    pub(super) fn guid(self) -> Guid {
        match self {
            Self::H264 => sys::CODEC_H264,
            Self::Hevc => sys::CODEC_HEVC,
        }
    }
}

impl Settings {
    pub(super) fn is_lossless(&self) -> bool {
        self.quality == 0
    }

    /// Returns the size of the video, without an odd last column or row, which 4:2:0 chroma does not support.
    pub(super) fn size(&self) -> UVec2 {
        self.format.size & !UVec2::ONE
    }

    /// Returns the distance between the rows of a buffer in bytes.
    pub(super) fn pitch(&self) -> usize {
        let bytes = if self.format.pixels.bits() > 8 { 2 } else { 1 };
        (self.size().x as usize * bytes).next_multiple_of(ROW)
    }

    /// Returns the number of rows of a buffer: those of the luma plane, then those of the chroma plane.
    pub(super) fn rows(&self) -> usize {
        self.size().y as usize / 2 * 3
    }

    pub(super) fn input_format(&self) -> u32 {
        if self.format.pixels.bits() > 8 { sys::FORMAT_P010 } else { sys::FORMAT_NV12 }
    }

    /// Changes the configuration of the preset: constant quality, no B pictures, and the colours of the frames.
    pub(super) fn configure(&self, bitstream: Bitstream, config: &mut Config) {
        let Self { format, quality, tags, .. } = *self;
        let (ten_bits, lossless) = (format.pixels.bits() > 8, self.is_lossless());
        config.profile = match bitstream {
            Bitstream::H264 if lossless => sys::PROFILE_HIGH_444,
            Bitstream::H264 => sys::PROFILE_HIGH,
            Bitstream::Hevc if ten_bits => sys::PROFILE_MAIN_10,
            Bitstream::Hevc => sys::PROFILE_MAIN,
        };
        config.gop_length = KEY_INTERVAL;
        config.frame_interval_p = 1;
        config.field_mode = sys::PROGRESSIVE;
        let rc = &mut config.rc;
        rc.flags = rc.flags & !sys::LOOKAHEAD | sys::NO_REORDERING;
        rc.lookahead_depth = 0;
        (rc.average_bit_rate, rc.max_bit_rate) = (0, 0);
        (rc.vbv_buffer_size, rc.vbv_initial_delay) = (0, 0);
        if lossless {
            rc.mode = sys::RATE_CONSTANT_QP;
            rc.constant_qp = [0; 3];
        } else {
            // A variable rate without a target for the rate has constant quality.
            rc.mode = sys::RATE_VARIABLE;
            (rc.target_quality, rc.target_quality_fraction) = (quality, 0);
        }
        let vui = match bitstream {
            Bitstream::H264 => {
                // SAFETY: any bits are valid for the fields, which are integers and pointers.
                let h264 = unsafe { &mut config.codec.h264 };
                h264.idr_period = KEY_INTERVAL;
                h264.chroma_format = sys::H264_420;
                h264.b_frames_as_references = 0;
                if lossless {
                    h264.flags |= sys::H264_LOSSLESS;
                }
                &mut h264.vui
            }
            Bitstream::Hevc => {
                // SAFETY: any bits are valid for the fields, which are integers and pointers.
                let hevc = unsafe { &mut config.codec.hevc };
                hevc.idr_period = KEY_INTERVAL;
                hevc.b_frames_as_references = 0;
                let depth = if ten_bits { sys::HEVC_TEN_BITS } else { 0 };
                hevc.flags = hevc.flags & !sys::HEVC_FORMAT | sys::HEVC_420 | depth;
                &mut hevc.vui
            }
        };
        let encoding = format.pixels.encoding().unwrap_or_default();
        let points = CodePoints::of(encoding, tags);
        vui.signal_type_present = 1;
        vui.video_format = sys::VIDEO_FORMAT_UNSPECIFIED;
        vui.full_range = u32::from(encoding.range == Range::Full);
        vui.colour_description_present = 1;
        vui.primaries = points.primaries.code;
        vui.transfer = points.transfer.code;
        vui.matrix = points.matrix.code;
        vui.chroma_location_present = 1;
        vui.chroma_location = [CHROMA_CENTRE; 2];
    }
}
