//! The driver's errors, as an enum with a variant for each code.
//!
//! If a kernel fails on the CPU, [`last_fault`] returns more than an error code: the kernel, the
//! block, the thread and the cause. The launch also writes these details to standard error, as a
//! GPU does for a failed assertion in a kernel.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::device::Device;
//! use cust::error::{CudaError, CudaResult};
//!
//! fn name(ordinal: u32) -> CudaResult<String> {
//!     Device::get_device(ordinal)?.name()
//! }
//!
//! cust::init(cust::CudaFlags::empty())?;
//! assert_eq!(name(99), Err(CudaError::InvalidDevice));
//! # Ok::<(), CudaError>(())
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::fmt;

use cuda_std::cpu::{Fault, FaultKind};
use cust_raw::driver_sys::CUresult;

pub use cust_raw::error::DriverError;

macro_rules! codes {
    ($($name:ident = $code:literal => $raw:ident,)+) => {
        /// An error code of the driver.
        ///
        /// ```
        /// use cust::error::CudaError;
        /// use cust::sys::CUresult;
        ///
        /// assert_eq!(CudaError::InvalidDevice.code(), 101);
        /// assert_eq!(CudaError::from(CUresult::CUDA_ERROR_NO_DEVICE), CudaError::NoDevice);
        /// println!("{}", CudaError::NoDevice);
        /// ```
        #[repr(u32)]
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the driver's own names, which NVIDIA's manual explains")]
        pub enum CudaError {
            $($name = $code,)+
            /// The size of an allocation is zero or exceeds the address space, the alignment of its
            /// elements exceeds 256 bytes, or the pointer to free is null. This code is defined by
            /// rust-cuda and is not a driver code.
            InvalidMemoryAllocation = 100_100,
            /// An OptiX error. This code is defined by rust-cuda and is not a driver code. No
            /// function of this crate returns it.
            OptixError = 100_101,
        }

        impl From<CUresult> for CudaError {
            /// Converts a driver result code. A code that this crate does not know becomes
            /// [`UnknownError`](Self::UnknownError).
            fn from(code: CUresult) -> Self {
                match code {
                    $(CUresult::$raw => Self::$name,)+
                    _ => Self::UnknownError,
                }
            }
        }
    };
}

codes! {
    InvalidValue = 1 => CUDA_ERROR_INVALID_VALUE,
    OutOfMemory = 2 => CUDA_ERROR_OUT_OF_MEMORY,
    NotInitialized = 3 => CUDA_ERROR_NOT_INITIALIZED,
    Deinitialized = 4 => CUDA_ERROR_DEINITIALIZED,
    ProfilerDisabled = 5 => CUDA_ERROR_PROFILER_DISABLED,
    ProfilerNotInitialized = 6 => CUDA_ERROR_PROFILER_NOT_INITIALIZED,
    ProfilerAlreadyStarted = 7 => CUDA_ERROR_PROFILER_ALREADY_STARTED,
    ProfilerAlreadyStopped = 8 => CUDA_ERROR_PROFILER_ALREADY_STOPPED,
    StubLibrary = 34 => CUDA_ERROR_STUB_LIBRARY,
    CallRequiresNewerDriver = 36 => CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
    DeviceUnavailable = 46 => CUDA_ERROR_DEVICE_UNAVAILABLE,
    NoDevice = 100 => CUDA_ERROR_NO_DEVICE,
    InvalidDevice = 101 => CUDA_ERROR_INVALID_DEVICE,
    DeviceNotLicensed = 102 => CUDA_ERROR_DEVICE_NOT_LICENSED,
    InvalidImage = 200 => CUDA_ERROR_INVALID_IMAGE,
    InvalidContext = 201 => CUDA_ERROR_INVALID_CONTEXT,
    ContextAlreadyCurrent = 202 => CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
    MapFailed = 205 => CUDA_ERROR_MAP_FAILED,
    UnmapFailed = 206 => CUDA_ERROR_UNMAP_FAILED,
    ArrayIsMapped = 207 => CUDA_ERROR_ARRAY_IS_MAPPED,
    AlreadyMapped = 208 => CUDA_ERROR_ALREADY_MAPPED,
    NoBinaryForGpu = 209 => CUDA_ERROR_NO_BINARY_FOR_GPU,
    AlreadyAcquired = 210 => CUDA_ERROR_ALREADY_ACQUIRED,
    NotMapped = 211 => CUDA_ERROR_NOT_MAPPED,
    NotMappedAsArray = 212 => CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
    NotMappedAsPointer = 213 => CUDA_ERROR_NOT_MAPPED_AS_POINTER,
    EccUncorrectable = 214 => CUDA_ERROR_ECC_UNCORRECTABLE,
    UnsupportedLimit = 215 => CUDA_ERROR_UNSUPPORTED_LIMIT,
    ContextAlreadyInUse = 216 => CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
    PeerAccessUnsupported = 217 => CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
    InvalidPtx = 218 => CUDA_ERROR_INVALID_PTX,
    InvalidGraphicsContext = 219 => CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
    NvlinkUncorrectable = 220 => CUDA_ERROR_NVLINK_UNCORRECTABLE,
    JitCompilerNotFound = 221 => CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    UnsupportedPtxVersion = 222 => CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    JitCompilationDisabled = 223 => CUDA_ERROR_JIT_COMPILATION_DISABLED,
    UnsupportedExecAffinity = 224 => CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
    UnsupportedDevsideSync = 225 => CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC,
    Contained = 226 => CUDA_ERROR_CONTAINED,
    InvalidSource = 300 => CUDA_ERROR_INVALID_SOURCE,
    FileNotFound = 301 => CUDA_ERROR_FILE_NOT_FOUND,
    SharedObjectSymbolNotFound = 302 => CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    SharedObjectInitFailed = 303 => CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
    OperatingSystemError = 304 => CUDA_ERROR_OPERATING_SYSTEM,
    InvalidHandle = 400 => CUDA_ERROR_INVALID_HANDLE,
    IllegalState = 401 => CUDA_ERROR_ILLEGAL_STATE,
    LossyQuery = 402 => CUDA_ERROR_LOSSY_QUERY,
    NotFound = 500 => CUDA_ERROR_NOT_FOUND,
    NotReady = 600 => CUDA_ERROR_NOT_READY,
    IllegalAddress = 700 => CUDA_ERROR_ILLEGAL_ADDRESS,
    LaunchOutOfResources = 701 => CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    LaunchTimeout = 702 => CUDA_ERROR_LAUNCH_TIMEOUT,
    LaunchIncompatibleTexturing = 703 => CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
    PeerAccessAlreadyEnabled = 704 => CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    PeerAccessNotEnabled = 705 => CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    PrimaryContextActive = 708 => CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
    ContextIsDestroyed = 709 => CUDA_ERROR_CONTEXT_IS_DESTROYED,
    AssertError = 710 => CUDA_ERROR_ASSERT,
    TooManyPeers = 711 => CUDA_ERROR_TOO_MANY_PEERS,
    HostMemoryAlreadyRegistered = 712 => CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    HostMemoryNotRegistered = 713 => CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    HardwareStackError = 714 => CUDA_ERROR_HARDWARE_STACK_ERROR,
    IllegalInstruction = 715 => CUDA_ERROR_ILLEGAL_INSTRUCTION,
    MisalignedAddress = 716 => CUDA_ERROR_MISALIGNED_ADDRESS,
    InvalidAddressSpace = 717 => CUDA_ERROR_INVALID_ADDRESS_SPACE,
    InvalidProgramCounter = 718 => CUDA_ERROR_INVALID_PC,
    LaunchFailed = 719 => CUDA_ERROR_LAUNCH_FAILED,
    CooperativeLaunchTooLarge = 720 => CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    TensorMemoryLeak = 721 => CUDA_ERROR_TENSOR_MEMORY_LEAK,
    NotPermitted = 800 => CUDA_ERROR_NOT_PERMITTED,
    NotSupported = 801 => CUDA_ERROR_NOT_SUPPORTED,
    SystemNotReady = 802 => CUDA_ERROR_SYSTEM_NOT_READY,
    SystemDriverMismatch = 803 => CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CompatNotSupportedOnDevice = 804 => CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
    MpsConnectionFailed = 805 => CUDA_ERROR_MPS_CONNECTION_FAILED,
    MpsRpcFailure = 806 => CUDA_ERROR_MPS_RPC_FAILURE,
    MpsServerNotReady = 807 => CUDA_ERROR_MPS_SERVER_NOT_READY,
    MpsMaxClientsReached = 808 => CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
    MpsMaxConnectionsReached = 809 => CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
    MpsClientTerminated = 810 => CUDA_ERROR_MPS_CLIENT_TERMINATED,
    CdpNotSupported = 811 => CUDA_ERROR_CDP_NOT_SUPPORTED,
    CdpVersionMismatch = 812 => CUDA_ERROR_CDP_VERSION_MISMATCH,
    StreamCaptureUnsupported = 900 => CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    StreamCaptureInvalidated = 901 => CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    StreamCaptureMerge = 902 => CUDA_ERROR_STREAM_CAPTURE_MERGE,
    StreamCaptureUnmatched = 903 => CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    StreamCaptureUnjoined = 904 => CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    StreamCaptureIsolation = 905 => CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
    StreamCaptureImplicit = 906 => CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CapturedEvent = 907 => CUDA_ERROR_CAPTURED_EVENT,
    StreamCaptureWrongThread = 908 => CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
    Timeout = 909 => CUDA_ERROR_TIMEOUT,
    GraphExecUpdateFailure = 910 => CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    ExternalDevice = 911 => CUDA_ERROR_EXTERNAL_DEVICE,
    InvalidClusterSize = 912 => CUDA_ERROR_INVALID_CLUSTER_SIZE,
    FunctionNotLoaded = 913 => CUDA_ERROR_FUNCTION_NOT_LOADED,
    InvalidResourceType = 914 => CUDA_ERROR_INVALID_RESOURCE_TYPE,
    InvalidResourceConfiguration = 915 => CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
    KeyRotation = 916 => CUDA_ERROR_KEY_ROTATION,
    UnknownError = 999 => CUDA_ERROR_UNKNOWN,
}

impl CudaError {
    /// Returns the driver's code.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidMemoryAllocation => f.write_str(
                "invalid size or pointer: a size is zero or exceeds the address space, elements \
                 are aligned to more than 256 bytes, or the pointer to free is null",
            ),
            Self::OptixError => f.write_str("OptiX error; this crate does not support OptiX"),
            driver => fmt::Display::fmt(&CUresult(driver.code()), f),
        }
    }
}

impl Error for CudaError {}

/// The result of a call that can fail with a [`CudaError`].
///
/// ```
/// use cust::error::{CudaError, CudaResult};
///
/// fn half(bytes: usize) -> CudaResult<usize> {
///     if bytes % 2 == 0 { Ok(bytes / 2) } else { Err(CudaError::InvalidValue) }
/// }
///
/// assert_eq!(half(3), Err(CudaError::InvalidValue));
/// ```
pub type CudaResult<T> = Result<T, CudaError>;

/// The result of an explicit drop. On failure, it contains the driver's error and the value that
/// could not be dropped.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::DeviceBuffer;
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
/// match DeviceBuffer::drop(buffer) {
///     Ok(()) => println!("freed"),
///     // The buffer is still alive, so the program can try again later.
///     Err((error, buffer)) => println!("{error}: {} elements leak", buffer.len()),
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type DropResult<T> = Result<(), (CudaError, T)>;

thread_local! {
    static LAST_FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Returns the most recent fault among the kernels that this thread launched by name on the CPU.
/// The fault names the kernel, the block, the thread and the cause.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::error::{CudaError, last_fault};
/// use cust::launch;
/// use cust::module::Module;
/// use cust::stream::{Stream, StreamFlags};
///
/// #[kernel]
/// pub fn give_up() {
///     trap();
/// }
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry give_up() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: the kernel takes no arguments.
/// let result = unsafe { launch!(module.give_up<<<1, 1, 0, stream>>>()) };
/// assert_eq!(result, Err(CudaError::LaunchFailed));
/// assert_eq!(last_fault().map(|fault| fault.kernel), Some("give_up"));
/// # Ok::<(), CudaError>(())
/// ```
#[must_use]
pub fn last_fault() -> Option<Fault> {
    LAST_FAULT.with_borrow(Clone::clone)
}

/// Stores `fault` for [`last_fault`], writes it to standard error, and returns the code that a
/// GPU's driver reports for such a fault.
pub(crate) fn report(fault: Fault) -> CUresult {
    eprintln!("{fault}");
    let code = match fault.kind {
        FaultKind::OutOfBounds { .. } => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        _ => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    };
    LAST_FAULT.set(Some(fault));
    code
}

/// Writes `text`, which explains the error `code`, to standard error and returns `code`.
pub(crate) fn explain(code: CUresult, text: &str) -> CUresult {
    eprintln!("cust: {text}");
    code
}
