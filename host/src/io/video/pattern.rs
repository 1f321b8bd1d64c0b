//! Patterns for the names of numbered files. For instance, `frame_%04d.png` means `frame_0001.png`, `frame_0002.png`
//! and so on.

use std::path::{Path, PathBuf};

use super::VideoError;
use crate::io::folder_of;

/// The maximum `N` in `%0Nd`. `N` is the number of digits to which numbers are padded with zeros.
const MAX_WIDTH: usize = 9;

/// A path with one `%d` or `%0Nd` in its file name, which stands for the number of a file, or the path of a single file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    path: PathBuf,
    before: String,
    after: String,
    /// `None` for a single file.
    width: Option<usize>,
}

impl Pattern {
    /// Parses the pattern in the file name of `path`. Returns `None` if the file name does not contain exactly one `%d`
    /// or `%0Nd`.
    #[must_use]
    pub fn parse(path: &Path) -> Option<Self> {
        let (before, rest) = path.file_name()?.to_str()?.split_once('%')?;
        let (digits, after) = rest.split_once('d')?;
        let width = match digits {
            "" => 1,
            _ => digits.strip_prefix('0')?.parse().ok().filter(|n| (1..=MAX_WIDTH).contains(n))?,
        };
        let (before, after) = (before.to_owned(), after.to_owned());
        let width = Some(width);
        (!after.contains('%')).then_some(Self { path: path.to_owned(), before, after, width })
    }

    /// Returns the pattern whose files all have the name of `path`.
    #[must_use]
    pub fn single(path: &Path) -> Self {
        let (before, after) = Default::default();
        Self { path: path.to_owned(), before, after, width: None }
    }

    /// Returns the path that was parsed, with the pattern in its file name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the file with number `n`.
    #[must_use]
    pub fn file(&self, n: u64) -> PathBuf {
        let Self { path, before, after, width } = self;
        match *width {
            Some(width) => path.with_file_name(format!("{before}{n:0width$}{after}")),
            None => path.clone(),
        }
    }

    /// Returns the folder that contains the files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// Returns the numbers of all existing files that match the pattern, in no particular order.
    ///
    /// # Errors
    /// Returns [`VideoError::Unreadable`] if the folder cannot be read.
    pub fn numbers(&self) -> Result<Vec<u64>, VideoError> {
        let unreadable = |source| VideoError::Unreadable { file: self.path.clone(), source };
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(self.folder()).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            numbers.extend(name.to_str().and_then(|name| self.number(name)));
        }
        Ok(numbers)
    }

    /// Returns the lowest and the highest number of the existing files that match the pattern. Requires that the files
    /// for all numbers between these two exist.
    ///
    /// # Errors
    /// - [`VideoError::Unreadable`]: the folder cannot be read.
    /// - [`VideoError::NoFrames`]: no file matches the pattern.
    /// - [`VideoError::Gap`]: a file between the lowest and the highest number is missing.
    pub fn find(&self) -> Result<(u64, u64), VideoError> {
        let numbers = self.numbers()?;
        let count = numbers.len() as u64;
        let (Some(&first), Some(&last)) = (numbers.iter().min(), numbers.iter().max()) else {
            return Err(VideoError::NoFrames { file: self.path.clone() });
        };
        if last - first != count - 1 {
            let missing = (first..=last).map(|n| self.file(n)).find(|file| !file.exists());
            let missing = missing.unwrap_or_else(|| self.file(first));
            return Err(VideoError::Gap { missing, last: self.file(last) });
        }
        Ok((first, last))
    }

    /// Returns the number in a file name, or `None` if the name does not match the pattern exactly. For instance,
    /// `frame_1.png` and `frame_00001.png` do not match `frame_%04d.png`.
    fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(&self.before)?.strip_suffix(&self.after)?;
        let n = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
        let width = self.width?;
        (digits == format!("{n:0width$}")).then_some(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(Path::new(text)).unwrap()
    }

    #[test]
    fn names_files() {
        assert_eq!(pattern("a/f_%04d.png").file(7), Path::new("a/f_0007.png"));
        assert_eq!(pattern("%d.jpg").file(123), Path::new("123.jpg"));
        assert_eq!(pattern("x%03d").file(12_345), Path::new("x12345"));
        for text in
            ["a.png", "a%.png", "a%4d.png", "%0d", "%00d", "%010d", "%d%d", "%s", "%d/a", ""]
        {
            assert_eq!(Pattern::parse(Path::new(text)), None, "{text}");
        }
    }

    #[test]
    fn finds_first_and_last() {
        let folder = tempfile::tempdir().unwrap();
        let pattern = pattern(folder.path().join("f_%03d.png").to_str().unwrap());
        assert!(matches!(pattern.find(), Err(VideoError::NoFrames { .. })));
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        for name in ["f_009.png", "f_010.png", "f_12.png", "f_+11.png", "f_0011.png", "g_008.png"] {
            touch(name);
        }
        assert_eq!(pattern.find().unwrap(), (9, 10));
        touch("f_013.png");
        let Err(VideoError::Gap { missing, .. }) = pattern.find() else { panic!("no gap") };
        assert_eq!(missing, folder.path().join("f_011.png"));
    }
}
