//! Effects per variant of an enum: `#[effect(…)]` in `#[args]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DataEnum, Error, Fields, Ident, LitStr, Result, Variant};

use crate::effects::Words;

/// Takes `#[effect(…)]` off the variants and writes the table that they make; nothing if no variant has one.
pub(crate) fn expand(
    owner: &Ident,
    attributes: &[Attribute],
    item: &mut DataEnum,
) -> Result<TokenStream> {
    let style = Style::of(attributes)?;
    let mut rows = Vec::new();
    let mut silent = None;
    for variant in &mut item.variants {
        let Some(at) = variant.attrs.iter().position(|a| a.path().is_ident("effect")) else {
            silent.get_or_insert(variant.ident.clone());
            continue;
        };
        let attribute = variant.attrs.remove(at);
        let words: Words = attribute.parse_args()?;
        let hints = words.hints(variant.ident.span())?;
        let when = style.test(variant)?;
        rows.push(quote!(.row(::candor::hints::Row::when(#when).then(#hints))));
    }
    match (rows.is_empty(), silent) {
        (true, _) => Ok(TokenStream::new()),
        (false, Some(silent)) => Err(Error::new(
            silent.span(),
            "say what each variant does: `#[effect(read_only)]`, `#[effect(additive)]`, `#[effect(destructive)]`",
        )),
        (false, None) => Ok(quote! {
            impl ::candor::tool::Variants for #owner {
                fn effects(at: &str) -> ::candor::hints::Table {
                    ::candor::hints::Table::new() #(#rows)*
                }
            }
        }),
    }
}

/// How serde writes the enum.
struct Style {
    rename_all: String,
    tag: Option<String>,
    content_is_open: bool,
}

impl Style {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut style =
            Self { rename_all: "snake_case".to_owned(), tag: None, content_is_open: false };
        for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename_all") {
                    style.rename_all = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("tag") {
                    style.tag = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("untagged") {
                    style.content_is_open = true;
                } else if meta.input.peek(syn::Token![=]) {
                    meta.value()?.parse::<syn::Expr>()?;
                }
                Ok(())
            })?;
        }
        Ok(style)
    }

    /// `pointer, test`: what holds of an argument that is this variant.
    fn test(&self, variant: &Variant) -> Result<TokenStream> {
        let name = self.name(variant)?;
        if self.content_is_open {
            let message = "an untagged enum does not say which variant it is; write a table over its members instead";
            return Err(Error::new(variant.ident.span(), message));
        }
        Ok(match (&self.tag, &variant.fields) {
            (Some(tag), _) => {
                let below = format!("/{}", escaped(tag));
                quote!(&*::std::format!("{at}{}", #below), ::candor::hints::Test::equals(#name))
            }
            (None, Fields::Unit) => quote!(at, ::candor::hints::Test::equals(#name)),
            (None, _) => {
                let below = format!("/{}", escaped(&name));
                quote!(&*::std::format!("{at}{}", #below), ::candor::hints::Test::Present)
            }
        })
    }

    fn name(&self, variant: &Variant) -> Result<String> {
        let mut name = None;
        for attribute in variant.attrs.iter().filter(|a| a.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    name = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.input.peek(syn::Token![=]) {
                    meta.value()?.parse::<syn::Expr>()?;
                }
                Ok(())
            })?;
        }
        Ok(name.unwrap_or_else(|| in_case(&variant.ident.to_string(), &self.rename_all)))
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A variant's name as serde writes it.
fn in_case(name: &str, case: &str) -> String {
    let apart = |between: char| {
        let mut out = String::new();
        for (at, letter) in name.char_indices() {
            if at > 0 && letter.is_uppercase() {
                out.push(between);
            }
            out.extend(letter.to_lowercase());
        }
        out
    };
    match case {
        "lowercase" => name.to_lowercase(),
        "UPPERCASE" => name.to_uppercase(),
        "camelCase" => {
            let mut letters = name.chars();
            letters
                .next()
                .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
        }
        "snake_case" => apart('_'),
        "SCREAMING_SNAKE_CASE" => apart('_').to_uppercase(),
        "kebab-case" => apart('-'),
        "SCREAMING-KEBAB-CASE" => apart('-').to_uppercase(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_case;

    #[test]
    fn names_are_those_of_serde() {
        for (case, expected) in [
            ("snake_case", "soft_delete"),
            ("kebab-case", "soft-delete"),
            ("camelCase", "softDelete"),
            ("PascalCase", "SoftDelete"),
            ("lowercase", "softdelete"),
            ("UPPERCASE", "SOFTDELETE"),
            ("SCREAMING_SNAKE_CASE", "SOFT_DELETE"),
            ("SCREAMING-KEBAB-CASE", "SOFT-DELETE"),
        ] {
            assert_eq!(in_case("SoftDelete", case), expected);
        }
    }
}
