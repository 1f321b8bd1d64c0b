//! The old spelling `--warp HOW`, which an alias cannot express.
//!
//! `--warp HOW` selected the lookup; today `--warp` names a warp file and `--lookup HOW` selects the lookup. All other
//! old spellings are aliases of their options and commands: `--lut` in `options/warp.rs`, `panoweave lut` in `cli.rs`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use panoweave::ops::stitch::Lookup;

/// Returns the arguments with `--warp HOW` replaced by `--lookup HOW`, unless a file `HOW` exists.
pub(crate) fn modernise(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.collect();
    let options = all.iter().position(|argument| argument == "--").unwrap_or(all.len());
    for at in 0..options {
        let value = all.get(at + 1).is_some_and(|value| is_lookup(value));
        if all[at] == "--warp" && value {
            all[at] = "--lookup".into();
        }
        if let Some(value) = all[at].to_str().and_then(|argument| argument.strip_prefix("--warp="))
            && is_lookup(OsStr::new(value))
        {
            all[at] = format!("--lookup={value}").into();
        }
    }
    all
}

fn is_lookup(value: &OsStr) -> bool {
    Lookup::ALL.iter().any(|lookup| value == lookup.name()) && !Path::new(value).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_after_warp_is_the_old_spelling() {
        let modern =
            |line: &str| modernise(line.split(' ').map(OsString::from)).join(OsStr::new(" "));
        assert_eq!(modern("stitch --warp mesh a b"), "stitch --lookup mesh a b");
        assert_eq!(modern("stitch --warp=planes a"), "stitch --lookup=planes a");
        assert_eq!(modern("stitch --warp home.safetensors"), "stitch --warp home.safetensors");
        assert_eq!(modern("stitch -- --warp mesh"), "stitch -- --warp mesh");
    }
}
