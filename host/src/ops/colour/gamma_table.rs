//! The correction of both cameras as a table on the device.

use cuda_std::DeviceSlice;
use kernels_gpu::colour::GammaTable as BuildTable;
use shared_types::colour::{TABLE_BLOCK, TABLE_LEN, TableEntry};
use shared_types::stitch::Colour;

use crate::device::{Buffer, Device, DeviceError, LaunchConfig, Stream};

/// 256 entries for each camera and channel, the gain folded in; rebuilt by a kernel when gains or gammas
/// change. 12 KiB.
#[derive(Debug)]
pub struct GammaTable {
    entries: Buffer<TableEntry>,
    /// What it was last built for: left, right.
    built_for: Option<[Colour; 2]>,
}

impl GammaTable {
    /// A table that is not built yet.
    ///
    /// # Errors
    /// What the device says.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { entries: Buffer::new(device, TABLE_LEN)?, built_for: None })
    }

    /// Submits the building of the table, if it was not built for these colours. Launches that read it
    /// must be on the same stream.
    ///
    /// # Errors
    /// What the device says.
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

    /// For a kernel to read.
    #[must_use]
    pub fn view(&self) -> DeviceSlice<'_, TableEntry> {
        self.entries.view()
    }
}
