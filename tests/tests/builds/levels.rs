//! Checks that a module imports only from its own level and the levels listed before it, and that no imports between
//! the top-level modules of a crate form a cycle.
//!
//! The check reads the sources as text and ignores test modules. It knows the imports that begin with `crate::`. The
//! section `# Levels` in the documentation of a crate's `lib.rs` lists the crate's levels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// For each top-level module of a crate, the top-level modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the code of a file without comments and test modules.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect()
}

/// Reads the code of the modules in a folder. A file in a folder belongs to the module of the folder.
fn read(folder: &Path, of: Option<&str>, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let file = entry.expect("an entry").path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let module = of.unwrap_or(&name);
        if file.is_dir() {
            read(&file, Some(module), texts);
        } else if file.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&file).expect("a source");
            *texts.entry(module.to_owned()).or_default() += &code(&text);
        }
    }
}

/// Returns the imports of each module. `texts` contains the code of each module.
fn imports(texts: &BTreeMap<String, String>) -> Imports {
    let of = |(module, text): (&String, &String)| {
        let mut found: BTreeSet<String> = names(text).into_iter().map(str::to_owned).collect();
        found.retain(|name| name != module && texts.contains_key(name));
        (module.clone(), found)
    };
    texts.iter().map(of).collect()
}

/// Returns the names after each `crate::`, also those of a group such as `crate::{a::{b, c}, d}`.
fn names(text: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut found = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.push(&rest[..name(rest).unwrap_or(rest.len())]);
            continue;
        };
        let (mut depth, mut is_first) = (1, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => is_first = true,
                c if is_first && !c.is_whitespace() => {
                    is_first = false;
                    let rest = &group[at..];
                    found.push(&rest[..name(rest).unwrap_or(rest.len())]);
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Returns the modules that import themselves, directly or through others.
fn circles(imports: &Imports) -> Vec<&String> {
    let reaches_itself = |start: &&String| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![*start]);
        while let Some(next) = open.pop() {
            open.extend(imports[next].iter().filter(|to| reached.insert(*to)));
        }
        reached.contains(start)
    };
    imports.keys().filter(reaches_itself).collect()
}

/// Returns the imports of a later level. `root` is the text of `lib.rs`, whose documentation lists the levels in lines
/// such as ``//! 2. `frame`: frames``.
fn imports_of_later_levels(imports: &Imports, root: &str) -> Vec<String> {
    let mut levels: BTreeMap<String, usize> = BTreeMap::new();
    for line in root.lines().filter_map(|line| line.strip_prefix("//! ")) {
        if let Some((number, names)) = line.split_once(". `")
            && let Ok(number) = number.parse()
        {
            let names = names.split(':').next().unwrap_or_default();
            levels.extend(names.split(", ").map(|name| (name.replace('`', ""), number)));
        }
    }
    assert!(levels.len() > 5, "no levels in the documentation: {levels:?}");
    let pairs = imports.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    let is_up = |(from, to): &(&String, &String)| {
        let level = |module: &String| levels.get(module);
        level(from).zip(level(to)).is_some_and(|(from, to)| from < to)
    };
    pairs.filter(is_up).map(|(from, to)| format!("`{from}` imports `{to}`")).collect()
}

#[test]
fn imports_neither_point_up_nor_form_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    for (folder, has_levels) in [
        ("host/src", true),
        ("kernels-gpu/src", true),
        ("cli/src", false),
        ("shared-types/src", false),
    ] {
        let mut texts = BTreeMap::new();
        read(&root.join(folder), None, &mut texts);
        let imports = imports(&texts);
        assert!(imports.values().flatten().count() > 3, "{folder}: {imports:?}");
        assert!(circles(&imports).is_empty(), "{folder}: {:?}", circles(&imports));
        if has_levels {
            let lib = fs::read_to_string(root.join(folder).join("lib.rs")).expect("lib.rs");
            let wrong = imports_of_later_levels(&imports, &lib);
            assert!(wrong.is_empty(), "{folder}: {wrong:#?}");
        }
    }
}

#[test]
fn a_planted_circle_and_a_planted_import_are_found() {
    let planted = [
        ("a", "use crate::b::Item;\n// use crate::d;\n"),
        (
            "b",
            "use crate::{\n    Item,\n    c::{other, Thing as _},\n};\n#[cfg(test)]\nmod tests { use crate::d; }\n",
        ),
        ("c", "fn f() { crate::a::g() }\n"),
        ("d", "use crate::a;\n"),
    ];
    let texts = planted.map(|(name, text)| (name.to_owned(), code(text))).into();
    let imports = imports(&texts);
    assert_eq!(circles(&imports), ["a", "b", "c"]);
    let levels = "//! 1. `a`: x\n//! 2. `b`, `d`: y\n//! 3. `c`: z\n//! 4. `e`: .\n//! 5. `f`: .\n";
    let expected = ["`a` imports `b`", "`b` imports `c`"];
    assert_eq!(imports_of_later_levels(&imports, levels), expected);
}
