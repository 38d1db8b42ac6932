//! Effects per variant of an enum: `#[effect(…)]` in `#[args]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, DataEnum, Error, Expr, Fields, Generics, Ident, LitStr, Meta, Result, Token,
    Variant, token,
};

use crate::effects::{Words, escaped};
use crate::field::text_of;

/// Removes `#[effect(…)]` from the variants and returns the effect table that they make; nothing if no variant has one. If there is
/// an error, returns it with a table without rows, so that it is the only error.
pub(crate) fn expand(
    owner: &Ident,
    generics: &Generics,
    attributes: &[Attribute],
    item: &mut DataEnum,
) -> TokenStream {
    let effects: Vec<_> = item.variants.iter_mut().map(effect).collect();
    if effects.iter().all(Option::is_none) {
        return TokenStream::new();
    }
    let (rows, error) = match rows(attributes, item, &effects) {
        Ok(rows) => (rows, None),
        Err(error) => (Vec::new(), Some(error.to_compile_error())),
    };
    let (parameters, given, bounds) = generics.split_for_impl();
    quote! {
        #error

        impl #parameters ::candor::tool::Variants for #owner #given #bounds {
            fn effects(at: &str) -> ::candor::hints::EffectTable {
                ::candor::hints::EffectTable::new() #(#rows)*
            }
        }
    }
}

/// Removes the attribute from a variant.
fn effect(variant: &mut Variant) -> Option<Attribute> {
    let at = variant.attrs.iter().position(|attribute| attribute.path().is_ident("effect"))?;
    Some(variant.attrs.remove(at))
}

/// Returns a row for each variant.
fn rows(
    attributes: &[Attribute],
    item: &DataEnum,
    effects: &[Option<Attribute>],
) -> Result<Vec<TokenStream>> {
    let style = Style::of(attributes)?;
    let row = |(variant, effect): (&Variant, &Option<Attribute>)| {
        let name = &variant.ident;
        let effect = effect.as_ref().ok_or_else(|| {
            let message = "say what each variant does: `#[effect(reads)]`, `#[effect(adds)]`, `#[effect(changes)]` or `#[effect(deletes)]`";
            Error::new(name.span(), message)
        })?;
        let hints = effect.parse_args::<Words>()?.hints(name.span())?;
        let when = style.test(variant)?;
        Ok(quote!(.row(::candor::hints::EffectRow::when(#when).then(#hints))))
    };
    item.variants.iter().zip(effects).map(row).collect()
}

/// How serde writes the enum.
struct Style {
    rename_all: String,
    tag: Option<String>,
    untagged: bool,
}

impl Style {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut style = Self { rename_all: "snake_case".to_owned(), tag: None, untagged: false };
        told(attributes, |word, value| match (word, value) {
            ("rename_all", Some(value)) => style.rename_all = value,
            ("tag", Some(value)) => style.tag = Some(value),
            ("untagged", _) => style.untagged = true,
            _ => {}
        })?;
        Ok(style)
    }

    /// Returns `pointer, test`: what is true of an argument that is this variant.
    fn test(&self, variant: &Variant) -> Result<TokenStream> {
        let mut name = in_case(&variant.ident.unraw().to_string(), &self.rename_all);
        let mut untagged = self.untagged;
        told(&variant.attrs, |word, value| match (word, value) {
            ("rename", Some(value)) => name = value,
            ("untagged", _) => untagged = true,
            _ => {}
        })?;
        if untagged {
            let message = "an untagged value does not say which variant it is; write rows over its members instead: `#[tool(effects(…))]`";
            return Err(Error::new(variant.ident.span(), message));
        }
        Ok(match (&self.tag, &variant.fields) {
            (Some(tag), _) => {
                let below = format!("/{}", escaped(tag));
                quote!(&*::std::format!("{at}{}", #below), ::candor::hints::Condition::equals(#name))
            }
            (None, Fields::Unit) => quote!(at, ::candor::hints::Condition::equals(#name)),
            (None, _) => {
                let below = format!("/{}", escaped(&name));
                quote!(&*::std::format!("{at}{}", #below), ::candor::hints::Condition::Present)
            }
        })
    }
}

/// Calls `hear` with each word that serde uses for reading, and with its text if it has one.
fn told(attributes: &[Attribute], mut hear: impl FnMut(&str, Option<String>)) -> Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if meta.input.peek(Token![=]) {
                let value = meta.value()?;
                match value.parse::<Option<LitStr>>()? {
                    Some(text) => hear(&word, Some(text.value())),
                    None => drop(value.parse::<Expr>()?),
                }
            } else if meta.input.peek(token::Paren) {
                // `rename(serialize = "…", deserialize = "…")`, and others that do not matter here.
                let inside;
                syn::parenthesized!(inside in meta.input);
                let pairs = Punctuated::<Meta, Token![,]>::parse_terminated(&inside)?;
                for pair in pairs.iter().filter(|pair| pair.path().is_ident("deserialize")) {
                    hear(&word, text_of(&pair.require_name_value()?.value));
                }
            } else {
                hear(&word, None);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns a variant's name as serde writes it. Like serde, it changes the case of ASCII letters only.
fn in_case(name: &str, case: &str) -> String {
    let apart = |between: char| {
        let mut out = String::new();
        for (at, letter) in name.char_indices() {
            if at > 0 && letter.is_uppercase() {
                out.push(between);
            }
            out.push(letter.to_ascii_lowercase());
        }
        out
    };
    match case {
        "lowercase" => name.to_ascii_lowercase(),
        "UPPERCASE" => name.to_ascii_uppercase(),
        "camelCase" => {
            let mut letters = name.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(letters).collect()
        }
        "snake_case" => apart('_'),
        "SCREAMING_SNAKE_CASE" => apart('_').to_ascii_uppercase(),
        "kebab-case" => apart('-'),
        "SCREAMING-KEBAB-CASE" => apart('-').to_ascii_uppercase(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_case;

    #[test]
    fn variant_names_follow_the_serde_rename_rules() {
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
