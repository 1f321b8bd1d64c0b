//! Checks that kernels can call published crates, and that these calls return the same bytes as on the host.

use kit_tests::project;

#[test]
fn published_crates_give_the_hosts_results() {
    let folder = project::folder("crates");
    project::copy(&project::root().join("tests/crates"), &folder);
    for manifest in [folder.join("Cargo.toml"), folder.join("kernels/Cargo.toml")] {
        project::edit(&manifest, |text| project::with_kit_paths(&text));
    }
    // The program compares the results on the CPU, and on the GPU if there is one. It fails if a byte differs.
    let output = project::run(project::cargo(&folder, &["run", "--quiet"]));
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(said.lines().count() >= 8, "{said}");
}
