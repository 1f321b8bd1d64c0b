//! OpenCV in a Python process, as a peer of benches on the CPU.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A Python process that runs one of the scripts in `benches/opencv`. A script prints `ready VERSION THREADS`, and then
/// answers each line of its standard input with a line. For `run N`, it does its work `N` times and answers with the
/// seconds that this took.
pub struct OpenCv {
    python: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// OpenCV's version and number of threads, separated by a space.
    what: String,
}

impl OpenCv {
    /// Runs `script` in the Python interpreter that `PANOWEAVE_PYTHON` names, or in `python3`. If OpenCV is missing,
    /// prints a line and returns `None`.
    #[must_use]
    pub fn start(script: &str, arguments: &[OsString]) -> Option<Self> {
        let python = std::env::var_os("PANOWEAVE_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(&python);
        command.args(["-c", script]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = command.spawn().and_then(|mut python| {
            let missing = || std::io::Error::other("no pipe");
            let questions = python.stdin.take().ok_or_else(missing)?;
            let answers = BufReader::new(python.stdout.take().ok_or_else(missing)?);
            Ok(Self { python, questions, answers, what: String::new() })
        });
        let mut peer = match started {
            Ok(peer) => peer,
            Err(e) => {
                println!("no OpenCV to compare with: {}: {e}", python.display());
                return None;
            }
        };
        let answer = peer.answer();
        let Some(what) = answer.strip_prefix("ready ") else {
            println!("no OpenCV to compare with: {} has no cv2 or no numpy", python.display());
            return None;
        };
        peer.what = what.to_owned();
        Some(peer)
    }

    /// Returns OpenCV's version and number of threads as the end of a label.
    #[must_use]
    pub fn name(&self) -> String {
        let (version, threads) = self.what.split_once(' ').unwrap_or((&self.what, "?"));
        format!("opencv {version}, {threads} threads")
    }

    /// Does the script's work `many` times and returns the total time.
    ///
    /// # Panics
    /// Panics if the script does not answer with a number.
    pub fn run(&mut self, many: u64) -> Duration {
        let seconds = self.ask(&format!("run {many}"));
        Duration::from_secs_f64(seconds.parse().expect("OpenCV's time"))
    }

    /// Returns the script's answer to a line.
    ///
    /// # Panics
    /// Panics if the process has ended.
    pub fn ask(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").expect("OpenCV is there");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer of OpenCV's");
        line.trim().to_owned()
    }
}

impl Drop for OpenCv {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}
