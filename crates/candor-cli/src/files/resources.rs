//! The files of a folder as resources.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor::Ctx;
use candor::protocol::Principal;
use candor::protocol::types::{ReadResourceResult, Resource, ResourceContents};
use candor::resource::Resources;
use candor::tool::{ProviderError, ToolError};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::folder::Folder;

/// What a path in a `file:` URI may not hold as it is.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

pub(super) struct FolderResources {
    folder: Arc<Folder>,
    /// `file:///…/`, before every path.
    base: String,
}

impl FolderResources {
    pub(super) fn new(folder: Arc<Folder>) -> Self {
        let root = folder.root().to_string_lossy().trim_end_matches('/').to_owned();
        let base = format!("file://{}/", utf8_percent_encode(&root, ENCODED));
        Self { folder, base }
    }

    fn path_of(&self, uri: &str) -> Option<String> {
        let path = percent_decode_str(uri.strip_prefix(&self.base)?).decode_utf8().ok()?;
        (!path.is_empty()).then(|| path.into_owned())
    }
}

impl Resources for FolderResources {
    fn list<'a>(
        &'a self,
        _: &'a Principal,
    ) -> candor::BoxFuture<'a, Result<Vec<Resource>, ProviderError>> {
        let resource = |file: super::folder::Listed| {
            let uri = format!("{}{}", self.base, utf8_percent_encode(&file.path, ENCODED));
            let mut resource = Resource::new(uri, file.path.as_str());
            resource.mime_type = Some(media_type(&file.path));
            resource.size = Some(file.size.into());
            resource
        };
        let listed = self.folder.files().into_iter().map(resource).collect();
        Box::pin(std::future::ready(Ok(listed)))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: Ctx,
    ) -> candor::BoxFuture<'a, Result<Option<ReadResourceResult>, ToolError>> {
        let Some(path) = self.path_of(uri) else {
            return Box::pin(std::future::ready(Ok(None)));
        };
        let read = match self.folder.read(&path) {
            Ok(bytes) => {
                let kind = media_type(&path);
                let contents = match String::from_utf8(bytes) {
                    Ok(text) => ResourceContents::of_text(uri, kind, text),
                    Err(error) => {
                        ResourceContents::of_blob(uri, kind, STANDARD.encode(error.as_bytes()))
                    }
                };
                Ok(Some(ReadResourceResult::new(vec![contents])))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ToolError::new(format!("{path}: {error}"))),
        };
        Box::pin(std::future::ready(read))
    }
}

fn media_type(path: &str) -> String {
    let named = mime_guess::from_path(Path::new(path)).first();
    named.map_or_else(|| "application/octet-stream".to_owned(), |m| m.essence_str().to_owned())
}
