//! Checks that each link between the documents of the kit leads to an existing file and heading.

use std::fs;
use std::path::{Path, PathBuf};

use kit_tests::project;

/// Adds all Markdown files in `folder` and in the folders below it, without build folders.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the kit") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Returns the targets of all links in the text, without those to other sites.
fn targets(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

/// Returns the anchors of the headings of a page, as GitHub forms them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        text.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_the_kits_documents_lead_somewhere() {
    let mut pages = Vec::new();
    collect(project::root(), &mut pages);
    let (mut links, mut broken) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for target in targets(&text) {
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = match file {
                "" => page.clone(),
                file => page.parent().expect("the folder of the page").join(file),
            };
            let exists = match anchor {
                "" => to.exists(),
                anchor => fs::read_to_string(&to)
                    .is_ok_and(|text| anchors(&text).iter().any(|heading| heading == anchor)),
            };
            if !exists {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(pages.len() > 10 && links > 40, "{} pages, {links} links", pages.len());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
