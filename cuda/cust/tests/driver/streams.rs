//! Tests streams and events: priorities, order and time measurement.

use std::time::Duration;

use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::launch;
use cust::memory::{DeviceBuffer, GpuBuffer};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::util::SliceExt;

use crate::{cpu, module};

#[test]
fn a_stream_has_what_it_was_made_with() {
    let _context = cpu();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, Some(-2)).expect("a stream");
    assert_eq!(stream.get_priority(), Ok(-2));
    assert!(!stream.as_inner().is_null());
    // SAFETY: `stream` outlives `same`, and dropping `same` does not destroy the driver's stream.
    let same = unsafe { Stream::from_raw(stream.as_inner()) };
    assert_eq!(same.get_priority(), Ok(-2));
    Stream::drop(same).expect("nothing to destroy");
    Stream::drop(stream).expect("destroyed");
}

#[test]
fn work_runs_in_order() {
    let _context = cpu();
    let module = module();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let data = [0_u32, 1, 2, 3].as_dbuf().expect("memory");
    let total = DeviceBuffer::<u32>::zeroed(1).expect("memory");
    // SAFETY: the launch has four threads, and the buffer has four elements.
    unsafe { launch!(module.reverse<<<1, 4, 16, stream>>>(data.as_device_ptr())) }.expect("runs");
    // SAFETY: the kernel stays within the two elements and adds to one counter.
    unsafe {
        launch!(module.sum<<<1, 4, 0, stream>>>(
            data[..2].as_device_ptr(),
            2_usize,
            GpuBuffer::as_device_ptr(&total)
        ))
    }
    .expect("runs");
    stream.synchronize().expect("done");
    assert_eq!(total.as_host_vec().expect("copied"), [5]);
}

#[test]
fn events_measure_time() {
    let _context = cpu();
    let [first, second] =
        [(); 2].map(|()| Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"));
    let [start, end, never, untimed] = [
        EventFlags::DEFAULT,
        EventFlags::BLOCKING_SYNC,
        EventFlags::DEFAULT,
        EventFlags::DISABLE_TIMING,
    ]
    .map(|flags| Event::new(flags).expect("an event"));
    start.record(&first).expect("recorded");
    std::thread::sleep(Duration::from_millis(5));
    second.wait_event(&start, StreamWaitEventFlags::DEFAULT).expect("waits");
    end.record(&second).expect("recorded");
    untimed.record(&second).expect("recorded");
    end.synchronize().expect("done");
    assert_eq!(end.query(), Ok(EventStatus::Ready));
    assert!(end.elapsed(&start).expect("a time") >= Duration::from_millis(5));
    assert!(end.elapsed_time_f32(&start).expect("a time") >= 5.0);
    assert_eq!(start.elapsed(&end), Ok(Duration::ZERO));
    assert_eq!(end.elapsed(&never), Err(CudaError::InvalidHandle));
    assert_eq!(untimed.elapsed(&start), Err(CudaError::InvalidHandle));
    Event::drop(end).expect("destroyed");
}
