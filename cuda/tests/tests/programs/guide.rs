//! Checks the guide in `cuda/doc/guide`: its listings compile and pass their tests, and the tests print the reports
//! that the guide shows.
//!
//! The test does what a reader does: it pastes all listings into one new project, and runs `cargo test` there. That
//! also compiles the kernels to PTX. Of the other commands that the guide shows, it runs only `cargo cuda profile`,
//! because the output of the others depends on the installed tools.

use std::fs;

use kit_tests::project;

use crate::cargo_cuda;

/// The name of the project in the guide.
const NAME: &str = "guide";

/// Returns the file name and the text of each page of the guide, in order.
fn pages() -> Vec<(String, String)> {
    let folder = project::root().join("doc/guide");
    let mut pages: Vec<_> = fs::read_dir(&folder)
        .expect("the guide")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .map(|name| (fs::read_to_string(folder.join(&name)).expect("a page"), name))
        .map(|(text, name)| (name, text))
        .collect();
    pages.sort();
    pages
}

/// Returns the paragraphs of all blocks marked as `text`, which show output of the tests. Line breaks become spaces.
fn shown_output(page: &str) -> Vec<String> {
    let blocks = page.split("\n```text\n").skip(1);
    let text = blocks.map(|rest| rest.split("\n```").next().unwrap_or_default());
    text.flat_map(|block| block.split("\n\n"))
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect()
}

/// Returns the arguments and the output of each `cargo cuda profile` that the page shows.
fn shown_profiles(page: &str) -> impl Iterator<Item = (Vec<&str>, &str)> {
    let blocks = page.split("\n```console\n$ cargo cuda profile").skip(1);
    blocks.filter_map(|rest| {
        let (arguments, output) = rest.split("\n```").next()?.split_once('\n')?;
        Some((["profile"].into_iter().chain(arguments.split_whitespace()).collect(), output))
    })
}

#[test]
fn the_guides_listings_pass_and_print_its_reports() {
    let program = cargo_cuda::program();
    let folder = cargo_cuda::new(&program, NAME);
    let pages = pages();
    let mut files = 0;
    for (name, page) in &pages {
        for (file, code) in project::shown_files(page) {
            project::write(&folder.join(file), code.as_bytes());
            files += 1;
            let Some(kernels) = file.strip_prefix("kernels/src/") else { continue };
            let line = format!("pub mod {};", kernels.trim_end_matches(".rs"));
            // The page of solutions states once that each file needs such a line.
            assert!(page.contains(&line) || name == "solutions.md", "{name} does not say `{line}`");
            project::edit(&folder.join("kernels/src/lib.rs"), |lib| lib + &line + "\n");
        }
    }
    assert!(pages.len() > 10 && files > 20, "{} pages, {files} listings", pages.len());

    let test = project::cargo(&folder, &["test", "--quiet", "--", "--nocapture"]);
    let output = project::run(test);
    let said = String::from_utf8_lossy(&output.stdout);
    let mut reports = 0;
    for (name, page) in &pages {
        for report in shown_output(page) {
            assert!(said.contains(&report), "{name} shows `{report}`, but the tests print {said}");
            reports += 1;
        }
    }
    assert!(reports >= 4, "only {reports} reports");

    let mut profiles = 0;
    for (name, page) in &pages {
        for (arguments, shown) in shown_profiles(page) {
            let output = project::run(cargo_cuda::command(&program, &folder, &arguments));
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(shown), "{name} shows `{shown}`, but the profile is {said}");
            profiles += 1;
        }
    }
    assert!(profiles >= 1, "the guide shows no profile");
}
