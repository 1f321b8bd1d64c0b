//! The way a stitch finds the source coordinates of each panorama pixel.

/// The way a stitch finds the source coordinates of each panorama pixel, samples the frames there, and computes the
/// powers of gamma corrections.
///
/// A stitch that the requested lookup does not support uses [`Planes`](Self::Planes) instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// Evaluates a compact mesh, which is within 1/32 source pixel of the warp's planes. The texture unit samples the
    /// frames with 8-bit weights. If frames and panorama are NV12 or P010, the four pixels of a chroma sample share one
    /// chroma lookup, provided that one patch of the mesh covers their whole tile of 32×32 pixels. Powers are fast:
    /// output levels differ from those of exact powers by at most one. For RGBA panoramas of 5700×1900 pixels, this
    /// lookup is three times as fast as [`Planes`](Self::Planes) on an H100.
    ///
    /// Does not support a [shoulder](shared_types::stitch::Colour::shoulder), a mix of P010 with other formats, a
    /// flipped NV12 or P010 panorama with an odd side, and frames that the device cannot read as textures, because their
    /// rows are not aligned. The planes that replace it have fast powers, too.
    #[default]
    Mesh,
    /// Reads the warp's planes, and samples the frames and computes powers in f32. The results of all other lookups are
    /// compared with this lookup.
    Planes,
    /// Reads the warp's planes, and samples the frames with a cubic filter, except P010 and the chroma of NV12. The
    /// panorama is sharper than with the other lookups: on photographs, its signal-to-noise ratio is 0.7 to 1.6 dB
    /// higher. Takes one launch per camera and one more. Powers are exact.
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
    pub const ALL: [Self; 6] = [
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
}
