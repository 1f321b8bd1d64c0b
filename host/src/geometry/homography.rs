//! A homography between two pictures: its text format and its panorama.
//!
//! The matrix maps pixels of the second picture to pixels of the first one. Pixel centres are at integers, and the first
//! pixel is at 0. In the panorama, the first picture is not resampled, and the second one is warped onto its plane. Use a
//! homography for two cameras at nearly the same position, or for a flat scene. The total field of view must be well
//! below 180°. For a wider view, use a camera rig.
//!
//! The text format is nine numbers, row by row, separated by white space or commas. A `#` starts a comment that ends at
//! the end of the line.

use std::path::{Path, PathBuf};

use glam::{DMat3, DVec2, DVec3, UVec2};
use shared_types::warp::{Camera, Canvas};

use crate::error::{Classify, TextPlace};
use crate::geometry::{Geometry, MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
use crate::io::text::{TextError, read_text};

/// A matrix is singular if its determinant is at most this fraction of its upper bound (Hadamard: the product of the
/// row lengths). A smaller determinant may be only a rounding error.
const SINGULAR: f64 = 1e-12;

/// The error for a homography that cannot be read, or whose panorama cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum HomographyError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A word is not a number. `word` has its first 40 characters.
    #[error("{}:{line}: {word:?} is not a number", file.display())]
    NotANumber { file: PathBuf, line: usize, word: String },
    /// The numbers are no homography, or a picture or the panorama has an impossible size.
    #[error("{}: {reason}", file.display())]
    Invalid { file: PathBuf, reason: String },
}

impl Classify for HomographyError {
    fn place(&self) -> Option<TextPlace<'_>> {
        let Self::NotANumber { file, line, word } = self else { return None };
        Some(TextPlace { file, line: *line, column: 1, word })
    }
}

fn invalid<T>(file: &Path, reason: String) -> Result<T, HomographyError> {
    Err(HomographyError::Invalid { file: file.to_owned(), reason })
}

/// An invertible 3×3 matrix that maps pixels of the second picture to pixels of the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct Homography {
    file: PathBuf,
    matrix: DMat3,
}

impl Homography {
    /// Reads a homography file.
    ///
    /// # Errors
    /// Returns [`HomographyError`] if the file cannot be read, or is no homography.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, HomographyError> {
        Self::parse(&read_text(path.as_ref())?, path)
    }

    /// Parses the text of a homography. Error messages name `file`.
    ///
    /// # Errors
    /// Returns [`HomographyError`] if the text is not an invertible matrix.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, HomographyError> {
        let file = file.as_ref().to_owned();
        let mut numbers = [0.0; 9];
        let mut found = 0;
        // Some editors write a byte order mark at the start of a text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, content) in text.lines().enumerate() {
            let content = content.split('#').next().unwrap_or("");
            for word in content.split(|c: char| c.is_whitespace() || c == ',') {
                if word.is_empty() {
                    continue;
                }
                let Ok(number) = word.parse::<f64>() else {
                    let word = word.chars().take(40).collect();
                    return Err(HomographyError::NotANumber { file, line: line + 1, word });
                };
                if let Some(slot) = numbers.get_mut(found) {
                    *slot = number;
                }
                found += 1;
            }
        }
        if found != 9 {
            let reason = format!("found {found} numbers; a homography has 9 (3 rows of 3)");
            return invalid(&file, reason);
        }
        // The determinant of a matrix with larger numbers could overflow.
        if let Some(i) = numbers.iter().position(|n| !n.is_finite() || n.abs() > 1e100) {
            let (row, column, value) = (i / 3 + 1, i % 3 + 1, numbers[i]);
            let reason = format!(
                "the number in row {row}, column {column} is {value}; it must be from -1e100 to 1e100"
            );
            return invalid(&file, reason);
        }
        // Normalise extremely large or small numbers, so that products of them do not overflow or underflow. This is
        // allowed, because all multiples of a matrix are the same homography.
        let largest = numbers.iter().fold(0.0_f64, |most, n| most.max(n.abs()));
        if largest > 0.0 && !(1e-20..1e20).contains(&largest) {
            numbers = numbers.map(|n| n / largest);
        }
        let matrix = DMat3::from_cols_array(&numbers).transpose();
        if is_singular(&matrix) {
            let reason = "the matrix is singular, so it maps the second picture to a line or a point; correct its numbers";
            return invalid(&file, reason.to_owned());
        }
        Ok(Self { file, matrix })
    }

    /// Returns the matrix from homogeneous pixels of the second picture to those of the first one. It is the matrix that
    /// was read, or a multiple of it if its numbers were extremely large or small.
    #[must_use]
    pub fn matrix(&self) -> DMat3 {
        self.matrix
    }

    /// Returns the nine numbers as text that [`parse`](Self::parse) reads back unchanged.
    #[must_use]
    pub fn to_text(&self) -> String {
        [0, 1, 2]
            .map(|row| self.matrix.row(row))
            .map(|r| format!("{:?} {:?} {:?}\n", r.x, r.y, r.z))
            .concat()
    }

    /// Returns the smallest planar panorama that contains both pictures. `left` and `right` are the sizes of the
    /// pictures in pixels.
    ///
    /// Canvas pixels are pixels of the first picture, shifted by whole numbers, so the first picture is not resampled.
    /// Pictures extend half a pixel beyond their outermost pixel centres.
    ///
    /// # Errors
    /// Returns [`HomographyError`] if the size of a picture or of the panorama is out of range.
    pub fn geometry(&self, left: UVec2, right: UVec2) -> Result<Geometry, HomographyError> {
        for (picture, size) in [("first", left), ("second", right)] {
            if size.min_element() == 0 || size.max_element() > MAX_SIDE {
                let reason = format!(
                    "the {picture} picture is {}×{} pixels; each side must be 1 to {MAX_SIDE}",
                    size.x, size.y
                );
                return invalid(&self.file, reason);
            }
        }
        span(&self.file, &[(DMat3::IDENTITY, left), (self.matrix, right)])
    }
}

/// Returns the smallest planar panorama that contains several pictures. Each element of `maps` is the matrix from the
/// pixels of a picture to a common plane, and the size of the picture in pixels.
///
/// Canvas pixels are pixels of the plane, shifted by whole numbers. Returns an error, which names `file`, if the panorama
/// would be too large.
pub(crate) fn span(file: &Path, maps: &[(DMat3, UVec2)]) -> Result<Geometry, HomographyError> {
    let mut low = DVec2::INFINITY;
    let mut high = DVec2::NEG_INFINITY;
    let mut cameras = Vec::new();
    for &(matrix, size) in maps {
        let images = corners(size).map(|corner| matrix * corner.extend(1.0));
        let least = images.iter().fold(f64::INFINITY, |m, p| m.min(p.z));
        let most = images.iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.z));
        // The denominator `z` of a mapped pixel is linear in the x and y of the pixel. So if it has the same sign at
        // all corners, it has this sign in the whole picture. A denominator near 0 stretches pixels without limit, so
        // its magnitude must be more than a millionth of the largest one.
        let margin = 1e-6 * least.abs().max(most.abs());
        if !(least > margin || most < -margin) {
            let reason = "a part of the second picture is at or beyond infinity on the plane of the first one; check that the \
                          matrix maps pixels of the second picture to pixels of the first one; if it does, the view is too \
                          wide for a plane: make a rig with `panoweave calibrate --model rotation`";
            return invalid(file, reason.to_owned());
        }
        // A homography and its negative are the same map. Choose the sign that makes z positive in the whole picture.
        let matrix = if most < 0.0 { matrix * -1.0 } else { matrix };
        for bent in images.map(|p: DVec3| p.truncate() / p.z) {
            (low, high) = (low.min(bent), high.max(bent));
        }
        cameras.push(Camera::from_matrix(matrix.inverse(), size));
    }
    // Pixel i covers the positions from i - 0.5 to i + 0.5.
    let first = (low + 0.5).floor();
    let size = (high - 0.5).ceil() - first + 1.0;
    let too_large =
        size.max_element() > f64::from(MAX_CANVAS_SIDE) || size.x * size.y > MAX_CANVAS_AREA as f64;
    if too_large || !size.is_finite() {
        let reason = format!(
            "the panorama would be {:.0}×{:.0} pixels; each side must be at most {MAX_CANVAS_SIDE}, and the area at most \
             {MAX_CANVAS_AREA} pixels; check that the matrix maps pixels of the second picture to pixels of the first one",
            size.x, size.y
        );
        return invalid(file, reason);
    }
    Ok(Geometry { canvas: Canvas::of_pixels(-first, size.as_uvec2()), cameras })
}

/// Returns whether a matrix is singular or so nearly singular that rounding errors may explain its determinant.
pub(crate) fn is_singular(matrix: &DMat3) -> bool {
    let rows = [0, 1, 2].map(|row| matrix.row(row).length());
    let bound: f64 = rows.iter().product();
    // The comparison is false for NaN and for a zero row, so that both count as singular.
    let regular = matrix.determinant().abs() > SINGULAR * bound;
    !regular
}

/// Returns the corners of a picture, which are half a pixel outside the centres of its corner pixels.
pub(crate) fn corners(size: UVec2) -> [DVec2; 4] {
    let far = size.as_dvec2() - 0.5;
    [(-0.5, -0.5), (far.x, -0.5), (-0.5, far.y), (far.x, far.y)].map(DVec2::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Homography, HomographyError> {
        Homography::parse(text, "h.txt")
    }

    #[test]
    fn reads_commas_comments_and_blank_lines() {
        let h = parse("# right to left\n1, 0,10\n\n0 1 -2 # row 2\n0,0,1\n").unwrap();
        assert_eq!(h.matrix() * DVec3::new(0.0, 0.0, 1.0), DVec3::new(10.0, -2.0, 1.0));
        assert_eq!(parse(&h.to_text()).unwrap(), h);
    }

    #[test]
    fn the_canvas_spans_both_pictures() {
        let g = parse("1 0 -30  0 1 -2  0 0 1").unwrap();
        let g = g.geometry(UVec2::new(100, 50), UVec2::new(40, 60)).unwrap();
        // In pixels of the first picture, the second picture covers columns -30 to 9 and rows -2 to 57. The first one
        // covers columns 0 to 99 and rows 0 to 49.
        assert_eq!(g.canvas.size, UVec2::new(130, 60));
        assert_eq!(g.canvas.centre, DVec2::new(30.0, 2.0));
        assert_eq!(g.cameras[0].from_ray, DMat3::IDENTITY);
        let seen = g.cameras[1].from_ray * DVec3::new(-30.0, -2.0, 1.0);
        assert_eq!(seen / seen.z, DVec3::new(0.0, 0.0, 1.0));
    }

    #[test]
    fn the_negative_is_the_same_map() {
        let size = UVec2::new(64, 48);
        let plus = parse("1.1 0.02 20  0.01 0.9 3  1e-4 2e-5 1").unwrap();
        let minus = parse("-1.1 -0.02 -20  -0.01 -0.9 -3  -1e-4 -2e-5 -1").unwrap();
        let (a, b) = (plus.geometry(size, size).unwrap(), minus.geometry(size, size).unwrap());
        assert_eq!(a, b);
        let middle = plus.matrix() * DVec3::new(30.0, 20.0, 1.0);
        let back = a.cameras[1].from_ray * (middle / middle.z);
        assert!(back.z > 0.0);
        assert!((back.truncate() / back.z - DVec2::new(30.0, 20.0)).length() < 1e-9);
    }

    #[test]
    fn sizes_are_checked() {
        let size = UVec2::new(100, 100);
        let unit = parse("1 0 0 0 1 0 0 0 1").unwrap();
        let none = unit.geometry(UVec2::new(0, 4), size).unwrap_err().to_string();
        assert!(none.contains("the first picture is 0×4"), "{none}");
    }
}
