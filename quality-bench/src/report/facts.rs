//! The date, the versions and the machine of a run, without names of hosts or folders.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::stitchers::{Stitcher, process};

/// The facts that a result depends on.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Facts {
    /// The date of the run, in UTC.
    pub date: String,
    /// The versions of the stitchers.
    pub versions: Vec<String>,
    /// The processor, if the system tells it.
    pub processor: String,
    /// Number of cores.
    pub cores: usize,
    /// The operating system and architecture.
    pub system: String,
    /// The options of the run, such as `--quick`.
    pub options: String,
    /// Seconds that the whole run took.
    pub seconds: f64,
}

impl Facts {
    /// Collects the facts.
    #[must_use]
    pub fn new(stitchers: &[Stitcher], options: String, seconds: f64) -> Self {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model.map_or("unknown", |text| text.trim_start_matches([' ', '\t', ':']));
        Self {
            date: process::printed(Command::new("date").args(["-u", "+%F"]))
                .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned()),
            versions: stitchers.iter().map(|s| format!("{}: {}", s.name, s.version)).collect(),
            processor: model.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            options,
            seconds,
        }
    }
}
