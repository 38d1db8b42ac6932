//! Generates the expression that makes a tool from a function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned;
use syn::{Expr, Result};

use crate::field::option_of;
use crate::options::{Effects, Options, OutputSchema};
use crate::safeguards::Preview;
use crate::signature::{Function, Source};

/// The struct whose fields are the function's parameters: its items and its type. There are no items if the function takes all
/// arguments as they are.
struct Fields {
    items: TokenStream,
    ty: TokenStream,
}

/// Returns an expression of type `TypedTool`. `call` is the function to call. `shared` is a value that the expression has in scope,
/// and each call gets a clone of it.
pub(crate) fn tool(
    function: &Function,
    options: &Options,
    call: &TokenStream,
    shared: Option<&Ident>,
) -> Result<TokenStream> {
    let fields = fields(function, options.input_schema.is_none())?;
    let Fields { items, ty } = &fields;
    let input = input(function, options.input_schema.as_ref(), ty);
    let (effects, evaluate) = match options.effects(function)? {
        Effects::Known(effects) => (effects, quote!(::core::option::Option::None)),
        Effects::Asked { effects, function: asked, always } => {
            (effects, evaluate(function, &quote!(#asked), always.as_ref(), ty))
        }
    };
    let idempotency = options.idempotency()?;
    let declared = idempotency.declared;
    let key = idempotency.key.map_or_else(
        || quote!(::core::option::Option::None),
        |key| derive_key(function, &quote!(#key), ty),
    );
    let recorded = options.recorded(function)?;
    let ask = options.ask()?;
    let name =
        options.name.as_ref().map_or_else(|| function.name.unraw().to_string(), syn::LitStr::value);
    let title = text(options.title.as_ref().map(syn::LitStr::value));
    let described = options.description.as_ref().map(syn::LitStr::value);
    let description = text(described.or_else(|| function.description.clone()));
    let needs = needs(function);
    let taken = taken(function);
    let names = (0..function.parameters.len()).map(local);
    let returns = &function.returns;
    let returned = match (function.is_async, options.is_blocking(function)?) {
        (true, _) => quote!(#call(#(#names),*).await),
        (false, false) => quote!(#call(#(#names),*)),
        (false, true) => quote!(::candor::__private::blocking(move || #call(#(#names),*)).await),
    };
    let output = match &options.output_schema {
        None => quote!(::candor::__private::published(|| __kind.schema())),
        Some(OutputSchema::Given(schema)) => {
            quote!(::candor::__private::published_as(#schema, || __kind.schema()))
        }
        Some(OutputSchema::None) => {
            quote!((::core::option::Option::None, ::candor::__private::Carried::AsItComes))
        }
    };
    let share = shared.map(|shared| quote!(let #shared = ::std::clone::Clone::clone(&#shared);));
    let made = match options.safeguards.preview()? {
        Some(Preview::By(plan)) => Some(preview(function, options, plan, ty, shared)?),
        _ => None,
    };
    let safeguards = options.safeguards.write(options.is_read_only(), made.as_ref())?;
    let error = quote_spanned!(returns.span()=> (&&&__split.error()).error_kind());
    // At the return type, so that the compiler points there if the type cannot be returned.
    let kind = quote_spanned!(returns.span()=> (&&&&&__split.value()).kind());
    Ok(quote! {{
        #items
        #[allow(unused_imports)]
        use ::candor::__private::{ReadsArguments as _, ReadsNothing as _};
        #[allow(unused_imports)]
        use ::candor::__private::returned::{
            Convert as _, ErrorKnown as _, ErrorNone as _, ErrorOther as _, ErrorText as _, KindBeside as _,
            KindJson as _, KindNone as _, KindPair as _, KindSelf as _, KindText as _, Send as _, SplitOther as _,
            SplitResult as _,
        };
        let __split = (&&::candor::__private::returned::probe::<#returns>()).split();
        let __kind = #kind;
        let __error = #error;
        let (__output, __carried) = #output;
        let __input = #input;
        ::candor::tool::TypedTool::new(
            ::candor::__private::ToolSpec {
                name: #name,
                title: #title,
                description: #description,
                effects: #effects,
                idempotency: #declared,
                ask: #ask,
                recorded: &[#(#recorded),*],
                safeguards: #safeguards,
                needs: #needs,
            },
            __input,
            ::candor::__private::ArgumentFns { annotations: #evaluate, key: #key },
            __output,
            move |__arguments: #ty, __ctx: ::candor::Ctx| {
                #share
                async move {
                    #taken
                    let __returned = #returned;
                    match __split.open(__returned) {
                        ::core::result::Result::Ok(value) => __kind.send(value, __carried),
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err(__error.convert(error))
                        }
                    }
                }
            },
        )
    }})
}

/// Returns an expression of type `Prompt`.
pub(crate) fn prompt(
    function: &Function,
    options: &crate::prompt::PromptOptions,
) -> Result<TokenStream> {
    let Fields { items, ty } = fields(function, true)?;
    let input = input(function, None, &ty);
    let own_name = || function.name.unraw().to_string();
    let name = options.name.as_ref().map_or_else(own_name, syn::LitStr::value);
    let title = text(options.title.as_ref().map(syn::LitStr::value));
    let described = options.description.as_ref().map(syn::LitStr::value);
    let description = text(described.or_else(|| function.description.clone()));
    let needs = needs(function);
    let taken = taken(function);
    let (call, names) = (&function.name, (0..function.parameters.len()).map(local));
    let wait = function.is_async.then(|| quote!(.await));
    let returns = &function.returns;
    // At the return type, so that the compiler points there if the type cannot be returned.
    let error = quote_spanned!(returns.span()=> (&&&__split.error()).error_kind());
    let made = quote_spanned!(returns.span()=> ::candor::prompt::IntoPrompt::into_prompt(__value));
    Ok(quote! {{
        #items
        #[allow(unused_imports)]
        use ::candor::__private::{ReadsArguments as _, ReadsNothing as _};
        #[allow(unused_imports)]
        use ::candor::__private::returned::{
            Convert as _, ErrorKnown as _, ErrorNone as _, ErrorOther as _, ErrorText as _, SplitOther as _,
            SplitResult as _,
        };
        let __split = (&&::candor::__private::returned::probe::<#returns>()).split();
        let __error = #error;
        ::candor::prompt::Prompt::typed(
            ::candor::__private::PromptSpec {
                name: #name,
                title: #title,
                description: #description,
                needs: #needs,
            },
            #input,
            move |__arguments: #ty, __ctx: ::candor::Ctx| async move {
                #taken
                match __split.open(#call(#(#names),*)#wait) {
                    ::core::result::Result::Ok(__value) => ::core::result::Result::Ok(#made),
                    ::core::result::Result::Err(error) => {
                        ::core::result::Result::Err(__error.convert(error))
                    }
                }
            },
        )
    }})
}

/// Returns an expression of type `TypedTool`: the preview, made from a function of the same parameters.
///
/// Only the name of that function is known. What it returns, and whether it is async, is determined where it is called, so there is
/// no output schema.
fn preview(
    function: &Function,
    options: &Options,
    plan: &syn::ExprPath,
    ty: &TokenStream,
    shared: Option<&Ident>,
) -> Result<TokenStream> {
    let taken = taken(function);
    let names: Vec<_> = (0..function.parameters.len()).map(local).collect();
    let share = shared.map(|shared| quote!(let #shared = ::std::clone::Clone::clone(&#shared);));
    let this = shared.map(|shared| quote!(&#shared,));
    // Where the author named the function, so that the compiler points there if its parameters or its result are wrong.
    let at = plan.span().resolved_at(Span::call_site());
    let call = quote_spanned!(at=> #plan(#this #(#names),*));
    let made = match options.is_blocking(function)? {
        true => quote!(::candor::__private::blocking(move || #call).await),
        false => call,
    };
    let error = quote_spanned!(at=> (&&&__split.error()).error_kind());
    let kind = quote_spanned!(at=> (&&&&&__split.value()).kind());
    Ok(quote! {{
        #share
        ::candor::tool::TypedTool::new(
            ::candor::__private::ToolSpec::default(),
            ::std::clone::Clone::clone(&__input),
            ::candor::__private::ArgumentFns { annotations: ::core::option::Option::None, key: ::core::option::Option::None },
            ::core::option::Option::None,
            move |__arguments: #ty, __ctx: ::candor::Ctx| {
                #share
                async move {
                    #[allow(unused_imports)]
                    use ::candor::__private::returned::{MadeFuture as _, MadeValue as _};
                    #taken
                    let __made = #made;
                    let __waits = (&&::candor::__private::returned::probe_of(&__made)).made();
                    let __returned = __waits.settle(__made).await;
                    let __split = (&&::candor::__private::returned::probe_of(&__returned)).split();
                    let __kind = #kind;
                    let __error = #error;
                    match __split.open(__returned) {
                        ::core::result::Result::Ok(value) => {
                            __kind.send(value, ::candor::__private::Carried::AsItComes)
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err(__error.convert(error))
                        }
                    }
                }
            },
        )
    }})
}

/// Returns a function from the arguments to what the call does.
fn evaluate(
    function: &Function,
    asked: &TokenStream,
    always: Option<&TokenStream>,
    ty: &TokenStream,
) -> TokenStream {
    // Where the author named the function, so that the compiler points there if its parameters or its result are wrong.
    let at = asked.span().resolved_at(Span::call_site());
    let taken: Vec<_> = if function.takes_all() {
        vec![quote_spanned!(at=> __arguments)]
    } else {
        function
            .sent()
            .map(|p| &p.name)
            .map(|name| quote_spanned!(at=> &__arguments.#name))
            .collect()
    };
    let said = quote_spanned!(at=> ::candor::__private::annotations((#asked)(#(#taken),*)) #always);
    // A closure and not a function, so that a toolbox can write `Self::…`. Its type keeps it from capturing anything.
    quote! {
        ::core::option::Option::Some({
            let __annotations: fn(&#ty) -> ::candor::hints::Annotations =
                |__arguments: &#ty| #said;
            __annotations
        })
    }
}

/// Returns a function from the arguments to the key that they make. The expression sees the parameters by reference.
fn derive_key(function: &Function, key: &TokenStream, ty: &TokenStream) -> TokenStream {
    let at = key.span().resolved_at(Span::call_site());
    let seen: Vec<_> = function
        .parameters
        .iter()
        .filter_map(|p| {
            let name = &p.name;
            match p.from {
                Source::Caller => Some(quote!(let #name = &__arguments.#name;)),
                Source::AllArguments => Some(quote!(let #name = __arguments;)),
                Source::Server => None,
            }
        })
        .collect();
    let text = quote_spanned!(at=> ::std::string::ToString::to_string(&(#key)));
    quote! {
        ::core::option::Option::Some({
            let __key: fn(&#ty) -> ::std::string::String = |__arguments: &#ty| {
                #(#[allow(unused_variables)] #seen)*
                #text
            };
            __key
        })
    }
}

/// Returns an expression of type `Vec<Need>`: the state that the function cannot run without.
fn needs(function: &Function) -> TokenStream {
    let needs = function.parameters.iter().filter(|p| p.from == Source::Server).map(|p| {
        let ty = &p.ty;
        quote!(<#ty as ::candor::FromCtx>::needs())
    });
    quote! {
        ::std::vec::Vec::from_iter(
            [#(#needs),*].into_iter().flatten() as ::std::iter::Flatten<
                ::std::array::IntoIter<::core::option::Option<::candor::__private::Need>, _>,
            >,
        )
    }
}

fn text(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

fn fields(function: &Function, closed: bool) -> Result<Fields> {
    if function.takes_all() {
        return Ok(Fields { items: TokenStream::new(), ty: quote!(::candor::Arguments) });
    }
    let owner = format_ident!("__Parameters", span = Span::call_site());
    let (mut members, mut functions, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    let mut bounds = Vec::new();
    for parameter in function.sent() {
        let (name, ty) = (&parameter.name, &parameter.ty);
        let (attributes, default) = parameter.marks.write(&owner, name, ty)?;
        members.push(quote!(#(#attributes)* #name: #ty));
        functions.extend(default);
        if parameter.marks.speaks_for_itself() {
            checks.push(quote_spanned!(ty.span()=> ::candor::__private::is_argument::<#ty>();));
            bounds.push(quote!(for<'__any> #ty: ::candor::__private::Argument));
            // If the parameter is optional, schemars uses the inner type.
            let within = option_of(ty).filter(|_| parameter.marks.optional);
            bounds.extend(within.map(|ty| quote!(for<'__any> #ty: ::candor::__private::Argument)));
        }
    }
    // `is_argument` reports a type that cannot be an argument. The derived code would report it several times more, so its bounds
    // assume what is checked above. The compiler allows that only in a bound `for` some lifetime, and schemars only in a generic
    // type.
    let granted = quote!(#(#bounds),*).to_string();
    // The author's own schema may accept more than the parameters.
    let closed = closed.then(|| quote!(deny_unknown_fields));
    let items = quote! {
        #(#checks)*
        #[derive(::candor::__private::serde::Deserialize, ::candor::__private::schemars::JsonSchema)]
        #[serde(crate = "::candor::__private::serde", bound(deserialize = #granted), #closed)]
        #[schemars(crate = "::candor::__private::schemars", bound = #granted)]
        struct #owner<const CHECKED: bool> { #(#members),* }
        #(#functions)*
    };
    Ok(Fields { items, ty: quote!(#owner::<true>) })
}

fn input(function: &Function, given: Option<&Expr>, ty: &TokenStream) -> TokenStream {
    if function.takes_all() {
        return match given {
            Some(schema) => quote!(::candor::__private::Input::raw(#schema)),
            None => quote!(::candor::__private::Input::anything()),
        };
    }
    let mut sent = function.sent();
    let read = match (sent.next(), sent.next()) {
        (Some(only), None) if only.may_be_everything() => {
            let (name, own) = (&only.name, &only.ty);
            quote!((&&::candor::__private::reads::<#ty, #own>()).parameter(|__only| #ty { #name: __only }))
        }
        _ => quote!((&&::candor::__private::reads::<#ty, ()>()).parameters()),
    };
    match given {
        Some(schema) => quote!(#read.publishing(#schema)),
        None => read,
    }
}

/// Returns the name of a parameter where the function is called: its own name may be that of the function.
fn local(index: usize) -> Ident {
    format_ident!("__parameter_{}", index)
}

/// Takes every parameter from its source.
fn taken(function: &Function) -> TokenStream {
    let sent = function.parameters.iter().enumerate().filter(|(_, p)| p.from == Source::Caller);
    let opened = if function.takes_all() {
        TokenStream::new()
    } else {
        let sent = sent.map(|(index, p)| {
            let (name, local) = (&p.name, local(index));
            quote!(#name: #local)
        });
        quote!(let __Parameters { #(#sent),* } = __arguments;)
    };
    let others = function.parameters.iter().enumerate().filter_map(|(index, p)| {
        let (name, ty) = (local(index), &p.ty);
        match p.from {
            Source::Caller => None,
            Source::AllArguments => Some(quote!(let #name = __arguments;)),
            Source::Server => {
                Some(quote!(let #name = <#ty as ::candor::FromCtx>::from_ctx(&__ctx)?;))
            }
        }
    });
    quote!(#opened #(#others)*)
}
