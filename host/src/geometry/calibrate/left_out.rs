//! Pictures that a calibration of several pictures leaves out, and pairs that it ignores, each with the reason.

use std::fmt;

/// A picture that the calibration left out, because it does not fit the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Index of the picture in the input.
    pub index: usize,
    /// Name of the picture.
    pub name: String,
    /// The reason.
    pub reason: LeftOutReason,
}

/// The reason why a calibration leaves out a picture.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// No picture of the set overlaps this one.
    Foreign {
        /// The largest number of correspondences with another picture that agree, which is no more than by chance.
        inliers: usize,
    },
    /// The pair with a picture of the panorama cannot be calibrated.
    Pair {
        /// Name of the other picture.
        other: String,
        /// The text of the error, a [`Refusal`](super::Refusal).
        refusal: String,
    },
    /// The picture overlaps only pictures that are left out, too. They form a smaller group.
    OtherGroup {
        /// Name of a picture that overlaps this one.
        other: String,
        /// The number of pictures in the group.
        pictures: usize,
    },
    /// A flat panorama would have to stretch the picture without limit, or nearly so.
    Stretched,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { inliers } => write!(
                f,
                "no other picture shows the same scene: at most {inliers} correspondences agree, no more than by chance"
            ),
            Self::Pair { other, refusal } => write!(f, "it does not fit {other}: {refusal}"),
            Self::OtherGroup { other, pictures } => write!(
                f,
                "it overlaps {other}, but its group of {pictures} pictures is not connected to the larger group"
            ),
            Self::Stretched => f.write_str(
                "the pictures show one plane, and this one looks along it: a flat panorama cannot show it",
            ),
        }
    }
}

/// A pair of pictures that the calibration ignored: its correspondences agree with each other, but not with the other
/// pairs. An example is the same poster on two walls.
#[derive(Clone, Debug, PartialEq)]
pub struct FalsePair {
    /// Names of the two pictures.
    pub names: [String; 2],
    /// Whether the other pairs prove that this pair is false. Otherwise, another pair may be false instead.
    pub certain: bool,
}

impl fmt::Display for FalsePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right] = &self.names;
        write!(f, "{left} and {right} fit each other but contradict the other pairs")?;
        if self.certain {
            return f.write_str("; the pair is ignored");
        }
        f.write_str(
            "; it is not clear which pair is wrong, and this one is ignored because its correspondences are the fewest",
        )
    }
}
