//! Checks that a module imports only from its own level and the levels listed before it, and that no imports between
//! sibling modules form a cycle.
//!
//! The check reads the sources as text and ignores test modules. The section `# Levels` in the documentation of a
//! crate's `lib.rs` lists the crate's levels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module or item, from the crate's root.
type Names = Vec<String>;

/// The source text of each module of a crate, without comments and tests.
struct Sources {
    modules: BTreeMap<Names, String>,
    /// The re-exports (`pub use`): maps the new path of an item to its original path.
    reexports: BTreeMap<Names, Names>,
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut modules = BTreeMap::new();
        collect(folder, &mut Vec::new(), &mut modules);
        Self::new(modules)
    }

    fn new(modules: BTreeMap<Names, String>) -> Self {
        let mut reexports = BTreeMap::new();
        for (module, text) in &modules {
            for (is_public, path) in uses(text) {
                if is_public && let Some(target) = absolute(module, &path) {
                    let name = path.last().cloned().into_iter();
                    reexports.insert(module.iter().cloned().chain(name).collect(), target);
                }
            }
        }
        Self { modules, reexports }
    }

    /// Returns the module that contains the item at `path`, after following re-exports.
    fn resolve(&self, path: &[String]) -> Option<Names> {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let longest =
                (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
            let item = path.get(..longest + 1);
            match item.and_then(|item| self.reexports.get(item)) {
                Some(target) if *target != path[..=longest] => {
                    path = target.iter().chain(&path[longest + 1..]).cloned().collect();
                }
                _ => return Some(path[..longest].to_vec()),
            }
        }
        None
    }

    /// Returns all imports as pairs of the importing and the imported module.
    fn imports(&self) -> BTreeSet<(Names, Names)> {
        let mut imports = BTreeSet::new();
        for (module, text) in &self.modules {
            let inline = text.match_indices("crate::").map(|(at, _)| {
                let path = text[at..].split(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
                path.clone().next().unwrap_or_default().split("::").map(str::to_owned).collect()
            });
            let paths = uses(text).into_iter().map(|(_, path)| path).chain(inline);
            for path in paths.filter_map(|path: Names| absolute(module, &path)) {
                imports.extend(self.resolve(&path).map(|to| (module.clone(), to)));
            }
        }
        imports
    }

    /// Returns a message for each module that is part of an import cycle between sibling modules.
    fn circles(&self) -> Vec<String> {
        // Maps each folder to the imports between the child modules of this folder.
        let mut folders: BTreeMap<Names, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (from, to) in self.imports() {
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                let folder = folders.entry(from[..common].to_vec()).or_default();
                folder.entry(a.clone()).or_default().insert(b.clone());
            }
        }
        let mut found = Vec::new();
        for (folder, edges) in &folders {
            for start in edges.keys() {
                let mut reached = BTreeSet::new();
                let mut open = vec![start];
                while let Some(next) = open.pop() {
                    let new = edges.get(next).into_iter().flatten();
                    open.extend(new.filter(|&to| reached.insert(to)));
                }
                if reached.contains(start) {
                    found.push(format!("`{start}` in `{}` imports itself", folder.join("::")));
                }
            }
        }
        found
    }

    /// Returns the imports that violate the levels in the crate's documentation.
    fn imports_of_later_levels(&self, root: &str) -> Vec<String> {
        let levels = levels(root);
        assert!(levels.len() > 5, "no levels in the documentation: {levels:?}");
        let level = |module: &Names| levels.get(module.first()?).copied();
        let up = |(from, to): &(Names, Names)| Some(level(from)? < level(to)?);
        let imports = self.imports().into_iter();
        imports
            .filter(|import| up(import) == Some(true))
            .map(|(from, to)| format!("`{}` imports `{}`", from.join("::"), to.join("::")))
            .collect()
    }
}

/// Returns the level of each module. `root` is the text of `lib.rs`, whose documentation lists the levels in lines such
/// as ``//! 2. `frame`: frames``.
fn levels(root: &str) -> BTreeMap<String, usize> {
    let mut levels = BTreeMap::new();
    for line in root.lines().filter_map(|line| line.strip_prefix("//! ")) {
        if let Some((number, names)) = line.split_once(". `")
            && let Ok(number) = number.parse()
        {
            let names = names.split(':').next().unwrap_or_default();
            levels.extend(names.split(", ").map(|name| (name.replace('`', ""), number)));
        }
    }
    levels
}

fn collect(folder: &Path, path: &mut Names, modules: &mut BTreeMap<Names, String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let file = entry.expect("an entry").path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if file.is_dir() {
            path.push(name);
            collect(&file, path, modules);
            path.pop();
        } else if file.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&file).expect("a source");
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            let is_folders = ["mod", "lib", "main"].contains(&name.as_str());
            let module = path.iter().cloned().chain((!is_folders).then_some(name)).collect();
            modules.insert(module, lines.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// Returns the paths that a source imports, each with a flag that is true for `pub use`.
fn uses(text: &str) -> Vec<(bool, Names)> {
    let mut found = Vec::new();
    for statement in text.split(';') {
        let line = statement.rfind("\n\n").map_or(statement, |at| &statement[at..]);
        let Some((before, tree)) = line.rsplit_once("use ") else { continue };
        let is_public = before.trim_end().rsplit('\n').next().is_some_and(|l| l.contains("pub"));
        let mut paths = Vec::new();
        expand(&tree.replace(char::is_whitespace, ""), &[], &mut paths);
        found.extend(paths.into_iter().map(|path| (is_public, path)));
    }
    found
}

/// Adds the paths in a `use` tree such as `a::{b, c::d}` to `paths`. `before` is the path in front of the tree.
fn expand(tree: &str, before: &[String], paths: &mut Vec<Names>) {
    let with = |path: &str| -> Names {
        before.iter().cloned().chain(path.split("::").map(str::to_owned)).collect()
    };
    let Some((path, rest)) = tree.split_once("::{") else {
        return paths.push(with(tree));
    };
    let (mut depth, mut start) = (0, 0);
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inner[start..at], &with(path), paths);
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the path of an import from the crate's root, or `None` if the import is from another crate. `module` is the
/// importing module.
fn absolute(module: &Names, path: &[String]) -> Option<Names> {
    let (first, rest) = path.split_first()?;
    let joined = |base: &[String], rest: &[String]| -> Names {
        base.iter().chain(rest).filter(|name| !name.is_empty()).cloned().collect()
    };
    match first.as_str() {
        "crate" => Some(joined(&[], rest)),
        "self" => Some(joined(module, rest)),
        "super" => absolute_from(module.split_last()?.1, rest),
        // This path starts with a child module, as in a re-export without `self`.
        name if name.chars().next().is_some_and(char::is_lowercase) => Some(joined(module, path)),
        _ => None,
    }
}

fn absolute_from(base: &[String], rest: &[String]) -> Option<Names> {
    match rest.split_first() {
        Some((first, rest)) if first == "super" => absolute_from(base.split_last()?.1, rest),
        _ => Some(base.iter().chain(rest).cloned().collect()),
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace around this package")
}

#[test]
fn no_import_points_up() {
    for folder in ["host/src", "kernels-gpu/src"] {
        let documentation = fs::read_to_string(root().join(folder).join("lib.rs")).expect("lib.rs");
        let wrong = Sources::read(&root().join(folder)).imports_of_later_levels(&documentation);
        assert!(wrong.is_empty(), "{folder}: {wrong:#?}");
    }
}

#[test]
fn modules_form_no_circle() {
    for folder in ["host/src", "kernels-gpu/src", "cli/src", "shared-types/src"] {
        let sources = Sources::read(&root().join(folder));
        assert!(sources.modules.len() > 10, "{folder}: {} modules", sources.modules.len());
        let circles = sources.circles();
        assert!(circles.is_empty(), "{folder}: {circles:#?}");
    }
}

#[test]
fn a_planted_circle_and_a_planted_import_are_found() {
    let names = |path: &str| -> Names { path.split("::").map(str::to_owned).collect() };
    let planted = [
        ("a", "use crate::b::Item;\n"),
        ("b", "pub use inner::Item;\n"),
        ("b::inner", "use super::super::c::{other, Thing as _};\n"),
        ("c", "fn f() { crate::a::g() }\n"),
    ];
    let modules = planted.map(|(path, text)| (names(path), text.to_owned()));
    let sources = Sources::new(modules.into_iter().chain([(Vec::new(), String::new())]).collect());
    assert_eq!(sources.circles().len(), 3, "{:?}", sources.circles());
    let levels = "//! 1. `a`: x\n//! 2. `b`, `d`: y\n//! 3. `c`: z\n//! 4. `e`: .\n//! 5. `f`: .\n";
    let expected = ["`a` imports `b::inner`", "`b::inner` imports `c`"];
    assert_eq!(sources.imports_of_later_levels(levels), expected);
}
