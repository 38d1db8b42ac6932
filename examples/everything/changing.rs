//! Tools that change what the server offers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use candor::tool::Tool;

use crate::simple;

/// Whether the extra tool and the extra prompt are offered.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<(AtomicBool, AtomicBool)>);

impl Switch {
    pub(crate) fn tools_changed(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    pub(crate) fn prompts_changed(&self) -> bool {
        self.0.1.load(Ordering::Relaxed)
    }
}

pub(crate) fn tools(switch: &Switch) -> Vec<Arc<dyn Tool>> {
    let (for_tools, for_prompts) = (switch.clone(), switch.clone());
    vec![
        simple("test_trigger_tool_change", "Adds a tool, or takes it away again", move |ctx| {
            for_tools.0.0.fetch_xor(true, Ordering::Relaxed);
            ctx.changes().tools();
            async { Ok("The list of tools has changed.") }
        }),
        simple("test_trigger_prompt_change", "Adds a prompt, or takes it away again", move |ctx| {
            for_prompts.0.1.fetch_xor(true, Ordering::Relaxed);
            ctx.changes().prompts();
            async { Ok("The list of prompts has changed.") }
        }),
        simple("test_touch_resource", "Changes the watched resource", |ctx| {
            ctx.changes().resource(crate::resources::WATCHED);
            async { Ok("The watched resource has changed.") }
        }),
    ]
}

pub(crate) fn extra_tool() -> Arc<dyn Tool> {
    simple("test_extra", "Is there only now and then", |_| async { Ok("Here I am.") })
}
