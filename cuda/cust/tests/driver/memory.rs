//! Tests all kinds of memory: allocation, indexing, copies, fills, casts and freeing.

use cuda_std::cpu::POISON;
use cust::error::CudaError;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, DeviceMemory, DevicePointer,
    DeviceSlice, GpuBox, GpuBuffer, LockedBox, LockedBuffer, UnifiedBox, UnifiedBuffer, cuda_free,
    cuda_malloc, memcpy_dtoh, memcpy_htod,
};
use cust::stream::{Stream, StreamFlags};
use cust::util::{DeviceCopyExt, SliceExt};

use crate::{cpu, module};

fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

#[test]
fn fresh_memory_is_poisoned_or_zero() {
    let _context = cpu();
    // SAFETY: every bit pattern is a valid `u32`.
    let poisoned = unsafe { DeviceBuffer::<u32>::uninitialized(3) }.expect("memory");
    assert_eq!(poisoned.as_host_vec().expect("copied"), [u32::from_ne_bytes([POISON; 4]); 3]);
    let zeros = DeviceBuffer::<u32>::zeroed(3).expect("memory");
    assert_eq!(zeros.as_host_vec().expect("copied"), [0; 3]);
    assert_eq!(DeviceBox::<u64>::zeroed().expect("memory").as_host_value(), Ok(0));
    // SAFETY: every bit pattern is a valid `u8`.
    let poisoned = unsafe { UnifiedBox::<u8>::uninitialized() }.expect("memory");
    assert_eq!(*poisoned, POISON);
}

#[test]
fn buffers_without_bytes_need_no_memory() {
    let _context = cpu();
    let empty = DeviceBuffer::<u32>::from_slice(&[]).expect("no memory");
    assert!(empty.is_empty() && empty.as_device_ptr().is_null());
    assert_eq!(empty.as_host_vec().expect("nothing to copy"), []);
    assert!(empty[..].is_empty());
    let units = DeviceBuffer::<()>::from_slice(&[(); 5]).expect("no memory");
    assert_eq!((units.len(), units.size_in_bytes()), (5, 0));
    assert_eq!(units.as_host_vec().expect("nothing to copy"), [(); 5]);
    let locked = LockedBuffer::new(&0_u32, 0).expect("no memory");
    assert!(locked.is_empty());
    assert_eq!(UnifiedBuffer::<u32>::from_slice(&[]).expect("no memory").len(), 0);
    assert_eq!(DeviceBox::new(&()).expect("no memory").as_host_value(), Ok(()));
}

#[test]
fn impossible_sizes_are_refused() {
    let _context = cpu();
    let invalid = CudaError::InvalidMemoryAllocation;
    assert_eq!(DeviceBuffer::<u64>::zeroed(usize::MAX / 4).map(drop), Err(invalid));
    assert_eq!(LockedBuffer::new(&0_u64, usize::MAX / 4).map(drop), Err(invalid));
    assert_eq!(UnifiedBuffer::new(&0_u64, usize::MAX / 4).map(drop), Err(invalid));
    let most = DeviceBuffer::<u8>::zeroed(isize::MAX as usize - 4096).map(drop);
    assert_eq!(most, Err(CudaError::OutOfMemory));
    // SAFETY: the requested size is 0, so the allocation fails.
    assert_eq!(unsafe { cuda_malloc::<u8>(0) }.map(drop), Err(invalid));
}

#[test]
fn freed_memory_is_refused() {
    let _context = cpu();
    // SAFETY: the memory is freed below.
    let pointer = unsafe { cuda_malloc::<u32>(4) }.expect("memory");
    let mut value = 0_u32;
    let to = (&raw mut value).cast();
    // SAFETY: the CPU rejects addresses that are not allocated, and the host memory that the calls
    // access is alive.
    unsafe {
        memcpy_htod(pointer.as_raw(), [7_u32].as_ptr().cast(), 4).expect("copied");
        memcpy_dtoh(to, pointer.as_raw(), 4).expect("copied");
        assert_eq!(value, 7);
        assert_eq!(memcpy_dtoh(to, pointer.as_raw() + 13, 4), Err(CudaError::InvalidValue));
        cuda_free(pointer).expect("freed");
        assert_eq!(memcpy_dtoh(to, pointer.as_raw(), 4), Err(CudaError::InvalidValue));
        assert_eq!(cuda_free(pointer), Err(CudaError::InvalidValue));
        let null = cuda_free(DevicePointer::<u32>::null());
        assert_eq!(null, Err(CudaError::InvalidMemoryAllocation));
    }
}

#[test]
fn a_buffer_that_cannot_be_freed_comes_back() {
    let _context = cpu();
    let buffer = [1_u8, 2].as_dbuf().expect("memory");
    // SAFETY: the CPU backend checks addresses, and does not free an address at which no allocation
    // starts.
    let inner = unsafe { DeviceBuffer::from_raw_parts(buffer[1..].as_device_ptr(), 1) };
    let (error, inner) = DeviceBuffer::drop(inner).expect_err("no allocation begins there");
    assert_eq!(error, CudaError::InvalidValue);
    assert_eq!(inner.as_host_vec().expect("copied"), [2]);
    std::mem::forget(inner);
    DeviceBuffer::drop(buffer).expect("freed");
}

#[test]
fn slices_are_indexed_and_split() {
    let _context = cpu();
    let mut buffer = [0_u32, 1, 2, 3, 4, 5].as_dbuf().expect("memory");
    let host = |slice: &DeviceSlice<u32>| slice.as_host_vec().expect("copied");
    assert_eq!(host(&buffer[1..3]), [1, 2]);
    assert_eq!(host(&buffer[4..]), [4, 5]);
    assert_eq!(host(&buffer[..=1]), [0, 1]);
    assert_eq!(host(&buffer[5]), [5]);
    assert_eq!(host(&buffer[6..]), []);
    let (left, right) = buffer.split_at(2);
    assert_eq!((host(left), host(right)), (vec![0, 1], vec![2, 3, 4, 5]));
    let (left, right) = buffer.split_at_mut(3);
    left.copy_from(right).expect("copied");
    assert_eq!(host(&buffer), [3, 4, 5, 3, 4, 5]);
    buffer[2..4].copy_from(&[8, 9]).expect("copied");
    assert_eq!(host(&buffer), [3, 4, 8, 9, 4, 5]);
    let middle = &mut buffer[1..5];
    middle.set_32(6).expect("filled");
    middle[1..2].set_16(0x0101).expect("filled");
    middle[2..3].set_8(2).expect("filled");
    middle[3].set_zero().expect("filled");
    assert_eq!(host(&buffer), [3, 6, 0x0101_0101, 0x0202_0202, 0, 5]);
    assert_eq!(buffer.size_in_bytes(), 24);
}

#[test]
#[should_panic(expected = "not within a device slice of 3 elements")]
fn an_index_beyond_the_end_panics() {
    let _context = cpu();
    let _ = &[1_u8, 2, 3].as_dbuf().expect("memory")[2..4];
}

#[test]
#[should_panic(expected = "a device slice of 3 elements cannot be copied from or to 2 elements")]
fn a_copy_of_another_length_panics() {
    let _context = cpu();
    let mut buffer = [1_u8, 2, 3].as_dbuf().expect("memory");
    let _ = buffer.copy_from(&[1, 2]);
}

#[test]
fn copies_wait_or_are_submitted() {
    let _context = cpu();
    let stream = stream();
    let mut first = [1_u16, 2, 3].as_dbuf().expect("memory");
    let mut second = DeviceBuffer::<u16>::zeroed(3).expect("memory");
    second.copy_from(&first).expect("copied");
    let mut host = [0; 3];
    second.copy_to(&mut host).expect("copied");
    assert_eq!(host, [1, 2, 3]);
    second.copy_to(&mut first).expect("copied");

    let locked = LockedBuffer::from_slice(&[4_u16, 5, 6]).expect("memory");
    let mut back = LockedBuffer::new(&0_u16, 3).expect("memory");
    // SAFETY: all buffers live, and nothing accesses them, until the stream is synchronised.
    unsafe {
        first.async_copy_from(&locked, &stream).expect("submitted");
        second.async_copy_from(&first, &stream).expect("submitted");
        second.async_copy_to(&mut back, &stream).expect("submitted");
    }
    stream.synchronize().expect("done");
    assert_eq!(&*back, [4, 5, 6]);

    // SAFETY: the compiler stores the array literal in static memory, which lives as long as the
    // program.
    let made = unsafe { DeviceBuffer::from_slice_async(&[7_u16, 8], &stream) }.expect("memory");
    assert_eq!(made.as_host_vec().expect("copied"), [7, 8]);
    // SAFETY: on the CPU, the submitted work is done when the call returns, so nothing accesses the
    // memory concurrently.
    let mut zeros = unsafe { DeviceBuffer::<u16>::zeroed_async(2, &stream) }.expect("memory");
    // SAFETY: on the CPU, the submitted work is done when the call returns, so nothing accesses the
    // memory concurrently.
    unsafe { zeros.set_16_async(9, &stream) }.expect("submitted");
    assert_eq!(zeros.as_host_vec().expect("copied"), [9, 9]);
    zeros.drop_async(&stream).expect("submitted");
    made.drop_async(&stream).expect("submitted");
}

#[test]
fn boxes_hold_one_value() {
    let _context = cpu();
    let stream = stream();
    let mut one = 5_u64.as_dbox().expect("memory");
    assert_eq!(one.as_host_value(), Ok(5));
    one.copy_from(&6).expect("copied");
    let mut two = DeviceBox::new(&0_u64).expect("memory");
    two.copy_from(&one).expect("copied");
    let mut value = 0;
    two.copy_to(&mut value).expect("copied");
    assert_eq!(value, 6);
    // SAFETY: the value and `two` stay alive until the copy is done.
    unsafe { two.async_copy_from(&8, &stream) }.expect("submitted");
    stream.synchronize().expect("done");
    assert_eq!(two.as_host_value(), Ok(8));
    let raw = DeviceBox::into_device(two);
    // SAFETY: the pointer comes from a box that has just released ownership of its memory.
    let two = unsafe { DeviceBox::from_device(raw) };
    assert_eq!(GpuBox::as_device_ptr(&two), raw);
    DeviceBox::drop(two).expect("freed");
}

#[test]
fn locked_memory_is_host_memory() {
    let _context = cpu();
    let mut buffer = LockedBuffer::new(&1_u32, 4).expect("memory");
    buffer[2] = 5;
    assert_eq!(buffer.as_slice(), [1, 1, 5, 1]);
    LockedBuffer::drop(buffer).expect("freed");
    let mut one = LockedBox::new(&1.5_f32).expect("memory");
    *one += 1.0;
    // SAFETY: the pointer comes from a box that has just released ownership of its memory.
    let one = unsafe { LockedBox::from_raw(one.into_raw()) };
    assert_eq!(*one, 2.5);
}

#[test]
fn kernels_reach_unified_memory() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let numbers = [1_u32, 2, 3, 4].as_unified_buf().expect("memory");
    let mut total = UnifiedBox::new(100_u32).expect("memory");
    *total += 1;
    // SAFETY: the kernel stays within the slice.
    unsafe {
        cust::launch!(module.sum<<<2, 4, 0, stream>>>(
            GpuBuffer::as_device_ptr(&numbers),
            GpuBuffer::len(&numbers),
            GpuBox::as_device_ptr(&total)
        ))
    }
    .expect("the kernel runs");
    stream.synchronize().expect("done");
    assert_eq!(*total, 111);
}

#[test]
fn casts_keep_the_bytes() {
    let _context = cpu();
    let words = [0x0403_0201_u32, 0x0807_0605].as_dbuf().expect("memory");
    let bytes = words.cast::<u8>();
    assert_eq!(bytes.as_host_vec().expect("copied"), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(bytes.try_cast::<[u8; 3]>().is_err());
}

/// Checks that allocations for a type with an alignment of 512 bytes fail. The driver aligns memory
/// only to 256 bytes, so a reference to a value with a larger alignment would be undefined
/// behaviour.
#[test]
fn elements_that_are_aligned_to_more_than_memory_are_refused() {
    #[derive(Clone, Copy, Debug, PartialEq, cust::DeviceCopy)]
    #[repr(align(512))]
    struct Page(u8);

    let _context = cpu();
    let refused = CudaError::InvalidMemoryAllocation;
    assert_eq!(LockedBuffer::from_slice(&[Page(1); 2]).map(drop), Err(refused));
    assert_eq!(LockedBox::new(&Page(1)).map(drop), Err(refused));
    assert_eq!(UnifiedBuffer::from_slice(&[Page(1); 2]).map(drop), Err(refused));
    assert_eq!(UnifiedBox::new(Page(1)).map(drop), Err(refused));
    assert_eq!(DeviceBuffer::from_slice(&[Page(1); 2]).map(drop), Err(refused));
    assert!(LockedBuffer::from_slice(&[Page(1); 0]).is_ok());
}

/// Checks that allocations that exceed the host's memory fail with `OutOfMemory`. If `cust` did not
/// check the size, Linux would grant the memory and kill the process when the memory is written.
#[test]
fn more_memory_than_the_host_has_is_refused() {
    let _context = cpu();
    for bytes in [1 << 42, isize::MAX as usize, usize::MAX] {
        // SAFETY: the allocation fails, so nothing reads the memory.
        let buffer = unsafe { DeviceBuffer::<u8>::uninitialized(bytes) };
        assert_eq!(buffer.map(drop), Err(CudaError::OutOfMemory), "{bytes}");
    }
}
