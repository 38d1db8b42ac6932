//! An author's constraints on a value: `#[range(…)]`, `#[length(…)]`, `#[regex(…)]`, `#[email]`, `#[url]`.
//!
//! Errors that are visible in the source are reported here: a constraint that no value of the type can satisfy, or a default
//! outside its own limits. Everything else is checked when the tool is registered.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, ExprUnary, GenericArgument, Lit, LitStr, Meta, MetaNameValue,
    PathArguments, Result, Token, Type, UnOp,
};

use crate::field::option_of;

/// One constraint, as the author wrote it.
pub(crate) struct Constraint {
    name: &'static str,
    meta: Meta,
    limits: Vec<(String, Expr)>,
    pattern: Option<LitStr>,
}

/// The constraints that have a short form.
const NAMES: [&str; 5] = ["length", "range", "regex", "email", "url"];

/// What a type contains, if its name shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Flag,
    Text,
    Letter,
    Many,
}

impl Constraint {
    /// Reads an attribute, if it is one of these constraints.
    pub(crate) fn read(attribute: &Attribute) -> Result<Option<Self>> {
        let Some(name) = NAMES.into_iter().find(|name| attribute.path().is_ident(name)) else {
            return Ok(None);
        };
        let mut constraint =
            Self { name, meta: attribute.meta.clone(), limits: Vec::new(), pattern: None };
        match name {
            "regex" => {
                let problem = "write the pattern: `#[regex(\"^[a-z]+$\")]`";
                let pattern = attribute.parse_args();
                constraint.pattern = Some(pattern.map_err(|e| Error::new(e.span(), problem))?);
            }
            "length" | "range" => {
                let parsed = attribute
                    .parse_args_with(Punctuated::<MetaNameValue, Token![,]>::parse_terminated);
                // schemars itself reports errors in it.
                for limit in parsed.into_iter().flatten() {
                    let end = limit.path.get_ident().map(ToString::to_string).unwrap_or_default();
                    constraint.limits.push((end, limit.value));
                }
            }
            _ => {}
        }
        Ok(Some(constraint))
    }

    /// Returns the attribute that schemars understands.
    pub(crate) fn for_schemars(&self) -> TokenStream {
        match &self.pattern {
            Some(pattern) => quote!(#[schemars(regex(pattern = #pattern))]),
            None => {
                let meta = &self.meta;
                quote!(#[schemars(#meta)])
            }
        }
    }

    /// Refuses a constraint that no value of the type can satisfy, and a default outside its limits.
    pub(crate) fn check(&self, ty: &Type, default: Option<&Expr>) -> Result<()> {
        self.check_type(ty)?;
        if let (Some(least), Some(most)) = (self.limit("min"), self.limit("max"))
            && least > most
        {
            let message = format!("no value is at least {least} and at most {most}");
            return Err(Error::new(self.meta.span(), message));
        }
        let Some(default) = default else { return Ok(()) };
        let (measured, what) = match self.name {
            "range" => (number(default), String::new()),
            "length" => (length(default), " long".to_owned()),
            _ => return Ok(()),
        };
        let Some(measured) = measured else { return Ok(()) };
        let bounds = [("min", "at least"), ("max", "at most"), ("equal", "exactly")];
        for (end, words) in bounds {
            let Some(limit) = self.limit(end) else { continue };
            let fits = match end {
                "min" => measured >= limit,
                "max" => measured <= limit,
                _ => measured == limit,
            };
            if !fits {
                let message = format!(
                    "the default is {measured}{what}, but `#[{}]` asks for {words} {limit}: change the default or the limit",
                    self.name
                );
                return Err(Error::new(default.span(), message));
            }
        }
        Ok(())
    }

    fn check_type(&self, ty: &Type) -> Result<()> {
        let Some(kind) = kind_of(ty) else { return Ok(()) };
        let message = match (self.name, kind) {
            ("range", Kind::Number)
            | ("length", Kind::Text | Kind::Many)
            | ("regex" | "email" | "url", Kind::Text)
            | ("regex", Kind::Letter) => return Ok(()),
            ("range", Kind::Text | Kind::Many) => {
                "`#[range]` limits numbers; the length of strings, lists and maps is limited by `#[length]`"
            }
            ("range", _) => "`#[range]` limits numbers, and this is none",
            ("length", Kind::Number) => {
                "`#[length]` limits strings, lists and maps; numbers are limited by `#[range]`"
            }
            ("length", _) => {
                "`#[length]` limits strings, lists and maps, and this is none of these"
            }
            _ => {
                let message = format!("`#[{}]` limits strings, and this is none", self.name);
                return Err(Error::new(self.meta.span(), message));
            }
        };
        Err(Error::new(self.meta.span(), message))
    }

    fn limit(&self, end: &str) -> Option<f64> {
        self.limits.iter().find(|(name, _)| name == end).and_then(|(_, limit)| number(limit))
    }

    /// Returns the member that repeats the constraint for registration, where the type is known.
    fn repeated(&self) -> TokenStream {
        let name = self.name;
        match &self.pattern {
            Some(pattern) => quote!(#name: #pattern),
            None => {
                let limits = self.limits.iter().map(|(end, limit)| quote!(#end: (#limit)));
                quote!(#name: { #(#limits),* })
            }
        }
    }
}

/// Returns the attribute that repeats the constraints of a field for registration.
pub(crate) fn repeat(constraints: &[Constraint]) -> Option<TokenStream> {
    let repeated = constraints.iter().map(Constraint::repeated);
    (!constraints.is_empty())
        .then(|| quote!(#[schemars(extend("x-candor-constraints" = { #(#repeated),* }))]))
}

/// Returns what a type contains, if its name shows it.
fn kind_of(ty: &Type) -> Option<Kind> {
    if let Some(within) = option_of(ty) {
        return kind_of(within);
    }
    let path = match ty {
        Type::Path(path) => path,
        Type::Array(_) => return Some(Kind::Many),
        _ => return None,
    };
    let last = path.path.segments.last()?;
    Some(match (last.ident.to_string().as_str(), &last.arguments) {
        ("Box" | "Arc" | "Rc", PathArguments::AngleBracketed(inside)) => {
            match inside.args.first()? {
                GenericArgument::Type(within) => return kind_of(within),
                _ => return None,
            }
        }
        (
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
            | "usize" | "f32" | "f64",
            PathArguments::None,
        ) => Kind::Number,
        ("bool", PathArguments::None) => Kind::Flag,
        ("char", PathArguments::None) => Kind::Letter,
        ("String" | "str", PathArguments::None) => Kind::Text,
        (
            "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet",
            PathArguments::AngleBracketed(_),
        ) => Kind::Many,
        _ => return None,
    })
}

/// Returns the number, if it is written as a literal.
fn number(value: &Expr) -> Option<f64> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        Expr::Paren(inside) => number(&inside.expr),
        _ => None,
    }
}

/// Returns the length of a text or list, if it is written as a literal.
#[allow(clippy::cast_precision_loss)]
fn length(value: &Expr) -> Option<f64> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().chars().count() as f64),
        Expr::Array(items) => Some(items.elems.len() as f64),
        _ => None,
    }
}
