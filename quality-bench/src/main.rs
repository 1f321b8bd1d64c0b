//! `quality-bench`: stitches made-up scenes by several programs and scores the panoramas against the truth.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use quality_bench::case::Case;
use quality_bench::classes::{CLASSES, Class, VIDEO};
use quality_bench::error::{Error, Result};
use quality_bench::report::{Facts, Report};
use quality_bench::run::{self, Entry, Settings};
use quality_bench::stitchers::{self, Stitcher, VideoWay};
use quality_bench::video;

/// Stitches made-up scenes by panoweave, OpenCV and Hugin, and scores the panoramas against the truth.
///
/// Writes report.md, report.json and index.html. A stitcher that is not installed is left out.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Folder for pictures, panoramas and reports.
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
    /// Judges the panoramas of an earlier run in the folder again. Stitches only what its report.json lacks, and keeps
    /// its sequences.
    #[arg(long)]
    again: bool,
    /// Time limit of a stitch in seconds.
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Folder with the photographs of the class `outside`.
    #[arg(long, default_value = "../shared/data")]
    data: PathBuf,
    /// Stitches the pictures in each folder below this one instead of made-up scenes. A file truth.png (or .jpg) is the
    /// truth; without one, each picture is the truth of the part that it shows.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let stitchers = stitchers(args)?;
    let out = run::folder(&args.out)?;
    let earlier = if args.again { Some(Report::open(&out)?) } else { None };
    let (earlier, mut videos) = earlier.map_or_else(Default::default, |r| (r.entries, r.videos));
    let settings = Settings { out, limit: Duration::from_secs(args.limit), earlier };
    let entries = match &args.folder {
        Some(folder) => run::folders(folder, &stitchers, &settings, show)?,
        None => cases(args, &stitchers, &settings)?,
    };
    if args.folder.is_none() && !args.no_video && videos.is_empty() {
        let ways = VideoWay::all(&stitchers);
        for seed in 0..if args.quick { 1 } else { VIDEO.seeds } {
            let found = video::sequence(seed, &ways, &settings)?;
            found
                .iter()
                .for_each(|entry| println!("video-{seed} {}: {:?}", entry.way, entry.scores));
            videos.extend(found);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let options = if args.quick { ", quick" } else { "" };
    let facts = Facts::new(&stitchers, options.to_owned(), seconds);
    Report { facts, entries, videos }.save(&settings.out)?;
    println!("wrote report.md, report.json and index.html in {seconds:.0} s");
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
        return Err(Error::Options(
            "no stitcher to run; see --stitchers and --panoweave".to_owned(),
        ));
    }
    found.iter().for_each(|stitcher| println!("{}: {}", stitcher.name, stitcher.version));
    Ok(found)
}

/// Returns the classes to run.
fn classes(args: &Args) -> Result<Vec<Class>> {
    let names = &args.classes;
    if let Some(name) = names.iter().find(|name| CLASSES.iter().all(|class| class.name != **name)) {
        let all = CLASSES.map(|class| class.name).join(", ");
        return Err(Error::Options(format!("there is no class {name}; the classes are {all}")));
    }
    let selected = |class: &Class| names.is_empty() || names.iter().any(|name| name == class.name);
    Ok(CLASSES.into_iter().filter(selected).collect())
}

/// Runs the cases of the classes.
fn cases(args: &Args, stitchers: &[Stitcher], settings: &Settings) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for class in classes(args)? {
        let size = if args.quick { 0.6 } else { 1.0 };
        let seeds = if args.quick { 1 } else { class.seeds };
        for seed in 0..args.seeds.unwrap_or(seeds) {
            let Some(case) = Case::new(&class, seed, size, &args.data)? else {
                println!("{}-{seed} is left out: --data has no such photograph", class.name);
                continue;
            };
            let found = run::case(&case, stitchers, settings)?;
            found.iter().for_each(show);
            entries.extend(found);
        }
    }
    Ok(entries)
}

/// Prints a line about a result.
fn show(entry: &Entry) {
    let case = format!("{}-{}", entry.class, entry.seed);
    match (&entry.scores, &entry.failure) {
        (Some(s), _) => println!(
            "{case:14} {:10} {:5.1} dB, SSIM {:.3}, coverage {:3.0} %, geometry {:.2} px, misaligned {:.2} px, ghosts {}, \
             seam {}, colour {:.2} %, {:.1} s",
            entry.stitcher,
            s.psnr,
            s.ssim,
            100.0 * s.coverage,
            s.geometry,
            s.misalignment,
            s.ghosts.map_or("–".to_owned(), |g| format!("{:.1} %", 100.0 * g)),
            s.seam.map_or("–".to_owned(), |v| format!("{v:.3}")),
            s.colour,
            entry.wall
        ),
        (None, Some(failure)) => println!("{case:14} {:10} failed: {failure}", entry.stitcher),
        (None, None) => println!("{case:14} {:10} no scores", entry.stitcher),
    }
}
