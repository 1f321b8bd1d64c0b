//! Tests that need their own process, because they count the process's objects or memory, select its CUDA driver, or
//! lose its GPU.
//!
//! [`alone`](panoweave_tests::alone::alone) or `live_faults::fake::alone` starts this executable again for each
//! test.

mod files_memory;
mod live_faults;
mod live_joins;
mod live_memory;
mod teardown;
mod view_memory;
