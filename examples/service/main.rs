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
use std::process::ExitCode;
use std::sync::Arc;

use panoweave::device::DeviceName;
use panoweave_examples::service::{
    Live, MAX_MEMORY, MOST_PER_ADDRESS, Result, Still, WORK_GRACE, serve,
};

const USAGE: &str = "usage: service [ADDRESS] [GEOMETRY] [DEVICE] [PER_ADDRESS] [MEMORY]

ADDRESS      IP address and port (default: 127.0.0.1:8080)
GEOMETRY     rig of two cameras (.toml) or homography file (default or empty: the rig of the examples)
DEVICE       cpu, cuda:N or auto (default: auto)
PER_ADDRESS  maximum number of connections of one client address (default: 128)
MEMORY       memory for all requests and responses together, in MiB (default: 256)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result {
    let mut arguments = arguments.into_iter();
    let invalid = |name: &str, error: &dyn std::fmt::Display| format!("{name}: {error}\n{USAGE}");
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let geometry = arguments.next().filter(|file| !file.is_empty());
    let device: DeviceName = arguments
        .next()
        .as_deref()
        .unwrap_or("auto")
        .parse()
        .map_err(|error| invalid("DEVICE", &error))?;
    let device = device.open()?;
    let per_address = arguments.next().map_or(Ok(MOST_PER_ADDRESS), |most| most.parse());
    let per_address = per_address.map_err(|error| invalid("PER_ADDRESS", &error))?;
    let memory = arguments.next().map(|mib| mib.parse::<u16>().map(usize::from));
    let memory =
        memory.unwrap_or(Ok(MAX_MEMORY >> 20)).map_err(|error| invalid("MEMORY", &error))?;

    if arguments.next().is_some() {
        return Err(USAGE.into());
    }

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let still = Still::new(&device, geometry.as_deref())?.with_memory(memory << 20);
    let live = Arc::new(Live::start(&device, runtime.handle())?);
    let served = runtime.block_on(serve(&address, Arc::new(still), Arc::clone(&live), per_address));
    runtime.shutdown_timeout(WORK_GRACE);
    live.end();
    served
}
