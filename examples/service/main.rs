//! Starts the stitching service; the module `service` of the examples describes it.
//!
//! `cargo run --release -p panoweave-examples --bin service -- [ADDRESS] [GEOMETRY] [DEVICE]`
//!
//! ```text
//! curl -F left=@left.jpg -F right=@right.jpg -F homography=@H.txt http://127.0.0.1:8080/stitch -o panorama.png
//! xdg-open http://127.0.0.1:8080/live
//! curl http://127.0.0.1:8080/health
//! ```
//!
//! GEOMETRY is a rig file (`.toml`) or a homography file (any other extension). It applies to requests that do not
//! contain a homography. If the argument is empty or missing, the service uses the rig of the examples.

use std::env;
use std::sync::Arc;

use panoweave::device::DeviceName;
use panoweave_examples::service::{GRACE, Live, Result, Still, serve};

fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let geometry = arguments.next().filter(|file| !file.is_empty());
    let device: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let device = device.open()?;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let still = Arc::new(Still::new(&device, geometry.as_deref())?);
    let live = Arc::new(Live::start(&device, runtime.handle())?);
    let served = runtime.block_on(serve(&address, still, Arc::clone(&live)));
    runtime.shutdown_timeout(GRACE);
    live.end();
    served
}
