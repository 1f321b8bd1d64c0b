//! `xtask package --try`: installs the Debian package in a fresh Debian 12 and uses it as a user would.
//!
//! `debootstrap` creates the system in `target/package/bookworm`, and `chroot` runs commands in it. Both need root.
//! This module builds nothing, because root may have no toolchain, and its files in the target folder would disturb
//! later builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian;
use crate::Result;
use crate::cargo::{self, output, target};

/// The commands of the user, in the fresh system. The first one that fails ends the trial.
const USE: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
step() { echo; echo "== $*"; }
step install the package
apt-get -qq update
apt-get -qq install -y --no-install-recommends bash-completion man-db > /root/apt.log 2>&1 \
    || { cat /root/apt.log; exit 1; }
# Without --no-install-recommends, apt would also install ffmpeg.
apt-get -qq install -y --no-install-recommends /root/panoweave.deb > /root/apt.log 2>&1 \
    || { cat /root/apt.log; exit 1; }
dpkg-query -W panoweave
panoweave --version
step panoweave info
panoweave info
step stitch two pictures
cd /root
cp /usr/share/doc/panoweave/examples/* .
panoweave stitch left.jpg right.jpg -o calibrated.png
panoweave stitch left.jpg right.jpg --rig rig.toml --match-colour --blend seam -o panorama.png
ls -l calibrated.png panorama.png
if panoweave stitch left.jpg right.jpg --device cuda:0 -o gpu.png; then
    echo "a machine without a driver accepted --device cuda:0"; exit 1
else
    [ $? = 3 ] || exit 1
fi
step 'panoweave st<TAB>'
bash -c '
    . /usr/share/bash-completion/bash_completion
    _completion_loader panoweave
    COMP_WORDS=(panoweave st) COMP_CWORD=1 COMP_LINE="panoweave st" COMP_POINT=12
    $(complete -p panoweave | sed "s/.*-F \([^ ]*\).*/\1/") panoweave st panoweave
    echo "${COMPREPLY[@]}"
    [ "${COMPREPLY[*]}" = stitch ]
'
step man panoweave
man panoweave | cat > /root/page
head -n 24 /root/page
man panoweave-stitch | grep -q -e --match-colour
step remove the package
apt-get -qq purge -y panoweave > /root/apt.log 2>&1 || { cat /root/apt.log; exit 1; }
[ ! -e /usr/bin/panoweave ]
[ ! -e /usr/share/doc/panoweave ]
"#;

/// Installs the package for this machine, which an earlier call has built, in a fresh system and uses it there.
pub(crate) fn run() -> Result {
    let folder = target().join("package");
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let package = package_in(&folder, architecture.trim())?;
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err("--try needs root for debootstrap and chroot; run `sudo target/xtask/xtask package --try`".into());
    }
    let system = folder.join("bookworm");
    // The marker is written last, so an interrupted bootstrap starts again.
    let done = system.join("root/bootstrapped");
    if !done.exists() {
        if system.exists() {
            fs::remove_dir_all(&system)?;
        }
        let mut bootstrap = Command::new("debootstrap");
        let bootstrapped = cargo::run(
            bootstrap.args(["--force-check-gpg", "--variant=minbase", "bookworm"]).arg(&system),
        );
        bootstrapped.map_err(|error| {
            format!("{error}; install the packages debootstrap and debian-archive-keyring")
        })?;
        fs::write(&done, "")?;
    }
    fs::copy("/etc/resolv.conf", system.join("etc/resolv.conf"))?;
    fs::copy(&package, system.join("root/panoweave.deb"))?;
    cargo::run(Command::new("chroot").arg(&system).args(["/bin/sh", "-c", USE]))?;
    println!("\nthe package can be installed, used and removed");
    Ok(())
}

/// Returns the path of the package in `folder` for a Debian architecture.
///
/// # Errors
/// Returns an error if there is none.
fn package_in(folder: &Path, architecture: &str) -> Result<PathBuf> {
    let package = folder.join(debian::file_name(architecture));
    if package.exists() {
        return Ok(package);
    }
    Err(format!("{} does not exist; run `cargo xtask package` first", package.display()).into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::package_in;

    #[test]
    fn without_a_package_the_error_names_the_command_that_builds_it() {
        let error = package_in(Path::new("/no/such/folder"), "amd64").unwrap_err().to_string();
        assert!(error.contains("_amd64.deb") && error.contains("`cargo xtask package`"), "{error}");
    }
}
