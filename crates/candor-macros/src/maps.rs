//! Fields that are described or read in their own way: maps, by the type of their keys, and 128-bit integers.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{AngleBracketedGenericArguments, GenericArgument, PathArguments, Type};

use crate::field::option_of;

/// Returns the type that describes `ty` exactly; `None` if `ty` contains no map.
///
/// Only containers of the standard library are searched for maps: other types may require more of their content.
pub(crate) fn described(ty: &Type) -> Option<TokenStream> {
    match ty {
        Type::Array(array) => {
            let (inside, len) = (described(&array.elem)?, &array.len);
            Some(quote!([#inside; #len]))
        }
        Type::Tuple(tuple) => tuple.elems.iter().any(|ty| described(ty).is_some()).then(|| {
            let elements = tuple.elems.iter().map(or_itself);
            quote!((#(#elements,)*))
        }),
        Type::Paren(paren) => described(&paren.elem),
        Type::Group(group) => described(&group.elem),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            let types = types(arguments)?;
            match (last.ident.to_string().as_str(), types.as_slice()) {
                ("HashMap" | "BTreeMap" | "IndexMap", [key, value, ..]) => {
                    let value = or_itself(value);
                    Some(quote!(::candor::__private::KeyedMap<#key, #value>))
                }
                ("Option" | "Vec" | "VecDeque" | "Box" | "Arc" | "Rc", [inside]) => {
                    let inside = described(inside)?;
                    let mut outside = path.path.clone();
                    outside.segments.last_mut()?.arguments = PathArguments::None;
                    Some(quote!(#outside<#inside>))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the type that describes a flattened map, or an optional one; `None` if `ty` is not a map.
pub(crate) fn described_flat(ty: &Type) -> Option<TokenStream> {
    if let Some(within) = option_of(ty) {
        let within = described_flat(within)?;
        return Some(quote!(::core::option::Option<#within>));
    }
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (last.ident.to_string().as_str(), types(arguments)?.as_slice()) {
        ("HashMap" | "BTreeMap" | "IndexMap", [key, value, ..]) => {
            let value = or_itself(value);
            Some(quote!(::candor::__private::KeyedMap<#key, #value, true>))
        }
        _ => None,
    }
}

/// Returns the way to read a `ty` that contains 128-bit integers or keys that are not texts; `None` if it contains neither. serde
/// itself reads neither inside tagged, untagged and flattened types.
pub(crate) fn way(ty: &Type) -> Option<TokenStream> {
    match ty {
        Type::Array(array) => {
            let (inside, len) = (way(&array.elem)?, &array.len);
            Some(quote!([#inside; #len]))
        }
        Type::Tuple(tuple) if tuple.elems.len() <= 4 => {
            tuple.elems.iter().any(|ty| way(ty).is_some()).then(|| {
                let elements = tuple.elems.iter().map(or_natural);
                quote!((#(#elements,)*))
            })
        }
        Type::Paren(paren) => way(&paren.elem),
        Type::Group(group) => way(&group.elem),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            let inside = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => types(arguments)?,
                _ => Vec::new(),
            };
            match (last.ident.to_string().as_str(), inside.as_slice()) {
                ("u128" | "i128" | "NonZeroU128" | "NonZeroI128", []) => {
                    Some(quote!(::candor::__private::WideInteger))
                }
                ("NonZero", [of]) => way(of),
                ("HashMap" | "BTreeMap" | "IndexMap", [key, value, ..]) => {
                    let key = (!is_text(key)).then(|| quote!(::candor::__private::MapKey));
                    if key.is_none() && way(value).is_none() {
                        return None;
                    }
                    let (key, value) = (key.unwrap_or_else(natural), or_natural(value));
                    Some(quote!(::std::collections::BTreeMap<#key, #value>))
                }
                ("Vec" | "VecDeque" | "HashSet" | "BTreeSet" | "IndexSet", [inside, ..]) => {
                    way(inside).map(|inside| quote!(::std::vec::Vec<#inside>))
                }
                ("Option", [inside]) => {
                    way(inside).map(|inside| quote!(::core::option::Option<#inside>))
                }
                ("Box", [inside]) => way(inside).map(|inside| quote!(::std::boxed::Box<#inside>)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "String"))
}

fn natural() -> TokenStream {
    quote!(::candor::__private::Natural)
}

fn or_natural(ty: &Type) -> TokenStream {
    way(ty).unwrap_or_else(natural)
}

/// Returns the types between angle brackets; `None` if there is something else.
fn types(arguments: &AngleBracketedGenericArguments) -> Option<Vec<&Type>> {
    let types = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

fn or_itself(ty: &Type) -> TokenStream {
    described(ty).unwrap_or_else(|| ty.to_token_stream())
}
