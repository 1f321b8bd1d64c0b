//! Handles `POST /stitch`. The request is a form with the parts `left` and `right` (PNG or JPEG) and optionally
//! `homography`, which overrides the service's geometry. The response is the panorama as PNG.
//!
//! A request takes one of the [`AT_ONCE`] work slots only after it has arrived completely, so a slow sender does not
//! block other requests. All bytes received so far, those of the form's headers included, count against [`MAX_BODIES`], the
//! memory limit for all requests together. A request must arrive within [`ARRIVAL`], so that senders that stop do not keep
//! their share of it.
//!
//! The module `refusal` defines the errors and their HTTP status.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use panoweave::device::Device;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::Rig;
use panoweave::glam::UVec2;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave::ops::stitch::{Lookup, StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::refusal::Refusal;
use crate::geometry;

/// Maximum number of bytes in a request.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// Maximum number of pixels in a panorama.
const MAX_PIXELS: u64 = 1 << 25;

/// Maximum time in which a request must arrive.
const ARRIVAL: Duration = Duration::from_secs(60);

/// Maximum number of requests that are stitched at once. Each of them may need up to 1.7 GiB of memory.
const AT_ONCE: usize = 4;

/// Maximum number of bytes in all requests together: requests that are still arriving and requests that are being
/// stitched.
const MAX_BODIES: usize = AT_ONCE * MAX_BODY;

/// The state that all `POST /stitch` requests share.
pub struct Still {
    device: Device,
    usual: Usual,
    /// Maximum number of pixels in a panorama.
    most: u64,
    /// Permits for the [`AT_ONCE`] work slots. A request holds one permit while it is stitched.
    room: Arc<Semaphore>,
    /// Permits for the bytes that all requests together may still receive.
    bodies: Arc<Semaphore>,
}

/// The geometry for requests that do not contain a homography: the warp of a rig, or a homography.
enum Usual {
    Rig(Box<DeviceWarp>),
    Homography(Homography),
}

/// The parts of a request's form. The pictures are undecoded PNG or JPEG files.
#[derive(Default)]
struct Form {
    left: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
    homography: Option<Vec<u8>>,
}

/// The permits for the bytes of a request, out of [`MAX_BODIES`]. They are returned when the request is done.
struct Share {
    all: Arc<Semaphore>,
    own: Mutex<Option<OwnedSemaphorePermit>>,
    /// Whether there were too few permits.
    is_short: AtomicBool,
}

impl Share {
    /// Takes permits for received bytes. Returns an error if there are too few.
    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let busy = || {
            self.is_short.store(true, Ordering::Relaxed);
            Refusal::Busy
        };
        let bytes = u32::try_from(bytes).map_err(|_| busy())?;
        let more = Arc::clone(&self.all).try_acquire_many_owned(bytes).map_err(|_| busy())?;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *own {
            Some(own) => own.merge(more),
            own => *own = Some(more),
        }
        Ok(())
    }
}

impl Still {
    /// Loads a rig or a homography from `file`, or uses the examples' rig if `file` is `None`.
    ///
    /// # Errors
    /// Returns an error if the file is invalid or the device fails.
    pub fn new(device: &Device, file: Option<&str>) -> super::Result<Self> {
        let rig = match file {
            None => Some(geometry()?),
            Some(file) if file.ends_with(".toml") => Some(Rig::open(file)?.geometry()?),
            Some(_) => None,
        };
        let usual = match (rig, file) {
            (None, Some(file)) => Usual::Homography(Homography::open(file)?),
            (rig, _) => {
                let stream = device.stream()?;
                Usual::Rig(Box::new(DeviceWarp::render(
                    &stream,
                    &rig.ok_or("neither a rig nor a homography was loaded")?,
                )?))
            }
        };
        let (room, bodies) = (Semaphore::new(AT_ONCE), Semaphore::new(MAX_BODIES));
        let (room, bodies) = (Arc::new(room), Arc::new(bodies));
        Ok(Self { device: device.clone(), usual, most: MAX_PIXELS, room, bodies })
    }

    /// Limits panoramas to `most` pixels.
    #[must_use]
    pub fn with_limit(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Decodes the pictures, stitches them, and encodes the panorama as PNG. Blocks the thread until it is done.
    fn stitch(&self, form: &Form) -> Result<Vec<u8>, Refusal> {
        let picture = |name, content: &Option<Vec<u8>>| {
            let content = content.as_ref().ok_or(Refusal::Missing(name))?;
            Ok::<_, Refusal>(Picture::decode(content, name)?)
        };
        let (left, right) = (picture("left", &form.left)?, picture("right", &form.right)?);
        let given = form.homography.as_deref().map(|text| {
            let text = std::str::from_utf8(text).map_err(|_| Refusal::NotText)?;
            Ok::<_, Refusal>(Homography::parse(text, "homography")?)
        });
        let given = given.transpose()?;
        let stream = self.device.stream()?;
        let rendered;
        let warp = match (given.as_ref(), &self.usual) {
            (None, Usual::Rig(warp)) => warp,
            (Some(homography), _) | (None, Usual::Homography(homography)) => {
                let size = |picture: &Picture| UVec2::new(picture.width(), picture.height());
                let geometry = homography.geometry(size(&left), size(&right))?;
                let UVec2 { x, y } = geometry.canvas.size;
                if u64::from(x) * u64::from(y) > self.most {
                    return Err(Refusal::TooLarge { width: x, height: y, most: self.most });
                }
                rendered = DeviceWarp::render(&stream, &geometry)?;
                &rendered
            }
        };
        // `Lookup::Planes` needs no mesh. For a single panorama, computing a mesh would take longer than it saves.
        let options = StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() };
        let panorama = stitch_pictures(&stream, &[&left, &right], warp, &options)?;
        Ok(panorama.encode(PictureFormat::Png)?)
    }
}

/// Reads the parts of a form, each at most once and in any order. Takes permits for all bytes of the request.
async fn read(request: Request, share: &Arc<Share>) -> Result<Form, Refusal> {
    let counts = Arc::clone(share);
    let request = request.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let chunk = chunk?;
            counts.take(chunk.len()).map_err(axum::Error::new)?;
            Ok::<_, axum::Error>(chunk)
        }))
    });
    let mut parts = Multipart::from_request(request, &()).await?;
    let mut form = Form::default();
    while let Some(mut part) = parts.next_field().await? {
        let name = part.name().unwrap_or_default().to_owned();
        let place = match name.as_str() {
            "left" => &mut form.left,
            "right" => &mut form.right,
            "homography" => &mut form.homography,
            _ => return Err(Refusal::Unknown(name)),
        };
        if place.is_some() {
            return Err(Refusal::Twice(name));
        }
        let content = place.insert(Vec::new());
        while let Some(chunk) = part.chunk().await? {
            content.extend_from_slice(&chunk);
        }
    }
    Ok(form)
}

/// Handles `POST /stitch`.
pub(crate) async fn stitch(
    State(still): State<Arc<Still>>,
    request: Request,
) -> Result<impl IntoResponse, Refusal> {
    let share = Arc::new(Share {
        all: Arc::clone(&still.bodies),
        own: Mutex::default(),
        is_short: AtomicBool::default(),
    });
    let form = match timeout(ARRIVAL, read(request, &share)).await {
        Err(_) => return Err(Refusal::Slow),
        // The form reports the error of the missing permits as one of its own.
        Ok(Err(_)) if share.is_short.load(Ordering::Relaxed) => return Err(Refusal::Busy),
        Ok(form) => form?,
    };
    let room = Arc::clone(&still.room).try_acquire_owned().map_err(|_| Refusal::Busy)?;
    // The work continues even if the client closes the connection, so the closure owns the work slot and the permits until it
    // is done.
    let work = spawn_blocking(move || (still.stitch(&form), room, share).0);
    let png = work.await.map_err(|_| Refusal::Broken)??;
    Ok(([(header::CONTENT_TYPE, "image/png")], png))
}
