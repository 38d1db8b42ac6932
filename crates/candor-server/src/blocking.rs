//! Work that keeps its thread.

/// Runs it on a thread where nobody else waits for their turn. A panic in it is a panic here.
///
/// # Panics
/// If the work does.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let span = tracing::Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(work)).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and everything with it.
            Err(_) => std::future::pending().await,
        },
    }
}
