//! The GPU architectures a kernel crate can be compiled for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A virtual architecture, as in `sm_87`. PTX for one runs on it and on all later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Arch {
    /// Turing: T4, RTX 20.
    #[serde(rename = "sm_75")]
    Sm75,
    /// Ampere: A100.
    #[serde(rename = "sm_80")]
    Sm80,
    /// Ampere: A10, RTX 30.
    #[serde(rename = "sm_86")]
    Sm86,
    /// Ampere: Jetson Orin.
    #[serde(rename = "sm_87")]
    Sm87,
    /// Ada: L4, RTX 40.
    #[serde(rename = "sm_89")]
    Sm89,
    /// Hopper: H100, H200.
    #[serde(rename = "sm_90")]
    Sm90,
    /// Blackwell: B200.
    #[serde(rename = "sm_100")]
    Sm100,
    /// Blackwell: RTX 50.
    #[serde(rename = "sm_120")]
    Sm120,
}

impl Arch {
    /// The name that rustc, `ptxas` and file names use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm75 => "sm_75",
            Self::Sm80 => "sm_80",
            Self::Sm86 => "sm_86",
            Self::Sm87 => "sm_87",
            Self::Sm89 => "sm_89",
            Self::Sm90 => "sm_90",
            Self::Sm100 => "sm_100",
            Self::Sm120 => "sm_120",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
