//! Values of a job that are written as text: names from a list, and sizes, rates, gains and paths.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use glam::{UVec2, Vec3};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::JobError;
use crate::device::DeviceName;
use crate::frame::Rate;
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::video::{StreamFormat, VideoEncoder};
use crate::ops::blend::Blend;
use crate::ops::stitch::Lookup;
use crate::video::MAX_OFFSET;

/// Implements serde and the schema of a type that is written as text, by its `FromStr` and `Display`. The format in the
/// schema is a name for its values in a program's help.
macro_rules! by_text {
    ($($type:ty: $format:literal;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Cow::<'_, str>::deserialize(from)?.parse().map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format })
            }
        }
    )+};
}

/// Implements serde and the schema of a type whose values have names.
macro_rules! by_name {
    ($($type:ty: $all:expr, $name:expr;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($name(*self))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = Cow::<'_, str>::deserialize(from)?;
                let found = $all.into_iter().find(|value| $name(*value) == text);
                found.ok_or_else(|| {
                    let names: Vec<_> = $all.into_iter().map($name).collect();
                    de::Error::custom(format!("unknown name {text}; use one of {}", names.join(", ")))
                })
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $all.into_iter().map($name).collect::<Vec<_>>() })
            }
        }
    )+};
}

by_text! {
    DeviceName: "DEVICE";
    File: "FILE";
    Gain: "R,G,B";
    Moment: "TIME";
    Rate: "RATE";
    Size: "WxH";
    Sync: "auto|audio|together|N,...";
}

by_name! {
    Blend: Blend::ALL, Blend::name;
    Lookup: Lookup::ALL, Lookup::name;
    StreamFormat: StreamFormat::all(), StreamFormat::name;
    VideoEncoder: VideoEncoder::ALL, VideoEncoder::name;
}

/// The path of a file. In texts, a byte that is not UTF-8 is a character of a private area (U+10F700 and its value).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File(pub PathBuf);

const NOT_UTF8: u32 = 0x10_F700;

impl AsRef<Path> for File {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl std::ops::Deref for File {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl<P: Into<PathBuf>> From<P> for File {
    fn from(path: P) -> Self {
        Self(path.into())
    }
}

impl FromStr for File {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = Vec::with_capacity(text.len());
        for c in text.chars() {
            match u32::from(c).checked_sub(NOT_UTF8) {
                Some(byte @ 0x80..=0xFF) => bytes.push(byte as u8),
                _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        Ok(Self(OsString::from_vec(bytes).into()))
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_os_str().as_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            let escaped = |&byte: &u8| char::from_u32(NOT_UTF8 + u32::from(byte));
            f.write_str(&chunk.invalid().iter().filter_map(escaped).collect::<String>())?;
        }
        Ok(())
    }
}

/// Width and height in pixels, such as `1920x1080`: each 1 to [`MAX_CANVAS_SIDE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub UVec2);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', 'X', '×']);
        let is_whole = |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
        let sides = sides.filter(|(width, height)| is_whole(width) && is_whole(height));
        let (width, height) =
            sides.ok_or("a size must be WIDTHxHEIGHT in pixels, such as 3840x2160")?;
        let [width, height] = [width, height].map(|side| side.parse().unwrap_or(u32::MAX));
        let is_allowed = |side| (1..=MAX_CANVAS_SIDE).contains(&side);
        if !(is_allowed(width) && is_allowed(height)) {
            return Err(format!("width and height must be 1 to {MAX_CANVAS_SIDE} pixels"));
        }
        Ok(Self(UVec2::new(width, height)))
    }
}

impl Size {
    /// Checks the area of a picture whose size the option `name` states.
    pub(super) fn check_area(self, name: &str) -> Result<(), JobError> {
        if u64::from(self.0.x) * u64::from(self.0.y) <= MAX_CANVAS_AREA {
            return Ok(());
        }
        let text = format!("`{name}` is {self}, but must have at most {MAX_CANVAS_AREA} pixels");
        Err(JobError::Usage(text))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0.x, self.0.y)
    }
}

/// The gains of red, green and blue, each 0 to 1000. The text is one number for all, or three with commas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain(pub Vec3);

impl FromStr for Gain {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let gain =
            |word: &str| word.trim().parse().ok().filter(|gain| (0.0..=1000.0).contains(gain));
        let gains: Option<Vec<f32>> = text.split(',').map(gain).collect();
        match gains.ok_or("a gain must be a number from 0 to 1000")?[..] {
            [all] => Ok(Self(Vec3::splat(all))),
            [r, g, b] => Ok(Self(Vec3::new(r, g, b))),
            _ => Err("a gain must be one number, or three numbers as R,G,B"),
        }
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Vec3 { x, y, z } = self.0;
        if x == y && y == z { x.fmt(f) } else { write!(f, "{x},{y},{z}") }
    }
}

/// A time in a video: seconds, `M:SS` or `H:MM:SS`, less than [`MAX_OFFSET`] seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Duration);

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |word: &str| word.parse().ok().filter(|n| (0.0..MAX_OFFSET).contains(n));
        let numbers: Option<Vec<f64>> = text.split(':').map(number).collect();
        let seconds = match numbers.as_deref() {
            Some(&[seconds]) => Some(seconds),
            Some(&[minutes, seconds @ ..60.0]) => Some(60.0 * minutes + seconds),
            Some(&[hours, minutes @ ..60.0, seconds @ ..60.0]) => {
                Some(3600.0 * hours + 60.0 * minutes + seconds)
            }
            _ => None,
        };
        let seconds = seconds.filter(|seconds| *seconds < MAX_OFFSET);
        let time = seconds.map(|seconds| Self(Duration::from_secs_f64(seconds)));
        time.ok_or("a time must be seconds, M:SS or H:MM:SS, such as 90, 1:30 or 1:02:03.5")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

/// The starts of recordings: `auto`, `audio`, `together`, or the seconds from the start of the first video to that of each
/// further one.
#[derive(Clone, Debug, PartialEq)]
pub enum Sync {
    /// Found in the sound if all videos have sound that determines it, otherwise together.
    Auto,
    /// The videos start together.
    Together,
    /// Found in the sound.
    Audio,
    /// Given in seconds for each video after the first.
    Seconds(Vec<f64>),
}

impl FromStr for Sync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "audio" => return Ok(Self::Audio),
            "together" => return Ok(Self::Together),
            _ => {}
        }
        let seconds = |word: &str| word.trim().parse().ok().filter(|n: &f64| n.abs() <= MAX_OFFSET);
        let all: Option<Vec<f64>> = text.split(',').map(seconds).collect();
        all.map(Self::Seconds).ok_or_else(|| {
            format!("the value must be auto, audio, together, or a number of seconds from -{MAX_OFFSET} to {MAX_OFFSET} for each further video, separated by commas, as in 0.25,-1.5")
        })
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Audio => f.write_str("audio"),
            Self::Together => f.write_str("together"),
            Self::Seconds(seconds) => {
                let texts: Vec<_> = seconds.iter().map(f64::to_string).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_audio_or_seconds() {
        for sync in [Sync::Auto, Sync::Audio, Sync::Together] {
            assert_eq!(sync.to_string().parse(), Ok(sync));
        }
        assert_eq!("0.25".parse(), Ok(Sync::Seconds(vec![0.25])));
        assert_eq!("0, -1.25,86400".parse(), Ok(Sync::Seconds(vec![0.0, -1.25, 86_400.0])));
        for text in ["", "Audio", "1,", "1;2", "nan", "inf", "86401", "1 2", "audio,1"] {
            assert!(text.parse::<Sync>().is_err(), "{text}");
        }
    }

    #[test]
    fn texts_parse_to_their_values() {
        let path = File::from(OsString::from_vec(b"a\xFF\xC3\xA9.png".to_vec()));
        assert_eq!(path.to_string().parse(), Ok(path));
        assert_eq!(Size(UVec2::new(3, 4)).to_string().parse(), Ok(Size(UVec2::new(3, 4))));
        for gain in [Vec3::splat(1.5), Vec3::new(0.1, 2.0, 1000.0)] {
            assert_eq!(Gain(gain).to_string().parse(), Ok(Gain(gain)));
        }
        for (text, seconds) in [("90", 90.0), ("1:30", 90.0), ("1:02:03.5", 3723.5), ("0.04", 0.04)]
        {
            let moment: Moment = text.parse().unwrap();
            assert_eq!(moment.0.as_secs_f64(), seconds, "{text}");
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        for text in
            ["", ":30", "1:60", "24:00:00", "-1", "1:-1", "nan", "1e9", "1:1:1:1", "99999999"]
        {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
        for text in ["", "x", "1x", "0x4", "4x99999", "+1x1"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        for text in ["", "1,2", "-1", "nan", "1001", "1,2,3,4"] {
            assert!(text.parse::<Gain>().is_err(), "{text}");
        }
    }
}
