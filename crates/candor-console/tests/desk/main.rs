//! What an operator does through the console: calls that wait are decided, what happened is looked at; and who may do so.

#![allow(missing_docs)]

mod alone;
mod approvals;
mod desk;
mod grants;
mod history;
mod hostile;
mod resolving;
mod roles;
#[allow(dead_code)]
#[path = "../rest/site.rs"]
mod site;
