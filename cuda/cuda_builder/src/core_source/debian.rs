//! Downloads the compiler's source from Debian's package `rust-src` of the same version.
//!
//! The module installs nothing and changes no system file. `apt-get` runs with package lists and a
//! sources file in the build's work folder, downloads from the mirror that the system already uses,
//! and verifies Debian's signatures as usual. The package is unpacked but not installed.

use super::{create, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Debian suites in which to look for the required version of `rust-src`, most likely first.
const SUITES: [&str; 3] = ["trixie-backports", "testing", "unstable"];

/// The file with Debian's signing keys for all suites, including suites newer than the system.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Downloads the source of rustc `version` and stores its `library` folder at the path `library`.
pub(super) fn fetch(version: &str, library: &Path, workplace: &Path) -> Result<(), String> {
    let mirror = mirror()?;
    let mut reasons = Vec::new();
    for suite in SUITES {
        let apt = Apt { folder: workplace.join("apt").join(suite) };
        match apt.fetch(&mirror, suite, version, library) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(format!("{suite}: {reason}")),
        }
    }
    Err(reasons.join("; "))
}

/// Returns the URL of the Debian mirror that the system's apt sources name.
fn mirror() -> Result<String, String> {
    let said = run(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(ORIGIN) $(LABEL) $(REPO_URI)",
        "Created-By: Packages",
    ]))?;
    said.lines()
        .find_map(|line| line.strip_prefix("Debian Debian "))
        .map(|uri| uri.trim().to_owned())
        .ok_or_else(|| "no Debian mirror in `apt-get indextargets`".to_owned())
}

/// The apt commands of one suite, with their own package lists and cache in `folder`.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn fetch(
        &self,
        mirror: &str,
        suite: &str,
        version: &str,
        library: &Path,
    ) -> Result<(), String> {
        for part in ["lists/partial", "cache/archives/partial", "parts"] {
            create(&self.folder.join(part))?;
        }
        let signed = if Path::new(KEYRING).is_file() {
            format!("[signed-by={KEYRING}] ")
        } else {
            String::new()
        };
        let sources = format!("deb {signed}{mirror} {suite} main\n");
        fs::write(self.folder.join("sources.list"), sources).map_err(|e| e.to_string())?;
        run(self.command("apt-get").arg("update"))?;

        let known = run(self.command("apt-cache").args(["madison", "rust-src"]))?;
        let package =
            package_version(&known, version).ok_or_else(|| format!("has no rust-src {version}"))?;
        run(self.command("apt-get").arg("download").arg(format!("rust-src={package}")))?;

        let archive = self.archive()?;
        let source = self.folder.join(format!("usr/src/rustc-{version}/library"));
        self.unpack(&archive, &format!("./usr/src/rustc-{version}/library"))?;
        if let Some(parent) = library.parent() {
            create(parent)?;
        }
        // A rename is atomic: an interrupted build leaves no incomplete library.
        fs::rename(&source, library)
            .map_err(|e| format!("cannot move `{}`: {e}", source.display()))?;
        fs::remove_dir_all(&self.folder).map_err(|e| e.to_string())
    }

    /// Unpacks only the folder `member` of a package. The other files of `rust-src` are ten times
    /// as large in total, and the build does not use them.
    fn unpack(&self, archive: &Path, member: &str) -> Result<(), String> {
        let mut dpkg = Command::new("dpkg")
            .arg("--fsys-tarfile")
            .arg(archive)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start `dpkg`: {error}"))?;
        let mut tar = Command::new("tar");
        tar.current_dir(&self.folder).arg("-x").arg(member);
        let unpacked = match dpkg.stdout.take() {
            Some(files) => run(tar.stdin(files)).map(drop),
            None => Err("`dpkg` has no output".to_owned()),
        };
        let status = dpkg.wait().map_err(|error| error.to_string())?;
        unpacked.and_then(|()| match status.success() {
            true => Ok(()),
            false => Err(format!("`dpkg --fsys-tarfile` failed: {status}")),
        })
    }

    /// Returns the path of the `.deb` file that apt-get downloaded into `self.folder`.
    fn archive(&self) -> Result<PathBuf, String> {
        fs::read_dir(&self.folder)
            .map_err(|e| e.to_string())?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .ok_or_else(|| "apt-get downloaded no package".to_owned())
    }

    fn command(&self, program: &str) -> Command {
        let option =
            |name: &str, part: &str| format!("-o{name}={}", self.folder.join(part).display());
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env("LC_ALL", "C")
            .arg(option("Dir::Etc::sourcelist", "sources.list"))
            .arg(option("Dir::Etc::sourceparts", "parts"))
            .arg(option("Dir::State::lists", "lists"))
            .arg(option("Dir::Cache", "cache"))
            .arg("-oAcquire::Languages=none")
            // Disables apt's sandbox user: without root privileges, apt cannot switch to it.
            .arg("-oAPT::Sandbox::User=");
        command
    }
}

/// Returns the version of the Debian package that contains exactly rustc `version`, such as
/// `1.95.0+dfsg1-2` for `1.95.0`. `known` is the output of `apt-cache madison`.
fn package_version<'a>(known: &'a str, version: &str) -> Option<&'a str> {
    known.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim).find(|package| {
        package.strip_prefix(version).is_some_and(|rest| rest.starts_with(['+', '-', '~']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_matches() {
        let known = "\
  rust-src | 1.96.1+dfsg1-2~bpo13+1 | mirror trixie-backports/main amd64 Packages
  rust-src | 1.95.0+dfsg1-2~bpo13+1 | mirror trixie-backports/main amd64 Packages
";
        assert_eq!(package_version(known, "1.95.0"), Some("1.95.0+dfsg1-2~bpo13+1"));
        assert_eq!(package_version(known, "1.95"), None);
        assert_eq!(package_version(known, "1.94.0"), None);
    }
}
