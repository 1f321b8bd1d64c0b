//! Limits what ffmpeg can do, because the videos that it reads may come from strangers.
//!
//! - A file is opened as a local file in one of the [`FORMATS`]. Formats that name other files or addresses are not among
//!   them. So a playlist that is called `a.mp4` can neither show other videos nor open a connection.
//! - On Linux, a child has no network if the system allows it, at most 16 GiB of memory, and writes no core dump.
//! - On Linux, a child is killed when this process ends, even by `kill -9`.
//!
//! The environment variable `PANOWEAVE_FFMPEG_NETWORK` with the value 1 leaves the network to children, for a program in
//! `PANOWEAVE_FFMPEG` that needs it.

use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::url;

/// The formats that are read, by the names of ffmpeg's demuxers. Music is among them, because its cover is a picture and
/// its refusal has a better message.
const FORMATS: &str = "3g2,3gp,aac,apng,asf,av1,avi,dv,flac,flv,gif,h263,h264,hevc,ivf,m4a,m4v,matroska,mj2,mjpeg,mov,\
                       mp3,mp4,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,vc1,wav,webm,yuv4mpegpipe";

/// Adds an input file to the arguments of ffmpeg or ffprobe.
pub(super) fn input(command: &mut Command, path: &Path) {
    let lists = ["-protocol_whitelist", "file", "-format_whitelist", FORMATS];
    command.args(lists).arg("-i").arg(url(path));
}

/// Starts a confined child.
///
/// The kernel kills a child when the thread that started it ends. So one thread, which never ends, starts all of them.
pub(super) fn spawn(mut command: Command) -> io::Result<Child> {
    type Request = (Command, Sender<io::Result<Child>>);
    static STARTER: OnceLock<Option<Sender<Request>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (requests, waiting) = channel::<Request>();
        let start = move || {
            for (mut command, answer) in waiting {
                // The receiver waits for the answer.
                let _ = answer.send(command.spawn());
            }
        };
        thread::Builder::new().name("ffmpeg".into()).spawn(start).ok().map(|_| requests)
    });
    system::confine(&mut command);
    let (answer, answered) = channel();
    let asked = starter.as_ref().is_some_and(|starter| starter.send((command, answer)).is_ok());
    let none = || io::Error::other("the thread that starts programs could not be started");
    if asked { answered.recv().unwrap_or_else(|_| Err(none())) } else { Err(none()) }
}

#[cfg(target_os = "linux")]
mod system {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::process::{
        Resource, Rlimit, Signal, getpid, getppid, getrlimit, getuid,
        set_parent_process_death_signal, setrlimit,
    };
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    /// The maximum number of bytes of a child's data. A frame of 8K video with 10 bits has 100 MB, and a decoder with 32
    /// threads holds about 50 of them.
    const MEMORY: u64 = 16 << 30;

    pub(super) fn confine(command: &mut Command) {
        let network =
            std::env::var_os("PANOWEAVE_FFMPEG_NETWORK").is_some_and(|value| value == "1");
        // Another user namespace gives an ordinary user the right to leave the network. The superuser has this right, and
        // would lose others in another user namespace.
        let apart = match getuid().is_root() {
            true => UnshareFlags::NEWNET,
            false => UnshareFlags::NEWUSER | UnshareFlags::NEWNET,
        };
        let parent = getpid();
        let before_exec = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before this call.
            if getppid() != Some(parent) {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
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
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::process::Command;

    pub(super) fn confine(_: &mut Command) {}
}
