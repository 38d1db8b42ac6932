//! Maps in a signature, described by the type of their keys.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{GenericArgument, PathArguments, Type};

/// The type that describes `ty` exactly; none if `ty` holds no map.
///
/// Only what the standard library puts around a map is looked into: other types may ask more of what they hold.
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
            let types: Vec<&Type> = arguments
                .args
                .iter()
                .map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
                .collect::<Option<_>>()?;
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

fn or_itself(ty: &Type) -> TokenStream {
    described(ty).unwrap_or_else(|| ty.to_token_stream())
}
