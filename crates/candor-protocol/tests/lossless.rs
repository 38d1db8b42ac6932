//! The law of the crate: decode, encode, and nothing is different; whatever else a peer put in.

use std::collections::BTreeMap;

use candor_protocol::json::{Decode, RawValue};
use candor_protocol::types::*;
use proptest::prelude::*;
use serde::Serialize;

/// JSON with every number and string as its text: equal trees mean that not a digit was lost.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Object(BTreeMap<String, Tree>),
    Array(Vec<Tree>),
    Text(String),
}

impl Tree {
    fn parse(text: &str) -> Self {
        match text.trim().as_bytes()[0] {
            b'{' => {
                let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap();
                Self::Object(members.into_iter().map(|(k, v)| (k, Self::parse(v.get()))).collect())
            }
            b'[' => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap();
                Self::Array(items.iter().map(|v| Self::parse(v.get())).collect())
            }
            b'"' => Self::Text(
                serde_json::to_string(&serde_json::from_str::<String>(text).unwrap()).unwrap(),
            ),
            _ => Self::Text(text.trim().to_owned()),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(k, v)| format!("{}:{}", serde_json::to_string(k).unwrap(), v.write()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            Self::Array(items) => {
                format!("[{}]", items.iter().map(Self::write).collect::<Vec<_>>().join(","))
            }
            Self::Text(text) => text.clone(),
        }
    }

    /// Every object in the tree that may hold unknown members.
    fn objects(&mut self) -> Vec<&mut BTreeMap<String, Self>> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a mut self, found: &mut Vec<&'a mut BTreeMap<String, Self>>) {
        match self {
            Self::Object(members) => {
                // Split the borrow: children first, by taking them out of reach of the parent.
                let typed_map = members.contains_key("x-typed-map");
                if typed_map {
                    members.remove("x-typed-map");
                    for child in members.values_mut() {
                        child.collect(found);
                    }
                } else {
                    let only_leaves = members.values().all(|v| matches!(v, Self::Text(_)));
                    if only_leaves {
                        found.push(members);
                    } else {
                        for child in members.values_mut() {
                            child.collect(found);
                        }
                    }
                }
            }
            Self::Array(items) => items.iter_mut().for_each(|item| item.collect(found)),
            Self::Text(_) => {}
        }
    }

    /// Adds a member to every object, at every level.
    fn sprinkle(&mut self, key: &str, value: &Self) {
        match self {
            Self::Object(members) => {
                members.values_mut().for_each(|child| child.sprinkle(key, value));
                if members.remove("x-typed-map").is_none() {
                    members.insert(key.to_owned(), value.clone());
                }
            }
            Self::Array(items) => items.iter_mut().for_each(|item| item.sprinkle(key, value)),
            Self::Text(_) => {}
        }
    }
}

type RoundTrip = fn(&str) -> Option<String>;

fn round_trip<T: Decode + Serialize>(text: &str) -> Option<String> {
    let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
    let decoded = T::decode((&*raw).into()).ok()?;
    Some(serde_json::to_string(&decoded).unwrap())
}

/// One sample per message type with every known member set. `x-typed-map` marks maps whose values have
/// a type, where an unknown member of another type would rightly be refused.
fn samples() -> Vec<(&'static str, RoundTrip, &'static str)> {
    const CONTENT: &str = r#"[
        {"type":"text","text":"t","annotations":{"audience":["user","robot"],"priority":0.70000000000000000001,"lastModified":"2026-01-01"},"_meta":{"a":{}}},
        {"type":"image","data":"AA==","mimeType":"image/png","annotations":{},"_meta":{}},
        {"type":"audio","data":"AA==","mimeType":"audio/wav","annotations":{},"_meta":{}},
        {"type":"resource","resource":{"uri":"u:x","mimeType":"m","text":"t","_meta":{}},"annotations":{},"_meta":{}},
        {"type":"resource","resource":{"uri":"u:x","mimeType":"m","blob":"AA=="}},
        {"type":"resource_link","uri":"u:x","name":"n","title":"t","description":"d","mimeType":"m","size":123456789012345678901234567890,"icons":[{"src":"data:,","mimeType":"m","sizes":["any"],"theme":"dark"}],"annotations":{},"_meta":{}},
        {"type":"tool_use","id":"1","name":"n","input":{"x":1e400},"_meta":{}},
        {"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}],"structuredContent":[1.10],"isError":false,"_meta":{}},
        {"type":"hologram","shape":{"sides":[6.0]}}]"#;
    macro_rules! sample {
        ($type:ty, $text:expr) => {
            (stringify!($type), round_trip::<$type> as RoundTrip, $text)
        };
    }
    vec![
        sample!(Vec<Content>, CONTENT),
        sample!(
            Tool,
            r#"{"name":"n","title":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"minimum":0.10}}},"outputSchema":{"type":"object"},"annotations":{"title":"t","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"dynamicAnnotations":true,"icons":[],"_meta":{}}"#
        ),
        sample!(
            ToolAnnotationsParams,
            r#"{"name":"n","arguments":{"deep":[{"n":1.000}]},"_meta":{"dev.candor/dynamic-annotations":{"partial":true}}}"#
        ),
        sample!(
            ToolAnnotationsResult,
            r#"{"annotations":{"title":"t","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"_meta":{}}"#
        ),
        sample!(
            ResolveToolResult,
            r#"{"resultType":"complete","name":"n","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"_meta":{}}"#
        ),
        sample!(ToolsCapability, r#"{"listChanged":false,"dynamicAnnotations":true}"#),
        sample!(
            ListToolsResult,
            r#"{"tools":[{"name":"n","inputSchema":{}}],"nextCursor":"c","_meta":{}}"#
        ),
        sample!(
            CallToolParams,
            r#"{"name":"n","arguments":{"deep":[{"n":1.000}]},"inputResponses":{"q":{}},"requestState":"s","_meta":{}}"#
        ),
        sample!(
            CallToolResult,
            r#"{"content":[{"type":"text","text":"t"}],"structuredContent":null,"isError":true,"_meta":{}}"#
        ),
        sample!(
            Resource,
            r#"{"uri":"u:x","name":"n","title":"t","description":"d","mimeType":"m","size":1.50,"icons":[],"annotations":{},"_meta":{}}"#
        ),
        sample!(
            ResourceTemplate,
            r#"{"uriTemplate":"u:{x}","name":"n","title":"t","description":"d","mimeType":"m","icons":[],"annotations":{},"_meta":{}}"#
        ),
        sample!(
            ListResourcesResult,
            r#"{"resources":[{"uri":"u:x","name":"n"}],"nextCursor":"c","_meta":{}}"#
        ),
        sample!(
            ListTemplatesResult,
            r#"{"resourceTemplates":[{"uriTemplate":"u:{x}","name":"n"}],"nextCursor":"c","_meta":{}}"#
        ),
        sample!(ReadResourceResult, r#"{"contents":[{"uri":"u:x","text":"t"}],"_meta":{}}"#),
        sample!(
            ResourceUriParams,
            r#"{"uri":"u:x","inputResponses":{},"requestState":"s","_meta":{}}"#
        ),
        sample!(
            Prompt,
            r#"{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}],"icons":[],"_meta":{}}"#
        ),
        sample!(
            GetPromptParams,
            r#"{"name":"n","arguments":{"a":"b","x-typed-map":0},"inputResponses":{},"requestState":"s","_meta":{}}"#
        ),
        sample!(
            GetPromptResult,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"description":"d","_meta":{}}"#
        ),
        sample!(ListPromptsResult, r#"{"prompts":[{"name":"n"}],"nextCursor":"c","_meta":{}}"#),
        sample!(
            CompleteParams,
            r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c","x-typed-map":0}},"_meta":{}}"#
        ),
        sample!(
            CompleteResult,
            r#"{"completion":{"values":["v"],"total":99999999999999999999,"hasMore":true},"_meta":{}}"#
        ),
        sample!(
            CreateMessageParams,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"},"_meta":{}},{"role":"assistant","content":[{"type":"text","text":"t"}]}],"maxTokens":1e3,"systemPrompt":"s","modelPreferences":{"hints":[{"name":"m"}],"costPriority":0.1,"speedPriority":0.20,"intelligencePriority":1},"includeContext":"none","temperature":0.50,"stopSequences":["x"],"metadata":{},"tools":[{"name":"n","inputSchema":{}}],"toolChoice":{"mode":"auto"},"_meta":{}}"#
        ),
        sample!(
            CreateMessageResult,
            r#"{"role":"assistant","content":[{"type":"text","text":"t"}],"model":"m","stopReason":"endTurn","_meta":{}}"#
        ),
        sample!(
            ElicitForm,
            r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}},"_meta":{}}"#
        ),
        sample!(
            ElicitUrl,
            r#"{"mode":"url","message":"m","url":"https://example.org","elicitationId":"e","_meta":{}}"#
        ),
        sample!(ElicitResult, r#"{"action":"accept","content":{"n":1.0},"_meta":{}}"#),
        sample!(
            ListRootsResult,
            r#"{"roots":[{"uri":"file:///x","name":"n","_meta":{}}],"_meta":{}}"#
        ),
        sample!(
            InitializeParams,
            r#"{"protocolVersion":"v","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true},"extensions":{"a/b":{},"x-typed-map":0},"experimental":{"c":{},"x-typed-map":0}},"clientInfo":{"name":"n","version":"1","title":"t","description":"d","websiteUrl":"w","icons":[]},"_meta":{}}"#
        ),
        sample!(
            InitializeResult,
            r#"{"protocolVersion":"v","capabilities":{"tools":{"listChanged":true,"dynamicAnnotations":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{},"completions":{},"logging":{},"extensions":{"a/b":{},"x-typed-map":0},"experimental":{"x-typed-map":0}},"serverInfo":{"name":"n","version":"1"},"instructions":"i","_meta":{}}"#
        ),
        sample!(
            DiscoverResult,
            r#"{"resultType":"complete","supportedVersions":["v"],"capabilities":{},"instructions":"i","ttlMs":0.0,"cacheScope":"public","_meta":{}}"#
        ),
        sample!(
            InputRequired,
            r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list","params":{}},"x-typed-map":0},"requestState":"s","_meta":{}}"#
        ),
        sample!(
            ListenParams,
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["u:x"]},"_meta":{}}"#
        ),
        sample!(AcknowledgedParams, r#"{"notifications":{},"_meta":{}}"#),
        sample!(
            ProgressParams,
            r#"{"progressToken":12345678901234567890123,"progress":0.10,"total":1.00,"message":"m","_meta":{}}"#
        ),
        sample!(CancelledParams, r#"{"requestId":"r","reason":"why","_meta":{}}"#),
        sample!(LogParams, r#"{"level":"info","data":[1.0],"logger":"l","_meta":{}}"#),
        sample!(SetLevelParams, r#"{"level":"error","_meta":{}}"#),
        sample!(PageParams, r#"{"cursor":"c","_meta":{}}"#),
    ]
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Text("null".into())),
        Just(Tree::Text("true".into())),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?(e[+-]?[0-9]{1,3})?".prop_map(Tree::Text),
        ".{0,10}".prop_map(|s| Tree::Text(serde_json::to_string(&s).unwrap())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::Array),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4).prop_map(Tree::Object),
        ]
    })
}

#[test]
fn known_members_survive_a_round_trip() {
    for (name, trip, text) in samples() {
        let mut tree = Tree::parse(text);
        tree.sprinkle("x", &Tree::Text("0".into()));
        let written =
            trip(&tree.write()).unwrap_or_else(|| panic!("{name} was refused: {}", tree.write()));
        assert_eq!(Tree::parse(&written), tree, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn unknown_members_survive_at_every_level(value in any_tree(), key in "x-[a-z]{1,8}") {
        for (name, trip, text) in samples() {
            let mut tree = Tree::parse(text);
            tree.sprinkle(&key, &value);
            let written = trip(&tree.write());
            prop_assert_eq!(written.map(|w| Tree::parse(&w)), Some(tree), "{}", name);
        }
    }

    #[test]
    fn null_stays_distinct_from_absent(which in any::<prop::sample::Index>(), member in any::<prop::sample::Index>()) {
        for (name, trip, text) in samples() {
            let mut tree = Tree::parse(text);
            let mut objects = tree.objects();
            if objects.is_empty() { continue; }
            let object = which.get_mut(&mut objects);
            let keys: Vec<String> = object.keys().cloned().collect();
            if keys.is_empty() { continue; }
            object.insert(member.get(&keys).clone(), Tree::Text("null".into()));
            tree.sprinkle("x", &Tree::Text("0".into()));
            // A required member that is null is refused; everything else comes back as null.
            if let Some(written) = trip(&tree.write()) {
                prop_assert_eq!(Tree::parse(&written), tree, "{}", name);
            }
        }
    }
}
