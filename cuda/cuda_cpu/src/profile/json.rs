//! Writes a profile as JSON.

use std::fmt::Write;

use super::{Counts, Profile, Site};

/// Returns the profile as JSON, one line per place.
pub(super) fn write(profile: &Profile) -> String {
    let mut out = String::from("{\"kernels\": [");
    for (i, (name, kernel)) in profile.kernels.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let name = quoted(name);
        let [launches, blocks] = [kernel.launches, kernel.blocks];
        let [warps, dropped] = [kernel.warps, kernel.dropped];
        let sites: Vec<_> = kernel.sites.iter().map(|(site, counts)| line(site, counts)).collect();
        let sites = sites.join(",\n");
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{comma}\n {{\"name\": {name}, \"launches\": {launches}, \"blocks\": {blocks}, \"warps\": {warps}, \
             \"dropped\": {dropped}, \"sites\": [\n{sites}]}}"
        );
    }
    out.push_str("]}\n");
    out
}

fn line(site: &Site, counts: &Counts) -> String {
    let Site { file, line, column, operation, bytes } = site;
    let Counts { requests, lanes, partial, sectors, ideal_sectors, .. } = counts;
    let Counts { lines, wavefronts, ideal_wavefronts, .. } = counts;
    let (file, operation) = (quoted(file), operation.name());
    format!(
        "  {{\"file\": {file}, \"line\": {line}, \"column\": {column}, \"operation\": \"{operation}\", \
         \"bytes\": {bytes}, \"requests\": {requests}, \"lanes\": {lanes}, \"partial\": {partial}, \
         \"sectors\": {sectors}, \"ideal_sectors\": {ideal_sectors}, \"lines\": {lines}, \
         \"wavefronts\": {wavefronts}, \"ideal_wavefronts\": {ideal_wavefronts}}}"
    )
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
