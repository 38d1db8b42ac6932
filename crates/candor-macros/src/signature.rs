//! A function as a tool sees it: what the caller sends, what the server provides, what it returns.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, ItemFn, Lifetime, Meta, Pat, PatTupleStruct, PatType,
    PathArguments, ReceiverKind, Result, ReturnType, Signature, Type,
};

use crate::field::{Marks, option_of};

/// What a tool needs to know about a function.
pub(crate) struct Function {
    pub(crate) name: Ident,
    pub(crate) description: Option<String>,
    pub(crate) is_async: bool,
    pub(crate) has_self: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: TokenStream,
}

/// One parameter.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) marks: Marks,
    pub(crate) from: Source,
}

/// Where a parameter's value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A property of the arguments.
    Caller,
    /// All arguments, untyped.
    AllArguments,
    /// The server.
    Server,
}

impl Function {
    /// Reads a function, and removes the attributes of its parameters that only this crate knows.
    pub(crate) fn read(signature: &mut Signature, attributes: &[Attribute]) -> Result<Self> {
        refuse_the_impossible(signature)?;
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut has_self = false;
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    has_self = true;
                    if !matches!(receiver.kind, ReceiverKind::Reference(_, _, None)) {
                        let message = "take `&self`: calls run side by side and share the value";
                        return Err(Error::new(receiver.span(), message));
                    }
                }
                FnArg::Typed(typed) => {
                    let Pat::Ident(pattern) = &*typed.pat else {
                        return Err(Error::new(typed.pat.span(), instead_of_pattern(typed)));
                    };
                    let parameter = Parameter::read(&pattern.ident, &typed.ty, &typed.attrs)?;
                    typed.attrs = parameter.marks.kept.clone();
                    if parameters.iter().any(|earlier| earlier.collides_with(&parameter)) {
                        let message = format!(
                            "two parameters are named `{}`; each is a property of its own, so rename one",
                            parameter.property()
                        );
                        return Err(Error::new(parameter.name.span(), message));
                    }
                    parameters.push(parameter);
                }
            }
        }
        check_all_arguments(&parameters)?;
        let returns = match &signature.output {
            ReturnType::Default => quote!(()),
            ReturnType::Type(_, ty) => {
                if let Some(unnamed) = find(ty, &|ty| matches!(ty, Type::ImplTrait(_))) {
                    let message = "name the type that is returned: its schema is published";
                    return Err(Error::new(unnamed.span(), message));
                }
                refuse_response(ty, has_self)?;
                ty.to_token_stream()
            }
        };
        Ok(Self {
            name: signature.ident.clone(),
            description: doc_of(attributes),
            is_async: signature.asyncness.is_some(),
            has_self,
            parameters,
            returns,
        })
    }

    /// Returns the parameters that the caller sends.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.from == Source::Caller)
    }

    /// Returns true if the function takes all arguments as they are.
    pub(crate) fn takes_all(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.from == Source::AllArguments)
    }
}

impl Parameter {
    fn read(name: &Ident, ty: &Type, attributes: &[Attribute]) -> Result<Self> {
        let marks = Marks::read(attributes)?;
        refuse_extractor(name, ty)?;
        let from = if marks.inject { Source::Server } else { Source::of(ty) };
        if from == Source::Caller {
            refuse_borrowed(ty)?;
        } else if marks.says_something() {
            let message =
                "the caller does not send this parameter, so it has no default and no constraints";
            return Err(Error::new(name.span(), message));
        }
        Ok(Self { name: name.clone(), ty: ty.clone(), marks, from })
    }

    /// Returns the parameter's name for callers.
    pub(crate) fn property(&self) -> String {
        self.marks.renamed.clone().unwrap_or_else(|| self.name.unraw().to_string())
    }

    fn collides_with(&self, other: &Self) -> bool {
        let both_sent = self.from == Source::Caller && other.from == Source::Caller;
        self.name == other.name || (both_sent && self.property() == other.property())
    }

    /// Returns true if it can be all of the arguments by itself, in case it is a struct.
    pub(crate) fn may_be_everything(&self) -> bool {
        !self.marks.says_something() && option_of(&self.ty).is_none()
    }
}

impl Source {
    /// Decides by the type's name, because nothing else is known here.
    fn of(ty: &Type) -> Self {
        let Type::Path(path) = ty else { return Self::Caller };
        let Some(last) = path.path.segments.last() else { return Self::Caller };
        match (last.ident.to_string().as_str(), last.arguments.is_none()) {
            ("Ctx" | "Principal", true) | ("State", false) => Self::Server,
            ("Arguments", true) => Self::AllArguments,
            _ => Self::Caller,
        }
    }
}

/// Refuses the types that handlers of web frameworks take, and says what to write instead.
fn refuse_extractor(name: &Ident, ty: &Type) -> Result<()> {
    let Type::Path(path) = ty else { return Ok(()) };
    let Some(last) = path.path.segments.last() else { return Ok(()) };
    let is_of_axum = path.path.segments.first().is_some_and(|first| first.ident == "axum");
    let message = match (last.ident.to_string().as_str(), within(ty)) {
        // Authors may have their own types with these names.
        ("State" | "Path" | "Query" | "Form", Some(_)) if !is_of_axum => None,
        (wrapper, Some(of)) => {
            instead_of_extractor(wrapper, &name.unraw().to_string(), &written(of))
        }
        ("HeaderMap", None) => {
            let message = "a tool gets no headers: an authenticator reads them, and a handler gets what it \
                           found from `ctx.claims::<T>()`";
            Some(message.to_owned())
        }
        _ => None,
    };
    message.map_or(Ok(()), |message| Err(Error::new(ty.span(), message)))
}

/// Refuses results of handlers of web frameworks, and borrowed results.
fn refuse_response(ty: &Type, has_self: bool) -> Result<()> {
    let is_response = |ty: &Type| is_named(ty, "Json") && within(ty).is_some();
    if let Some(response) = find(ty, &is_response) {
        let of = within(response).map(written).unwrap_or_default();
        let message = format!("return `{of}`: every result is sent as JSON, so it needs no `Json`");
        return Err(Error::new(response.span(), message));
    }
    let is_borrowed_text = |ty: &Type| is_named(ty, "Cow") && is_borrowed(ty);
    match find(ty, &is_borrowed_text).filter(|_| !has_self) {
        Some(borrowed) => {
            let of = within(borrowed).map(owned).unwrap_or_default();
            let message =
                format!("a handler returns what it owns: write `{of}` instead of a `Cow`");
            Err(Error::new(borrowed.span(), message))
        }
        None => Ok(()),
    }
}

/// Returns what to write instead of an extractor of a web framework.
fn instead_of_extractor(wrapper: &str, name: &str, of: &str) -> Option<String> {
    match wrapper {
        "State" | "Extension" => Some(format!(
            "write `{name}: State<{of}>` with the `State` of `candor::prelude`: the server provides the value, \
             and `{name}` dereferences to it"
        )),
        "Json" | "Path" | "Query" | "Form" => Some(format!(
            "write `{name}: {of}`: callers send arguments as one JSON object, so a parameter needs no `{wrapper}`"
        )),
        _ => None,
    }
}

/// Returns how to write a parameter that is destructured, as in handlers of web frameworks.
fn instead_of_pattern(parameter: &PatType) -> String {
    let named = match &*parameter.pat {
        Pat::TupleStruct(PatTupleStruct { path, elems, .. }) => {
            match (path.segments.last(), elems.first(), elems.len()) {
                (Some(wrapper), Some(Pat::Ident(name)), 1) => {
                    Some((wrapper.ident.to_string(), name.ident.to_string()))
                }
                _ => None,
            }
        }
        _ => None,
    };
    let Some((wrapper, name)) = named else {
        return "give the parameter a name: it becomes the property's name".to_owned();
    };
    let of = within(&parameter.ty).map_or_else(|| "T".to_owned(), written);
    instead_of_extractor(&wrapper, &name, &of).unwrap_or_else(|| {
        let ty = written(&parameter.ty);
        format!("write `{name}: {ty}`: a parameter's name becomes the property's name")
    })
}

/// Returns the type as its author would write it.
fn written(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    [" <", "< ", " >", " ,", " ::", ":: ", "& ", "[ ", " ]"]
        .iter()
        .fold(text, |text, spaced| text.replace(spaced, spaced.trim()))
}

/// Returns the last type argument of a type.
fn within(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(inside) = &path.path.segments.last()?.arguments else {
        return None;
    };
    inside.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn refuse_borrowed(ty: &Type) -> Result<()> {
    if let Some(unnamed) = find(ty, &|ty| matches!(ty, Type::ImplTrait(_))) {
        let message = "name the type: callers can only send a type that is known";
        return Err(Error::new(unnamed.span(), message));
    }
    let Some(borrowed) = find(ty, &is_borrowed) else { return Ok(()) };
    let (of, what) = match borrowed {
        Type::Reference(reference) => (Some(&*reference.elem), "a reference"),
        other if is_named(other, "Cow") => (within(other), "a `Cow`"),
        _ => (None, ""),
    };
    let message = match of {
        Some(of) => {
            format!("a handler owns its arguments: write `{}` instead of {what}", owned(of))
        }
        None => "a handler owns its arguments: take a type without a lifetime".to_owned(),
    };
    Err(Error::new(borrowed.span(), message))
}

/// Returns true if values of a type borrow from something, as far as its text shows.
fn is_borrowed(ty: &Type) -> bool {
    let is_static = |lifetime: &Lifetime| lifetime.ident == "static";
    let Type::Path(path) = ty else { return matches!(ty, Type::Reference(_)) };
    let Some(last) = path.path.segments.last() else { return false };
    let PathArguments::AngleBracketed(inside) = &last.arguments else { return false };
    let mut lifetimes = inside.args.iter().filter_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    });
    match lifetimes.next() {
        Some(lifetime) => !is_static(lifetime) || !lifetimes.all(is_static),
        None => last.ident == "Cow",
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// Returns the owned type for a borrowed one.
fn owned(borrowed: &Type) -> String {
    match borrowed {
        Type::Path(path) if path.path.is_ident("str") => "String".to_owned(),
        Type::Slice(slice) => format!("Vec<{}>", written(&slice.elem)),
        other => written(other),
    }
}

/// Returns the first matching type, in a type or in its parts.
fn find<'a>(ty: &'a Type, is_it: &dyn Fn(&Type) -> bool) -> Option<&'a Type> {
    if is_it(ty) {
        return Some(ty);
    }
    match ty {
        Type::Array(array) => find(&array.elem, is_it),
        Type::Group(group) => find(&group.elem, is_it),
        Type::Paren(paren) => find(&paren.elem, is_it),
        Type::Slice(slice) => find(&slice.elem, is_it),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(|ty| find(ty, is_it)),
        Type::Path(path) => {
            path.path.segments.iter().find_map(|segment| match &segment.arguments {
                PathArguments::AngleBracketed(inside) => {
                    inside.args.iter().find_map(|argument| match argument {
                        GenericArgument::Type(ty) => find(ty, is_it),
                        _ => None,
                    })
                }
                _ => None,
            })
        }
        _ => None,
    }
}

fn refuse_the_impossible(signature: &Signature) -> Result<()> {
    if !signature.generics.params.is_empty() {
        let message = "a tool has one schema, so its function cannot be generic";
        return Err(Error::new(signature.generics.span(), message));
    }
    if let Some(variadic) = &signature.variadic {
        let message = "take `args: Arguments` for arguments that are not known beforehand";
        return Err(Error::new(variadic.span(), message));
    }
    Ok(())
}

fn check_all_arguments(parameters: &[Parameter]) -> Result<()> {
    let all = parameters.iter().find(|p| p.from == Source::AllArguments);
    let sent = parameters.iter().find(|p| p.from == Source::Caller);
    match (all, sent) {
        (Some(_), Some(sent)) => Err(Error::new(
            sent.name.span(),
            "`Arguments` are all arguments: take them, or name each, but not both",
        )),
        _ => Ok(()),
    }
}

/// Removes the attributes from the parameters of a function that cannot be a tool, so that the reason is the only error.
pub(crate) fn bare(signature: &mut Signature) {
    for input in &mut signature.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.clear();
        }
    }
}

/// Returns the lints of clippy that do not apply to a tool: it owns its arguments, has as many as its callers need, and may be
/// async without an await.
pub(crate) fn lenient() -> Attribute {
    syn::parse_quote!(#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments, clippy::unused_async)])
}

/// Returns the conditions under which an item is compiled at all.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote!(#(#conditions)*)
}

/// Returns a type of the function's name that has a trait. Lists of tools and of prompts find it.
pub(crate) fn named(item: &ItemFn, has: &TokenStream, body: &TokenStream) -> TokenStream {
    let (name, visibility) = (&item.sig.ident, &item.vis);
    let conditions = conditions(&item.attrs);
    // A struct with braces is only among the types, so the function keeps its name among the values.
    quote! {
        #conditions
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        #conditions
        impl #has for #name {
            #body
        }
    }
}

/// Returns the text of a doc comment, without the space at the beginning of each line.
pub(crate) fn doc_of(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .map(|line| {
            line.strip_prefix(' ').map_or(line.clone(), str::to_owned).trim_end().to_owned()
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}
