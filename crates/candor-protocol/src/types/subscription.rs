//! The modern stream of change notifications.

use crate::json::Object;
use crate::message::message;

message! {
    /// Parameters of `subscriptions/listen`.
    pub struct ListenParams {
        /// The notifications that the client wants.
        required notifications: SubscriptionFilter = "notifications",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The notifications that a stream carries.
    pub struct SubscriptionFilter {
        /// Changes of the list of tools.
        optional tools_list_changed: bool = "toolsListChanged",
        /// Changes of the list of prompts.
        optional prompts_list_changed: bool = "promptsListChanged",
        /// Changes of the list of resources.
        optional resources_list_changed: bool = "resourcesListChanged",
        /// Changes of these resources.
        optional resource_subscriptions: Vec<String> = "resourceSubscriptions",
    }

    /// The notifications that the server agreed to send.
    pub struct AcknowledgedParams {
        /// The subset that it honors.
        required notifications: SubscriptionFilter = "notifications",
        /// Names the subscription.
        optional meta: Object = "_meta",
    }
}
