//! `#[args]` on a type, for arguments and results.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Path, Result, Token};

use crate::field::Marks;
use crate::signature::conditions;
use crate::variants;

pub(crate) fn expand(options: &TokenStream, item: &TokenStream) -> TokenStream {
    let parsed: DeriveInput = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(_) => {
            let message = "`#[args]` applies to a struct or an enum";
            let error = Error::new_spanned(item, message).to_compile_error();
            return quote!(#error #item);
        }
    };
    args(options, parsed.clone()).unwrap_or_else(|error| {
        let error = error.to_compile_error();
        let bare = bare(parsed);
        quote!(#error #[allow(unused)] #bare)
    })
}

/// What the macro reads from the fields of a type.
#[derive(Default)]
struct ReadFields {
    /// The functions that make their defaults.
    functions: Vec<TokenStream>,
    /// Code that lets the compiler check that each can be an argument.
    checks: Vec<TokenStream>,
    /// True if one of them accepts unknown members.
    is_open: bool,
    /// The names of the type's own parameters.
    parameters: Vec<String>,
}

fn args(options: &TokenStream, mut item: DeriveInput) -> Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "`#[args]` takes no options"));
    }
    let told = told(&item.attrs);
    let is_told = |word: &str| told.iter().any(|told| told == word);
    let mut read = ReadFields::default();
    let mut style = Vec::new();
    let mut variants = TokenStream::new();
    read.parameters = item.generics.type_params().map(|of| of.ident.to_string()).collect();
    let owner = &item.ident;
    match &mut item.data {
        Data::Struct(data) => {
            for field in &mut data.fields {
                read.field(field, owner, is_told("default"))?;
            }
            read.is_open |= !matches!(data.fields, Fields::Named(_)) || is_told("transparent");
        }
        Data::Enum(data) => {
            variants = variants::expand(owner, &item.generics, &item.attrs, data);
            for variant in &mut data.variants {
                let owner = format_ident!("{}_{}", owner, variant.ident);
                for field in &mut variant.fields {
                    read.field(field, &owner, false)?;
                }
            }
            style.push(("rename_all", quote!(rename_all = "snake_case")));
        }
        Data::Union(data) => {
            let message = "a union has no JSON; make it an enum";
            return Err(Error::new_spanned(data.union_token, message));
        }
    }
    if !read.is_open {
        style.push(("deny_unknown_fields", quote!(deny_unknown_fields)));
    }
    // Do not repeat what the author has written.
    let style = style.iter().filter(|(word, _)| !is_told(word)).map(|(_, tokens)| tokens);
    let derived = derived(&item.attrs);
    let derives = [
        ("Serialize", quote!(::candor::__private::serde::Serialize)),
        ("Deserialize", quote!(::candor::__private::serde::Deserialize)),
        ("JsonSchema", quote!(::candor::__private::schemars::JsonSchema)),
    ];
    let derives = derives.iter().filter(|(name, _)| !derived.iter().any(|d| d == name));
    let derives = derives.map(|(_, path)| path);
    let ReadFields { functions, checks, .. } = &read;
    // A generic type is checked where it is used.
    let checks = checks.iter().filter(|_| item.generics.params.is_empty());
    let conditions = conditions(&item.attrs);
    let variants = (!variants.is_empty()).then(|| quote!(#conditions const _: () = { #variants };));
    Ok(quote! {
        // First, so that the compiler reports our own message first.
        #conditions
        const _: fn() = || {
            #(#checks)*
        };

        #[derive(#(#derives),*)]
        #[serde(crate = "::candor::__private::serde", #(#style),*)]
        #[schemars(crate = "::candor::__private::schemars")]
        #item

        #(#conditions #functions)*

        #variants
    })
}

impl ReadFields {
    /// Reads a field, and writes its attributes as serde and schemars understand them.
    fn field(&mut self, field: &mut Field, owner: &Ident, has_default: bool) -> Result<()> {
        let marks = Marks::read(&field.attrs)?;
        if marks.inject {
            return Err(Error::new_spanned(&field, "only parameters of a tool can be injected"));
        }
        self.is_open |= marks.is_flat();
        let mut written = match &field.ident {
            // If the field is omitted, the default of the whole type has its value.
            Some(_) if has_default && marks.default.is_none() && !marks.optional => {
                marks.described(&field.ty)?
            }
            Some(name) => {
                let (written, default) = marks.write(owner, name, &field.ty)?;
                self.functions.extend(default);
                written
            }
            None if marks.default.is_some() || marks.optional => {
                let message = "only a field with a name may be left out";
                return Err(Error::new_spanned(&field.ty, message));
            }
            None => marks.described(&field.ty)?,
        };
        let ty = &field.ty;
        // serde adds no bound for a type parameter that is used only in such a field.
        if !is_about(&ty.to_token_stream(), &self.parameters) {
            written.extend(marks.read_in_a_way(ty));
        }
        if marks.speaks_for_itself() {
            let check = quote_spanned!(ty.span()=> ::candor::__private::is_argument::<#ty>(););
            self.checks.push(check);
        }
        let written = quote!(#(#written)*);
        field.attrs = marks.kept;
        field.attrs.extend(syn::parse::Parser::parse2(Attribute::parse_outer, written)?);
        Ok(())
    }
}

/// Returns true if one of the names is in the tokens.
fn is_about(tokens: &TokenStream, names: &[String]) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.iter().any(|name| ident == name),
        TokenTree::Group(group) => is_about(&group.stream(), names),
        _ => false,
    })
}

/// Returns the words of the author's serde attributes on the type.
fn told(attributes: &[Attribute]) -> Vec<String> {
    let mut told = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // serde itself reports errors in it.
        let _ = attribute.parse_nested_meta(|meta| {
            told.extend(meta.path.get_ident().map(ToString::to_string));
            if meta.input.peek(Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<TokenStream>()?;
            }
            Ok(())
        });
    }
    told
}

/// Returns what the author already derives.
fn derived(attributes: &[Attribute]) -> Vec<String> {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives
        .filter_map(|derive| {
            derive.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).ok()
        })
        .flatten()
        .filter_map(|path| path.segments.last().map(|segment| segment.ident.to_string()))
        .collect()
}

/// Returns the type without anything that needs a derive, so that the reason for the missing derive is the only error.
fn bare(mut item: DeriveInput) -> DeriveInput {
    item.attrs.retain(|attribute| attribute.path().is_ident("cfg"));
    let strip = |fields: &mut Fields| fields.iter_mut().for_each(|field| field.attrs.clear());
    match &mut item.data {
        Data::Struct(data) => strip(&mut data.fields),
        Data::Enum(data) => data.variants.iter_mut().for_each(|variant| {
            variant.attrs.clear();
            strip(&mut variant.fields);
        }),
        Data::Union(data) => data.fields.named.iter_mut().for_each(|field| field.attrs.clear()),
    }
    item
}
