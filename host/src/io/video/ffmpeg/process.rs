//! Starts ffmpeg and ffprobe as child processes, and collects the end of their stderr for error messages.
//!
//! A child is killed and reaped when its last handle is dropped, so that no child outlives its job. If this process is
//! killed, its pipes are closed, which ends the children.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::confine::confine;
use crate::io::video::stop::kill;
use crate::io::video::{FfmpegTask, Stop, VideoError};
use crate::lock::lock;

/// The name of a program, and the environment variable with which the user can select another program instead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    name: &'static str,
    variable: &'static str,
}

pub(super) const FFMPEG: Tool = Tool { name: "ffmpeg", variable: "PANOWEAVE_FFMPEG" };
pub(super) const FFPROBE: Tool = Tool { name: "ffprobe", variable: "PANOWEAVE_FFPROBE" };

/// The value of ffmpeg's option `-loglevel`: errors and warnings, each with its level and as often as it occurs.
pub(super) const LOG_LEVEL: &str = "repeat+level+warning";

/// The number of bytes that are kept from the end of a child's stderr.
const KEPT: usize = 4096;

/// The maximum number of lines at the end of stderr that an error message quotes.
const QUOTED: usize = 3;

/// The maximum time in which ffprobe must describe a file. It reads 5 MB of the file, which may be on a slow disk.
pub(super) const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// The maximum number of bytes that are read from ffprobe's output.
pub(super) const MAX_ANSWER: u64 = 4 << 20;

/// The maximum time that a child may take to exit after its output has ended.
pub(in crate::io::video) const EXIT_LIMIT: Duration = Duration::from_secs(10);

/// The interval at which a waiting thread checks whether a child has ended.
const LOOK: Duration = Duration::from_millis(5);

/// The maximum time to wait for the end of stderr after a child has ended. The wait needs a limit, because processes
/// that the child started may keep stderr open.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl Tool {
    pub(super) fn command(self) -> Command {
        let named = std::env::var_os(self.variable).filter(|name| !name.is_empty());
        let mut command = Command::new(named.unwrap_or_else(|| OsString::from(self.name)));
        // Messages are quoted in errors, so they must not contain colour codes.
        command.env_remove("AV_LOG_FORCE_COLOR");
        command
    }

    /// Checks that the program prints its version. Call this after a failure, to find out whether the program or the
    /// video `file` is the cause.
    pub(super) fn check(self, file: &Path, stop: &Stop) -> Result<(), VideoError> {
        let mut command = self.command();
        let program = command.get_program().to_string_lossy().into_owned();
        command.arg("-version").stdin(Stdio::null()).stdout(Stdio::piped());
        let child = Child::start(self, &mut command, file, FfmpegTask::Probing, stop)?;
        let expected = format!("{} version", self.name);
        let said = child.answer(expected.len() as u64, EXIT_LIMIT).unwrap_or_default();
        if stop.is_killed() || said == expected.as_bytes() {
            return Ok(());
        }
        child.kill();
        let (variable, said) = (self.variable, super::super::error::quote(&child.said()));
        Err(VideoError::input(
            file,
            format!(
                "the program {program} does not work{said}; install ffmpeg (apt install ffmpeg), or set {variable} to the path of a working program"
            ),
        ))
    }
}

/// A handle to a child process. Dropping the last clone kills and reaps the process.
#[derive(Clone)]
pub(super) struct Child(Arc<Inner>);

struct Inner {
    tool: Tool,
    file: PathBuf,
    work: FfmpegTask,
    child: Arc<Mutex<process::Child>>,
    said: Mutex<Said>,
    /// Whether the messages on stderr were logged, or the caller has received them with an error.
    reported: AtomicBool,
}

/// A handle that kills a child when it is dropped, even if other handles to the child exist. Then logs the messages
/// that nobody has received yet, unless a stop was requested.
pub(in crate::io::video) struct Killer {
    child: Child,
    stop: Stop,
}

impl Killer {
    /// Records that the caller has received the error of the child, which quotes its messages.
    pub(in crate::io::video) fn set_reported(&self) {
        self.child.0.reported.store(true, Ordering::Relaxed);
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        let Child(inner) = &self.child;
        // Claim the messages first, because the reader of the child may find its end before this function goes on.
        let is_reported = self.stop.is_asked() || inner.reported.swap(true, Ordering::Relaxed);
        self.child.kill();
        if !is_reported {
            self.child.log();
        }
    }
}

impl Child {
    /// Starts `command`, whose stdin and stdout the caller has configured. Error messages name the video `file` and the
    /// task `work`.
    pub(super) fn start(
        tool: Tool,
        command: &mut Command,
        file: &Path,
        work: FfmpegTask,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let file = file.to_owned();
        tracing::debug!("{command:?}");
        command.process_group(0).stderr(Stdio::piped());
        confine(command);
        let variable = tool.variable;
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(VideoError::input(
                    &file,
                    format!(
                        "cannot find the program {program}; install it (apt install ffmpeg), or set {variable} to its path; Y4M, raw frames and picture sequences work without it"
                    ),
                ));
            }
            Err(source) => return Err(VideoError::Start { file, program, variable, source }),
        };
        let said = Mutex::new(Said::listen(child.stderr.take()));
        let child = Arc::new(Mutex::new(child));
        stop.watch(&child);
        let reported = AtomicBool::new(false);
        Ok(Self(Arc::new(Inner { tool, file, work, child, said, reported })))
    }

    /// Returns a handle that kills the child when the handle is dropped.
    pub(super) fn killer(&self, stop: &Stop) -> Killer {
        Killer { child: self.clone(), stop: stop.clone() }
    }

    pub(super) fn stdin(&self) -> Option<ChildStdin> {
        lock(&self.0.child).stdin.take()
    }

    /// Returns stdout, which must be a pipe that was not taken before.
    pub(super) fn output(&self) -> Result<ChildStdout, VideoError> {
        lock(&self.0.child).stdout.take().ok_or_else(|| VideoError::Unreadable {
            file: self.0.file.clone(),
            source: io::ErrorKind::BrokenPipe.into(),
        })
    }

    /// Returns up to `most` bytes of stdout, which must be a pipe that was not taken before. Kills the child if it does
    /// not write them, or end stdout, within `limit`.
    ///
    /// # Errors
    /// Returns [`VideoError::Unreadable`] if stdout cannot be read, and [`VideoError::TimedOut`] if the child was
    /// killed.
    pub(super) fn answer(&self, most: u64, limit: Duration) -> Result<Vec<u8>, VideoError> {
        let unreadable = |source| VideoError::Unreadable { file: self.0.file.clone(), source };
        let stdout = self.output()?;
        let (answered, waiting) = channel::<()>();
        let child = self.clone();
        let watch = move || {
            let is_late = waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if is_late {
                child.kill();
            }
            is_late
        };
        let watch = thread::Builder::new().name("limit".into()).spawn(watch).map_err(unreadable)?;
        let mut answer = Vec::new();
        let read = stdout.take(most).read_to_end(&mut answer);
        drop(answered);
        if watch.join().unwrap_or(false) {
            return Err(self.failure(ExitStatus::default(), Some(limit)));
        }
        read.map(|_| answer).map_err(unreadable)
    }

    /// Waits until the child has ended. Kills it if it still runs after `limit`.
    ///
    /// # Errors
    /// Returns [`VideoError::Ffmpeg`] if the child failed, and [`VideoError::TimedOut`] if it was killed after
    /// `limit`.
    pub(super) fn wait(&self, limit: Option<Duration>) -> Result<(), VideoError> {
        match self.ended(limit) {
            Ok((status, None)) if status.success() => Ok(()),
            Ok((status, late)) => Err(self.failure(status, late)),
            Err(source) => Err(VideoError::Start {
                file: self.0.file.clone(),
                program: self.0.tool.name.into(),
                variable: self.0.tool.variable,
                source,
            }),
        }
    }

    /// Returns the error for a child that exited with status 0 but did not complete its task.
    pub(super) fn failed(&self) -> VideoError {
        self.failure(ExitStatus::default(), None)
    }

    fn failure(&self, status: ExitStatus, late: Option<Duration>) -> VideoError {
        let (file, work, said) = (self.0.file.clone(), self.0.work, self.said());
        match late {
            Some(limit) => VideoError::TimedOut { file, work, limit, said },
            None => VideoError::Ffmpeg { file, work, status, said },
        }
    }

    /// Waits until the child has ended and returns its exit status. Also returns `limit` if the child exceeded it and
    /// was killed.
    fn ended(&self, limit: Option<Duration>) -> io::Result<(ExitStatus, Option<Duration>)> {
        let start = Instant::now();
        let mut late = None;
        loop {
            // Release the lock at the end of this statement, so that another thread can kill the child during the
            // sleep.
            if let Some(status) = lock(&self.0.child).try_wait()? {
                return Ok((status, late));
            }
            if late.is_none() {
                late = limit.filter(|limit| start.elapsed() > *limit);
                late.inspect(|_| self.kill());
            }
            thread::sleep(LOOK);
        }
    }

    pub(super) fn kill(&self) {
        kill(&mut lock(&self.0.child));
    }

    /// Logs a warning with the last messages of a child that did not fail, unless they were reported before. Call this
    /// after the child has ended.
    pub(super) fn report(&self) {
        if !self.0.reported.swap(true, Ordering::Relaxed) {
            self.log();
        }
    }

    fn log(&self) {
        let Inner { file, work, .. } = &*self.0;
        let mut lines = self.lines();
        // Filters print single numbers for this program, see `Decoder`.
        lines.retain(|line| number(line).is_none());
        if !lines.is_empty() {
            let said = quote(&lines);
            tracing::warn!("{}: ffmpeg reported errors while {work}: {said}", file.display());
        }
    }

    /// Returns the last [`QUOTED`] lines of stderr, joined by `; `. Call this after the child has ended.
    pub(super) fn said(&self) -> String {
        let lines = self.lines();
        quote(&lines)
    }

    /// Returns the lines in the last [`KEPT`] bytes of stderr. Call this after the child has ended.
    pub(super) fn lines(&self) -> Vec<String> {
        let said = lock(&self.0.said);
        let _ = said.more.recv_timeout(LAST_WORDS);
        lines(&said.text())
    }

    /// Returns the complete lines in the last [`KEPT`] bytes that the child has written to stderr so far.
    pub(super) fn lines_so_far(&self) -> Vec<String> {
        let text = lock(&self.0.said).text();
        text.rsplit_once('\n').map_or(Vec::new(), |(complete, _)| lines(complete))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        kill(&mut child);
        let _ = child.wait();
    }
}

/// The end of a child's stderr, which a thread reads.
struct Said {
    /// The last [`KEPT`] bytes that the thread has read so far.
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// A channel that never receives a message, and is closed when stderr ends.
    more: Receiver<()>,
}

impl Said {
    fn listen(stderr: Option<ChildStderr>) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (open, more) = channel();
        if let Some(stderr) = stderr {
            let kept = Arc::clone(&kept);
            // Ignore the error if the thread cannot be started. Then error messages quote nothing, and the child would
            // block if it filled the pipe of its stderr. That is unlikely, because [`LOG_LEVEL`] limits the output.
            let _ = thread::Builder::new()
                .name("stderr".into())
                .spawn(move || keep(stderr, &kept, &open));
        }
        Self { kept, more }
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = lock(&self.kept).iter().copied().collect();
        printable(&String::from_utf8_lossy(&bytes))
    }
}

/// Returns the lines of a text that are not empty.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(without_address).filter(|line| !line.is_empty()).collect()
}

fn keep(stderr: ChildStderr, kept: &Mutex<VecDeque<u8>>, _open: &Sender<()>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = stderr.by_ref().take(KEPT as u64).read_until(b'\n', &mut line) {
        let message = message(&line);
        let mut kept = lock(kept);
        kept.extend(message.as_deref().unwrap_or_default());
        line.clear();
        let much = kept.len().saturating_sub(KEPT);
        kept.drain(..much);
        if much > 0 {
            // The rest of a line could be a number that the child has not written.
            let rest = kept.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            kept.drain(..rest);
        }
    }
}

/// Returns a line of stderr without the level that [`LOG_LEVEL`] adds, or `None` for a warning that does not report
/// damage. For ffmpeg, a damaged packet is only worth a warning, but the frame in it can be lost.
fn message(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    let position = |text: &[u8]| line.windows(text.len()).position(|bytes| bytes == text);
    let levels = ["[warning] ", "[error] ", "[fatal] ", "[panic] "];
    let Some((at, level)) =
        levels.iter().find_map(|level| Some((position(level.as_bytes())?, *level)))
    else {
        return Some(line.into());
    };
    if level == levels[0] && position(b"orrupt").is_none() {
        return None;
    }
    Some([&line[..at], &line[at + level.len()..]].concat().into())
}

/// Escapes control characters, so that text from a file cannot control the terminal. Keeps line ends, and replaces tabs
/// and carriage returns by spaces.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => printable.push(c),
            '\t' | '\r' => printable.push(' '),
            c if c.is_control() => printable.extend(c.escape_default()),
            c => printable.push(c),
        }
    }
    printable
}

/// Trims a line and removes the address from a prefix such as `[mov @ 0x55d0c8b2c440]`.
fn without_address(line: &str) -> String {
    let line = line.trim();
    match line.split_once(" @ 0x").map(|(before, rest)| (before, rest.split_once(']'))) {
        Some((before, Some((_, after)))) if before.starts_with('[') => format!("{before}]{after}"),
        _ => line.to_owned(),
    }
}

/// Returns the last [`QUOTED`] lines, joined by `; `.
pub(super) fn quote(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(QUOTED)..].join("; ")
}

/// Returns the number of which a line consists, apart from its prefix.
pub(super) fn number(line: &str) -> Option<f64> {
    line.rsplit("] ").next().and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn shell(script: &str, stop: &Stop) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        Child::start(FFMPEG, &mut command, Path::new("a.mp4"), FfmpegTask::Encoding, stop).unwrap()
    }

    #[test]
    fn quotes_the_last_lines_of_stderr() {
        let child =
            shell("seq 9999 >&2; echo '[mov @ 0x5d0] no moov' >&2; exit 3", &Stop::default());
        let error = child.wait(None).unwrap_err().to_string();
        insta::assert_snapshot!(error, @"a.mp4: ffmpeg failed while encoding, exit status: 3; it said: 9998; 9999; [mov] no moov");
    }

    #[test]
    fn escapes_control_characters() {
        let child = shell(r"printf 'a\0b\033[31mred\r\tc\303\244' >&2; exit 3", &Stop::default());
        let error = child.wait(None).unwrap_err().to_string();
        insta::assert_snapshot!(error, @r"a.mp4: ffmpeg failed while encoding, exit status: 3; it said: a\u{0}b\u{1b}[31mred  cä");
    }

    #[test]
    fn warnings_of_damage_are_quoted() {
        let lines = "[mpegts @ 0x5d0] [warning] Packet corrupt\n[warning] guessed a layout\n[error] no moov";
        let child = shell(&format!("echo '{lines}' >&2; exit 3"), &Stop::default());
        let error = child.wait(None).unwrap_err().to_string();
        insta::assert_snapshot!(error, @"a.mp4: ffmpeg failed while encoding, exit status: 3; it said: [mpegts] Packet corrupt; no moov");
    }

    #[test]
    fn messages_have_no_colour_codes() {
        let command = FFMPEG.command();
        let removed = |(name, value): (&OsStr, Option<&OsStr>)| {
            name == "AV_LOG_FORCE_COLOR" && value.is_none()
        };
        assert!(command.get_envs().any(removed));
    }

    #[test]
    fn does_not_wait_for_the_childs_own_children() {
        let start = Instant::now();
        let child = shell("sleep 20 & echo gone >&2; exit 1", &Stop::default());
        assert!(child.wait(None).unwrap_err().to_string().ends_with("it said: gone"));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn an_answer_has_a_limit() {
        let start = Instant::now();
        let answer = |script: &str, limit| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
            let (file, stop) = (Path::new("a.mp4"), Stop::default());
            let child = Child::start(FFPROBE, &mut command, file, FfmpegTask::Probing, &stop);
            child.unwrap().answer(4, Duration::from_millis(limit))
        };
        assert_eq!(answer("printf abcdef", 5000).unwrap(), b"abcd");
        assert_eq!(answer("printf ab", 5000).unwrap(), b"ab");
        // A process of the script keeps stdout open.
        let error = answer("sleep 20; printf ab", 50).unwrap_err();
        insta::assert_snapshot!(error, @"a.mp4: ffmpeg did not end within 0.05 s while probing and was killed");
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn kills_a_child_after_the_limit_and_on_stop() {
        let start = Instant::now();
        let stop = Stop::default();
        let slow = shell("exec sleep 20", &stop);
        let error = slow.wait(Some(Duration::from_millis(50))).unwrap_err();
        insta::assert_snapshot!(error, @"a.mp4: ffmpeg did not end within 0.05 s while encoding and was killed");
        let killed = shell("exec sleep 20", &stop);
        stop.kill();
        assert!(killed.wait(None).is_err());
        // `Stop` also kills a child that starts after `kill`.
        assert!(shell("exec sleep 20", &stop).wait(None).is_err());
        drop(shell("exec sleep 20", &stop));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
