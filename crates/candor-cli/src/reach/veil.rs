//! What is nobody else's business is not printed: what we print ends up in logs, chats and bug reports.
//!
//! Two ways. A server is named as it was *written*: with `${VAR}` where a variable was filled in, and `…` for what looks like a
//! credential. And whatever others say about it, errors above all, goes through a [`Veil`] that knows the values.

use std::fmt;

use candor::desk::shown::shown;

use super::expand::{Piece, pieces};
use super::{Surroundings, Target};
use crate::shell::quoted;

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// Words in the names of variables, headers and flags whose values nobody else should see.
const SECRET: [&str; 9] =
    ["auth", "cookie", "credential", "key", "pass", "pwd", "secret", "signature", "token"];

/// How well-known tokens begin.
const TOKENS: [&str; 10] =
    ["AKIA", "eyJ", "ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "npm_"];

/// Kinds of credentials that may be seen beside the credential itself.
const KINDS: [&str; 4] = ["Bearer ", "Basic ", "Token ", "token "];

/// What is shorter is no secret, and stands in too many words.
const SHORTEST: usize = 6;

/// Whether what is called so is a secret as a rule. A file of secrets has a name that is none.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let place = ["file", "path", "dir"].iter().any(|end| name.ends_with(end));
    !place && SECRET.iter().any(|word| name.contains(word))
}

/// A secret as it may be seen: its variables, and what kind it is.
fn masked(value: &str) -> String {
    let kind = KINDS.iter().find(|kind| value.starts_with(**kind)).copied().unwrap_or_default();
    let mut seen = kind.to_owned();
    for piece in pieces(&value[kind.len()..]) {
        match piece {
            Piece::Variable { name, default: None } => seen.push_str(&format!("${{{name}}}")),
            Piece::Variable { name, default: Some(_) } => {
                seen.push_str(&format!("${{{name}:-{HIDDEN}}}"));
            }
            Piece::Host(word) => seen.push_str(&format!("${{{word}}}")),
            Piece::Text(_) => seen.push_str(HIDDEN),
        }
    }
    seen
}

/// A URL as it may be seen: without a user, and without the values of parameters that are secrets.
pub(crate) fn url(text: &str) -> String {
    url_with(text, |_, value| masked(value))
}

/// A URL with something else in the place of its secrets: `put` gets the name of each, `user` for who stands before the host, and its
/// value.
pub(crate) fn url_with(text: &str, mut put: impl FnMut(&str, &str) -> String) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", put("user", user)),
        None => authority.to_owned(),
    };
    // A fragment is nobody's but the reader's: ours is a token.
    let (path, fragment) = path.split_once('#').map_or((path, ""), |(path, _)| (path, "#…"));
    let Some((path, query)) = path.split_once('?') else {
        return format!("{scheme}{authority}{path}{fragment}");
    };
    let parameters: Vec<_> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if is_secret(name) => format!("{name}={}", put(name, value)),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{scheme}{authority}{path}?{}{fragment}", parameters.join("&"))
}

/// The parts of one argument: what may be seen, and what may not.
fn parted(arg: &str) -> Option<(&str, &str)> {
    if let Some(token) = KINDS.iter().find_map(|kind| arg.strip_prefix(kind)) {
        return Some(arg.split_at(arg.len() - token.len()));
    }
    if TOKENS.iter().any(|start| arg.starts_with(start)) {
        return Some(("", arg));
    }
    // --token=x, API_KEY=x, and a header as some programs take it: Authorization: Bearer x
    let at = arg.find(['=', ':'])?;
    // Neither an address nor a variable with a default has a name before the colon.
    if arg[at..].starts_with("://") || arg[..at].contains('$') {
        return None;
    }
    let value = arg[at + 1..].trim_start();
    (is_secret(&arg[..at]) && !value.is_empty()).then(|| arg.split_at(arg.len() - value.len()))
}

/// For each argument, where the secret in it begins; `None`: there is none.
pub(crate) fn secrets_of(args: &[String]) -> Vec<Option<usize>> {
    let mut flag = false;
    args.iter()
        .map(|arg| {
            let value_of_flag = std::mem::take(&mut flag) && !arg.starts_with('-');
            flag = arg.starts_with('-') && !arg.contains(['=', ':']) && is_secret(arg);
            match parted(arg) {
                Some((seen, _)) => Some(seen.len()),
                None => value_of_flag.then_some(0),
            }
        })
        .collect()
}

/// The name of a server: its address, or the program with its arguments, as it may be seen.
pub(crate) fn name(target: &Target) -> String {
    match target {
        Target::Url { url, .. } => shown(&self::url(url)).to_string(),
        Target::Program { program, args, .. } => {
            let mut words = vec![quoted(program)];
            for (arg, secret) in args.iter().zip(secrets_of(args)) {
                words.push(match secret {
                    // What is left of it is for people, and no shell is to take it.
                    Some(at) => format!("{}{}", &arg[..at], masked(&arg[at..])),
                    None if arg.contains("://") => quoted(&url(arg)),
                    None => quoted(arg),
                });
            }
            shown(&words.join(" ")).to_string()
        }
    }
}

/// Values that are not to be printed, and what is printed in their place.
#[derive(Clone, Default)]
pub(crate) struct Veil(Vec<(String, String)>);

/// What is hidden is hidden here, too.
impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, seen)| seen)).finish()
    }
}

impl Veil {
    /// Hides what was filled in, and what looks like a credential. `written` and `filled` are the same server before and after.
    pub(super) fn of(written: &Target, filled: &Target, here: &Surroundings) -> Self {
        let mut veil = Self::default();
        for text in written.texts() {
            for piece in pieces(text) {
                if let Piece::Variable { name, .. } = piece
                    && let Some(value) = here.variable(name)
                {
                    veil.hide(&value, &format!("${{{name}}}"));
                }
            }
        }
        match filled {
            Target::Url { url, headers } => {
                headers.iter().for_each(|(_, value)| veil.hide_credential(value));
                veil.hide(url, &self::url(url));
            }
            Target::Program { args, env, .. } => {
                for (arg, secret) in args.iter().zip(secrets_of(args)) {
                    secret.inspect(|at| veil.hide_credential(&arg[*at..]));
                }
                let secret = env.iter().filter(|(name, _)| is_secret(name));
                secret.for_each(|(_, value)| veil.hide_credential(value));
            }
        }
        veil
    }

    fn hide_credential(&mut self, value: &str) {
        let token = KINDS.iter().find_map(|kind| value.strip_prefix(kind)).unwrap_or(value);
        self.hide(token, HIDDEN);
    }

    fn hide(&mut self, value: &str, seen: &str) {
        if value.len() < SHORTEST || value == seen || self.0.iter().any(|(known, _)| known == value)
        {
            return;
        }
        self.0.push((value.to_owned(), seen.to_owned()));
        // What is part of another is hidden after it.
        self.0.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    }

    /// The text without them.
    pub(crate) fn over(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (value, seen)| text.replace(value, seen))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn program(args: &[&str]) -> Target {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Target::Program { program: "run".to_owned(), args, env: Vec::new(), cwd: None }
    }

    #[test]
    fn arguments_that_are_credentials_are_not_seen() {
        for (args, seen) in [
            (&["--token", "s3cret", "./x"][..], "run --token … ./x"),
            (&["--token=s3cret", "-v"], "run --token=… -v"),
            (&["-e", "API_KEY=s3cret"], "run -e API_KEY=…"),
            (&["-e", "API_KEY=${KEY}"], "run -e API_KEY=${KEY}"),
            (&["--api-key", "${KEY:-s3cret}"], "run --api-key ${KEY:-…}"),
            (&["--header", "Authorization: Bearer s3cret"], "run --header Authorization: Bearer …"),
            (&["--header", "Authorization:s3cret"], "run --header Authorization:…"),
            (&["ghp_s3cret"], "run …"),
            (&["Bearer s3cret"], "run Bearer …"),
            (&["https://ann:s3cret@a.example/x?a=1"], "run 'https://…@a.example/x?a=1'"),
            (&["--token-file", "/run/t", "--port", "80"], "run --token-file /run/t --port 80"),
            (&["--token", "--verbose"], "run --token --verbose"),
            (&["https://a.example", "C:\\x", "a=b"], "run https://a.example 'C:\\x' a=b"),
        ] {
            assert_eq!(name(&program(args)), seen, "{args:?}");
        }
    }

    #[test]
    fn urls_are_seen_without_what_lets_one_in() {
        for (given, seen) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://ann:s3cret@a.example:1/mcp", "https://…@a.example:1/mcp"),
            (
                "https://a.example/?api_key=s3cret&x=1&Token=${T}",
                "https://a.example/?api_key=…&x=1&Token=${T}",
            ),
            ("http://a.example/#token=s3cret", "http://a.example/#…"),
            ("http://a@b@c", "http://…@c"),
        ] {
            assert_eq!(url(given), seen);
        }
    }

    #[test]
    fn what_others_say_is_veiled() {
        let set = [("KEY", "s3cret-k3y"), ("SHORT", "1")];
        let here = Surroundings::of_test(PathBuf::new(), PathBuf::new(), &set);
        let headers = |value: &str| vec![("Authorization".to_owned(), value.to_owned())];
        let written = Target::Url {
            url: "https://a.example/${KEY}?v=${SHORT}".to_owned(),
            headers: headers("Bearer l1teral"),
        };
        let filled = Target::Url {
            url: "https://a.example/s3cret-k3y?v=1".to_owned(),
            headers: headers("Bearer l1teral"),
        };
        let veil = Veil::of(&written, &filled, &here);
        assert_eq!(
            veil.over("cannot reach https://a.example/s3cret-k3y?v=1: 1 l1teral"),
            "cannot reach https://a.example/${KEY}?v=1: 1 …"
        );
    }
}
