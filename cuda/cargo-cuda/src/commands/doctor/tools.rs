//! Checks NVIDIA's command-line tools. All are optional.

use super::{Finding, State};
use crate::tools::{self, GDB, NVDISASM, PTXAS, SANITIZER, Tool};

/// Returns a line for each tool.
pub(super) fn check() -> Vec<Finding> {
    [PTXAS, NVDISASM, SANITIZER, GDB].into_iter().map(one).collect()
}

fn one(tool: Tool) -> Finding {
    let Some(path) = tool.find() else {
        let text = format!("needed to {}: {}", tool.purpose, tool.remedy);
        return Finding::new(State::Missing, tool.name, text);
    };
    match tools::version(&path) {
        Some(version) => {
            Finding::new(State::Ok, tool.name, format!("{version} ({})", path.display()))
        }
        None => {
            let text = format!("`{} --version` fails: {}", path.display(), tool.remedy);
            Finding::new(State::Missing, tool.name, text)
        }
    }
}
