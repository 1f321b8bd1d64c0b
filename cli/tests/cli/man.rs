//! Tests `panoweave man`: there is a page for each command, and groff formats it without warnings.

use std::process::Command;

use panoweave_tests::skip::{Need, skip};

use crate::{Done, Folder};

#[test]
fn every_command_has_a_page() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("man1")).unwrap();
    let listed = folder.quiet("man man1");
    let help = folder.quiet("--help");
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names =
        names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    let mut count = 0;
    for name in names.filter(|name| *name != "help") {
        let page = format!("man1/panoweave-{name}.1");
        assert!(listed.contains(&format!("{page}\n")) && folder.path(&page).exists(), "{page}");
        count += 1;
    }
    assert!(count >= 12, "{help}");
    assert!(listed.contains("man1/panoweave-warp-inspect.1\n"), "{listed}");
    let json = folder.words("man man1 --json").json();
    assert_eq!(json["pages"].as_array().unwrap().len(), listed.lines().count());
}

#[test]
fn groff_formats_every_page_without_warnings() {
    let folder = Folder::new();
    if Command::new("groff").arg("--version").output().is_err() {
        skip(Need::Tools, "groff is not installed");
        return;
    }
    for page in folder.quiet("man .").lines() {
        let mut groff = Command::new("groff");
        groff.args(["-ww", "-K", "utf8", "-T", "utf8", "-man", "-rCHECKSTYLE=2", "-z"]);
        let done = Done::from(groff.arg(folder.path(page)).output().unwrap());
        assert_eq!((done.code, &*done.stderr), (Some(0), ""), "{page}");
    }
    let mut groff = Command::new("groff");
    groff.args(["-K", "utf8", "-T", "utf8", "-P", "-cbou", "-man"]).arg(folder.path("panoweave.1"));
    let text = Done::from(groff.output().unwrap()).stdout;
    for part in ["NAME", "SYNOPSIS", "panoweave-stitch(1)", "Exit codes:", "RUST_LOG"] {
        assert!(text.contains(part), "{part} is missing from {text}");
    }
}

#[test]
fn a_missing_folder_is_an_error() {
    let folder = Folder::new();
    let done = folder.words("man nowhere");
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.starts_with("error: nowhere: manual pages cannot be written: "),
        "{done:?}"
    );
    assert!(done.stderr.ends_with("; give an existing folder\n"), "{done:?}");
}
