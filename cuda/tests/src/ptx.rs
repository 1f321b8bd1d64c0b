//! Reads the kernels, their launch bounds and their instructions from PTX texts.

use std::collections::{BTreeMap, BTreeSet};

use cust::typed::PtxImage;

/// Returns the text of each kernel in a PTX file, by kernel name.
#[must_use]
pub fn entries(ptx: &str) -> BTreeMap<&str, Entry<'_>> {
    ptx.split(".visible .entry ")
        .skip(1)
        .map(|text| {
            let (name, rest) = text.split_once('(').expect("a parameter list");
            let (head, rest) = rest.split_once("\n{\n").expect("a body");
            let (body, _) = rest.split_once("\n}\n").expect("an end of the body");
            (name, Entry { head, body })
        })
        .collect()
}

/// A kernel in a PTX file.
pub struct Entry<'a> {
    head: &'a str,
    /// The instructions.
    pub body: &'a str,
}

impl Entry<'_> {
    /// Returns the value of the directive `name` between the kernel's parameters and its body. Returns `None` if there
    /// is no such directive.
    #[must_use]
    pub fn directive(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        lines.filter_map(|line| line.strip_prefix(name)).map(str::trim).next()
    }

    /// Returns the number of instructions in the kernel whose text begins with `instruction`. Predicated instructions
    /// count, too.
    #[must_use]
    pub fn count(&self, instruction: &str) -> usize {
        let lines = self.body.lines().map(str::trim);
        lines
            .map(|line| match line.split_once(|c: char| c.is_whitespace()) {
                Some((predicate, rest)) if predicate.starts_with('@') => rest.trim(),
                _ => line,
            })
            .filter(|line| line.starts_with(instruction))
            .count()
    }
}

/// Returns the names of the architectures of PTX texts.
#[must_use]
pub fn architectures(images: &[PtxImage]) -> Vec<String> {
    images.iter().map(|image| image.arch.to_string()).collect()
}

/// A kernel's name, maximum threads per block, minimum blocks per multiprocessor and number of barriers.
pub type Bounds = (String, u32, Option<u32>, usize);

/// Returns the bounds of all kernels.
#[must_use]
pub fn bounds(image: &PtxImage) -> BTreeSet<Bounds> {
    let of = |(name, entry): (&str, Entry<'_>)| {
        let threads = entry.directive(".maxntid").expect("every kernel has launch bounds");
        let threads = threads.strip_suffix(", 1, 1").expect("a bound along x");
        let blocks = entry.directive(".minnctapersm");
        let barriers = entry.count("bar.sync") + entry.count("bar.red") + entry.count("barrier");
        (
            name.to_owned(),
            threads.parse().unwrap(),
            blocks.map(|blocks| blocks.parse().unwrap()),
            barriers,
        )
    };
    entries(image.text.get()).into_iter().map(of).collect()
}

/// Checks that on Hopper and newer GPUs, every kernel allows the next kernel to start at once, and itself waits until
/// the previous kernel has ended.
pub fn waits_for_the_one_before(image: &PtxImage) {
    let waits = usize::from(image.arch.major >= 9);
    for (name, entry) in entries(image.text.get()) {
        let launches = entry.count("griddepcontrol.launch_dependents");
        assert_eq!(launches, waits, "{name} for {}", image.arch);
        // The compiler may copy the wait into branches that no other one follows.
        let found = entry.count("griddepcontrol.wait");
        assert!((waits..=2 * waits).contains(&found), "{name} for {}: {found}", image.arch);
    }
}
