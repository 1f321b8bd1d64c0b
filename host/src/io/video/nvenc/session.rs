//! An encoder, the buffers that it reads frames from, and the buffers that it writes pictures to.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::time::{Duration, Instant};
use std::{ptr, slice, thread};

use super::NvencError;
use super::library::{Encoder, Functions, NvencStatus};
use super::settings::{Bitstream, Settings};
use super::structures::{
    self as sys, CapsParam, Config, CreateBitstreamBuffer, InitializeParams, LockBitstream,
    MapInputResource, OpenSessionParams, PicParams, PresetConfig, RegisterResource,
};
use crate::device::{Buffer, Device, Stream};
use crate::frame::{DeviceFrame, DevicePlane, FormatMismatch, PixelFormat};
use crate::io::video::context::Entered;

/// The number of frames in flight, so that the encoder works while the next frame is stitched.
const IN_FLIGHT: usize = 4;

/// The maximum time that an encoder may be busy with other sessions.
const BUSY: Duration = Duration::from_secs(10);

/// An encoder. Drop frees it and its buffers, also after an error.
pub(in crate::io::video) struct Session {
    library: &'static Functions,
    stream: Stream,
    encoder: Encoder,
    settings: Settings,
    bitstream: Bitstream,
    slots: Vec<Slot>,
    /// The indices of slots that the encoder does not use.
    free: Vec<usize>,
    /// The indices of slots that the encoder uses, in the order of their frames.
    busy: VecDeque<usize>,
    /// The number of slots at the front of `busy` whose pictures can be read.
    ready: usize,
    /// The number of frames that the encoder has received.
    frames: u32,
    /// Whether the encoder must be flushed before it is destroyed.
    open: bool,
}

// SAFETY: an encoder can be used on any thread, one at a time, and all methods that use it take `&mut self`.
unsafe impl Send for Session {}

/// The buffers of a frame.
struct Slot {
    memory: Buffer<u8>,
    /// The handles of the memory, of its mapping while the encoder uses it, and of the output; null if they do not
    /// exist.
    registered: *mut c_void,
    mapped: *mut c_void,
    output: *mut c_void,
}

impl Session {
    /// Creates an encoder.
    pub(in crate::io::video) fn new(
        library: &'static Functions,
        device: &Device,
        settings: Settings,
    ) -> Result<Self, NvencError> {
        if settings.format.pixels == PixelFormat::Rgba8 {
            return Err(NvencError::Pixels);
        }
        let mut session = Self {
            library,
            stream: device.stream()?,
            encoder: ptr::null_mut(),
            settings,
            bitstream: Bitstream::Hevc,
            slots: Vec::new(),
            free: Vec::new(),
            busy: VecDeque::new(),
            ready: 0,
            frames: 0,
            open: false,
        };
        session.connect()?;
        session.bitstream = session.supported()?;
        session.initialize()?;
        for index in 0..IN_FLIGHT {
            session.add_slot()?;
            session.free.push(index);
        }
        Ok(session)
    }

    pub(in crate::io::video) fn bitstream(&self) -> Bitstream {
        self.bitstream
    }

    /// Encodes a frame, and appends the pictures that are complete to `bytes`.
    pub(in crate::io::video) fn encode(
        &mut self,
        frame: &DeviceFrame,
        bytes: &mut Vec<u8>,
    ) -> Result<(), NvencError> {
        let (found, expected) = (frame.format(), self.settings.format);
        if found != expected {
            return Err(FormatMismatch { found, expected }.into());
        }
        if self.free.is_empty() {
            self.collect(bytes)?;
        }
        let index = self.free.pop().ok_or(NvencError::Stalled)?;
        if let Err(error) = self.submit(index, frame) {
            self.free.push(index);
            return Err(error);
        }
        Ok(())
    }

    /// Appends the remaining pictures to `bytes` at the end of the video.
    pub(in crate::io::video) fn finish(&mut self, bytes: &mut Vec<u8>) -> Result<(), NvencError> {
        self.flush()?;
        self.ready = self.busy.len();
        while !self.busy.is_empty() {
            self.collect(bytes)?;
        }
        Ok(())
    }

    /// Returns the stream that copies frames to the encoder.
    pub(in crate::io::video) fn stream(&self) -> &Stream {
        &self.stream
    }

    fn connect(&mut self) -> Result<(), NvencError> {
        let device = self.stream.device().as_context();
        let mut params = OpenSessionParams {
            device_type: sys::DEVICE_CUDA,
            device: device.cast(),
            api_version: sys::VERSION,
            ..OpenSessionParams::zeroed()
        };
        let mut encoder = ptr::null_mut();
        let opened = self.call("nvEncOpenEncodeSessionEx", |library, _| {
            // SAFETY: the parameters and the result are local variables, and the context exists as long as the device.
            unsafe { (library.open_encode_session_ex)(&raw mut params, &raw mut encoder) }
        });
        // After an error, the library may still return an encoder, which must be destroyed.
        self.encoder = encoder;
        opened.map_err(|error| match error {
            NvencError::Call {
                status: status @ (NvencStatus::NO_ENCODE_DEVICE | NvencStatus::UNSUPPORTED_DEVICE),
                ..
            } => NvencError::NoEncoder(status),
            error => error,
        })
    }

    /// Returns the format of the encoded pictures: H.264, or HEVC if the frames have 10 bits or a size that the GPU
    /// does not encode as H.264.
    fn supported(&self) -> Result<Bitstream, NvencError> {
        let ten_bits = self.settings.format.pixels.bits() > 8;
        if ten_bits && self.caps(Bitstream::Hevc, sys::CAPS_TEN_BITS)? == 0 {
            return Err(NvencError::TenBits);
        }
        let h264 = if ten_bits { None } else { Some(self.check_size(Bitstream::H264)) };
        let bitstream = match h264 {
            Some(Ok(())) => Bitstream::H264,
            Some(Err(error)) if !matches!(error, NvencError::Size { .. }) => return Err(error),
            other => {
                self.check_size(Bitstream::Hevc)?;
                if let Some(Err(reason)) = other {
                    tracing::info!("the video becomes HEVC: {reason}");
                }
                Bitstream::Hevc
            }
        };
        if self.settings.is_lossless() && self.caps(bitstream, sys::CAPS_LOSSLESS)? == 0 {
            return Err(NvencError::Lossless(bitstream.name()));
        }
        Ok(bitstream)
    }

    /// Checks that the GPU encodes frames of this size.
    fn check_size(&self, bitstream: Bitstream) -> Result<(), NvencError> {
        let pair = |[x, y]: [u32; 2]| -> Result<[u32; 2], NvencError> {
            Ok([self.caps(bitstream, x)?, self.caps(bitstream, y)?])
        };
        let (least, most) = (pair(sys::CAPS_MIN_SIZE)?, pair(sys::CAPS_MAX_SIZE)?);
        let size = self.settings.size().to_array();
        if (0..2).all(|axis| (least[axis]..=most[axis]).contains(&size[axis])) {
            return Ok(());
        }
        Err(NvencError::Size { codec: bitstream.name(), least, most, size })
    }

    fn caps(&self, bitstream: Bitstream, caps: u32) -> Result<u32, NvencError> {
        let mut param = CapsParam { caps, ..CapsParam::zeroed() };
        let mut value = 0;
        self.call("nvEncGetEncodeCaps", |library, encoder| {
            let (param, value) = (&raw mut param, &raw mut value);
            // SAFETY: the encoder exists, and the parameters and the result are local variables.
            unsafe { (library.get_encode_caps)(encoder, bitstream.guid(), param, value) }
        })?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn initialize(&mut self) -> Result<(), NvencError> {
        let codec = self.bitstream.guid();
        let tuning = if self.settings.is_lossless() {
            sys::TUNING_LOSSLESS
        } else {
            sys::TUNING_HIGH_QUALITY
        };
        let mut preset = PresetConfig { config: Config::zeroed(), ..PresetConfig::zeroed() };
        self.call("nvEncGetEncodePresetConfigEx", |library, encoder| {
            let (get, preset) = (library.get_encode_preset_config_ex, &raw mut preset);
            // SAFETY: the encoder exists, and the result is a local variable.
            unsafe { get(encoder, codec, sys::PRESET_P5, tuning, preset) }
        })?;
        let mut config = preset.config;
        self.settings.configure(self.bitstream, &mut config);
        let (numerator, denominator) = self.settings.rate.fraction();
        let size = self.settings.size().to_array();
        let mut params = InitializeParams {
            codec,
            preset: sys::PRESET_P5,
            size,
            aspect: size,
            frame_rate: [numerator, denominator],
            enable_ptd: 1,
            config: &raw mut config,
            tuning,
            ..InitializeParams::zeroed()
        };
        self.call("nvEncInitializeEncoder", |library, encoder| {
            // SAFETY: the encoder exists. The parameters and the configuration that they point to are local variables.
            unsafe { (library.initialize_encoder)(encoder, &raw mut params) }
        })?;
        self.open = true;
        Ok(())
    }

    /// Creates the buffers of a frame in flight.
    fn add_slot(&mut self) -> Result<(), NvencError> {
        let bytes = self.settings.pitch() * self.settings.rows();
        let memory = Buffer::new(self.stream.device(), u32::try_from(bytes).unwrap_or(u32::MAX))?;
        let address = memory.as_device_ptr().as_raw();
        let null = ptr::null_mut();
        self.slots.push(Slot { memory, registered: null, mapped: null, output: null });
        let mut resource = RegisterResource {
            resource_type: sys::RESOURCE_CUDA_POINTER,
            size: self.settings.size().to_array(),
            pitch: self.settings.pitch() as u32,
            resource: ptr::with_exposed_provenance_mut(address as usize),
            format: self.settings.input_format(),
            ..RegisterResource::zeroed()
        };
        self.call("nvEncRegisterResource", |library, encoder| {
            // SAFETY: the encoder exists. The memory has the size that the parameters state, and outlives the handle.
            unsafe { (library.register_resource)(encoder, &raw mut resource) }
        })?;
        let mut output = CreateBitstreamBuffer::zeroed();
        let created = self.call("nvEncCreateBitstreamBuffer", |library, encoder| {
            // SAFETY: the encoder exists, and the result is a local variable.
            unsafe { (library.create_bitstream_buffer)(encoder, &raw mut output) }
        });
        if let Some(slot) = self.slots.last_mut() {
            // After an error, the output is null.
            (slot.registered, slot.output) = (resource.registered, output.buffer);
        }
        created
    }

    /// Copies a frame to a free slot, and passes it to the encoder.
    fn submit(&mut self, index: usize, frame: &DeviceFrame) -> Result<(), NvencError> {
        let size = self.settings.size();
        let (pitch, slot) = (self.settings.pitch(), &self.slots[index]);
        let address = slot.memory.as_device_ptr().as_raw();
        let chroma = address + (pitch * size.y as usize) as u64;
        let planes = [address, chroma].map(|address| DevicePlane { address, pitch });
        // SAFETY: the buffer has room for both planes of `size` pixels, and the encoder does not use a free slot.
        unsafe { frame.copy_corner_to(&self.stream, &planes, size) }?;
        let mut mapping =
            MapInputResource { registered: slot.registered, ..MapInputResource::zeroed() };
        self.call("nvEncMapInputResource", |library, encoder| {
            // SAFETY: the encoder exists, and the resource is registered and not mapped.
            unsafe { (library.map_input_resource)(encoder, &raw mut mapping) }
        })?;
        let output = slot.output;
        self.slots[index].mapped = mapping.mapped;
        let mut picture = PicParams {
            size: size.to_array(),
            pitch: pitch as u32,
            index: self.frames,
            timestamp: self.frames.into(),
            duration: 1,
            input: mapping.mapped,
            output,
            format: mapping.format,
            structure: sys::PICTURE_FRAME,
            ..PicParams::zeroed()
        };
        let ready = match self.picture(&mut picture) {
            Ok(ready) => ready,
            Err(error) => {
                // Ignore another error, because the first one explains the failure.
                let _ = self.unmap(index);
                return Err(error);
            }
        };
        self.frames = self.frames.wrapping_add(1);
        self.busy.push_back(index);
        if ready {
            self.ready = self.busy.len();
        }
        Ok(())
    }

    /// Passes a picture or the end of the video to the encoder. Returns whether all pictures so far can be read.
    fn picture(&self, picture: &mut PicParams) -> Result<bool, NvencError> {
        let start = Instant::now();
        loop {
            let mut status = NvencStatus::SUCCESS;
            let called = self.call("nvEncEncodePicture", |library, encoder| {
                // SAFETY: the encoder exists. The input is mapped and the output is not in use, or both are null.
                status = unsafe { (library.encode_picture)(encoder, picture) };
                status
            });
            match status {
                NvencStatus::NEED_MORE_INPUT => return Ok(false),
                NvencStatus::ENCODER_BUSY if start.elapsed() < BUSY => {
                    thread::sleep(Duration::from_millis(2));
                }
                _ => return called.map(|()| true),
            }
        }
    }

    /// Tells the encoder that the video ends.
    fn flush(&mut self) -> Result<(), NvencError> {
        self.open = false;
        let mut end = PicParams { flags: sys::END_OF_STREAM, ..PicParams::zeroed() };
        self.picture(&mut end).map(|_| ())
    }

    /// Waits for the oldest picture, appends it to `bytes`, and frees its slot.
    fn collect(&mut self, bytes: &mut Vec<u8>) -> Result<(), NvencError> {
        self.ready = self.ready.checked_sub(1).ok_or(NvencError::Stalled)?;
        let Some(index) = self.busy.pop_front() else { return Err(NvencError::Stalled) };
        let output = self.slots[index].output;
        let mut lock = LockBitstream { output, ..LockBitstream::zeroed() };
        self.call("nvEncLockBitstream", |library, encoder| {
            // SAFETY: the encoder exists, and it has completed or is working on the picture of this output.
            unsafe { (library.lock_bitstream)(encoder, &raw mut lock) }
        })?;
        if !lock.data.is_null() {
            // SAFETY: the library guarantees that the data has this size until the output is unlocked.
            bytes.extend_from_slice(unsafe {
                slice::from_raw_parts(lock.data.cast::<u8>(), lock.size as usize)
            });
        }
        self.call("nvEncUnlockBitstream", |library, encoder| {
            // SAFETY: the encoder exists, and the output is locked.
            unsafe { (library.unlock_bitstream)(encoder, output) }
        })?;
        self.unmap(index)?;
        self.free.push(index);
        Ok(())
    }

    /// Ends the encoder's access to the memory of a slot.
    fn unmap(&mut self, index: usize) -> Result<(), NvencError> {
        let mapped = std::mem::replace(&mut self.slots[index].mapped, ptr::null_mut());
        if mapped.is_null() {
            return Ok(());
        }
        self.call("nvEncUnmapInputResource", |library, encoder| {
            // SAFETY: the encoder exists, and the resource is mapped.
            unsafe { (library.unmap_input_resource)(encoder, mapped) }
        })
    }

    /// Calls a function of the library while the context of the GPU is current.
    fn call(
        &self,
        function: &'static str,
        call: impl FnOnce(&Functions, Encoder) -> NvencStatus,
    ) -> Result<(), NvencError> {
        let _entered = Entered::new(self.stream.device()).map_err(NvencError::Context)?;
        match call(self.library, self.encoder) {
            NvencStatus::SUCCESS => Ok(()),
            status => {
                let detail = match self.encoder {
                    encoder if encoder.is_null() => String::new(),
                    encoder => self.library.last_error(encoder),
                };
                Err(NvencError::Call { function, status, detail })
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.encoder.is_null() {
            return;
        }
        // Ignore errors, because earlier calls have reported them.
        if self.open {
            let _ = self.flush();
        }
        for index in 0..self.slots.len() {
            let _ = self.unmap(index);
            let Slot { registered, output, .. } = self.slots[index];
            if !registered.is_null() {
                let _ = self.call("nvEncUnregisterResource", |library, encoder| {
                    // SAFETY: the encoder exists, and the resource is registered and not mapped.
                    unsafe { (library.unregister_resource)(encoder, registered) }
                });
            }
            if !output.is_null() {
                let _ = self.call("nvEncDestroyBitstreamBuffer", |library, encoder| {
                    // SAFETY: the encoder exists, and the output is not locked.
                    unsafe { (library.destroy_bitstream_buffer)(encoder, output) }
                });
            }
        }
        let _ = self.call("nvEncDestroyEncoder", |library, encoder| {
            // SAFETY: the encoder exists, and this is its last use.
            unsafe { (library.destroy_encoder)(encoder) }
        });
    }
}
