//! Stitching.
