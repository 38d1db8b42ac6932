//! Attributes of parameters and of fields: those of this crate become those of serde and schemars.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, GenericArgument, Ident, Meta, PathArguments, Result, Token, Type,
};

use crate::constraints::{self, Constraint};
use crate::maps;

/// The attributes of a parameter or a field.
#[derive(Default)]
pub(crate) struct Marks {
    /// Attributes for the field: docs, and those of serde and schemars.
    pub(crate) passed: Vec<TokenStream>,
    /// Attributes that stay on the parameter of the function.
    pub(crate) kept: Vec<Attribute>,
    pub(crate) default: Option<Expr>,
    pub(crate) optional: bool,
    pub(crate) inject: bool,
    /// The name for callers, if the author has set one for serde.
    pub(crate) renamed: Option<String>,
    constraints: Vec<Constraint>,
    constrained: bool,
    /// The words of the author's attributes for serde and schemars.
    told: Vec<String>,
}

impl Marks {
    /// Reads the attributes, and removes those of this crate.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut marks = Self::default();
        for attribute in attributes {
            marks.take(attribute)?;
        }
        Ok(marks)
    }

    fn take(&mut self, attribute: &Attribute) -> Result<()> {
        let path = attribute.path();
        if path.is_ident("default") {
            let Meta::List(list) = &attribute.meta else {
                return Err(Error::new(attribute.span(), "say which value: `#[default(100)]`"));
            };
            self.default = Some(list.parse_args()?);
        } else if path.is_ident("optional") {
            self.optional = true;
        } else if path.is_ident("inject") {
            self.inject = true;
        } else if let Some(constraint) = Constraint::read(attribute)? {
            self.passed.push(constraint.for_schemars());
            self.constraints.push(constraint);
        } else if ["doc", "serde", "schemars", "validate"].iter().any(|name| path.is_ident(name)) {
            self.constrained |= !path.is_ident("doc");
            self.listen(attribute);
            self.passed.push(quote!(#attribute));
        } else {
            self.kept.push(attribute.clone());
        }
        Ok(())
    }

    /// Stores the words of an attribute of serde or schemars. They report errors in it themselves.
    fn listen(&mut self, attribute: &Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        let for_serde = attribute.path().is_ident("serde");
        let _ = attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<TokenStream>()?;
            } else if meta.input.peek(Token![=]) {
                let value: Expr = meta.value()?.parse()?;
                if for_serde && word == "rename" {
                    self.renamed = text_of(&value);
                }
            }
            self.told.push(word);
            Ok(())
        });
    }

    fn is_told(&self, words: &[&str]) -> bool {
        self.told.iter().any(|told| words.contains(&told.as_str()))
    }

    /// Returns true if the members of the value are among those of its owner.
    pub(crate) fn is_flat(&self) -> bool {
        self.is_told(&["flatten"])
    }

    /// Returns true if the type decides how the value is read and described, and the author has not replaced that.
    pub(crate) fn speaks_for_itself(&self) -> bool {
        !self.is_told(&["with", "deserialize_with", "schema_with", "skip", "skip_deserializing"])
    }

    /// Returns true if an attribute constrains the value, or has a default for it, so that it must be a property of its own.
    pub(crate) fn says_something(&self) -> bool {
        self.constrained || !self.constraints.is_empty() || self.default.is_some() || self.optional
    }

    /// Returns the attributes of the field that describe its values.
    pub(crate) fn described(&self, ty: &Type) -> Result<Vec<TokenStream>> {
        for constraint in &self.constraints {
            constraint.check(ty, self.default.as_ref())?;
        }
        let mut attributes = self.passed.clone();
        attributes.extend(constraints::repeat(&self.constraints));
        let with = match option_of(ty).filter(|_| self.optional && !self.is_flat()) {
            Some(within) => Some(maps::described(within).unwrap_or_else(|| quote!(#within))),
            None if !self.speaks_for_itself() => None,
            None if self.is_flat() => maps::described_flat(ty),
            None => maps::described(ty),
        };
        if let Some(with) = with.map(|with| with.to_string()) {
            attributes.push(quote!(#[schemars(with = #with)]));
        }
        Ok(attributes)
    }

    /// Returns the attribute that reads the field in another way, if serde's own buffer cannot hold its value.
    pub(crate) fn read_in_a_way(&self, ty: &Type) -> Option<TokenStream> {
        let way = maps::way(ty).filter(|_| self.speaks_for_itself())?;
        let function = quote!(::candor::__private::read_as::<#way, _, _>).to_string();
        Some(quote!(#[serde(deserialize_with = #function)]))
    }

    /// Returns the attributes of the field, and the function that makes its default. `owner` tells apart the defaults of fields
    /// with the same name.
    pub(crate) fn write(
        &self,
        owner: &Ident,
        name: &Ident,
        ty: &Type,
    ) -> Result<(Vec<TokenStream>, Option<TokenStream>)> {
        let mut attributes = self.described(ty)?;
        let within = option_of(ty);
        match (&self.default, self.optional, within) {
            (Some(default), true, _) => {
                let message =
                    "`#[default]` says already that it may be left out; take `#[optional]` away";
                return Err(Error::new(default.span(), message));
            }
            (Some(default), false, _) => {
                let function = format_ident!("__candor_default_of_{}_{}", owner, name.unraw());
                let path = function.to_string();
                attributes.push(quote!(#[serde(default = #path)]));
                let value = default_value(default, ty);
                let function = quote! {
                    #[doc(hidden)]
                    #[allow(non_snake_case, clippy::all)]
                    fn #function() -> #ty {
                        #value
                    }
                };
                return Ok((attributes, Some(function)));
            }
            (None, true, None) => {
                let message =
                    "`#[optional]` needs an `Option`: it is `None` when the caller leaves it out";
                return Err(Error::new(ty.span(), message));
            }
            (None, true, Some(_)) => {
                if !self.is_told(&["default"]) {
                    attributes.push(quote!(#[serde(default)]));
                }
                if !self.is_told(&["skip_serializing_if"]) {
                    let is_none = "::core::option::Option::is_none";
                    attributes.push(quote!(#[serde(skip_serializing_if = #is_none)]));
                }
            }
            (None, false, Some(_)) if !self.is_told(&["default", "flatten"]) => {
                attributes.push(quote!(#[serde(default)]));
            }
            (None, false, _) => {}
        }
        Ok((attributes, None))
    }
}

/// Returns a default as a value of the parameter's type. Texts and constants are converted, and a literal is wrapped for an
/// `Option`.
fn default_value(default: &Expr, ty: &Type) -> TokenStream {
    let span = default.span();
    let (literal, text) = match default {
        Expr::Lit(syn::ExprLit { lit, .. }) => (true, matches!(lit, syn::Lit::Str(_))),
        Expr::Unary(syn::ExprUnary { expr, .. }) => (matches!(**expr, Expr::Lit(_)), false),
        _ => (false, false),
    };
    let value = match default {
        _ if text => quote_spanned!(span=> ::candor::__private::DefaultText::from_text(#default)),
        Expr::Path(_) => quote_spanned!(span=> ::core::convert::From::from(#default)),
        other => quote!(#other),
    };
    match option_of(ty) {
        Some(_) if literal => quote_spanned!(span=> ::core::option::Option::Some(#value)),
        _ => value,
    }
}

/// Returns the value of a string literal.
pub(crate) fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// Returns the `T` of an `Option<T>`.
pub(crate) fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}
