//! The names and numbers with which a video states its matrix, its primaries and its transfer function.

use crate::frame::{ColourTags, Primaries, Transfer, YuvEncoding, YuvMatrix};

/// A colour property of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePoint {
    /// The name in ffmpeg.
    pub(super) name: &'static str,
    /// The number in a stream, according to ITU-T H.273.
    pub(super) code: u32,
}

/// The colour properties of a video besides its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePoints {
    pub(super) matrix: CodePoint,
    pub(super) primaries: CodePoint,
    pub(super) transfer: CodePoint,
}

/// The number of the position of a chroma sample in the centre of four pixels.
pub(super) const CHROMA_CENTRE: u32 = 1;

impl CodePoints {
    pub(super) fn of(encoding: YuvEncoding, tags: ColourTags) -> Self {
        let point = |name, code| CodePoint { name, code };
        let (bt709, bt601) = (point("bt709", 1), point("smpte170m", 6));
        let (matrix, own_primaries, own_transfer) = match encoding.matrix {
            YuvMatrix::Bt601 => (bt601, bt601, bt601),
            YuvMatrix::Bt709 => (bt709, bt709, bt709),
            YuvMatrix::Bt2020 => (point("bt2020nc", 9), bt709, point("bt2020-10", 14)),
        };
        let primaries = match tags.primaries {
            Primaries::Bt709 => own_primaries,
            Primaries::Bt2020 => point("bt2020", 9),
        };
        let transfer = match tags.transfer {
            Transfer::Bt709 => own_transfer,
            Transfer::Pq => point("smpte2084", 16),
            Transfer::Hlg => point("arib-std-b67", 18),
        };
        Self { matrix, primaries, transfer }
    }
}
