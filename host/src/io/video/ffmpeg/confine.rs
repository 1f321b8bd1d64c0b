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
use crate::io::video::VideoLimitError;

/// The formats that are read, by the names of ffmpeg's demuxers. Music is among them, because its cover is a picture
/// and its refusal has a better message.
const FORMATS: &str = "3g2,3gp,aac,apng,asf,av1,avi,dv,flac,flv,gif,h263,h264,hevc,ivf,m4a,m4v,matroska,mj2,mjpeg,mov,\
                       mp3,mp4,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,vc1,wav,webm,yuv4mpegpipe";

/// The number of pixels by which the limit of ffmpeg exceeds that of the user. A decoder rounds the sides of frames up
/// to multiples of 16 to 128, and ffmpeg checks the rounded size. The size that a file states is checked exactly.
const ROUNDING: u64 = 1 << 23;

/// The maximum number of bytes of a child's data. A frame of 8K video with 10 bits has 100 MB, and a decoder with 32
/// threads holds about 50 of them.
const MEMORY: u64 = 16 << 30;

/// The user's maximum number of pixels of a frame. ffmpeg checks each frame that it decodes, because frames can be
/// larger than the size that the file states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MaxPixels(pub(super) u64);

impl MaxPixels {
    /// Returns ffmpeg's limit.
    fn most(self) -> u64 {
        self.0.saturating_add(ROUNDING).min(i64::MAX as u64)
    }

    /// Returns the error for a frame that ffmpeg did not decode because it is too large, if the lines of its messages
    /// mention one.
    pub(super) fn exceeded(self, lines: &[String]) -> Option<VideoLimitError> {
        let end = format!(" exceeds specified max pixel count {}, ", self.most());
        let size = |line: &String| {
            let (before, _) = line.split_once(&end)?;
            let (x, y) = before.rsplit(' ').next()?.split_once('x')?;
            Some(UVec2::new(x.parse().ok()?, y.parse().ok()?))
        };
        let size = lines.iter().find_map(size)?;
        Some(VideoLimitError::Frame { size, limit: self.0 })
    }
}

/// Adds an input file to the arguments of ffmpeg or ffprobe.
pub(super) fn input(command: &mut Command, path: &Path, pixels: MaxPixels) {
    command.args(["-max_pixels", &pixels.most().to_string()]);
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
    fn messages_state_the_frame_that_is_too_large() {
        let line = "[png] [IMGUTILS] Picture size 16000x9000 exceeds specified max pixel count 8393608, see";
        let exceeded = |limit| MaxPixels(limit).exceeded(&[String::new(), line.into()]);
        let size = UVec2::new(16000, 9000);
        assert_eq!(exceeded(5000), Some(VideoLimitError::Frame { size, limit: 5000 }));
        assert_eq!(exceeded(5001), None);
        assert_eq!(MaxPixels(u64::MAX).most(), i64::MAX as u64);
    }
}
