//! The quality of a calibration in a word, with the figure that limits it.

use std::fmt;

use super::Calibration;
use super::quality::HIDDEN_SEAM_ERROR;

/// Numbers of agreeing correspondences from which a pair is good and usable.
const AGREEING: [f64; 2] = [50.0, 20.0];

/// The same for the fraction of the correspondences in the overlap that agree. By `LEAST_SHARE`, it is more than 0.2.
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
    let mut worst = Verdict { grade: Grade::Good, reason: None };
    let mut links = Vec::new();
    for pair in &found.pairs {
        let both = [pair.left, pair.right];
        let names = both.map(|i| found.pictures[i].name.as_str()).join(" and ");
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let (agree, error) = (pair.inliers.len() as f64, pair.seam_error_px);
        let share = agree / pair.in_overlap.max(1) as f64;
        let overlap = pair.overlap[0].max(pair.overlap[1]);
        let side = f64::from(found.pictures[pair.left].size.max_element());
        let hidden = HIDDEN_SEAM_ERROR.1.max(HIDDEN_SEAM_ERROR.0 * side);
        let grade = Grade::of(hidden / error, [2.0, 1.0]);
        if grade > worst.grade {
            let reason = format!("the expected error at the seam of {names} is {error:.1} px");
            worst = Verdict { grade, reason: Some(reason) };
        }
        let (of, covered) = (percent(share), percent(pair.coverage));
        let figures = [
            (agree, AGREEING, format!("only {agree} matches of {names} agree")),
            (share, SHARE, format!("only {of} of the matches in the overlap of {names} agree")),
            (overlap, OVERLAP, format!("the overlap of {names} is only {}", percent(overlap))),
            (
                pair.coverage,
                COVERAGE,
                format!("the matches of {names} cover only {covered} of the overlap"),
            ),
        ];
        let graded = figures.into_iter().map(|(figure, at, why)| (Grade::of(figure, at), why));
        links.extend(graded.max_by_key(|(grade, _)| *grade).map(|limit| (limit, both)));
    }
    // The best pairs that connect all pictures count (Kruskal's algorithm): a weak pair is harmless beside better ones.
    links.sort_by_key(|((grade, _), _)| *grade);
    let mut part: Vec<usize> = (0..found.pictures.len()).collect();
    for ((grade, reason), both) in links {
        let [a, b] = both.map(|i| part[i]);
        if a != b && grade > worst.grade {
            worst = Verdict { grade, reason: Some(reason) };
        }
        part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
    }
    worst
}
