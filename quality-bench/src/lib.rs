//! A bench of panorama stitchers with exact truth.
//!
//! Scenes by formula ([`scene`]) and random rigs ([`rig`]) of each class ([`classes`]) give pictures and truth
//! ([`case`]). Each stitcher runs as a program on the same files ([`stitchers`]). The judge ([`judge`]) registers each
//! panorama with the truth and scores it. [`report`] writes tables and a page with pictures. `README.md` explains the
//! scores.

pub mod case;
pub mod classes;
pub mod error;
pub mod grid;
pub mod judge;
pub mod projection;
pub mod report;
pub mod rig;
pub mod run;
pub mod scene;
pub mod stitchers;
pub mod video;
