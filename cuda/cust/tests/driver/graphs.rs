//! Tests graphs: nodes, the order of execution, launches, and errors for invalid nodes.

use std::fs;

use cust::error::CudaError;
use cust::graph::{Graph, GraphCreationFlags, GraphNodeType, StreamCaptureMode};
use cust::kernel_invocation;
use cust::memory::{DeviceBuffer, GpuBuffer};
use cust::stream::{Stream, StreamFlags};

use crate::{cpu, module};

#[test]
fn a_graph_runs_copies_fills_and_kernels_in_order() {
    let _context = cpu();
    let (module, stream) =
        (module(), Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"));
    let data = DeviceBuffer::<u32>::zeroed(4).expect("memory");
    let total = DeviceBuffer::<u32>::zeroed(1).expect("memory");
    let at = GpuBuffer::as_device_ptr(&data);
    let host = [1_u32, 2];
    let mut back = [0_u32; 4];

    let mut graph = Graph::new(GraphCreationFlags::NONE).expect("a graph");
    let fill = graph.add_memset_node(at, 7_u32, 4, []).expect("a node");
    let copy = graph.add_memcpy_htod_node(at, host.as_ptr(), 2, [fill]).expect("a node");
    let sum = kernel_invocation!(module.sum<<<1, 4, 0, stream>>>(
        at,
        4_usize,
        GpuBuffer::as_device_ptr(&total)
    ))
    .expect("a kernel");
    // SAFETY: the arguments match the kernel's parameters.
    let sum = unsafe { graph.add_kernel_node(sum, [fill, copy]) }.expect("a node");
    let out = graph.add_memcpy_dtoh_node(back.as_mut_ptr(), at, 4, [sum]).expect("a node");
    let end = graph.add_empty_node([out]).expect("a node");
    assert_eq!(graph.num_nodes(), Ok(5));
    assert_eq!(graph.edges().expect("edges").len(), 5);
    assert_eq!(graph.node_type(sum), Ok(GraphNodeType::KernelInvocation));
    assert_eq!(graph.node_type(end), Ok(GraphNodeType::Empty));
    let launch = graph.kernel_node_params(sum).expect("a launch");
    assert_eq!(launch.block_dim, 4.into());

    let exec = graph.instantiate().expect("an executable graph");
    assert_eq!(total.as_host_vec().expect("copied"), [0], "nothing runs before a launch");
    for expected in [17, 34] {
        // SAFETY: the module and the memory that the nodes use stay alive until the launch is done.
        unsafe { exec.launch(&stream) }.expect("runs");
        stream.synchronize().expect("done");
        assert_eq!(total.as_host_vec().expect("copied"), [expected]);
    }
    assert_eq!(back, [1, 2, 7, 7]);

    let mut outer = Graph::new(GraphCreationFlags::NONE).expect("a graph");
    let first = outer.add_child_graph_node(&graph, []).expect("a node");
    outer.add_child_graph_node(&graph, [first]).expect("a node");
    drop(graph);
    let exec = outer.instantiate().expect("an executable graph");
    // SAFETY: the module and the memory that the nodes use stay alive until the launch is done.
    unsafe { exec.launch(&stream) }.expect("runs");
    assert_eq!(total.as_host_vec().expect("copied"), [68]);

    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph.dot");
    outer.dump_debug_dotfile(&path).expect("a file");
    assert!(fs::read_to_string(path).expect("a file").starts_with("digraph"));
}

#[test]
fn wrong_nodes_are_refused() {
    let _context = cpu();
    let module = module();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let [mut graph, mut other] =
        [(); 2].map(|()| Graph::new(GraphCreationFlags::NONE).expect("a graph"));
    let (own, foreign) = (graph.add_empty_node([]), other.add_empty_node([]));
    let (own, foreign) = (own.expect("a node"), foreign.expect("a node"));
    assert_eq!(graph.is_valid_node(foreign), Ok(false));
    let invalid = CudaError::InvalidValue;
    assert_eq!(graph.add_empty_node([foreign]), Err(invalid));
    assert_eq!(graph.add_empty_node([own, own]), Err(invalid));
    assert_eq!(graph.kernel_node_params(own).map(drop), Err(invalid));
    let few = kernel_invocation!(module.sum<<<1, 4, 0, stream>>>(4_usize)).expect("a kernel");
    // SAFETY: the CPU checks the number of arguments, so this call fails and adds no node.
    assert_eq!(unsafe { graph.add_kernel_node(few, []) }, Err(invalid));

    // A fill beyond the end of the buffer makes the launch fail.
    let data = DeviceBuffer::<u32>::zeroed(4).expect("memory");
    let at = GpuBuffer::as_device_ptr(&data);
    graph.add_memset_node(at, 1_u32, 5, []).expect("a node");
    let exec = graph.instantiate().expect("an executable graph");
    // SAFETY: the CPU checks the range of the fill and writes nothing out of bounds.
    assert_eq!(unsafe { exec.launch(&stream) }, Err(invalid));
    assert_eq!(stream.begin_capture(StreamCaptureMode::Global), Err(CudaError::NotSupported));
    assert_eq!(stream.end_capture().map(drop), Err(CudaError::NotSupported));
}
