//! Pages for people: a file for each.
//!
//! # What tests may rely on
//!
//! Attributes that stay, whatever the pages look like. `data-testid` names a thing, `data-state` says how it stands.
//!
//! | page | `data-testid` |
//! |---|---|
//! | all | `login`, `login-error`, `read-only`, `log-in-again`, `lost`, `still-in` |
//! | tools | `tools` with a `tool` for each, `search`, `filters`, `nothing-found`, `no-tools`; `data-verdict` at each line |
//! | a tool | `signature`, `bench`, `form`, `view-form`, `view-json`, `raw`, `raw-error`, `key`, `errors` |
//! | – acting | `call`, `preview`, `validate`, `checked`, `cancel`, `cannot-call`; `confirm`, `confirm-effect`, `confirm-arguments`, `confirm-undo`, `confirm-cancel`, `confirm-call` |
//! | – foresight | `foresight` (state `worst`, `partial`, `exact`, `unknown`; `data-verdict`), `verdict`, `valid` (`data-valid`), `approval`, `standing` (state as in the API), `hints` (`data-hint` at each line), `answer`, `preview-tool`, `undo-tool`, `instead-tool` |
//! | – the result | `result` (state `not-run`, `running`, `ok`, `empty`, `error`, `waiting`, `cancelled`, `unknown`), `result-says`, `structured`, `raw-result` |
//! | – elsewhere | `as-curl`, `as-candor`, `as-mcp`, `as-link`, `effects`, `reference` |
//! | approvals | `decided`, `question`, `more`, `undo`, `arguments`, `author`, `preview`, `permit`, `rule`, `no-rules`, `nothing-waits` |
//! | history | `history` with a `call` for each (state `done`, `failed`, `refused`, `replayed`, `running`, `waiting`, `unknown`, `other`), `export`, `mistaken` |
//! | – one operation | `stands` (state as above), `resolve`, `story`, `result` |
//! | resources | `tree`, `tree-says`, `icon`, `changed`, `resource` (state `none`, `loading`, `known`, `loaded`, `empty`, `error`), `metadata`, `load`, `content`, `alternatives`, `no-resources` |
//! | the server | `instructions`, `health`, `revisions`, `asks`, `ledger`, `for-claude`, `for-servers`, `for-vscode`, `sessions`, `capabilities` |
//!
//! In a form, each field has `data-kind` and `data-name`. The page of a tool takes `#args=` and JSON, the tree `#uri=`.

pub(crate) mod approvals;
pub(crate) mod assets;
pub(crate) mod history;
pub(crate) mod operation;
pub(crate) mod resources;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod tool;
pub(crate) mod tools;

pub(crate) use shell::problem;
