//! How `#[tool]` finds out what a function returns.
//!
//! A function may return content, a type that defines how it is sent, or any type that serializes and has a schema. It may return
//! any of these in a `Result`. No single trait can express that: the cases overlap, and Rust does not let one be preferred. Method
//! lookup does: it tries receivers with fewer references last. So each case is a trait for one reference less than the case before
//! it, and `(&&&&&probe).kind()` finds the first that applies. Only code that the macro writes calls these traits.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;

use candor_schema::OutputSchema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Blocks, Carried, IntoOutput, Output, ToolError};

/// A value on which method lookup finds the case of a type.
pub struct Probe<T>(Unknown<T>);

/// A type that no case applies to.
pub struct Unknown<T>(PhantomData<fn() -> T>);

/// Returns a probe for a type.
#[must_use]
pub fn probe<T>() -> Probe<T> {
    Probe(Unknown(PhantomData))
}

/// Returns a probe for the type of a value.
#[must_use]
pub fn probe_of<T>(_: &T) -> Probe<T> {
    probe()
}

impl<T> Deref for Probe<T> {
    type Target = Unknown<T>;

    fn deref(&self) -> &Unknown<T> {
        &self.0
    }
}

macro_rules! marker {
    ($($(#[$meta:meta])* $name:ident<$($param:ident),*>;)*) => {$(
        $(#[$meta])*
        pub struct $name<$($param),*>(PhantomData<fn() -> ($($param,)*)>);

        impl<$($param),*> Clone for $name<$($param),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($param),*> Copy for $name<$($param),*> {}
    )*};
}
marker! {
    /// A value that must be awaited.
    Waited<T>;
    /// A value that is ready.
    There<T>;
    /// A return type that is a `Result`.
    Fallible<T, E>;
    /// Any other return type.
    Sure<T>;
    /// A value that defines how it is sent.
    BySelf<T>;
    /// A value that is sent as its JSON.
    ByJson<T>;
    /// Something to show, and a value for programs beside it.
    ByPair<A, B>;
    /// Content, and a value for programs beside it.
    Beside<A, B>;
    /// A value that cannot be sent. The compiler reports it.
    Unsendable<T>;
    /// An error that converts into a `ToolError`.
    KnownError<E>;
    /// An error that is a text for the caller.
    TextError<E>;
    /// Any other error: for the log.
    OtherError<E>;
    /// A type that cannot be an error. The compiler reports it.
    NoError<E>;
}

/// First choice: the return value of an async function.
pub trait MadeFuture<T> {
    /// Returns how to get its value.
    fn made(&self) -> Waited<T>;
}

impl<T: Future> MadeFuture<T> for &Probe<T> {
    fn made(&self) -> Waited<T> {
        Waited(PhantomData)
    }
}

/// Second choice: the return value of any other function.
pub trait MadeValue<T> {
    /// Returns how to get its value.
    fn made(&self) -> There<T>;
}

impl<T> MadeValue<T> for Probe<T> {
    fn made(&self) -> There<T> {
        There(PhantomData)
    }
}

impl<T: Future> Waited<T> {
    /// Returns the future of the value.
    pub fn settle(self, made: T) -> T {
        made
    }
}

impl<T> There<T> {
    /// Returns the value as a ready future.
    pub fn settle(self, made: T) -> std::future::Ready<T> {
        std::future::ready(made)
    }
}

/// First choice: a `Result`.
pub trait SplitResult<T, E> {
    /// Returns the case of the type.
    fn split(&self) -> Fallible<T, E>;
}

impl<T, E> SplitResult<T, E> for &Probe<Result<T, E>> {
    fn split(&self) -> Fallible<T, E> {
        Fallible(PhantomData)
    }
}

/// Second choice: any other type.
pub trait SplitOther<T> {
    /// Returns the case of the type.
    fn split(&self) -> Sure<T>;
}

impl<T> SplitOther<T> for Probe<T> {
    fn split(&self) -> Sure<T> {
        Sure(PhantomData)
    }
}

impl<T, E> Fallible<T, E> {
    /// Returns a probe for the value.
    #[must_use]
    pub fn value(self) -> Probe<T> {
        probe()
    }

    /// Returns a probe for the error.
    #[must_use]
    pub fn error(self) -> Probe<E> {
        probe()
    }

    /// Returns the function's value, or its error.
    pub fn open(self, returned: Result<T, E>) -> Result<T, E> {
        returned
    }
}

impl<T> Sure<T> {
    /// Returns a probe for the value.
    #[must_use]
    pub fn value(self) -> Probe<T> {
        probe()
    }

    /// Returns a probe for an error that never occurs.
    #[must_use]
    pub fn error(self) -> Probe<std::convert::Infallible> {
        probe()
    }

    /// Returns the function's value.
    pub fn open(self, returned: T) -> Result<T, std::convert::Infallible> {
        Ok(returned)
    }
}

/// How a value of a type is sent.
pub trait Send<T> {
    /// Returns the schema of its structured content.
    fn schema(self) -> Option<OutputSchema>;

    /// Converts the value into an output, carried as the schema says.
    fn send(self, value: T, carried: Carried) -> Result<Output, ToolError>;
}

/// Text. It could be sent without a schema, but has one, like every other scalar.
pub trait Text: Serialize + JsonSchema {}
impl Text for String {}
impl Text for &str {}
impl Text for Box<str> {}
impl Text for Cow<'_, str> {}

/// First choice: text.
pub trait KindText<T> {
    /// Returns how it is sent.
    fn kind(&self) -> ByJson<T>;
}

impl<T: Text> KindText<T> for &&&&Probe<T> {
    fn kind(&self) -> ByJson<T> {
        ByJson(PhantomData)
    }
}

/// Second choice: a type that defines how it is sent.
pub trait KindSelf<T> {
    /// Returns how it is sent.
    fn kind(&self) -> BySelf<T>;
}

impl<T: IntoOutput> KindSelf<T> for &&&Probe<T> {
    fn kind(&self) -> BySelf<T> {
        BySelf(PhantomData)
    }
}

/// Third choice: content, and a value beside it.
pub trait KindBeside<A, B> {
    /// Returns how it is sent.
    fn kind(&self) -> Beside<A, B>;
}

impl<A: Blocks, B: Serialize + JsonSchema> KindBeside<A, B> for &&Probe<(A, B)> {
    fn kind(&self) -> Beside<A, B> {
        Beside(PhantomData)
    }
}

/// Fourth choice: any other pair.
pub trait KindPair<A, B> {
    /// Returns how it is sent.
    fn kind(&self) -> ByPair<A, B>;
}

impl<A: Serialize + JsonSchema, B: Serialize + JsonSchema> KindPair<A, B> for &Probe<(A, B)> {
    fn kind(&self) -> ByPair<A, B> {
        ByPair(PhantomData)
    }
}

/// Fifth choice: any type that serializes and has a schema.
pub trait KindJson<T> {
    /// Returns how it is sent.
    fn kind(&self) -> ByJson<T>;
}

impl<T: Serialize + JsonSchema> KindJson<T> for Probe<T> {
    fn kind(&self) -> ByJson<T> {
        ByJson(PhantomData)
    }
}

/// Last choice: makes the compiler report what a tool may return.
pub trait KindNone<T> {
    /// Never called.
    fn kind(&self) -> Unsendable<T>
    where
        T: Sendable;
}

impl<T> KindNone<T> for Unknown<T> {
    fn kind(&self) -> Unsendable<T>
    where
        T: Sendable,
    {
        Unsendable(PhantomData)
    }
}

/// What a tool may return. It exists only for the compiler's message.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not something that a caller could be sent",
    note = "put `#[candor::args]` on your type, or derive `serde::Serialize` and `schemars::JsonSchema` for it",
    note = "or return text, `Content`, a list of `Content`, or an `Output`; or implement `IntoOutput`"
)]
pub trait Sendable {}

impl<T> Send<T> for Unsendable<T> {
    fn schema(self) -> Option<OutputSchema> {
        None
    }

    fn send(self, _value: T, _carried: Carried) -> Result<Output, ToolError> {
        unreachable!("the compiler refuses this type")
    }
}

impl<T: IntoOutput> Send<T> for BySelf<T> {
    fn schema(self) -> Option<OutputSchema> {
        T::schema()
    }

    fn send(self, value: T, _carried: Carried) -> Result<Output, ToolError> {
        value.into_output()
    }
}

impl<T: Serialize + JsonSchema> Send<T> for ByJson<T> {
    fn schema(self) -> Option<OutputSchema> {
        candor_schema::output::<T>()
    }

    fn send(self, value: T, carried: Carried) -> Result<Output, ToolError> {
        Ok(carry(json(&value)?, carried))
    }
}

impl<A: Blocks, B: Serialize + JsonSchema> Send<(A, B)> for Beside<A, B> {
    fn schema(self) -> Option<OutputSchema> {
        candor_schema::output::<B>()
    }

    fn send(self, (shown, value): (A, B), carried: Carried) -> Result<Output, ToolError> {
        let mut output = shown.into_output()?;
        output.structured = match json(&value)? {
            object @ Value::Object(_) if carried == Carried::AsItComes => Some(object),
            other => carry(other, carried).structured,
        };
        Ok(output)
    }
}

impl<A: Serialize + JsonSchema, B: Serialize + JsonSchema> Send<(A, B)> for ByPair<A, B> {
    fn schema(self) -> Option<OutputSchema> {
        match candor_schema::output::<B>() {
            Some(OutputSchema { boxed: true, .. }) => candor_schema::output::<(A, B)>(),
            object_or_unknown => object_or_unknown,
        }
    }

    /// Sends something to show and a value beside it, if that value is an object; else a list of both.
    fn send(self, (shown, value): (A, B), carried: Carried) -> Result<Output, ToolError> {
        let (shown, value) = (json(&shown)?, json(&value)?);
        if carried == Carried::Bare || (carried == Carried::AsItComes && value.is_object()) {
            let mut output = Output::of(shown, true);
            output.structured = Some(value);
            return Ok(output);
        }
        Ok(Output::of(Value::Array(vec![shown, value]), true))
    }
}

fn carry(value: Value, carried: Carried) -> Output {
    match carried {
        Carried::Bare => Output::of(value, false),
        Carried::Boxed => Output::of(value, true),
        Carried::AsItComes => Output::of_any(value),
    }
}

fn json(value: &impl Serialize) -> Result<Value, ToolError> {
    candor_schema::write(value)
        .map_err(|e| ToolError::internal(format!("the result cannot be written as JSON: {e}")))
}

/// The conversion of an error into a `ToolError`.
pub trait Convert<E> {
    /// Converts the error.
    fn convert(self, error: E) -> ToolError;
}

/// First choice: an error that converts.
pub trait ErrorKnown<E> {
    /// Returns how it converts.
    fn error_kind(&self) -> KnownError<E>;
}

impl<E: Into<ToolError>> ErrorKnown<E> for &&Probe<E> {
    fn error_kind(&self) -> KnownError<E> {
        KnownError(PhantomData)
    }
}

/// Second choice: text, which its author wrote for the caller.
pub trait ErrorText<E> {
    /// Returns how it converts.
    fn error_kind(&self) -> TextError<E>;
}

impl<E: AsRef<str>> ErrorText<E> for &Probe<E> {
    fn error_kind(&self) -> TextError<E> {
        TextError(PhantomData)
    }
}

/// Third choice: anything that can be displayed, for the log.
pub trait ErrorOther<E> {
    /// Returns how it converts.
    fn error_kind(&self) -> OtherError<E>;
}

impl<E: Display> ErrorOther<E> for Probe<E> {
    fn error_kind(&self) -> OtherError<E> {
        OtherError(PhantomData)
    }
}

/// Last choice: makes the compiler report which errors a tool may return.
pub trait ErrorNone<E> {
    /// Never called.
    fn error_kind(&self) -> NoError<E>
    where
        E: ReturnedError;
}

impl<E> ErrorNone<E> for Unknown<E> {
    fn error_kind(&self) -> NoError<E>
    where
        E: ReturnedError,
    {
        NoError(PhantomData)
    }
}

/// What a tool may fail with. It exists only for the compiler's message.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "nothing in it that could be told or logged",
    note = "return `Result<_, ToolError>`: `ToolError::new(…)` is for the caller to read, and `?` hides any other error",
    note = "or implement `std::error::Error` for `{Self}`, whose text goes to the log, or `From<{Self}>` for `ToolError`"
)]
pub trait ReturnedError {}

impl<E> Convert<E> for NoError<E> {
    fn convert(self, _error: E) -> ToolError {
        unreachable!("the compiler refuses this type")
    }
}

impl<E: Into<ToolError>> Convert<E> for KnownError<E> {
    fn convert(self, error: E) -> ToolError {
        error.into()
    }
}

impl<E: AsRef<str>> Convert<E> for TextError<E> {
    fn convert(self, error: E) -> ToolError {
        ToolError::new(error.as_ref().to_owned())
    }
}

impl<E: Display> Convert<E> for OtherError<E> {
    fn convert(self, error: E) -> ToolError {
        // In the alternate form, errors that wrap others name them all.
        ToolError::internal(format_args!("{error:#}"))
    }
}
