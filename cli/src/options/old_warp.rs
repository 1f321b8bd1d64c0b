//! Accepts `--warp HOW`, the old spelling of `--lookup HOW`.
//!
//! Today `--warp` names a warp file, so clap cannot express the old spelling as an alias. Other old spellings are clap
//! aliases: `options/warp.rs` defines `--lut` for `--warp`, and `cli.rs` defines `panoweave lut` for `panoweave warp`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use panoweave::ops::stitch::Lookup;

/// Replaces `--warp HOW` in the arguments by `--lookup HOW` if `HOW` is the name of a lookup, such as `mesh`, and no
/// file with this name exists.
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
