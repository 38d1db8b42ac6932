//! Pages for users: a file for each.
//!
//! # What tests may rely on
//!
//! These attributes stay the same, whatever the pages look like. `data-testid` names an element, `data-state` has its state.
//!
//! | page | `data-testid` |
//! |---|---|
//! | all | `login`, `login-error`, `read-only`, `log-in-again`, `lost`, `still-in` |
//! | tools | `tools` with a `tool` for each, `search`, `filters`, `nothing-found`, `no-tools`, `schema-problem`; `data-verdict` at each line |
//! | a tool | `signature`, `schema-problem`, `bench`, `form`, `view-form`, `view-json`, `raw`, `raw-error`, `key`, `errors` |
//! | – acting | `call`, `preview`, `validate`, `checked`, `cancel`, `cannot-call`; `confirm`, `confirm-effect`, `confirm-arguments`, `confirm-undo`, `confirm-cancel`, `confirm-call` |
//! | – effect and decision | `foresight` (state `worst`, `partial`, `exact`, `unknown`; `data-verdict`), `verdict`, `valid` (`data-valid`), `decision`, `record` (state as in the API), `hints` (`data-hint` at each line), `answer`, `preview-tool`, `undo-tool`, `instead-tool` |
//! | – the result | `result` (state `not-run`, `running`, `ok`, `empty`, `error`, `waiting`, `cancelled`, `unknown`), `result-says`, `structured`, `raw-result` |
//! | – elsewhere | `as-curl`, `as-candor`, `as-mcp`, `as-link`, `effects`, `reference` |
//! | approvals | `decided`, `question`, `more`, `undo`, `arguments`, `author`, `preview`, `grant-similar`, `grant`, `no-grants`, `nothing-waits` |
//! | history | `history` with a `call` for each (state `done`, `failed`, `refused`, `replayed`, `running`, `waiting`, `unknown`, `other`), `export`, `mistaken` |
//! | – one operation | `state` (state as above), `review`, `error`, `arguments`, `resolve`, `timeline`, `result` |
//! | resources | `tree`, `tree-says`, `icon`, `changed`, `resource` (state `none`, `loading`, `known`, `loaded`, `empty`, `error`), `metadata`, `load`, `content`, `alternatives`, `no-resources` |
//! | the server | `instructions`, `health`, `revisions`, `asks`, `ledger`, `for-claude`, `for-servers`, `for-vscode`, `sessions`, `capabilities` |
//!
//! In a form, each field has `data-kind` and `data-name`. The page of a tool takes arguments as JSON in `#args=`, the tree a
//! resource in `#uri=`.

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
