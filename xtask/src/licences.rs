//! Collects the licence texts of all packages that a program contains.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::cargo::root;
use crate::dependencies::Package;

/// The first letters of the names of files with licences and notices, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Returns a text with the licence files of all `packages` that come from a registry. Files with the same words are
/// printed once, below the names of their packages.
///
/// # Errors
/// Returns an error if a package does not state its licence, or has no licence file and cannot be used under Apache-2.0
/// alone.
pub(crate) fn texts(packages: &[Package]) -> Result<String> {
    // The key is the text without differences in white space.
    let mut groups: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut all = String::from(
        "The program contains these packages. Each package is used under the licences that follow its name. The texts\n\
         of the licences are below the list.\n\n",
    );
    for package in packages.iter().filter(|package| package.checksum.is_some()) {
        let Package { name, version, license, folder, .. } = package;
        let mut files = files(folder)?;
        // The text of this licence, unlike that of others, names no author. It suffices as one of several alternatives.
        let mut alternatives = license.split(" OR ").flat_map(|part| part.split('/'));
        if files.is_empty() && alternatives.any(|name| name.trim() == "Apache-2.0") {
            files.push(fs::read_to_string(root().join("LICENSE-APACHE"))?);
        }
        if files.is_empty() || license.is_empty() {
            return Err(format!(
                "{name} {version} has no licence file or names no licence in its manifest, in {}; ask its authors to \
                 add them, or replace the package",
                folder.display()
            )
            .into());
        }
        all += &format!("{name} {version}: {license}\n");
        for text in files {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let group = groups.entry(words).or_insert_with(|| (text, Vec::new()));
            group.1.push(format!("{name} {version}"));
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, packages) in groups {
        let line = "=".repeat(80);
        all += &format!("\n{line}\n{}\n{line}\n\n{}\n", packages.join(", "), text.trim_end());
    }
    Ok(all)
}

/// Returns the texts of the licence files in `folder`, sorted by name.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            found.push((name, String::from_utf8_lossy(&fs::read(&path)?).replace('\r', "")));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

#[cfg(test)]
mod tests {
    use super::texts;
    use crate::cargo::target;
    use crate::dependencies::Package;

    #[test]
    fn equal_texts_are_printed_once_and_a_missing_one_is_an_error() {
        let folder = target().join("tmp/licences");
        let package = |name: &str, file: &str, text: &str| {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
            Package {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                license: "MIT".to_owned(),
                description: String::new(),
                folder,
                checksum: Some(String::new()),
                needs: Vec::new(),
            }
        };
        let mut packages = vec![
            package("a", "LICENSE-MIT", "Permission\r\nis granted\r\n"),
            package("b", "license.md", "Permission is  granted"),
        ];
        let text = texts(&packages).unwrap();
        assert_eq!(text.matches("granted").count(), 1, "{text}");
        assert!(text.contains("\na 1.0.0, b 1.0.0\n") && text.contains("a 1.0.0: MIT\n"), "{text}");
        let mut apache = package("apache", "README.md", "nothing");
        apache.license = "MIT OR Apache-2.0".to_owned();
        let text = texts(&[apache]).unwrap();
        assert!(text.contains("apache 1.0.0: MIT OR Apache-2.0\n"), "{text}");
        assert!(text.contains("Apache License"), "{text}");
        for license in ["MIT AND Apache-2.0", "Apache-2.0 WITH LLVM-exception"] {
            let mut other = package("other", "README.md", "nothing");
            other.license = license.to_owned();
            assert!(texts(&[other]).is_err(), "{license}");
        }
        packages.push(package("c", "README.md", "nothing"));
        let error = texts(&packages).unwrap_err().to_string();
        assert!(error.starts_with("c 1.0.0 has no licence file"), "{error}");
    }
}
