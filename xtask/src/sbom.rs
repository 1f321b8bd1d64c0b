//! Writes a software bill of materials in the format CycloneDX 1.5: the packages that a program contains.

use serde_json::{Value, json};

use crate::dependencies::Package;

/// Returns the bill of materials of the program `name`, whose package in `packages` is `root`.
///
/// It has neither a serial number nor a time, so the same sources always give the same bytes.
pub(crate) fn cyclonedx(name: &str, root: &str, packages: &[Package]) -> Value {
    let components: Vec<_> = packages.iter().filter(|p| p.name != root).map(component).collect();
    let depends: Vec<_> = packages
        .iter()
        .map(|package| {
            let needs: Vec<_> =
                package.needs.iter().map(|(name, version)| purl(name, version)).collect();
            json!({ "ref": purl(&package.name, &package.version), "dependsOn": needs })
        })
        .collect();
    let main = packages.iter().find(|package| package.name == root).map(|package| {
        let mut main = component(package);
        main["type"] = "application".into();
        main["name"] = name.into();
        main
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": main },
        "components": components,
        "dependencies": depends,
    })
}

fn component(package: &Package) -> Value {
    let reference = purl(&package.name, &package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "description": package.description,
        // Some packages still separate licences by the slash that cargo once asked for.
        "licenses": [{ "expression": package.license.replace('/', " OR ") }],
    });
    // A package of the workspace is in no registry under this name yet.
    if let Some(checksum) = &package.checksum {
        component["purl"] = reference.into();
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::cyclonedx;
    use crate::dependencies;

    #[test]
    fn the_bill_names_every_package_and_only_packages_that_it_has() {
        let packages =
            dependencies::of(&["panoweave-cli"], "normal", "x86_64-unknown-linux-gnu").unwrap();
        let bill = cyclonedx("panoweave", "panoweave-cli", &packages);
        assert_eq!(bill["metadata"]["component"]["name"], "panoweave");
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.len() + 1, packages.len());
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(has("clap") && has("stable-cust-raw") && !has("insta") && !has("xtask"), "{bill}");
        let known = |reference: &serde_json::Value| {
            let main = &bill["metadata"]["component"];
            components.iter().chain([main]).any(|component| component["bom-ref"] == *reference)
        };
        for depends in bill["dependencies"].as_array().unwrap() {
            assert!(known(&depends["ref"]), "{depends}");
            assert!(depends["dependsOn"].as_array().unwrap().iter().all(known), "{depends}");
        }
        for component in components.iter().filter(|component| component.get("purl").is_some()) {
            assert_eq!(
                component["hashes"][0]["content"].as_str().unwrap().len(),
                64,
                "{component}"
            );
        }
    }
}
