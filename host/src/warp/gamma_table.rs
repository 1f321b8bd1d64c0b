//! The table of both cameras' colour corrections in device memory, for [`Lookup::GammaTable`](crate::ops::stitch::Lookup::GammaTable).

use kernels_gpu::stitch::GammaTable as BuildTable;
use shared_types::colour::{TABLE_BLOCK, TABLE_LEN, TableEntry};
use shared_types::stitch::Colour;

use crate::device::{Buffer, Device, DeviceError, Event, LaunchConfig, Stream};

/// A table of levels after gain and gamma: 256 entries for each channel of each camera, first the left one, 12 KiB in
/// total.
#[derive(Debug)]
pub(crate) struct GammaTable {
    pub(crate) entries: Buffer<TableEntry>,
    /// The colours of the left and the right camera for which the table was built. `None` before the first build.
    built_for: Option<[Colour; 2]>,
    /// An event that is recorded after the last work that uses `entries`.
    pub(crate) done: Event,
}

impl GammaTable {
    /// Allocates a table without building it.
    #[track_caller]
    pub(crate) fn new(device: &Device) -> Result<Self, DeviceError> {
        let (entries, done) = (Buffer::new(device, TABLE_LEN)?, Event::for_order(device)?);
        Ok(Self { entries, built_for: None, done })
    }

    /// Submits the kernel that builds the table for these colours, unless it is already built for them.
    #[track_caller]
    pub(crate) fn update(
        &mut self,
        stream: &Stream,
        [left, right]: [Colour; 2],
    ) -> Result<(), DeviceError> {
        stream.wait(&self.done)?;
        if self.built_for == Some([left, right]) {
            return Ok(());
        }
        self.built_for = None;
        let config = LaunchConfig::cover(TABLE_LEN, 1, [TABLE_BLOCK, 1]);
        stream.launch(&config, &BuildTable { left, right, table: self.entries.view_mut() })?;
        self.built_for = Some([left, right]);
        Ok(())
    }
}
