//! URI templates (RFC 6570), up to level 4.

pub(super) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']) {
        let (literal, expression) = rest.split_at(start);
        let Some((expression, behind)) =
            expression.strip_prefix('{').and_then(|inside| inside.split_once('}'))
        else {
            return false;
        };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = behind;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    let forbidden = |c: char| {
        c.is_ascii_control() || matches!(c, ' ' | '"' | '\'' | '<' | '>' | '\\' | '^' | '`' | '|')
    };
    !text.contains(forbidden) && percents_fit(text)
}

fn is_expression(text: &str) -> bool {
    let variables = text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']);
    variables.unwrap_or(text).split(',').all(is_variable)
}

fn is_variable(text: &str) -> bool {
    let name = match text.split_once(':') {
        Some((name, length)) => {
            let digits = length.bytes().all(|byte| byte.is_ascii_digit());
            if !digits || !(1..=4).contains(&length.len()) || length.starts_with('0') {
                return false;
            }
            name
        }
        None => text.strip_suffix('*').unwrap_or(text),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '%');
    name.split('.').all(|part| !part.is_empty() && part.chars().all(known)) && percents_fit(name)
}

/// Returns true if two hexadecimal digits follow each percent sign.
pub(super) fn percents_fit(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
