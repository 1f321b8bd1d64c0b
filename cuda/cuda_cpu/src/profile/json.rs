//! Writes a profile as JSON.

use super::{Counts, KernelProfile, Profile, Site};

/// Returns the profile as JSON, one line per place.
pub(super) fn write(profile: &Profile) -> String {
    let kernels: Vec<_> = profile.kernels.iter().map(|(name, one)| kernel(name, one)).collect();
    format!("{{\"kernels\": [{}]}}\n", kernels.join(","))
}

fn kernel(name: &str, kernel: &KernelProfile) -> String {
    let KernelProfile { launches, blocks, warps, dropped, sites } = kernel;
    let sites: Vec<_> = sites.iter().map(|(site, counts)| line(site, counts)).collect();
    format!(
        "\n {{\"name\": {}, \"launches\": {launches}, \"blocks\": {blocks}, \"warps\": {warps}, \
         \"dropped\": {dropped}, \"sites\": [\n{}]}}",
        quoted(name),
        sites.join(",\n")
    )
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
    let escaped = text.chars().map(|character| match character {
        '"' | '\\' => format!("\\{character}"),
        control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
        other => other.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
