//! Conversion between Y'CbCr and R'G'B': the standards, and the precomputed factors that kernels use.
//!
//! All values are levels from 0 to 255. A standard defines the luma coefficients Kr and Kb; Kg is 1 − Kr − Kb. With
//! these coefficients, ITU-R BT.601, BT.709 (section 3) and BT.2020 (non-constant luminance) define Y'CbCr as follows:
//!
//! ```text
//! Y  = Kr·R + Kg·G + Kb·B
//! Cb = (B − Y) / (2(1 − Kb))
//! Cr = (R − Y) / (2(1 − Kr))
//! ```
//!
//! Full range stores Y and 128 + C, where C is Cb or Cr; limited range stores 16 + Y·219/255 and 128 + C·224/255.
//!
//! A 10-bit sample is given in quarters of a level, from 0 to 255.75. Black, white and neutral chroma of limited range
//! are then the same numbers as with 8 bits: 64, 940 and 512 quarters. White of full range is 1023 quarters, 255.75, and
//! neutral chroma is 128.
//!
//! R'G'B' is the encoded signal of the video. No conversion depends on the transfer function, so PQ and HLG signals are
//! mixed as they are, without linearisation and without tone mapping.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::Vec3;

/// The standard that defines the luma coefficients Kr and Kb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum YuvMatrix {
    /// BT.601, for standard definition.
    Bt601,
    /// BT.709, for high definition.
    #[default]
    Bt709,
    /// BT.2020 with non-constant luminance, for ultra-high definition and HDR.
    Bt2020,
}

impl YuvMatrix {
    /// Returns the luma coefficients Kr and Kb.
    #[must_use]
    pub const fn coefficients(self) -> [f64; 2] {
        match self {
            Self::Bt601 => [0.299, 0.114],
            Self::Bt709 => [0.2126, 0.0722],
            Self::Bt2020 => [0.2627, 0.0593],
        }
    }
}

/// The range of stored levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Range {
    /// Luma 16 to 235 and chroma 16 to 240, as in video.
    #[default]
    Limited,
    /// 0 to 255, as in JPEG and many cameras.
    Full,
}

/// The encoding of colours as Y'CbCr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct YuvEncoding {
    /// The standard that defines the luma coefficients.
    pub matrix: YuvMatrix,
    /// The range of stored levels, which determines the levels of black and white.
    pub range: Range,
}

/// The conversion from Y'CbCr to R'G'B' levels:
///
/// ```text
/// y' = (Y − black) · scale
/// R = y' + cr_red · (Cr − 128)
/// G = y' + cb_green · (Cb − 128) + cr_green · (Cr − 128)
/// B = y' + cb_blue · (Cb − 128)
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct YuvToRgb {
    /// The stored luma level of black.
    pub black: f32,
    /// The number of R'G'B' levels per level of luma.
    pub scale: f32,
    /// The factor of Cr in red.
    pub cr_red: f32,
    /// The factor of Cb in green.
    pub cb_green: f32,
    /// The factor of Cr in green.
    pub cr_green: f32,
    /// The factor of Cb in blue.
    pub cb_blue: f32,
}

/// The conversion from R'G'B' to Y'CbCr levels, where `·` is the dot product:
///
/// ```text
/// Y  = black + y · (R, G, B)
/// Cb = 128 + cb · (R, G, B)
/// Cr = 128 + cr · (R, G, B)
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct RgbToYuv {
    /// Weights of red, green and blue in luma.
    pub y: Vec3,
    /// The stored luma level of black.
    pub black: f32,
    /// Weights of red, green and blue in Cb.
    pub cb: Vec3,
    /// Weights of red, green and blue in Cr.
    pub cr: Vec3,
}

/// The highest level of 8-bit samples.
const HIGHEST: f64 = 255.0;

/// The highest level of 10-bit samples: 1023 quarters.
const HIGHEST_10: f64 = 255.75;

impl YuvEncoding {
    /// Returns three numbers: the luma level of black, the R'G'B' levels per luma level, and the R'G'B' levels per
    /// chroma level. `highest` is the highest level of a sample.
    const fn range(self, highest: f64) -> (f64, f64, f64) {
        match self.range {
            Range::Limited => (16.0, 255.0 / 219.0, 255.0 / 224.0),
            Range::Full => (0.0, 255.0 / highest, 255.0 / highest),
        }
    }

    /// Returns the conversion for reading 8-bit pictures with this encoding.
    #[must_use]
    pub fn to_rgb(self) -> YuvToRgb {
        self.decoding(HIGHEST)
    }

    /// Returns the conversion for reading 10-bit pictures with this encoding. Samples are in quarters of a level.
    #[must_use]
    pub fn to_rgb_10(self) -> YuvToRgb {
        self.decoding(HIGHEST_10)
    }

    fn decoding(self, highest: f64) -> YuvToRgb {
        let ([kr, kb], (black, luma, chroma)) = (self.matrix.coefficients(), self.range(highest));
        let kg = 1.0 - kr - kb;
        let (cr, cb) = (2.0 * (1.0 - kr) * chroma, 2.0 * (1.0 - kb) * chroma);
        YuvToRgb {
            black: black as f32,
            scale: luma as f32,
            cr_red: cr as f32,
            cb_green: (-cb * kb / kg) as f32,
            cr_green: (-cr * kr / kg) as f32,
            cb_blue: cb as f32,
        }
    }

    /// Returns the conversion for writing 8-bit pictures with this encoding.
    #[must_use]
    pub fn from_rgb(self) -> RgbToYuv {
        self.encoding(HIGHEST)
    }

    /// Returns the conversion for writing 10-bit pictures with this encoding. Samples are in quarters of a level.
    #[must_use]
    pub fn from_rgb_10(self) -> RgbToYuv {
        self.encoding(HIGHEST_10)
    }

    fn encoding(self, highest: f64) -> RgbToYuv {
        let ([kr, kb], (black, luma, chroma)) = (self.matrix.coefficients(), self.range(highest));
        let kg = 1.0 - kr - kb;
        let (cb, cr) = (2.0 * (1.0 - kb) * chroma, 2.0 * (1.0 - kr) * chroma);
        let vec3 = |x: f64, y: f64, z: f64| Vec3::new(x as f32, y as f32, z as f32);
        RgbToYuv {
            y: vec3(kr / luma, kg / luma, kb / luma),
            black: black as f32,
            cb: vec3(-kr / cb, -kg / cb, (1.0 - kb) / cb),
            cr: vec3((1.0 - kr) / cr, -kg / cr, -kb / cr),
        }
    }
}
