//! Colour tags of a video that do not change its levels: the primaries and the transfer function. The matrix and the
//! range are in [`YuvEncoding`](super::YuvEncoding), because the kernels use them.

use std::fmt;

/// The primaries of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Primaries {
    /// BT.709, and all primaries that panoweave does not distinguish from it.
    #[default]
    Bt709,
    /// BT.2020, for wide colour gamut.
    Bt2020,
}

/// The transfer function of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transfer {
    /// BT.709, and all functions that panoweave does not distinguish from it.
    #[default]
    Bt709,
    /// Perceptual quantiser (PQ, SMPTE ST 2084), for high dynamic range.
    Pq,
    /// Hybrid log-gamma (HLG, ARIB STD-B67), for high dynamic range.
    Hlg,
}

/// The primaries and the transfer function of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColourTags {
    /// The primaries.
    pub primaries: Primaries,
    /// The transfer function.
    pub transfer: Transfer,
}

impl fmt::Display for ColourTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.primaries {
            Primaries::Bt709 => "BT.709 primaries",
            Primaries::Bt2020 => "BT.2020 primaries",
        })?;
        f.write_str(match self.transfer {
            Transfer::Bt709 => "",
            Transfer::Pq => " and the PQ transfer function",
            Transfer::Hlg => " and the HLG transfer function",
        })
    }
}
