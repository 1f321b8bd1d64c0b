//! Tests `panoweave completions`: the shells themselves complete command lines with the scripts.

use std::path::Path;
use std::process::Command;

use panoweave_tests::skip::{Need, skip};

use crate::{Done, Folder};

/// Runs a shell in the folder, with the program in `PATH`. Returns the lines that it prints, or `None` if the machine
/// lacks the shell.
fn shell(folder: &Folder, name: &str, arguments: &[&str]) -> Option<Vec<String>> {
    if Command::new(name).arg("--version").output().is_err() {
        skip(Need::Tools, format!("{name} is not installed"));
        return None;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_panoweave")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(name);
    command.current_dir(folder.path("")).env("HOME", folder.path("")).args(arguments);
    command.env("PATH", format!("{}:{path}", program.display()));
    let done = Done::from(command.output().unwrap());
    assert_eq!((done.code, &*done.stderr), (Some(0), ""), "{name} {arguments:?}: {done:?}");
    Some(done.stdout.lines().map(str::to_owned).collect())
}

/// Returns the words with which bash replaces the last word of `line` after the Tab key.
fn bash(folder: &Folder, line: &str) -> Option<Vec<String>> {
    // bash calls the function that `complete -F` names, with the words of the line.
    let script = r#"
        . <(panoweave completions bash)
        declare -F _panoweave > /dev/null || exit 1
        complete -p panoweave | grep -q -e '-F _panoweave' || exit 1
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        _panoweave panoweave "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut arguments = vec!["--norc", "-c", script, "bash"];
    arguments.extend(line.split(' '));
    shell(folder, "bash", &arguments)
}

#[test]
fn bash_completes_commands_options_values_and_files() {
    let folder = Folder::new();
    let Some(commands) = bash(&folder, "panoweave st") else { return };
    assert_eq!(commands, ["stitch"]);
    let complete = |line: &str| bash(&folder, line).unwrap();
    assert_eq!(complete("panoweave ca"), ["calibrate"]);
    assert_eq!(complete("panoweave stitch --match-c"), ["--match-colour"]);
    assert_eq!(complete("panoweave stitch --blend mul"), ["multiband"]);
    assert_eq!(complete("panoweave warp ins"), ["inspect"]);
    assert_eq!(complete("panoweave completions z"), ["zsh"]);
    assert_eq!(complete("panoweave stitch --rig rig."), ["rig.toml"]);
    assert_eq!(complete("panoweave nonsense"), [""]);
}

#[test]
fn fish_completes_commands_and_options() {
    let folder = Folder::new();
    let complete = |line: &str| {
        let script = format!("panoweave completions fish | source; complete -C '{line}'");
        shell(&folder, "fish", &["--no-config", "-c", &script])
    };
    let Some(commands) = complete("panoweave st") else { return };
    let names: Vec<_> = commands.iter().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["stitch"]);
    assert!(commands[0].contains("panorama"), "{commands:?}");
    let options = complete("panoweave stitch --match-c").unwrap();
    assert!(options[0].starts_with("--match-colour\t"), "{options:?}");
}

#[test]
fn zsh_loads_the_completions() {
    let folder = Folder::new();
    folder.write("_panoweave", folder.quiet("completions zsh"));
    let script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[panoweave]; \
                  autoload -Uz +X _panoweave; print ${+functions[_panoweave]}";
    let Some(lines) = shell(&folder, "zsh", &["-f", "-c", script]) else { return };
    assert_eq!(lines, ["_panoweave", "1"]);
}

#[test]
fn the_script_is_also_json_and_an_unknown_shell_is_an_error() {
    let folder = Folder::new();
    let json = folder.words("completions bash --json").json();
    assert_eq!(json["shell"], "bash");
    assert_eq!(json["script"], folder.quiet("completions bash"));
    folder.fails("completions csh", "possible values: bash, elvish, fish");
}
