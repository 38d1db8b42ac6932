//! Command lines, and the arguments that they contain.

use std::io::empty;

use serde_json::{Value, json};

use super::{Invalid, read};
use crate::exit::{Exit, Failure};
use crate::signature::Tool;

fn try_read(
    schema: &Value,
    words: &[&str],
    whole: Option<&str>,
    stdin: &str,
) -> Result<Value, Invalid> {
    let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    let tool = Tool { name: "t", input: schema, output: None };
    read(&words, whole, &tool, &mut stdin.as_bytes()).map(Value::Object)
}

fn arguments(schema: &Value, words: &[&str]) -> Value {
    try_read(schema, words, None, "").unwrap_or_else(|invalid| panic!("{words:?}: {invalid}"))
}

fn refused(schema: &Value, words: &[&str]) -> String {
    match try_read(schema, words, None, "") {
        Ok(value) => panic!("{words:?} is read as {value}"),
        Err(invalid) => invalid.to_string(),
    }
}

/// The value of a parameter `x` with this schema.
fn x(schema: &Value, words: &[&str]) -> Value {
    arguments(&json!({"type": "object", "properties": {"x": schema}}), words)["x"].take()
}

fn no_x(schema: &Value, words: &[&str]) -> String {
    refused(&json!({"type": "object", "properties": {"x": schema}}), words)
}

#[test]
fn schema_types_decide_how_text_is_parsed() {
    for (schema, text, expected) in [
        (json!({"type": "string"}), "007", json!("007")),
        (json!({"type": "string"}), "true", json!("true")),
        (json!({"type": "string"}), "null", json!("null")),
        (json!({"type": "string"}), "", json!("")),
        (json!({"type": "string"}), "[1", json!("[1")),
        (json!({"type": "string"}), "a=b=c", json!("a=b=c")),
        (json!({"type": "integer"}), "-5", json!(-5)),
        (json!({"type": "integer"}), "18446744073709551615", json!(u64::MAX)),
        (json!({"type": "integer"}), "-9223372036854775808", json!(i64::MIN)),
        (json!({"type": "number"}), "1.5", json!(1.5)),
        (json!({"type": "number"}), "2", json!(2)),
        (json!({"type": "number"}), "1e3", json!(1e3)),
        (json!({"type": "boolean"}), "false", json!(false)),
        (json!({"type": "null"}), "null", json!(null)),
        (json!({"type": ["string", "null"]}), "null", json!(null)),
        (json!({"type": ["string", "null"]}), "nil", json!("nil")),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "7", json!(7)),
        (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), "7", json!(7)),
        (json!({"type": ["integer", "string"]}), "007", json!("007")),
        (
            json!({"type": ["integer", "string"]}),
            "99999999999999999999",
            json!("99999999999999999999"),
        ),
        (json!({"type": ["integer", "string"]}), "1.5", json!("1.5")),
        (json!({"enum": ["a", "b"]}), "b", json!("b")),
        (json!({"enum": [1, 2, "2x"]}), "2", json!(2)),
        (json!({"enum": ["null", null]}), "null", json!("null")),
        (json!({"anyOf": [{"const": "auto"}, {"type": "integer"}]}), "auto", json!("auto")),
        (json!({"anyOf": [{"const": "auto"}, {"type": "integer"}]}), "3", json!(3)),
        (json!({"type": "object"}), r#"{"a": [1]}"#, json!({"a": [1]})),
        (json!({"type": ["object", "string"]}), "{x", json!("{x")),
        (json!({}), "5", json!(5)),
        (json!({}), "[1, 2]", json!([1, 2])),
        (json!({}), "five", json!("five")),
        (json!({}), "true", json!(true)),
        (json!(true), "[x", json!("[x")),
    ] {
        assert_eq!(x(&schema, &[&format!("x={text}")]), expected, "{schema} {text}");
    }
}

#[test]
fn schema_references_are_followed() {
    let schema = json!({
        "properties": {"mode": {"$ref": "#/$defs/Mode"}, "at": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}},
        "$defs": {
            "Mode": {"type": "string", "enum": ["fast", "slow"]},
            "Point": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"]}
        }
    });
    assert_eq!(
        arguments(&schema, &["mode=fast", "at.x=1", "at.y=-2"]),
        json!({"mode": "fast", "at": {"x": 1, "y": -2}})
    );
    assert_eq!(arguments(&schema, &["at=null"]), json!({"at": null}));
    assert!(
        refused(&schema, &["mode=fsat"]).contains("mode: received \"fsat\"; did you mean fast?")
    );
    assert!(refused(&schema, &["mode=x"]).contains("write one of fast, slow"));
    assert!(
        refused(&schema, &["at.x=1"]).contains("at.y: required, but missing; write at.y=INTEGER")
    );
}

#[test]
fn lists_are_json_or_repeated_arguments() {
    let tags = || json!({"type": "array", "items": {"type": "string"}});
    let numbers = || json!({"type": "array", "items": {"type": "integer"}});
    assert_eq!(x(&tags(), &["x=a", "x=b,c", "x=007"]), json!(["a", "b,c", "007"]));
    assert_eq!(x(&tags(), &["x=a"]), json!(["a"]));
    assert_eq!(x(&tags(), &[r#"x=["a", "b"]"#, "x=c"]), json!(["a", "b", "c"]));
    assert_eq!(x(&tags(), &["x=[]"]), json!([]));
    assert_eq!(x(&numbers(), &["x=1", "x=2", "x:=3", "x:=[4]"]), json!([1, 2, 3, 4]));
    assert_eq!(x(&json!({"type": ["string", "array"]}), &["x=a"]), json!("a"));
    assert_eq!(x(&json!({"type": ["string", "array"]}), &["x=a", "x=b"]), json!(["a", "b"]));
    assert!(no_x(&numbers(), &["x=1", "x=b"]).contains("x: received \"b\"; write INTEGER"));
    assert!(no_x(&numbers(), &["x=[1"]).contains("x: not JSON at byte 2"));
    assert!(
        no_x(&json!({"type": "string"}), &["x=1", "x=2"])
            .contains("given 2 times, but it is not a list")
    );
}

#[test]
fn dotted_names_set_nested_members() {
    let schema = json!({"properties": {
        "a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "integer"}}}}},
        "d.e": {"type": "string"},
        "d": {"type": "object", "properties": {"f.g": {"type": "boolean"}}},
        "free": {"type": "object"},
        "plain": {"type": "string"}
    }});
    assert_eq!(
        arguments(&schema, &["a.b.c=1", "d.e=x", "d.f.g=true", "free.x.y=1", "free.z=t"]),
        json!({"a": {"b": {"c": 1}}, "d.e": "x", "d": {"f.g": true}, "free": {"x": {"y": 1}, "z": "t"}})
    );
    let both = json!({"properties": {
        "d": {"type": "object", "properties": {"e.f": {"type": "string"}}},
        "d.e": {"type": "object", "properties": {"f": {"type": "integer"}}}
    }});
    assert_eq!(
        arguments(&both, &["d.e.f=1"]),
        json!({"d.e": {"f": 1}}),
        "the longest matching name wins"
    );
    assert!(refused(&schema, &["a.b.d=1"]).contains("a.b.d: there is no such parameter"));
    assert!(refused(&schema, &["plain.x=1"]).contains("plain is not an object"));
    assert!(
        refused(&schema, &["a.b.c=1", "a:={}"])
            .contains("a: given as a whole, and in parts (a.b.c)")
    );
    assert!(refused(&schema, &["free..x=1"]).contains("no such parameter"));
}

#[test]
fn json_argument_ignores_the_schema_type() {
    let text = || json!({"type": "string"});
    assert_eq!(x(&text(), &["x:=5"]), json!(5));
    assert_eq!(x(&text(), &[r#"x:={"a": null}"#]), json!({"a": null}));
    assert_eq!(x(&text(), &[r#"x:="null""#]), json!("null"));
    assert!(no_x(&text(), &["x:=oops"]).contains("not JSON at byte 0"));
    assert!(no_x(&text(), &["x:="]).contains("x: not JSON"));
    assert!(no_x(&text(), &[r#"x:={"a": 1, "a": 2}"#]).contains("duplicate key"));
    assert!(no_x(&text(), &[&format!("x:={}", "[".repeat(1000))]).contains("nested deeper"));
}

#[test]
fn number_that_would_be_rounded_is_refused() {
    let big = "123456789012345678901";
    assert!(
        no_x(&json!({"type": "integer"}), &[&format!("x={big}")])
            .contains("is outside the range of a 64-bit integer")
    );
    assert!(
        no_x(&json!({"type": "number"}), &[&format!("x=-{big}")])
            .contains("is outside the range of a 64-bit integer")
    );
    assert!(
        no_x(&json!({}), &[&format!("x:=[{big}]")])
            .contains("is outside the range of a 64-bit integer")
    );
    assert!(no_x(&json!({"type": "number"}), &["x=1e400"]).contains("would be rounded"));
    assert!(
        no_x(&json!({"type": "number"}), &["x=0.12345678901234567890123"])
            .contains("would be rounded")
    );
}

#[test]
fn at_sign_reads_a_value_from_a_file_or_stdin() {
    let file = std::env::temp_dir().join(format!("candor-arguments-{}", std::process::id()));
    std::fs::write(&file, "[1, 2]\n").unwrap();
    let at = format!("x=@{}", file.display());
    assert_eq!(x(&json!({"type": "string"}), &[&at]), json!("[1, 2]\n"));
    assert_eq!(x(&json!({"type": "array"}), &[&at]), json!([1, 2]));
    assert_eq!(x(&json!({"type": "string"}), &[&at.replace("x=", "x:=")]), json!([1, 2]));
    assert_eq!(x(&json!({}), &[&at]), json!([1, 2]));
    assert_eq!(x(&json!({"type": "string"}), &["x=@@home"]), json!("@home"));
    assert_eq!(x(&json!({"type": "string"}), &["x=@@"]), json!("@"));
    std::fs::write(&file, "no JSON").unwrap();
    assert!(no_x(&json!({"type": "integer"}), &[&at]).contains("must hold JSON"));
    std::fs::write(&file, b"\xff").unwrap();
    assert!(no_x(&json!({"type": "string"}), &[&at]).contains("this is not UTF-8 text"));
    std::fs::File::create(&file).unwrap().set_len(17 * 1024 * 1024).unwrap();
    assert!(no_x(&json!({"type": "string"}), &[&at]).contains("larger than 16 MiB"));
    std::fs::remove_file(&file).unwrap();
    let gone = no_x(&json!({"type": "string"}), &["x=@bob"]);
    assert!(gone.contains("To send the text @bob itself, write @@bob"), "{gone}");

    let two = json!({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    assert_eq!(try_read(&two, &["a=@-"], None, "typed").unwrap(), json!({"a": "typed"}));
    let twice = try_read(&two, &["a=@-", "b=@-"], None, "5").unwrap_err().to_string();
    assert!(twice.contains("b: stdin was already read"), "{twice}");
}

#[test]
fn arguments_flag_takes_one_whole_object() {
    let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    let whole = |text: &str, stdin: &str| {
        try_read(&schema, &[], Some(text), stdin).map_err(|e| e.to_string())
    };
    assert_eq!(whole(r#"{"b": 1}"#, ""), Ok(json!({"b": 1})), "the object is sent unchanged");
    assert_eq!(whole("-", r#" {"a": "x"} "#), Ok(json!({"a": "x"})));
    assert!(whole("[]", "").unwrap_err().contains("but not an object"));
    assert!(whole("{", "").unwrap_err().contains("--arguments: not JSON"));
    assert!(whole("@/nowhere/at/all", "").unwrap_err().contains("/nowhere/at/all"));
    let both = try_read(&schema, &["a=x"], Some("{}"), "").unwrap_err().to_string();
    assert!(both.contains("leave out either --arguments or a=x"), "{both}");
}

#[test]
fn every_invalid_argument_is_reported_with_a_correction() {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "deep": {"type": "boolean"}},
        "required": ["path"]
    });
    assert_eq!(
        refused(&schema, &["pth=x", "limit=many", "deep", "=x", "deep=yes"]),
        "Nothing was run. The arguments of t are invalid:\
         \n  pth: there is no such parameter; did you mean path?\
         \n  deep: this is not an argument; write deep=VALUE\
         \n  \"=x\": there is no name before =; write NAME=VALUE\
         \n  limit: received \"many\"; write INTEGER\
         \n  deep: received \"yes\"; write true|false\
         \nt(path: string, limit?: integer, deep?: boolean)"
    );
    assert_eq!(
        refused(&schema, &[]),
        "Nothing was run. The arguments of t are invalid:\n  path: required, but missing; write path=TEXT\
         \nt(path: string, limit?: integer, deep?: boolean)"
    );
    assert!(refused(&schema, &["colour=red"]).contains("the parameters are path, limit, deep"));
    assert!(refused(&schema, &["5"]).contains("5: this is not an argument; write NAME=VALUE"));
    assert!(refused(&schema, &["{\"path\": 1}"]).contains("pass a whole object with --arguments"));
    let none = json!({"type": "object", "additionalProperties": false});
    assert!(refused(&none, &["x=1"]).contains("there are no parameters"));
    let failure = Failure::from(try_read(&schema, &[], None, "").unwrap_err());
    assert_eq!(failure.exit, Exit::Invalid);
}

#[test]
fn refusal_escapes_control_characters() {
    let schema = json!({"properties": {"a\u{1b}": {"enum": ["\u{202e}"]}}, "required": ["\u{9b}"]});
    for words in [&["a\u{1b}=\u{1b}]"][..], &["b\u{1b}=1"], &["c\u{1b}"], &[]] {
        let message = refused(&schema, words);
        let safe = message.chars().all(|c| c == '\n' || !candor::operator::shown::fools(c));
        assert!(safe, "{message:?}");
    }
}

#[test]
fn open_or_malformed_schema_accepts_any_arguments() {
    for odd in
        [json!(null), json!([]), json!(true), json!({"type": "object"}), json!({"$ref": "#"})]
    {
        assert_eq!(arguments(&odd, &["a=1", "b.c=x"]), json!({"a": 1, "b": {"c": "x"}}), "{odd}");
    }
    let tool = Tool { name: "t", input: &json!(false), output: None };
    assert!(read(&["a=1".to_owned()], None, &tool, &mut empty()).is_err());
}

#[test]
fn recursive_schema_is_read_up_to_64_levels() {
    let lists =
        json!({"properties": {"x": {"type": "array", "items": {"$ref": "#/properties/x"}}}});
    assert!(refused(&lists, &["x=a"]).contains("x: received \"a\"; write '[…]'"));
    assert_eq!(arguments(&lists, &["x=[[]]", "x=[]"]), json!({"x": [[]]}));
    let tree = json!({"properties": {"x": {"$ref": "#"}, "n": {"type": "integer"}}});
    assert_eq!(arguments(&tree, &["x.x.n=1"]), json!({"x": {"x": {"n": 1}}}));
    let deep = format!("{}n=1", "x.".repeat(50_000));
    assert!(refused(&tree, &[&deep]).contains("deeper than 64 levels"));
}
