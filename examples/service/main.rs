//! Starts the stitching service; the module `service` of the examples describes it.
//!
//! ```text
//! cargo run --release -p panoweave-examples --bin service -- [ADDRESS] [GEOMETRY] [DEVICE] [PER_ADDRESS] [MEMORY]
//! curl -F left=@left.jpg -F right=@right.jpg -F homography=@H.txt http://127.0.0.1:8080/stitch -o panorama.png
//! xdg-open http://127.0.0.1:8080/live
//! curl http://127.0.0.1:8080/health
//! ```

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use panoweave::device::DeviceName;
use panoweave_examples::service::{
    Live, MAX_MEMORY, MOST_PER_ADDRESS, Result, Still, WORK_GRACE, serve,
};

/// Stitches pictures that clients send over HTTP, and shows a live panorama.
#[derive(Parser)]
#[command(name = "service")]
struct Args {
    /// IP address and port.
    #[arg(default_value = "127.0.0.1:8080")]
    address: String,
    /// Rig of two cameras (.toml) or homography file (any other extension) for requests that do not contain a
    /// homography. If it is empty, the service uses the rig of the examples.
    #[arg(default_value = "")]
    geometry: String,
    /// Device that stitches: cpu, cuda:N or auto.
    #[arg(default_value = "auto")]
    device: DeviceName,
    /// Maximum number of connections of one client address. Behind a proxy all clients have the address of the proxy,
    /// so use 512, the maximum number of connections.
    #[arg(default_value_t = NonZero::new(MOST_PER_ADDRESS).unwrap())]
    per_address: NonZero<usize>,
    /// Maximum size in MiB of all requests and responses together. Their buffers may occupy twice as much memory.
    #[arg(default_value_t = NonZero::new((MAX_MEMORY >> 20) as u16).unwrap())]
    memory: NonZero<u16>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result {
    let device = args.device.open()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let geometry = Some(args.geometry.as_str()).filter(|file| !file.is_empty());
    let memory = usize::from(args.memory.get()) << 20;
    let still = Arc::new(Still::new(&device, geometry)?.with_memory(memory));
    let live = Arc::new(Live::start(&device, runtime.handle())?);
    let served =
        runtime.block_on(serve(&args.address, still, Arc::clone(&live), args.per_address.get()));
    runtime.shutdown_timeout(WORK_GRACE);
    live.end();
    served
}
