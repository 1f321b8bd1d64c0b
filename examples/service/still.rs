//! Handles `POST /stitch`. The request is a form with the parts `left` and `right` (PNG or JPEG) and optionally
//! `homography`, which overrides the service's geometry. The response is the panorama as PNG.
//!
//! A request takes one of the [`AT_ONCE`] work slots only after it has arrived completely, so a slow sender does not
//! block other requests. Complete requests wait for a slot in the order of their arrival. All bytes of requests, those
//! of the form's headers included, and of responses count against the memory limit (`memory`). A response returns its
//! memory when its last byte has been sent or the connection ends.
//!
//! If the client closes the sending side of its connection before it has the response, and has sent nothing after the
//! request, the service cancels the request, so that requests of clients that have gone away leave the queue.
//!
//! The module `refusal` defines the errors and their HTTP status.

use std::future::pending;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use panoweave::device::Device;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::Rig;
use panoweave::glam::UVec2;
use panoweave::io::picture::{Picture, PictureFormat};
use panoweave::ops::stitch::{Lookup, StitchOptions, Vignettes};
use panoweave::panorama::{PanoramaOptions, stitch_warp};
use panoweave::warp::DeviceWarp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::connection::{Client, Closer};
use super::memory::{Memory, OutOfMemory, Share};
use super::refusal::Refusal;
use crate::RIG;

/// Maximum number of bytes in a request, if the memory for all requests is not smaller.
const MAX_BODY: usize = 64 << 20;

/// Maximum number of pixels in a panorama.
const MAX_PIXELS: u64 = 1 << 25;

/// Maximum time in which a request must arrive.
const ARRIVAL: Duration = Duration::from_secs(60);

/// Maximum number of requests that are stitched at once. Each of them may need up to 1.8 GiB of memory, or 2.4 GiB if
/// the pictures have transparent pixels.
const AT_ONCE: usize = 4;

/// Maximum number of complete requests that wait for a work slot.
const WAITING: usize = 32;

/// Maximum time that a complete request waits for a work slot. The largest pictures take several seconds each. A client
/// that gives up earlier leaves the queue.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum number of bytes in all requests and responses together, unless the operator sets another one.
pub const MAX_MEMORY: usize = AT_ONCE * MAX_BODY;

/// The state that all `POST /stitch` requests share.
pub struct Still {
    device: Device,
    usual: Usual,
    /// Maximum number of pixels in a panorama.
    most: u64,
    /// Permits for the [`AT_ONCE`] work slots. A request holds one permit while it is stitched.
    slots: Arc<Semaphore>,
    /// Permits for the [`WAITING`] places in the queue for a work slot.
    queue: Semaphore,
    memory: Arc<Memory>,
}

/// The geometry for requests that do not contain a homography: the warp and the vignettes of a rig, or a homography.
enum Usual {
    Rig(Box<(DeviceWarp, Vignettes)>),
    Homography(Homography),
}

/// The parts of a request's form. The pictures are undecoded PNG or JPEG files.
#[derive(Default)]
struct Form {
    left: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
    homography: Option<Vec<u8>>,
}

/// An encoded panorama and its share of the memory.
struct Png {
    file: Vec<u8>,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for Png {
    fn as_ref(&self) -> &[u8] {
        &self.file
    }
}

impl Still {
    /// Loads a rig or a homography from `file`, or uses the examples' rig if `file` is `None`.
    ///
    /// # Errors
    /// Returns an error if the file is invalid or the device fails.
    pub fn new(device: &Device, file: Option<&str>) -> super::Result<Self> {
        let name = file.unwrap_or("the rig of the examples");
        let rig = match file {
            None => Some(Rig::parse(RIG, name)?),
            Some(file) if file.ends_with(".toml") => Some(Rig::open(file)?),
            Some(_) => None,
        };
        let usual = match rig {
            None => Usual::Homography(Homography::open(name)?),
            Some(rig) if rig.cameras.len() == 2 => {
                let warp = DeviceWarp::render(&device.stream()?, &rig.geometry()?)?;
                Usual::Rig(Box::new((warp, Vignettes::of_rig(&rig))))
            }
            Some(rig) => {
                let cameras = rig.cameras.len();
                return Err(format!(
                    "{name}: the rig has {cameras} cameras, but a request has two pictures; use a rig of two cameras"
                )
                .into());
            }
        };
        let (slots, queue) = (Arc::new(Semaphore::new(AT_ONCE)), Semaphore::new(WAITING));
        let memory = Memory::new(MAX_MEMORY);
        Ok(Self { device: device.clone(), usual, most: MAX_PIXELS, slots, queue, memory })
    }

    /// Limits panoramas to `most` pixels.
    #[must_use]
    pub fn with_limit(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Limits all requests and responses together to `bytes`.
    #[must_use]
    pub fn with_memory(self, bytes: usize) -> Self {
        Self { memory: Memory::new(bytes), ..self }
    }

    /// Returns the maximum number of bytes in a request.
    pub(crate) fn max_body(&self) -> usize {
        MAX_BODY.min(self.memory.total)
    }

    /// Waits for a work slot.
    async fn slot(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let _place = self.queue.try_acquire().map_err(|_| Refusal::Busy)?;
        let slot = timeout(PATIENCE, Arc::clone(&self.slots).acquire_owned()).await;
        slot.map_err(|_| Refusal::Busy)?.map_err(|_| Refusal::Busy)
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
        let (warp, vignettes) = match (given.as_ref(), &self.usual) {
            (None, Usual::Rig(rig)) => {
                let (warp, vignettes) = &**rig;
                (warp, *vignettes)
            }
            (Some(homography), _) | (None, Usual::Homography(homography)) => {
                let size = |picture: &Picture| UVec2::new(picture.width(), picture.height());
                let geometry = homography.geometry(size(&left), size(&right))?;
                let UVec2 { x, y } = geometry.canvas.size;
                if u64::from(x) * u64::from(y) > self.most {
                    return Err(Refusal::TooLarge { width: x, height: y, most: self.most });
                }
                rendered = DeviceWarp::render(&stream, &geometry)?;
                (&rendered, Vignettes::NONE)
            }
        };
        // `Lookup::Planes` needs no mesh. For a single panorama, computing a mesh would take longer than it saves.
        let stitch =
            StitchOptions { lookup: Lookup::Planes, vignettes, ..StitchOptions::default() };
        let options = PanoramaOptions { stitch, ..PanoramaOptions::default() };
        let panorama = stitch_warp(&stream, &[&left, &right], warp, &options)?;
        Ok(panorama.picture.encode(PictureFormat::Png)?)
    }
}

/// Reads the parts of a form, each at most once and in any order. Takes memory for all bytes of the request.
async fn read(request: Request, share: &Arc<Share>) -> Result<Form, Refusal> {
    let share = Arc::clone(share);
    let request = request.map(|body| {
        Body::from_stream(body.into_data_stream().then(move |chunk| {
            let share = Arc::clone(&share);
            async move {
                let chunk = chunk?;
                // The limit of the body follows, and refuses the request at this chunk.
                if share.exceeds(chunk.len()) {
                    return Ok(chunk);
                }
                if let Err(OutOfMemory) = share.take(chunk.len()).await {
                    share.end();
                    pending().await
                }
                Ok::<_, axum::Error>(chunk)
            }
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
            _ => return Err(Refusal::unknown(&name)),
        };
        if place.is_some() {
            return Err(Refusal::twice(&name));
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
    let closer = request.extensions().get::<Closer>().cloned();
    // A request that arrives without a connection is that of a test.
    let client = request.extensions().get().copied();
    let client = client.unwrap_or(Client(Ipv4Addr::UNSPECIFIED.into()));
    let share = still.memory.share(client, Some(Arc::default()));
    let arrival = async {
        let form = timeout(ARRIVAL, read(request, &share)).await.map_err(|_| Refusal::Slow)??;
        share.queue().map_err(|OutOfMemory| Refusal::Busy)?;
        Ok::<_, Refusal>((form, still.slot().await?))
    };
    let (form, slot) = match select(pin!(share.ended()), pin!(arrival)).await {
        Either::Left(_) => return Err(Refusal::Busy),
        Either::Right((arrived, _)) => arrived?,
    };
    share.work().map_err(|OutOfMemory| Refusal::Busy)?;
    // The work continues even if the client closes the connection, so the closure owns the work slot and the memory
    // until it is done.
    let memory = Arc::clone(&still.memory);
    let work = spawn_blocking(move || {
        let png = still.stitch(&form);
        drop((form, share));
        (png, slot)
    });
    let (png, slot) = work.await.map_err(|_| Refusal::Broken)?;
    let mut file = png?;
    file.shrink_to_fit();
    // Keep the slot until the response has its memory.
    let share = memory.share(client, closer.map(|Closer(closer)| closer));
    if share.exceeds(file.capacity()) {
        return Err(Refusal::LongResponse(file.len()));
    }
    share.take(file.capacity()).await.map_err(|OutOfMemory| Refusal::Busy)?;
    drop(slot);
    let png = Bytes::from_owner(Png { file, _share: share });
    Ok(([(header::CONTENT_TYPE, "image/png")], png))
}
