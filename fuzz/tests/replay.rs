//! Runs every input of the corpus, and checks the layout of the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use panoweave_fuzz::{TARGETS, find, replay};

/// Tests run one after the other, because the limits of an input count the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn names_in(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

macro_rules! replays {
    ($($name:ident),+) => {
        $(#[test]
        fn $name() {
            let _alone = ALONE.lock();
            replay(find(TARGETS, stringify!($name)), env!("CARGO_MANIFEST_DIR"));
        })+

        #[test]
        fn every_target_has_a_program_a_corpus_and_a_test() {
            let _alone = ALONE.lock();
            let targets: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
            let replayed = [$(stringify!($name)),+].map(str::to_owned).into();
            assert_eq!(targets, replayed);
            assert_eq!(targets, names_in("corpus"));
            let programs = names_in("fuzz_targets");
            let programs = programs.iter().map(|name| name.trim_end_matches(".rs").to_owned());
            assert_eq!(targets, programs.collect());
            for dictionary in names_in("dictionaries") {
                assert!(targets.contains(dictionary.trim_end_matches(".dict")), "{dictionary}");
            }
        }
    };
}

replays! {
    cpu_paths, homography, intrinsics, jpeg, metadata, names, png, probe, raw_planes, raw_stream, rig, times,
    track, trajectory, transport_stream, warp, y4m
}
