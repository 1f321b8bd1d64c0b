//! Writes a profile as an HTML page: for each kernel its source with the counts in the margin.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::source::Sources;
use super::table::{access, dropped, each, grouped, per_request, size};
use super::{Counts, KernelProfile, Operation, Profile, Site};
use crate::WARP_SIZE;

/// The style sheet, which is part of the page.
const STYLE: &str = include_str!("page.css");

/// The number of source lines between two places up to which the lines are shown.
const NEAR: u32 = 40;

const INTRODUCTION: &str = "\
<p>The counts are those of the CPU simulator: requests of a warp, not time. A request to global memory transfers \
<b>sectors</b> of 32 bytes, a request to shared memory takes <b>wavefronts</b>. <b>Each</b> is their number per request, \
<b>ideal</b> the number without uncoalesced accesses and bank conflicts. <b>Lanes</b> are active lanes per request; a \
request is <b>partial</b> if some threads of the warp took another branch, left the loop or returned.</p>";

/// Implements [`Profile::to_html`].
pub(super) fn write(profile: &Profile) -> String {
    let mut page = Page { out: String::new(), sources: Sources::new() };
    page.add("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    page.add("<meta name=\"viewport\" content=\"width=device-width\">\n");
    page.add("<title>Kernel profile</title>\n<style>\n");
    page.add(STYLE);
    page.add("</style>\n<h1>Kernel profile</h1>\n");
    page.add(INTRODUCTION);
    page.summary(profile);
    for (name, kernel) in profile.worst_first() {
        page.kernel(name, kernel);
    }
    page.add("</html>\n");
    page.out
}

/// The places of each source line.
type Lines<'a> = BTreeMap<u32, Vec<(&'a Site, &'a Counts)>>;

struct Page {
    out: String,
    sources: Sources,
}

impl Page {
    fn add(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Adds the table of all kernels.
    fn summary(&mut self, profile: &Profile) {
        self.add(
            "\n<table class=\"summary\"><thead><tr><th>kernel<th>launches<th>warps<th>global sectors<th>of ideal\
             <th>bank conflicts<th>lanes</thead>\n",
        );
        for (name, kernel) in profile.worst_first() {
            let mut sum = Counts::default();
            kernel.sites.values().for_each(|counts| sum += *counts);
            let ratio = match sum.ideal_sectors {
                0 => String::new(),
                ideal => format!("{:.2}×", sum.sectors as f64 / ideal as f64),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                self.out,
                "<tr><td><a href=\"#{name}\">{name}</a><td>{}<td>{}<td>{}<td>{ratio}<td>{}<td>{:.1}",
                grouped(kernel.launches),
                grouped(kernel.warps),
                grouped(sum.sectors),
                grouped(sum.conflicts()),
                per_request(sum.lanes, &sum),
                name = escaped(name),
            );
        }
        self.add("</table>\n");
    }

    /// Adds the section of a kernel: the source of each file with counts.
    fn kernel(&mut self, name: &str, kernel: &KernelProfile) {
        let name = escaped(name);
        let _ = writeln!(self.out, "<section id=\"{name}\"><h2>{name}</h2><p>{}</p>", size(kernel));
        if let Some(warning) = dropped(kernel) {
            let _ = writeln!(self.out, "<p class=\"warning\">{warning}</p>");
        }
        let mut files: BTreeMap<&str, Lines<'_>> = BTreeMap::new();
        for (site, counts) in &kernel.sites {
            let lines = files.entry(site.file.as_str()).or_default();
            lines.entry(site.line).or_default().push((site, counts));
        }
        for places in files.values_mut().flat_map(BTreeMap::values_mut) {
            places.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.excess()));
        }
        let worst = kernel.sites.values().map(Counts::excess).max().unwrap_or(0);
        for (file, lines) in files {
            self.file(file, &lines, worst);
        }
        self.add("</section>\n");
    }

    /// Adds the source of one file. `worst` is the largest excess of a place of the kernel.
    fn file(&mut self, file: &str, places: &Lines<'_>, worst: u64) {
        let _ = writeln!(self.out, "<h3>{}</h3>", escaped(file));
        self.add(
            "<div class=\"scroll\"><table class=\"source\"><thead><tr><th>access<th>excess<th>requests<th>each\
             <th>ideal<th>lanes<th>partial<th><th></thead>\n",
        );
        for (i, part) in self.parts(file, places).into_iter().enumerate() {
            if i > 0 {
                self.add("<tr class=\"gap\"><td colspan=\"9\">");
            }
            for line in part[0]..=part[1] {
                self.line(file, line, places.get(&line).map_or(&[], Vec::as_slice), worst);
            }
        }
        self.add("</table></div>\n");
    }

    /// Returns the first and last line of each part of a file that is shown.
    fn parts(&mut self, file: &str, places: &Lines<'_>) -> Vec<[u32; 2]> {
        let mut parts: Vec<[u32; 2]> = Vec::new();
        for line in places.keys() {
            let [first, last] = self.sources.function(file, [*line, *line]);
            // A function that is too long to show is cut around the line.
            let first = first.max(line.saturating_sub(NEAR)).max(1);
            let last = last.min(line + NEAR);
            match parts.last_mut() {
                Some(part) if first <= part[1] + 1 => part[1] = part[1].max(last),
                _ => parts.push([first, last]),
            }
        }
        parts
    }

    /// Adds a source line, with one row for each place.
    fn line(&mut self, file: &str, line: u32, places: &[(&Site, &Counts)], worst: u64) {
        let text = self.sources.lines(file).get(line as usize - 1).map_or("", String::as_str);
        let comment = if text.trim_start().starts_with("//") { " comment" } else { "" };
        let rows = places.len().max(1);
        let source = format!(
            "<td rowspan=\"{rows}\" class=\"number\">{line}<td rowspan=\"{rows}\" class=\"code{comment}\">{}",
            escaped(text)
        );
        if places.is_empty() {
            let _ = writeln!(self.out, "<tr><td><td><td><td><td><td><td>{source}");
        }
        for (i, (site, counts)) in places.iter().enumerate() {
            let _ = writeln!(
                self.out,
                "{}{}",
                margin(site, counts, worst),
                if i == 0 { source.as_str() } else { "" }
            );
        }
    }
}

/// Returns the cells of a place in the margin.
fn margin(site: &Site, counts: &Counts, worst: u64) -> String {
    let excess = counts.excess();
    let unit = match site.operation {
        Operation::GlobalLoad | Operation::GlobalStore | Operation::GlobalAtomic => "sectors",
        _ => "wavefronts",
    };
    let costs = match each(site.operation, counts) {
        Some([each, ideal]) => format!(
            "{}<td>{}<td title=\"{unit} per request\">{each:.1}<td>{ideal:.1}",
            number(excess),
            grouped(counts.requests)
        ),
        None => format!("<td><td>{}<td><td>", grouped(counts.requests)),
    };
    let lanes = per_request(counts.lanes, counts);
    let share = 100.0 * lanes / f64::from(WARP_SIZE);
    format!(
        "<tr class=\"place {}\"><td>{}{costs}<td class=\"lanes\" style=\"--share:{share:.0}%\">{lanes:.1}\
         {}",
        heat(counts, worst),
        access(site),
        number(counts.partial)
    )
}

/// Returns the class of a place: `high` if it has much of the kernel's excess, and `low` if it has
/// little, or less than half of its ideal costs.
fn heat(counts: &Counts, worst: u64) -> &'static str {
    let excess = counts.excess();
    match (excess * 8).checked_div(worst).unwrap_or(0) {
        _ if excess == 0 => "",
        0 => "low",
        _ if 2 * excess < counts.ideal_sectors + counts.ideal_wavefronts => "low",
        1..4 => "middle",
        _ => "high",
    }
}

/// Returns a cell with a number, which is dim if it is zero.
fn number(number: u64) -> String {
    let class = if number == 0 { " class=\"zero\"" } else { "" };
    format!("<td{class}>{}", grouped(number))
}

/// Replaces the characters that have a meaning in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Operation;

    fn kernel(file: &str, line: u32, sectors: u64) -> KernelProfile {
        let operation = Operation::GlobalLoad;
        let site = Site { file: file.to_owned(), line, column: 1, operation, bytes: 4 };
        let counts =
            Counts { requests: 1, lanes: 16, sectors, ideal_sectors: 4, ..Counts::default() };
        KernelProfile { launches: 1, sites: [(site, counts)].into(), ..KernelProfile::default() }
    }

    #[test]
    fn the_page_shows_the_function_and_marks_the_line() {
        let line = line!();
        let page =
            write(&Profile { kernels: [("k".to_owned(), kernel(file!(), line, 32))].into() });
        assert!(page.contains("fn the_page_shows_the_function_and_marks_the_line() {"), "{page}");
        assert!(page.contains("<tr class=\"place high\"><td>global load 4 B<td>28"), "{page}");
        assert!(page.contains("--share:50%"), "{page}");
        for tag in ["<link", "<script", "<img"] {
            assert!(!page.contains(tag), "the page refers to no other file: {tag}");
        }
    }

    #[test]
    fn names_are_escaped_and_files_can_be_absent() {
        let (file, name) = ("a&b/absent.rs", "copy<\"f32\">".to_owned());
        let page = write(&Profile { kernels: [(name, kernel(file, 3, 5))].into() });
        assert!(page.contains("copy&lt;&quot;f32&quot;&gt;") && !page.contains("copy<"), "{page}");
        assert!(page.contains("a&amp;b/absent.rs") && page.contains("place low"), "{page}");
    }
}
