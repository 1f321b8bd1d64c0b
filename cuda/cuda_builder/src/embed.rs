//! Writes a Rust file that embeds the PTX in a host program.
//!
//! The file is one call of the macro `cust::kernels!`, which makes the PTX images available to the
//! program:
//!
//! ```text
//! ::cust::kernels! {
//!     package: "vecadd-kernels",
//!     images: [
//!         (7, 5, include_str!("kernels.sm_75.ptx")),
//!         (9, 0, include_str!("kernels.sm_90.ptx")),
//!     ],
//! }
//! ```
//!
//! The numbers are the compute capability. They do not distinguish a variant such as `sm_90a` from
//! `sm_90`; the `.target` line of the PTX does.

use crate::{Build, BuildError, workplace};
use std::fmt::Write as _;
use std::path::Path;

impl Build {
    /// Writes a Rust file beside the PTX and returns its path: `kernels.rs`, or the path that
    /// `copy_to` set, with its extension replaced by `.rs`. A host program that includes the file
    /// with `include!` embeds the PTX.
    ///
    /// ```no_run
    /// use cuda_builder::CudaBuilder;
    ///
    /// let build = CudaBuilder::new("kernels").copy_to("ptx/kernels.ptx").build()?;
    /// assert_eq!(build.write_rust()?.extension(), Some("rs".as_ref()));
    /// # Ok::<(), cuda_builder::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`BuildError::Io`] if the file cannot be written.
    pub fn write_rust(&self) -> Result<&Path, BuildError> {
        workplace::write_if_changed(&self.rust, &self.rust_text())?;
        Ok(&self.rust)
    }

    fn rust_text(&self) -> String {
        let mut text =
            format!("::cust::kernels! {{\n    package: {:?},\n    images: [\n", self.kernel_crate);
        for one in &self.archs {
            let (major, minor) = one.arch.capability();
            let _ = writeln!(text, "        ({major}, {minor}, include_str!({:?})),", one.file);
        }
        text.push_str("    ],\n}\n");
        text
    }
}
