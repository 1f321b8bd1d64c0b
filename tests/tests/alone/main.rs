//! Tests that need their own process, because they count its objects or memory, select its driver or lose its GPU.
//!
//! [`alone`](panoweave_tests::alone::alone) starts this executable again for each of them.

mod files_memory;
mod live_faults;
mod live_memory;
mod lost_gpu;
mod planted;
mod ssim_memory;
mod teardown;
mod view_memory;
