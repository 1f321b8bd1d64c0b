//! The quality of a calibration in a word, with the figure that limits it.

use std::fmt;

use super::Calibration;
use super::quality::HIDDEN_SEAM_ERROR;

/// Numbers of agreeing correspondences from which a pair is good and usable.
const AGREEING: [f64; 2] = [50.0, 20.0];

/// The same for the fraction of the correspondences in the overlap that agree. By `LEAST_SHARE`, it is at least 0.25.
const SHARE: [f64; 2] = [0.4, 0.3];

/// The same for the overlap, as a fraction of one picture.
const OVERLAP: [f64; 2] = [0.1, 0.06];

/// The same for the fraction of the cells in the overlap that have inliers.
const COVERAGE: [f64; 2] = [0.4, 0.2];

/// The quality of a calibration in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Nothing limits the panorama.
    Good,
    /// The panorama is right, and its seams may show a trace of an error.
    Usable,
    /// The panorama may be wrong or broken at the seams: look at it.
    Poor,
}

/// The quality of a calibration in a word, and the figure that limits it. As a text, for example "usable (the overlap of
/// a and b is only 8 %)".
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The word.
    pub grade: Grade,
    /// The figure of the pair that limits the quality, as a part of a sentence. `None` if the calibration is good.
    pub reason: Option<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.grade.as_str())?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

impl Grade {
    /// Returns the word in lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ["good", "usable", "poor"][self as usize]
    }

    /// Returns the grade of a figure, from the limits of the first two grades.
    fn of(figure: f64, [good, usable]: [f64; 2]) -> Self {
        match figure {
            _ if figure >= good => Self::Good,
            _ if figure >= usable => Self::Usable,
            _ => Self::Poor,
        }
    }
}

/// Returns the verdict on the pairs of a calibration; see [`Calibration::verdict`].
pub(super) fn verdict(found: &Calibration) -> Verdict {
    let mut seam = Verdict { grade: Grade::Good, reason: None };
    let mut links = Vec::new();
    for pair in &found.pairs {
        let [left, right] = [pair.left, pair.right].map(|i| found.pictures[i].name.as_str());
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let (agree, error) = (pair.inliers.len() as f64, pair.seam_error_px);
        let (share, overlap) =
            (agree / pair.in_overlap.max(1) as f64, pair.overlap[0].max(pair.overlap[1]));
        let side = f64::from(found.pictures[pair.left].size.max_element());
        let hidden = HIDDEN_SEAM_ERROR.1.max(HIDDEN_SEAM_ERROR.0 * side);
        let own = Grade::of(hidden / error, [2.0, 1.0]);
        if own > seam.grade {
            let reason =
                format!("the expected error at the seam of {left} and {right} is {error:.1} px");
            seam = Verdict { grade: own, reason: Some(reason) };
        }
        let limits = [
            (
                Grade::of(agree, AGREEING),
                format!("only {agree} matches of {left} and {right} agree"),
            ),
            (
                Grade::of(share, SHARE),
                format!("only {} of the matches of {left} and {right} agree", percent(share)),
            ),
            (
                Grade::of(overlap, OVERLAP),
                format!("the overlap of {left} and {right} is only {}", percent(overlap)),
            ),
            (
                Grade::of(pair.coverage, COVERAGE),
                format!(
                    "the matches of {left} and {right} cover only {} of the overlap",
                    percent(pair.coverage)
                ),
            ),
        ];
        links.extend(
            limits
                .into_iter()
                .max_by_key(|(grade, _)| *grade)
                .map(|worst| (worst, [pair.left, pair.right])),
        );
    }
    // The best pairs that connect all pictures count (Kruskal's algorithm): a weak pair is harmless beside better ones.
    links.sort_by_key(|((grade, _), _)| *grade);
    let mut part: Vec<usize> = (0..found.pictures.len()).collect();
    for ((grade, reason), pictures) in links {
        let [a, b] = pictures.map(|i| part[i]);
        if a != b && grade > seam.grade {
            seam = Verdict { grade, reason: Some(reason) };
        }
        part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
    }
    seam
}
