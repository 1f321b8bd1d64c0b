//! `quality-bench`: stitches made-up scenes by several programs and scores the panoramas against the exact truth.
//!
//! Scenes by formula (`scene`) and random rigs (`rig`) of each class (`classes`) give pictures and truth (`case`). Each
//! stitcher runs as a program on the same files (`stitchers`). The judge (`judge`) registers each panorama with the
//! truth and scores it. `report` writes tables. `README.md` explains the scores.

mod case;
mod classes;
mod grid;
mod judge;
mod pairs;
mod projection;
mod report;
mod rig;
mod scene;
mod stitchers;
mod video;

#[cfg(test)]
mod tests {
    mod end_to_end;
    mod judge;
}

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use case::Case;
use classes::{CLASSES, VIDEO};
use judge::judge;
use report::{Entry, Report};
use stitchers::{Runs, Stitcher, VideoWay};

/// The result of an operation of the bench, or the reason why the bench cannot go on.
type Result<T> = std::result::Result<T, String>;

/// Stitches made-up scenes by panoweave, OpenCV and Hugin, and scores the panoramas against the truth.
///
/// Writes report.md. A stitcher that is not installed is left out.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Folder for pictures, panoramas and the report.
    #[arg(long, default_value = "target/quality-bench")]
    out: PathBuf,
    /// The program panoweave. Default: the file beside this program.
    #[arg(long, value_name = "PATH")]
    panoweave: Option<PathBuf>,
    /// Options added to `panoweave stitch`, separated by spaces.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    panoweave_args: String,
    /// Runs only these stitchers, separated by commas: panoweave, opencv, hugin.
    #[arg(long, value_delimiter = ',')]
    stitchers: Vec<String>,
    /// Runs only these classes, separated by commas.
    #[arg(long, value_delimiter = ',')]
    classes: Vec<String>,
    /// Runs no sequences.
    #[arg(long)]
    no_video: bool,
    /// Number of seeds per class. Default: that of the class.
    #[arg(long)]
    seeds: Option<u64>,
    /// Runs one seed per class with small pictures.
    #[arg(long)]
    quick: bool,
    /// Counts falsely accepted and lost pairs of pictures instead: how `calibrate` judges them.
    #[arg(long)]
    pairs: bool,
    /// Time limit of a stitch in seconds.
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Folder with the photographs of the class `outside`.
    #[arg(long, default_value = "../shared/data")]
    data: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quality-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if args.pairs {
        print!("{}", pairs::measure(&args.out, &args.data, args.seeds)?);
        return Ok(());
    }
    let stitchers = stitchers(args)?;
    let runs = Runs { out: folder(&args.out)?, limit: args.limit };
    let names = &args.classes;
    if let Some(name) = names.iter().find(|name| CLASSES.iter().all(|class| class.name != **name)) {
        let all = CLASSES.map(|class| class.name).join(", ");
        return Err(format!("there is no class {name}; the classes are {all}"));
    }
    let mut report = Report::new(&stitchers);
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    for class in CLASSES.iter().filter(|class| is_selected(class.name)) {
        let size = if args.quick { 0.6 } else { 1.0 };
        let seeds = if args.quick { 1 } else { class.seeds };
        for seed in 0..args.seeds.unwrap_or(seeds) {
            let Some(case) = Case::new(class, seed, size, &args.data)? else {
                println!("{}-{seed} is left out: --data has no such photograph", class.name);
                continue;
            };
            report.entries.extend(stitched(&case, &stitchers, &runs)?);
        }
    }
    if !args.no_video {
        let ways = VideoWay::all(&stitchers);
        for seed in 0..if args.quick { 1 } else { VIDEO.seeds } {
            report.videos.extend(video::sequence(seed, &ways, &runs)?);
        }
    }
    let file = runs.out.join("report.md");
    fs::write(&file, report.markdown()).map_err(|error| cannot("write", &file, error))?;
    println!("wrote {}", file.display());
    Ok(())
}

/// Returns the stitchers to run, and prints which are missing.
fn stitchers(args: &Args) -> Result<Vec<Stitcher>> {
    let beside = std::env::current_exe().unwrap_or_default().with_file_name("panoweave");
    let program = args.panoweave.clone().unwrap_or(beside);
    let extra: Vec<String> = args.panoweave_args.split_whitespace().map(str::to_owned).collect();
    let (mut found, missing) = stitchers::installed(&program, &extra);
    missing.iter().for_each(|line| println!("{line}"));
    let names = &args.stitchers;
    found.retain(|stitcher| names.is_empty() || names.iter().any(|name| name == stitcher.name));
    if found.is_empty() {
        return Err("no stitcher to run; see --stitchers and --panoweave".to_owned());
    }
    found.iter().for_each(|stitcher| println!("{}: {}", stitcher.name, stitcher.version));
    Ok(found)
}

/// Runs all stitchers on a case and judges the panoramas.
fn stitched(case: &Case, stitchers: &[Stitcher], runs: &Runs) -> Result<Vec<Entry>> {
    let folder = folder(&runs.out.join("cases").join(format!("{}-{}", case.class, case.seed)))?;
    let mut files = Vec::new();
    for i in 0..case.cameras.len() {
        let file = folder.join(format!("camera_{i}.png"));
        case.photograph(i).save(&file)?;
        files.push(file);
    }
    let truth = case.truth();
    truth.picture.save(&folder.join("truth.png"))?;
    let mut entries = Vec::new();
    for stitcher in stitchers {
        let place = folder.join(stitcher.name);
        let scores = match stitcher.stitch(&files, case.cameras[0].view(), &place, runs.limit)? {
            Ok(file) => {
                let (panorama, mask) = grid::open(&file)?;
                let judged = judge(&panorama, &mask, &truth);
                judged.ok_or("the panorama does not resemble the truth".to_owned())
            }
            Err(reason) => Err(reason),
        };
        let scores = scores.map(|judged| judged.scores);
        let (class, stitcher) = (case.class, stitcher.name);
        println!("{class}-{} {stitcher}: {scores:?}", case.seed);
        entries.push(Entry { class, seed: case.seed, stitcher, scores });
    }
    Ok(entries)
}

/// Creates a folder.
fn folder(path: &Path) -> Result<PathBuf> {
    let created = fs::create_dir_all(path).and_then(|()| path.canonicalize());
    created.map_err(|error| cannot("create", path, error))
}

/// Returns the text of an error.
fn cannot(verb: &str, file: &Path, error: impl std::fmt::Display) -> String {
    format!("cannot {verb} {}: {error}", file.display())
}
