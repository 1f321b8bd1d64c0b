//! Runs the service as a process, and sends it requests as a minimal HTTP/1.0 client with one connection per request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running service and its address. Dropping it kills the service.
pub(crate) struct Service {
    child: Child,
    address: String,
}

/// A response of the service: its status, content type and body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) body: Vec<u8>,
}

/// Returns the body of a form with the boundary `X`.
pub(crate) fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, content) in parts {
        let disposition = format!("form-data; name=\"{name}\"; filename=\"a\"");
        let head = format!("--X\r\nContent-Disposition: {disposition}\r\n\r\n");
        form.extend([head.as_bytes(), content, b"\r\n"].concat());
    }
    form.extend(b"--X--\r\n");
    form
}

/// Returns the head of a `POST /stitch` request with a form of `length` bytes, and the bytes `sent` of its body.
pub(crate) fn beginning(length: usize, sent: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /stitch HTTP/1.0\r\nContent-Length: {length}\r\n\
         Content-Type: multipart/form-data; boundary=X\r\n\r\n"
    );
    [head.as_bytes(), sent].concat()
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Service {
    /// Starts the service on the CPU device and a free port. Waits until it prints its address.
    pub(crate) fn start() -> Self {
        Self::start_with(Command::new(env!("CARGO_BIN_EXE_service")), "", &[])
    }

    /// Starts the service like [`start`](Self::start), with a rig or homography file.
    pub(crate) fn start_rig(file: &str) -> Self {
        Self::start_with(Command::new(env!("CARGO_BIN_EXE_service")), file, &[])
    }

    /// Starts the service with limits: the number of connections of one address, and the memory in MiB.
    pub(crate) fn start_small(per_address: usize, memory: usize) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_service"));
        Self::start_with(command, "", &[per_address.to_string(), memory.to_string()])
    }

    /// Starts the service like [`start`](Self::start), with limits on the number of its descriptors and on the number
    /// of connections of one address.
    pub(crate) fn start_limited(descriptors: u32, per_address: usize) -> Self {
        let mut command = Command::new("sh");
        let service = env!("CARGO_BIN_EXE_service");
        let script = format!("ulimit -n {descriptors}; exec {service} \"$@\"");
        command.args(["-c", &script, "sh"]);
        Self::start_with(command, "", &[per_address.to_string()])
    }

    fn start_with(mut command: Command, file: &str, limits: &[String]) -> Self {
        command.args(["127.0.0.1:0", file, "cpu"]).args(limits).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("serving on http://").expect("the service prints its address");
        Self { address: address.to_owned(), child }
    }

    /// Sends a request and returns the status, the content type and the connection, positioned at the response body.
    pub(crate) fn open(&self, head: &str, body: &[u8]) -> (u16, String, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        write!(stream, "{head} HTTP/1.0\r\nContent-Length: {length}\r\n").unwrap();
        let boundary = "Content-Type: multipart/form-data; boundary=X\r\n\r\n";
        stream.write_all(boundary.as_bytes()).unwrap();
        // Ignore an error, because the service may answer and close the connection before it has read the whole body.
        drop(stream.write_all(body));
        let mut reader = BufReader::new(stream);
        let (mut status, mut kind) = (0, String::new());
        for line in reader.by_ref().lines() {
            let line = line.unwrap();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.0 ") {
                status = rest.split(' ').next().unwrap().parse().unwrap();
            }
            if let Some(value) = line.strip_prefix("content-type: ") {
                kind = value.to_owned();
            }
        }
        (status, kind, reader)
    }

    /// Opens a connection and sends nothing.
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Opens a connection, and sends bytes.
    pub(crate) fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // Ignore an error, because the service may close the connection before it has read everything.
        drop(stream.write_all(bytes));
        stream
    }

    /// Opens a connection from the client address 127.0.0.2, and sends bytes.
    pub(crate) fn send_from_elsewhere(&self, bytes: &[u8]) -> TcpStream {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let connecting = socket.connect(self.address.parse().unwrap());
        let mut stream = runtime.block_on(connecting).unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        drop(stream.write_all(bytes));
        stream
    }

    /// Returns the status line of a response to a request from the client address 127.0.0.2.
    pub(crate) fn get_from_elsewhere(&self, path: &str) -> String {
        let stream = self.send_from_elsewhere(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }

    /// Starts a `POST /stitch` request without finishing it. The head announces a form of `length` bytes, but only the
    /// bytes `sent` follow.
    pub(crate) fn begin(&self, length: usize, sent: &[u8]) -> TcpStream {
        self.send(&beginning(length, sent))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let (status, kind, mut reader) = self.open(&format!("GET {path}"), b"");
        let mut body = Vec::new();
        reader.read_to_end(&mut body).unwrap();
        Answer { status, kind, body }
    }

    pub(crate) fn post(&self, parts: &[(&str, &[u8])]) -> Answer {
        self.post_raw(&form(parts))
    }

    pub(crate) fn post_raw(&self, form: &[u8]) -> Answer {
        let (status, kind, mut reader) = self.open("POST /stitch", form);
        let mut body = Vec::new();
        // Ignore an error: if the service did not read the whole request, the connection is reset.
        drop(reader.read_to_end(&mut body));
        Answer { status, kind, body }
    }

    /// Sends a signal, of which Ctrl-C is `-INT`, and returns the exit status. Panics if the service takes longer than
    /// 20 seconds to end.
    pub(crate) fn end(&mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let most = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < most, "the service does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
