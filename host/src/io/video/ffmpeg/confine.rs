//! Limits what ffmpeg can do, because the videos that it reads may come from strangers.
//!
//! - A file is opened as a local file in one of the [`FORMATS`]. Formats that name other files or addresses are not
//!   among them. So a playlist that is called `a.mp4` can neither show other videos nor open a connection.
//! - A frame has at most the number of pixels that [`MaxPixels`] allows, whatever size the file states.
//! - A child has no network if the system allows it, at most 16 GiB of memory, and writes no core dump.
//!
//! The environment variable `PANOWEAVE_FFMPEG_NETWORK` with the value 1 leaves the network to children, for a program
//! in `PANOWEAVE_FFMPEG` that needs it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use glam::UVec2;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::url;
use crate::io::video::{VideoLimitError, VideoLimits};

/// The formats that are read, by the names of ffmpeg's demuxers. Music is among them, because its cover is a picture
/// and its refusal has a better message.
const FORMATS: &str = "3g2,3gp,aac,apng,asf,av1,avi,dv,flac,flv,gif,h263,h264,hevc,ivf,m4a,m4v,matroska,mj2,mjpeg,mov,\
                       mp3,mp4,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,vc1,wav,webm,yuv4mpegpipe";

/// The number of pixels by which the limit of ffmpeg exceeds that of the user until the size of the video is known. A
/// decoder rounds the sides of frames up to multiples of 16 to 128, and ffmpeg checks the rounded size.
const ROUNDING: u64 = 1 << 23;

/// The largest number to whose multiples decoders round the sides of frames up.
const MULTIPLE: u64 = 128;

/// The maximum number of bytes of a child's data. A frame of 8K video with 10 bits has 100 MB, and a decoder with 32
/// threads holds about 50 of them.
const MEMORY: u64 = 16 << 30;

/// The maximum that ffmpeg accepts.
const MOST: u64 = i64::MAX as u64;

/// The maximum numbers of pixels of the frames that ffmpeg decodes. ffmpeg checks each frame, because frames can be
/// larger than the size that the file states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MaxPixels {
    /// The user's limit.
    limit: u64,
    /// The index of the stream with the video and the maximum for it, if its size is known.
    video: Option<(u32, u64)>,
}

impl MaxPixels {
    /// Returns the maximum for a file whose streams are unknown.
    pub(super) fn of_file(limits: &VideoLimits) -> Self {
        Self { limit: limits.pixels, video: None }
    }

    /// Returns the maximum for a file whose video has the index `index` and frames of `size`.
    pub(super) fn of_video(limits: &VideoLimits, index: u32, size: UVec2) -> Self {
        let [x, y] = size.to_array().map(|side| u64::from(side).next_multiple_of(MULTIPLE));
        let most = limits.pixels.max(x.saturating_mul(y)).min(MOST);
        Self { limit: limits.pixels, video: Some((index, most)) }
    }

    /// Returns the maximum for streams other than the video.
    fn any(self) -> u64 {
        self.limit.saturating_add(ROUNDING).min(MOST)
    }

    /// Adds the maximum to the options of an input. The last option that applies to a stream counts.
    fn add(self, command: &mut Command) {
        command.args(["-max_pixels", &self.any().to_string()]);
        if let Some((index, most)) = self.video {
            command.args([format!("-max_pixels:{index}"), most.to_string()]);
        }
    }

    /// Returns the error for a frame that ffmpeg did not decode because it is too large, if the lines of its messages
    /// mention one. Ignores other streams if the index of the video is known.
    pub(super) fn exceeded(self, lines: &[String]) -> Option<VideoLimitError> {
        let most = self.video.map_or(self.any(), |(_, most)| most);
        let end = format!(" exceeds specified max pixel count {most}, ");
        let size = |line: &String| {
            let (before, _) = line.split_once(&end)?;
            let (x, y) = before.rsplit(' ').next()?.split_once('x')?;
            Some(UVec2::new(x.parse().ok()?, y.parse().ok()?))
        };
        let size = lines.iter().find_map(size)?;
        Some(VideoLimitError::Frame { size, limit: self.limit })
    }
}

/// Adds an input file to the arguments of ffmpeg or ffprobe.
pub(super) fn input(command: &mut Command, path: &Path, pixels: MaxPixels) {
    pixels.add(command);
    let lists = ["-protocol_whitelist", "file", "-format_whitelist", FORMATS];
    command.args(lists).arg("-i").arg(url(path));
}

/// Limits the child that `command` starts.
pub(super) fn confine(command: &mut Command) {
    let network = std::env::var_os("PANOWEAVE_FFMPEG_NETWORK").is_some_and(|value| value == "1");
    // Another user namespace gives an ordinary user the right to leave the network. The superuser has this right, and
    // would lose others in another user namespace.
    let apart = match getuid().is_root() {
        true => UnshareFlags::NEWNET,
        false => UnshareFlags::NEWUSER | UnshareFlags::NEWNET,
    };
    let before_exec = move || {
        for (resource, most) in [(Resource::Core, 0), (Resource::Data, MEMORY)] {
            // A smaller limit that the user has set stays.
            let most = getrlimit(resource).maximum.map_or(most, |set| set.min(most));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        if !network {
            // Ignore the error of a system that does not allow it.
            // SAFETY: the child has one thread and shares no memory with others.
            let _ = unsafe { unshare_unsafe(apart) };
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls. It neither allocates nor takes locks.
    unsafe { command.pre_exec(before_exec) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_video_exceed_its_limit() {
        let limits = VideoLimits { pixels: 5000, ..VideoLimits::default() };
        let file = MaxPixels::of_file(&limits);
        let small = MaxPixels::of_video(&limits, 2, UVec2::new(40, 30));
        let wide = MaxPixels::of_video(&limits, 2, UVec2::new(130, 30));
        for (pixels, most) in [(file, 5000 + ROUNDING), (small, 128 * 128), (wide, 256 * 128)] {
            let line = |most: u64| {
                let start = "[png] [IMGUTILS] Picture size 16000x9000";
                format!("{start} exceeds specified max pixel count {most}, see the documentation")
            };
            let lines = |mosts: &[u64]| mosts.iter().map(|&most| line(most)).collect::<Vec<_>>();
            assert_eq!(pixels.exceeded(&lines(&[])), None);
            assert_eq!(pixels.exceeded(&lines(&[most + 1, most - 1])), None);
            let error = pixels.exceeded(&lines(&[most + 1, most])).unwrap();
            let size = UVec2::new(16000, 9000);
            assert_eq!(error, VideoLimitError::Frame { size, limit: 5000 });
        }
        let most = VideoLimits { pixels: u64::MAX, ..limits };
        for pixels in [MaxPixels::of_file(&most), MaxPixels::of_video(&most, 0, UVec2::ONE)] {
            let mut command = Command::new("ffmpeg");
            pixels.add(&mut command);
            let values = command.get_args().skip(1).step_by(2);
            assert!(values.into_iter().all(|value| value == "9223372036854775807"));
        }
    }
}
