//! Pictures that a calibration of several pictures leaves out, and pairs that it ignores, each with the reason.

use std::fmt;

/// A picture that the calibration left out, because it does not fit the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Index of the picture in the input.
    pub index: usize,
    /// Name of the picture.
    pub name: String,
    /// The reason, as a part of a sentence.
    pub reason: String,
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
