//! The stdio transport, with what rmcp leaves to the server's author.
//!
//! In: the two ends of a pipe. Out: a transport whose opening exchange pins the protocol era (legacy `initialize`, or
//! modern 2026-07-28), which survives messages before the first request, and which tells at once when the client is
//! gone. What the messages mean is left to the handler.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestMetaObject},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A line of the client longer than this, in bytes, is dropped.
const LINE_BYTES: usize = 32 << 20;
/// The prefix of the envelope's keys in `_meta`.
const ENVELOPE: &str = "io.modelcontextprotocol/";

/// Builds the transport; `gone` is cancelled as soon as the client closes its end.
pub fn over<R, W>(
    reader: R,
    writer: W,
    gone: CancellationToken,
) -> impl Transport<RoleServer, Error = io::Error>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let reader = Watched { inner: reader, gone };
    let inner = AsyncRwTransport::new_server(reader, writer).with_max_line_length(LINE_BYTES);
    Pinned { inner, era: Era::Opening }
}

/// A reader that tells of its end at once: rmcp drains for seconds before it cancels what runs.
struct Watched<R> {
    inner: R,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let ended = match &polled {
            Poll::Ready(Ok(())) => buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.gone.cancel();
        }
        polled
    }
}

/// Which protocol the connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    /// No request has settled it.
    Opening,
    /// `initialize` came first.
    Legacy,
    /// A request with the envelope of 2026-07-28 came first.
    Modern,
}

/// A transport that keeps to the era of its opening exchange.
///
/// See <https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle>.
struct Pinned<T> {
    inner: T,
    era: Era,
}

/// What becomes of a request.
enum Verdict {
    Pass,
    Answer(ErrorData),
}

fn modern_versions() -> Vec<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| !version.has_initialize()).cloned().collect()
}

impl<T> Pinned<T> {
    fn judge(&mut self, request: &mut ClientRequest) -> Verdict {
        if is_malformed_initialize(request) {
            return Verdict::Answer(ErrorData::invalid_params("malformed params for initialize", None));
        }
        let claimed = request.get_meta().protocol_version();
        let unsupported =
            |version| Verdict::Answer(ErrorData::unsupported_protocol_version(version, &modern_versions()));
        match self.era {
            Era::Legacy => Self::judge_legacy(request),
            Era::Opening if matches!(request, ClientRequest::InitializeRequest(_)) => {
                self.era = Era::Legacy;
                Verdict::Pass
            }
            Era::Opening | Era::Modern => {
                if let ClientRequest::InitializeRequest(initialize) = request {
                    return unsupported(initialize.params.protocol_version.clone());
                }
                match claimed {
                    Some(version) if !modern_versions().contains(&version) => unsupported(version),
                    Some(_) if selects_modern(request) => {
                        self.era = Era::Modern;
                        Verdict::Pass
                    }
                    // Without an envelope rmcp answers that it is missing.
                    Some(_) | None => Verdict::Pass,
                }
            }
        }
    }

    fn judge_legacy(request: &mut ClientRequest) -> Verdict {
        if matches!(request, ClientRequest::DiscoverRequest(_)) {
            let message = "Method not found: server/discover";
            return Verdict::Answer(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        // An envelope means nothing here: the request is served as the legacy one it is.
        request.get_meta_mut().0.retain(|key, _| !key.starts_with(ENVELOPE));
        Verdict::Pass
    }
}

/// rmcp hands malformed parameters of a known method over as an unknown request.
fn is_malformed_initialize(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::CustomRequest(custom) if custom.method == "initialize")
}

/// Whether a request settles the era: a probe (`server/discover`) and a ping do not.
fn selects_modern(request: &ClientRequest) -> bool {
    let probe = matches!(request, ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_));
    !probe && is_complete(request.get_meta())
}

fn is_complete(envelope: &RequestMetaObject) -> bool {
    envelope.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Pinned<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    // rmcp drops and makes this future anew at will; after a message was taken nothing is awaited here.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.inner.receive().await? {
                JsonRpcMessage::Request(mut message) => match self.judge(&mut message.request) {
                    Verdict::Pass => return Some(JsonRpcMessage::Request(message)),
                    Verdict::Answer(error) => {
                        let answer = self.inner.send(JsonRpcMessage::error(error, Some(message.id)));
                        drop(tokio::spawn(answer));
                    }
                },
                // rmcp would end the process over a notification or a response that comes first.
                JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
                    if self.era == Era::Opening => {}
                other @ (JsonRpcMessage::Notification(_)
                | JsonRpcMessage::Response(_)
                | JsonRpcMessage::Error(_)) => {
                    return Some(other);
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
