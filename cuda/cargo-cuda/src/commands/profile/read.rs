//! Reads the JSON of a profile.

use std::collections::BTreeMap;

use cust::typed::Profile;
use cust::typed::profile::{Counts, KernelProfile, Operation, Site};
use serde_json::Value;

/// Returns the profile in a text, or `None` if another version of the simulator has written it.
pub(super) fn parse(text: &str) -> Option<Profile> {
    let json: Value = serde_json::from_str(text).ok()?;
    let mut kernels = BTreeMap::new();
    for kernel in json["kernels"].as_array()? {
        kernels.insert(kernel["name"].as_str()?.to_owned(), parse_kernel(kernel)?);
    }
    Some(Profile { kernels })
}

fn parse_kernel(json: &Value) -> Option<KernelProfile> {
    Some(KernelProfile {
        launches: json["launches"].as_u64()?,
        blocks: json["blocks"].as_u64()?,
        warps: json["warps"].as_u64()?,
        dropped: json["dropped"].as_u64()?,
        sites: json["sites"].as_array()?.iter().map(parse_site).collect::<Option<_>>()?,
    })
}

fn parse_site(json: &Value) -> Option<(Site, Counts)> {
    let number = |key: &str| json[key].as_u64();
    let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
    let operation = json["operation"].as_str()?;
    let site = Site {
        file: json["file"].as_str()?.to_owned(),
        line: small("line")?,
        column: small("column")?,
        operation: Operation::ALL.into_iter().find(|one| one.name() == operation)?,
        bytes: small("bytes")?,
    };
    let counts = Counts {
        requests: number("requests")?,
        lanes: number("lanes")?,
        partial: number("partial")?,
        sectors: number("sectors")?,
        ideal_sectors: number("ideal_sectors")?,
        lines: number("lines")?,
        wavefronts: number("wavefronts")?,
        ideal_wavefronts: number("ideal_wavefronts")?,
    };
    Some((site, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a profile with two kernels, all operations, and numbers that differ.
    fn profile() -> Profile {
        let site = |(i, operation): (u32, Operation)| {
            let site = Site {
                file: format!("a \"quoted\" \\ ü\t{i}.rs"),
                line: i + 1,
                column: i + 2,
                operation,
                bytes: 1 << (i % 5),
            };
            let n = u64::from(i) << 40;
            let counts = Counts {
                requests: n + 1,
                lanes: n + 2,
                partial: n + 3,
                sectors: n + 5,
                ideal_sectors: n + 4,
                lines: n + 6,
                wavefronts: n + 8,
                ideal_wavefronts: n + 7,
            };
            (site, counts)
        };
        let sites = (0..).zip(Operation::ALL).map(site).collect();
        let kernel = KernelProfile { launches: 1, blocks: 2, warps: 3, dropped: 4, sites };
        let kernels = [("a".to_owned(), kernel), ("b".to_owned(), KernelProfile::default())];
        Profile { kernels: kernels.into() }
    }

    #[test]
    fn the_written_profile_is_read_back() {
        assert_eq!(parse(&profile().to_json()), Some(profile()));
        assert_eq!(parse(&Profile::default().to_json()), Some(Profile::default()));
    }

    #[test]
    fn other_texts_are_rejected() {
        let json = profile().to_json();
        let others = [json.replace("partial", "half"), json.replace("barrier", "fence")];
        for text in ["", "{}", "[]", &json[..json.len() / 2], &others[0], &others[1]] {
            assert_eq!(parse(text), None);
        }
    }
}
