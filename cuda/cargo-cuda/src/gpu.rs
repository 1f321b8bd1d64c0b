//! The GPUs of this machine.

use cust::typed::{CudaInfo, Device};

use crate::error::Error;

/// Returns the GPUs, or an error if there is none.
pub(crate) fn required() -> Result<Vec<CudaInfo>, Error> {
    match Device::cuda_devices() {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(Error::NoGpu { reason: "the driver reports no GPU".to_owned() }),
        Err(error) => Err(Error::NoGpu { reason: error.kind.to_string() }),
    }
}
