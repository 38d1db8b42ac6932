//! Values that a server shares with its handlers.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use candor_protocol::Principal;

use super::Ctx;
use crate::error::ToolError;

/// A value that was given to the server with `Server::state`, as a parameter of a handler.
///
/// It is not an argument: no schema contains it, and no caller can send it. Cloning shares the value.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use candor_server::{Server, tool::JsonTool};
/// use serde_json::json;
///
/// struct Greeting(&'static str);
///
/// // With `#[tool]` it is a parameter, `greeting: State<Greeting>`. Elsewhere, take it from the context.
/// let greet = JsonTool::open("greet", |_, ctx| async move { Ok(ctx.state::<Greeting>()?.0) });
/// let client = Server::new("greeter", "1.0.0").state(Greeting("Hello!")).tool(greet).test();
/// assert_eq!(client.call("greet", json!({})).await.text(), "Hello!");
/// # }
/// ```
pub struct State<T: ?Sized>(Arc<T>);

impl<T: ?Sized> State<T> {
    /// Returns the value, for use beyond the call.
    #[must_use]
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for State<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The values of a server, one of each type.
#[derive(Default, Clone)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    /// Returns the first of these types that the server does not have.
    pub(crate) fn missing<'a>(&self, needs: &'a [Need]) -> Option<&'a Need> {
        needs.iter().find(|need| !self.0.contains_key(&need.id))
    }
}

/// A type of state that a handler needs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    id: TypeId,
    name: &'static str,
}

impl Need {
    /// Creates the need for a `State<T>`.
    #[must_use]
    pub fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// Returns the type's name, for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.name
    }
}

/// A parameter that comes from the server, not from the caller: [`Ctx`], [`State`], `Principal`, or your own type that is marked
/// with `#[inject]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be injected",
    label = "the server does not know where to take it from",
    note = "implement `FromCtx` for it, or take it as `State<{Self}>`",
    note = "if the caller should send it, take `#[inject]` away; a type of yours needs another name than `Ctx`, `State<…>` or `Principal`"
)]
pub trait FromCtx: Sized {
    /// Extracts it from the context of a call.
    fn from_ctx(ctx: &Ctx) -> Result<Self, ToolError>;

    /// Returns the state that it needs. Checked when the server is built.
    #[must_use]
    fn needs() -> Option<Need> {
        None
    }
}

impl FromCtx for Ctx {
    fn from_ctx(ctx: &Ctx) -> Result<Self, ToolError> {
        Ok(ctx.clone())
    }
}

impl FromCtx for Principal {
    fn from_ctx(ctx: &Ctx) -> Result<Self, ToolError> {
        Ok(ctx.principal().clone())
    }
}

impl<T: Send + Sync + 'static> FromCtx for State<T> {
    fn from_ctx(ctx: &Ctx) -> Result<Self, ToolError> {
        ctx.state()
    }

    fn needs() -> Option<Need> {
        Some(Need::of::<T>())
    }
}

impl State<()> {
    pub(crate) fn of<T: Send + Sync + 'static>(states: &States) -> Result<State<T>, ToolError> {
        // The build checks the tools of a fixed list. The tool of a provider may lack its state.
        states.get::<T>().map(State).ok_or_else(|| {
            ToolError::internal(format!(
                "no State<{}>: give the server one with `.state(…)`",
                type_name::<T>()
            ))
        })
    }
}
