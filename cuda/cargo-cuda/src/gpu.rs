//! The GPUs of this machine.

use cust::typed::{CudaInfo, Device};

use crate::error::Error;

/// Returns the GPUs, or an error if there is none.
pub(crate) fn required() -> Result<Vec<CudaInfo>, Error> {
    let reason = match Device::cuda_devices() {
        Ok(all) if !all.is_empty() => return Ok(all),
        Ok(_) => "the driver reports no GPU".to_owned(),
        Err(error) => error.kind.to_string(),
    };
    Err(Error::new(format!(
        "cannot run kernels on a GPU: {reason}; to check kernels on the CPU, use `cargo cuda test`"
    )))
}
