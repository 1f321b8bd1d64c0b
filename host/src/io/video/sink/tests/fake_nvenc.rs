//! Compiles and controls the fake of NVENC's library, `fake_nvenc.c`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

use glam::UVec2;
use libloading::Library;
use panoweave_tests::skip::{Need, skip};
use serde_json::Value;
use tempfile::TempDir;

use crate::device::Device;
use crate::frame::Rate;
use crate::io::video::nvenc::{Functions, NvencError, VideoEncoder};
use crate::io::video::{Medium, Stop, VideoError, VideoOutput, VideoSink};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/io/video/sink/tests/fake_nvenc.c");

/// A fake library in a folder of its own, and a control of it.
pub(crate) struct Fake {
    folder: TempDir,
    control: Library,
    functions: Result<&'static Functions, NvencError>,
}

/// Returns the program `name`, or `None` and reports a skip if it does not run.
fn program(name: &str, variable: &str, need: Need, version: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|name| !name.is_empty());
    let program = named.map_or_else(|| PathBuf::from(name), PathBuf::from);
    match Command::new(&program).arg(version).output() {
        Ok(_) => Some(program),
        Err(error) => {
            skip(need, format!("{}: {error}", program.display()));
            None
        }
    }
}

impl Fake {
    /// Compiles the library. Returns `None` and reports a skip if a program is missing.
    pub(crate) fn new() -> Option<Self> {
        Self::prepared(|_| {})
    }

    /// Compiles the library, and lets `prepare` control it before it is used.
    pub(super) fn prepared(prepare: impl FnOnce(&Self)) -> Option<Self> {
        program("ffmpeg", "PANOWEAVE_FFMPEG", Need::Ffmpeg, "-version")?;
        let cc = program("cc", "", Need::Cc, "--version")?;
        let folder = tempfile::tempdir().unwrap();
        // A library in a file of its own has variables of its own.
        let library = folder.path().join("fake.so");
        let mut command = Command::new(cc);
        command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", SOURCE, "-o"]);
        let done = command.arg(&library).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        // SAFETY: the library has no initialisers.
        let control = unsafe { Library::new(&library) }.unwrap();
        let mut fake = Self { folder, control, functions: Err(NvencError::Stalled) };
        prepare(&fake);
        // A session needs functions that live as long as the program.
        fake.functions = Functions::load(&library).map(|functions| &*Box::leak(functions.into()));
        Some(fake)
    }

    pub(super) fn set(&self, name: &str, value: c_int) {
        let name = CString::new(name).unwrap();
        // SAFETY: the function has this signature.
        unsafe {
            let set = self.control.get::<unsafe extern "C" fn(*const c_char, c_int)>("fake_set");
            set.unwrap()(name.as_ptr(), value);
        }
    }

    /// Lets a function fail with `status` after `skip` calls.
    pub(super) fn fail(&self, name: &str, skip: c_int, status: c_int) {
        type Fail = unsafe extern "C" fn(*const c_char, c_int, c_int);
        let name = CString::new(name).unwrap();
        // SAFETY: the function has this signature.
        unsafe { self.control.get::<Fail>("fake_fail").unwrap()(name.as_ptr(), skip, status) };
    }

    /// Sets the file with the pictures of HEVC.
    pub(super) fn stream(&self, file: &Path) {
        let file = CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: the function has this signature.
        unsafe {
            let set = self.control.get::<unsafe extern "C" fn(*const c_char)>("fake_stream");
            set.unwrap()(file.as_ptr());
        }
    }

    /// Returns a field of the configuration of the encoder, or of its parameters, at an offset in bytes.
    pub(super) fn field(&self, of_params: bool, offset: c_int) -> u32 {
        // SAFETY: the function has this signature.
        unsafe {
            let field = self.control.get::<unsafe extern "C" fn(c_int, c_int) -> u32>("fake_field");
            field.unwrap()(of_params.into(), offset)
        }
    }

    /// Returns the planes of the frame that the encoder received last.
    pub(super) fn input(&self) -> Vec<u8> {
        type Input = unsafe extern "C" fn(*mut u8, usize) -> usize;
        // SAFETY: the function has this signature, and writes only if the size suffices.
        unsafe {
            let input = self.control.get::<Input>("fake_input").unwrap();
            let mut bytes = vec![0; input(std::ptr::null_mut(), 0)];
            input(bytes.as_mut_ptr(), bytes.len());
            bytes
        }
    }

    /// Checks that all handles were freed and that no call broke a rule.
    pub(crate) fn check(&self, context: &str) {
        // SAFETY: the functions have these signatures.
        unsafe {
            let wrong = self.control.get::<unsafe extern "C" fn() -> *const c_char>("fake_wrong");
            let wrong = CStr::from_ptr(wrong.unwrap()()).to_str().unwrap();
            assert_eq!(wrong, "", "{context}");
            let alive = self.control.get::<unsafe extern "C" fn() -> c_int>("fake_alive");
            assert_eq!(alive.unwrap()(), 0, "{context}");
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the description of an output file of this fake.
    pub(super) fn output(&self, name: &str) -> VideoOutput {
        VideoOutput {
            encoder: VideoEncoder::Nvenc(Device::cpu()),
            ..VideoOutput::new(self.path(name), Medium::File)
        }
    }

    pub(super) fn sink_of(
        &self,
        output: &VideoOutput,
        size: UVec2,
        rate: &str,
    ) -> Result<VideoSink, VideoError> {
        let file = output.path.clone();
        let functions = self
            .functions
            .clone()
            .map_err(|source| VideoError::Nvenc { file, source: source.into() })?;
        let nvenc = Some((functions, &Device::cpu()));
        VideoSink::with_nvenc(output, size, rate.parse().unwrap(), &Stop::default(), nvenc)
    }

    /// Starts a file that the fake library encodes on the CPU.
    pub(crate) fn sink(&self, name: &str, size: UVec2, rate: Rate) -> VideoSink {
        self.sink_of(&self.output(name), size, &rate.to_string()).unwrap()
    }

    pub(crate) fn run(&self, line: &str) -> Vec<u8> {
        let named = std::env::var_os("PANOWEAVE_FFMPEG").unwrap_or_else(|| "ffmpeg".into());
        let mut command = Command::new(named);
        command.current_dir(self.folder.path()).args(["-v", "error", "-nostdin", "-y"]);
        let done = command.args(line.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    }

    /// Returns the streams of a file.
    pub(crate) fn probe(&self, name: &str) -> Vec<Value> {
        let named = std::env::var_os("PANOWEAVE_FFPROBE").unwrap_or_else(|| "ffprobe".into());
        let mut command = Command::new(named);
        command.args(["-v", "error", "-count_frames", "-show_streams", "-of", "json"]);
        let done = command.arg(self.path(name)).output().unwrap();
        let json: Value = serde_json::from_slice(&done.stdout).unwrap();
        json["streams"].as_array().unwrap().clone()
    }
}
