//! Finds the name of a member that is refused inside a part that serde has copied.
//!
//! serde reads the name of a member before its value. So the refusal of a name is the same whatever the value is, and it is
//! gone without the member. Members that serde does not reach any more share the first property, but not the second.

use serde_json::{Value, json};

use super::refusal::Reason;
use crate::violation::below;

/// In larger parts, no name is searched, because each one needs several reads of the value.
const NAMES: usize = 256;

/// Returns the pointer of the member whose name is refused for this reason. `is_refused` reads a value, and returns true if it
/// is refused for this reason.
pub(super) fn refused(
    value: &Value,
    part: &str,
    reason: &Reason,
    is_refused: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    let mut names = Vec::new();
    collect(value.pointer(part)?, part, &mut names);
    names.retain(|name| reason.may_be_about_name(&name.name));
    if names.len() > NAMES {
        return None;
    }
    let mut changed = value.clone();
    // Values that no type accepts in one place.
    let others = [json!("\u{1}other\u{1}"), json!(-48_611_879.5), json!([[[[]]]])];
    names.retain(|name| {
        others.iter().all(|other| {
            let own =
                changed.pointer_mut(&name.pointer).map(|own| std::mem::replace(own, other.clone()));
            let refused = is_refused(&changed);
            if let (Some(place), Some(own)) = (changed.pointer_mut(&name.pointer), own) {
                *place = own;
            }
            refused
        })
    });
    if names.is_empty() || is_refused(&without(value, names.iter())) {
        return None;
    }
    let is_alone = |kept: &&MemberName| {
        is_refused(&without(value, names.iter().filter(|name| name.pointer != kept.pointer)))
    };
    names.iter().find(is_alone).map(|name| name.pointer.clone())
}

/// The name of a member, and the pointers of its object and of itself.
struct MemberName {
    owner: String,
    name: String,
    pointer: String,
}

fn collect(value: &Value, at: &str, names: &mut Vec<MemberName>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let pointer = below(at, name);
                collect(member, &pointer, names);
                names.push(MemberName { owner: at.to_owned(), name: name.clone(), pointer });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), names);
            }
        }
        _ => {}
    }
}

/// Returns the value without these members, in the same order.
fn without<'n>(value: &Value, names: impl Iterator<Item = &'n MemberName>) -> Value {
    let mut rest = value.clone();
    for MemberName { owner, name, .. } in names {
        if let Some(members) = rest.pointer_mut(owner).and_then(Value::as_object_mut) {
            members.shift_remove(name);
        }
    }
    rest
}
