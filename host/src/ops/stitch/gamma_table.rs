//! Builds the table of both cameras' colour corrections in device memory. The stitch kernels for `Power::Table` read
//! this table instead of computing powers.

use cuda_std::DeviceSlice;
use kernels_gpu::stitch::GammaTable as BuildTable;
use shared_types::colour::{TABLE_BLOCK, TABLE_LEN, TableEntry};
use shared_types::stitch::Colour;

use crate::device::{Buffer, Device, DeviceError, LaunchConfig, Stream};

/// A table of levels after gain and gamma: 256 entries for each channel of each camera, 12 KiB in total.
/// [`update`](Self::update) rebuilds the table when gains or gammas change.
#[derive(Debug)]
pub struct GammaTable {
    entries: Buffer<TableEntry>,
    /// The colours of the left and the right camera for which the table was built. `None` before the first build.
    built_for: Option<[Colour; 2]>,
}

impl GammaTable {
    /// Allocates a table without building it.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the allocation fails.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { entries: Buffer::new(device, TABLE_LEN)?, built_for: None })
    }

    /// Submits the kernel that builds the table for these colours, unless the table was already built for them.
    /// Launches that read the table must use the same stream.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the launch fails.
    #[track_caller]
    pub fn update(
        &mut self,
        stream: &Stream,
        left: Colour,
        right: Colour,
    ) -> Result<(), DeviceError> {
        if self.built_for == Some([left, right]) {
            return Ok(());
        }
        let config = LaunchConfig {
            grid: [TABLE_LEN.div_ceil(TABLE_BLOCK), 1, 1],
            block: [TABLE_BLOCK, 1, 1],
            dynamic_shared: 0,
        };
        self.built_for = None;
        stream.launch(&config, &BuildTable { left, right, table: self.entries.view_mut() })?;
        self.built_for = Some([left, right]);
        Ok(())
    }

    /// Returns the table as a kernel argument: 1536 entries, first those of the left camera.
    #[must_use]
    pub fn view(&self) -> DeviceSlice<'_, TableEntry> {
        self.entries.view()
    }
}
