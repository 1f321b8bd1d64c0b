//! Starts the stitching service; the module `service` of the examples describes it.
//!
//! `cargo run --release -p panoweave-examples --bin service -- [ADDRESS] [GEOMETRY] [DEVICE] [PER_ADDRESS] [MEMORY]`
//!
//! ```text
//! curl -F left=@left.jpg -F right=@right.jpg -F homography=@H.txt http://127.0.0.1:8080/stitch -o panorama.png
//! xdg-open http://127.0.0.1:8080/live
//! curl http://127.0.0.1:8080/health
//! ```
//!
//! GEOMETRY is a rig file (`.toml`) or a homography file (any other extension). It applies to requests that do not
//! contain a homography. If the argument is empty or missing, the service uses the rig of the examples.
//!
//! PER_ADDRESS is the maximum number of connections of one client address (128). Behind a proxy all clients have the
//! address of the proxy, so pass 512, the maximum number of connections. MEMORY is the maximum number of MiB of all
//! requests and responses together (256).

use std::env;
use std::sync::Arc;

use panoweave::device::DeviceName;
use panoweave_examples::service::{
    Live, MAX_MEMORY, MOST_PER_ADDRESS, Result, Still, WORK_GRACE, serve,
};

fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let geometry = arguments.next().filter(|file| !file.is_empty());
    let device: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let device = device.open()?;
    let per_address = arguments.next().map_or(Ok(MOST_PER_ADDRESS), |most| most.parse())?;
    let memory =
        arguments.next().map_or(Ok(MAX_MEMORY >> 20), |mib| mib.parse::<u16>().map(usize::from))?;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let still = Still::new(&device, geometry.as_deref())?.with_memory(memory << 20);
    let live = Arc::new(Live::start(&device, runtime.handle())?);
    let served = runtime.block_on(serve(&address, Arc::new(still), Arc::clone(&live), per_address));
    runtime.shutdown_timeout(WORK_GRACE);
    live.end();
    served
}
