//! Writes files that NVENC encodes: a [`Session`] encodes frames in device memory, and ffmpeg puts the encoded pictures
//! into the file and adds the sound.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::ffmpeg::{OutputFile, Sound, mux};
use super::nvenc::{Bitstream, Functions, NvencError, Session, Settings};
use super::{Stop, VideoError};
use crate::device::Device;
use crate::frame::{DeviceFrame, Frame};

/// An encoder and the file that it writes.
pub(super) struct GpuEncoder {
    session: Session,
    file: OutputFile,
    output: PathBuf,
    /// The memory for a frame that comes from the host.
    uploaded: Option<DeviceFrame>,
    /// The encoded pictures that are passed to ffmpeg at once.
    pictures: Vec<u8>,
}

impl GpuEncoder {
    /// Creates an encoder and starts ffmpeg.
    pub(super) fn start(
        library: &'static Functions,
        device: &Device,
        output: &Path,
        settings: Settings,
        sound: Option<Sound>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let session =
            Session::new(library, device, settings).map_err(|error| failed(output, error))?;
        let codec = match session.bitstream() {
            Bitstream::H264 => "h264",
            Bitstream::Hevc => "hevc",
        };
        let file = mux(output, codec, settings.rate, sound, stop)?;
        let (output, pictures) = (output.to_owned(), Vec::new());
        Ok(Self { session, file, output, uploaded: None, pictures })
    }

    /// Encodes a frame.
    pub(super) fn write_device(&mut self, frame: &DeviceFrame) -> Result<(), VideoError> {
        self.session
            .encode(frame, &mut self.pictures)
            .map_err(|error| failed(&self.output, error))?;
        self.pass_on(1)
    }

    /// Uploads a frame, and encodes it.
    pub(super) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let stream = self.session.stream();
        let uploaded = match self.uploaded.take() {
            Some(uploaded) => Ok(uploaded),
            None => DeviceFrame::new(stream.device(), frame.format()),
        };
        let uploaded = uploaded.and_then(|mut uploaded| {
            uploaded.upload(stream, frame)?;
            Ok(uploaded)
        });
        let uploaded = uploaded.map_err(|error| failed(&self.output, error.into()))?;
        let written = self.write_device(&uploaded);
        self.uploaded = Some(uploaded);
        written
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<(), VideoError> {
        self.session.finish(&mut self.pictures).map_err(|error| failed(&self.output, error))?;
        self.pass_on(0)?;
        // Free the encoder before the sound is added, which can take long.
        drop(self.session);
        self.file.finish()
    }

    /// Passes the encoded pictures to ffmpeg. `frames` is the number of frames that have been encoded for them.
    fn pass_on(&mut self, frames: u64) -> Result<(), VideoError> {
        let pictures = &self.pictures;
        self.file.write(frames, |input| input.write_all(pictures))?;
        self.pictures.clear();
        Ok(())
    }
}

fn failed(output: &Path, source: NvencError) -> VideoError {
    VideoError::Nvenc { file: output.to_owned(), source: source.into() }
}
