//! The way a stitch finds the source coordinates of each panorama pixel.

use std::fmt;

use glam::UVec2;
use shared_types::photometry::Vignette;
use shared_types::stitch::MAX_CAMERAS;
use thiserror::Error;

use super::StitchOptions;
use crate::frame::{FrameFormat, PixelFormat};

/// The way a stitch finds the source coordinates of each panorama pixel, samples the frames there, and computes the
/// powers of gamma corrections.
///
/// A stitch that the lookup does not support is a [`LookupError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// [`Mesh`](Self::Mesh) if it supports the stitch. Otherwise, the planes like [`Planes`](Self::Planes), but with
    /// fast powers.
    #[default]
    Auto,
    /// Evaluates a compact mesh, which is within 1/32 source pixel of the warp's planes. The texture unit samples the
    /// frames with 8-bit weights. If frames and panorama are NV12 or P010, the four pixels of a chroma sample share one
    /// chroma lookup, provided that one patch of the mesh covers their whole tile of 32×32 pixels. Powers are fast:
    /// output levels differ from those of exact powers by at most one. For RGBA panoramas of 5700×1900 pixels, this
    /// lookup is three times as fast as [`Planes`](Self::Planes) on an H100.
    ///
    /// Does not support a [shoulder](shared_types::stitch::Colour::shoulder), a mix of P010 with other formats, a
    /// flipped NV12 or P010 panorama with an odd side, pictures with 16 bits per channel, and frames that the device
    /// cannot read as textures, because their rows are not aligned.
    Mesh,
    /// Reads the warp's planes, and samples the frames and computes powers in f32. Supports every stitch. The results
    /// of all other lookups are compared with this lookup.
    Planes,
    /// Reads the warp's planes, and samples the frames with a cubic filter, except the chroma of NV12. The panorama is
    /// sharper than with the other lookups: on photographs, its signal-to-noise ratio is 0.7 to 1.6 dB higher. Takes
    /// one launch per camera and one more. Powers are exact. Does not support P010.
    Cubic,
    /// Reads the warp's planes through the texture unit. Powers are fast. Only for two RGBA frames and an RGBA panorama
    /// without [covers](super::Covers), as are all further lookups. These exist for comparison, and none of them is
    /// faster.
    TexturedPlanes,
    /// Reads the warp's planes. The texture unit samples the frames with 8-bit weights. Powers are fast.
    HardwareBilinear,
    /// Reads the warp's planes. Corrects colours by a table with one entry per 8-bit level, between which the kernel
    /// interpolates. Another kernel rebuilds the table when gains or gammas change. Compared with exact powers, the
    /// interpolation adds an error of at most 0.6 levels for gains up to 2 and gammas from 0.8 to 1.2. For a gamma of
    /// 0.45, the error near black is 6 levels. Does not support shoulders and vignettes.
    GammaTable,
}

impl Lookup {
    /// All lookups, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::Mesh,
        Self::Planes,
        Self::Cubic,
        Self::TexturedPlanes,
        Self::HardwareBilinear,
        Self::GammaTable,
    ];

    /// Returns the lookup's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mesh => "mesh",
            Self::Planes => "planes",
            Self::Cubic => "cubic",
            Self::TexturedPlanes => "textured-planes",
            Self::HardwareBilinear => "hardware-bilinear",
            Self::GammaTable => "gamma-table",
        }
    }

    /// Returns whether powers are exact.
    pub(crate) const fn is_exact(self) -> bool {
        matches!(self, Self::Planes | Self::Cubic | Self::GammaTable)
    }

    /// Returns whether the lookup may read the frames through textures.
    pub(super) const fn reads_textures(self) -> bool {
        matches!(self, Self::Auto | Self::Mesh | Self::HardwareBilinear)
    }

    /// Returns whether the kernels of the lookup exist only for two RGBA frames and an RGBA panorama.
    const fn is_for_two(self) -> bool {
        matches!(self, Self::TexturedPlanes | Self::HardwareBilinear | Self::GammaTable)
    }

    /// Returns whether the lookup stitches cameras one by one, so that it needs the planes of only one at a time.
    pub(crate) const fn adds_cameras(self) -> bool {
        matches!(self, Self::Auto | Self::Planes | Self::Cubic)
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error if the requested lookup does not support a stitch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the lookup `{lookup}` does not support {reason}; use the lookup `auto` or `planes`")]
pub struct LookupError {
    /// The requested lookup.
    pub lookup: Lookup,
    /// The part of the stitch that it does not support.
    pub reason: String,
}

pub(super) const NOT_TWO_RGBA: &str =
    "frames and panoramas other than two RGBA frames and an RGBA panorama";

/// The pictures and the panorama of a stitch, as far as they decide which lookups support it.
pub(crate) struct LookupCase<'a> {
    /// The pixel format of each camera's frame, as kernels see it.
    pub(crate) inputs: &'a [PixelFormat],
    pub(crate) output: FrameFormat,
    /// Whether pictures and panorama have 16 bits per channel.
    pub(crate) is_deep: bool,
    /// The first camera whose frame the device cannot read as a texture.
    pub(crate) unaligned: Option<usize>,
}

impl StitchOptions {
    /// Returns the lookup for a stitch: the requested one or, for [`Lookup::Auto`], [`Lookup::Mesh`] if it supports the
    /// stitch. A result of [`Lookup::Auto`] stands for the planes with fast powers.
    pub(crate) fn select(&self, case: &LookupCase<'_>) -> Result<Lookup, LookupError> {
        match self.lookup {
            Lookup::Auto if self.unsupported(Lookup::Mesh, case).is_none() => Ok(Lookup::Mesh),
            lookup => match self.unsupported(lookup, case) {
                Some(reason) => Err(LookupError { lookup, reason }),
                None => Ok(lookup),
            },
        }
    }

    /// Returns the reason why a lookup does not support a stitch, or `None` if it does.
    fn unsupported(&self, lookup: Lookup, case: &LookupCase<'_>) -> Option<String> {
        let &LookupCase { inputs, output, is_deep, unaligned } = case;
        let is_mesh = lookup == Lookup::Mesh;
        let all = || inputs.iter().chain([&output.pixels]);
        let mixes = all().any(|pixels| pixels.bits() != output.pixels.bits());
        let is_odd = output.pixels.cell() > 1 && output.size % 2 != UVec2::ZERO;
        let two_rgba = inputs.len() == 2 && all().all(|pixels| *pixels == PixelFormat::Rgba8);
        let is_plain = (self.colours.iter().zip(self.vignettes.iter()).take(inputs.len()))
            .all(|(colour, vignette)| colour.shoulder == 0.0 && *vignette == Vignette::NONE);
        let faults = [
            (!lookup.adds_cameras() && inputs.len() > MAX_CAMERAS, "more than 16 pictures"),
            (!lookup.adds_cameras() && is_deep, "pictures with 16 bits per channel"),
            (is_mesh && self.has_shoulder(inputs.len()), "colour corrections that keep highlights"),
            (is_mesh && mixes, "a mix of frames or panoramas with 8 and 10 bits per sample"),
            (
                is_mesh && self.flip && is_odd,
                "a flip of a panorama in Y'CbCr with an odd width or height",
            ),
            (lookup.is_for_two() && !two_rgba, NOT_TWO_RGBA),
            (
                lookup.is_for_two() && self.covers.covers_any(inputs.len()),
                "colours that cover cameras, such as those of cameras that fail",
            ),
            (
                lookup == Lookup::GammaTable && !is_plain,
                "vignettes, and colour corrections that keep highlights",
            ),
            (
                lookup == Lookup::Cubic && inputs.iter().any(|pixels| pixels.bits() > 8),
                "frames with 10 bits per sample",
            ),
        ];
        let fault = faults.iter().find(|(is_found, _)| *is_found);
        let unaligned = unaligned.filter(|_| lookup != Lookup::Auto).map(|camera| {
            format!(
                "the frame of camera {}, whose rows are on another device or not aligned for textures (a copy in a `DeviceFrame` is)",
                camera + 1
            )
        });
        fault.map(|(_, reason)| (*reason).to_owned()).or(unaligned)
    }
}
