//! HTTP/1.1 by hand: bytes that go over a connection, and what is read of those that come back.

use std::io;
use std::net::SocketAddr;

use axum::body::Body;
use axum::response::Response;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

type Connection = BufReader<TcpStream>;

/// Sends a request; gives the response as it begins. Whoever drops its body closes the connection.
pub(super) async fn exchange(address: SocketAddr, request: &str) -> Response {
    let mut connection = BufReader::new(TcpStream::connect(address).await.unwrap());
    // Who refuses a request need not take all of it; the response says what happened.
    let _ = connection.write_all(request.as_bytes()).await;
    let (head, length) = head(&mut connection).await.expect("the head of a response");
    let body = match length {
        Length::Chunked => Body::from_stream(stream::unfold(Some(connection), next)),
        Length::Bytes(length) => {
            let mut bytes = vec![0; length];
            connection.read_exact(&mut bytes).await.expect("the whole body");
            Body::from(bytes)
        }
    };
    head.map(|()| body)
}

/// How the end of a body is found.
enum Length {
    Bytes(usize),
    Chunked,
}

async fn head(connection: &mut Connection) -> io::Result<(http::Response<()>, Length)> {
    let first = line(connection).await?;
    let status = first.strip_prefix("HTTP/1.1 ").expect("a status line").get(..3);
    let mut head = http::Response::builder().status(status.expect("a status"));
    loop {
        let line = line(connection).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").expect("a header");
        head = head.header(name, value);
    }
    let head = head.body(()).unwrap();
    let length = match head.headers().get(TRANSFER_ENCODING) {
        Some(coding) => {
            assert_eq!(coding, "chunked");
            Length::Chunked
        }
        None => Length::Bytes(match head.headers().get(CONTENT_LENGTH) {
            Some(length) => length.to_str().unwrap().parse().unwrap(),
            None => 0,
        }),
    };
    Ok((head, length))
}

/// The next chunk of a body; none after the last. A connection that ends before is an error.
async fn next(connection: Option<Connection>) -> Option<(io::Result<Vec<u8>>, Option<Connection>)> {
    let mut connection = connection?;
    match chunk(&mut connection).await {
        Ok(bytes) if bytes.is_empty() => None,
        Ok(bytes) => Some((Ok(bytes), Some(connection))),
        Err(error) => Some((Err(error), None)),
    }
}

async fn chunk(connection: &mut Connection) -> io::Result<Vec<u8>> {
    let size = line(connection).await?;
    let mut bytes = vec![0; usize::from_str_radix(&size, 16).expect("the size of a chunk")];
    connection.read_exact(&mut bytes).await?;
    assert_eq!(line(connection).await?, "", "the end of a chunk");
    Ok(bytes)
}

/// A line without its end.
async fn line(connection: &mut Connection) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line).await?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
