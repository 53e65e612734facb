//! The conversation of an answer: the items before it, and the items that it adds.

use crate::item::{ConversationItem, ItemContent};
use crate::output::SentItem;

/// The conversation of one answer.
pub(super) struct AnswerConversation {
    /// The earlier conversation and the input of the request.
    items: Vec<ConversationItem>,
    /// How many of these items came with the request.
    from_request: usize,
    /// How many calls the client sent back.
    pub(super) echoed_calls: u64,
    /// The items that this answer has added.
    added: Vec<ConversationItem>,
    /// How many of the sent items are in `added`.
    copied: usize,
}

impl AnswerConversation {
    pub(super) fn new(
        items: Vec<ConversationItem>,
        from_request: usize,
        echoed_calls: u64,
    ) -> AnswerConversation {
        AnswerConversation { items, from_request, echoed_calls, added: Vec::new(), copied: 0 }
    }

    /// Returns the items before the answer.
    pub(super) fn items(&self) -> &[ConversationItem] {
        &self.items
    }

    /// Returns a copy of everything, for another turn of the model.
    pub(super) fn all_items(&self) -> Vec<ConversationItem> {
        self.items.iter().chain(&self.added).cloned().collect()
    }

    pub(super) fn has_added_items(&self) -> bool {
        !self.added.is_empty()
    }

    pub(super) fn add(&mut self, item: ConversationItem) {
        self.added.push(item);
    }

    /// Replaces the output of a call that this answer has added.
    pub(super) fn replace_output(&mut self, of: &str, text: String) {
        for item in &mut self.added {
            if let ConversationItem::FunctionCallOutput { call_id, output, .. } = item
                && call_id == of
            {
                *output = vec![ItemContent::Text(text)];
                return;
            }
        }
    }

    /// Adds the items that were sent to the client since the last time.
    pub(super) fn add_sent(&mut self, sent: &[SentItem]) {
        self.added.extend(sent[self.copied..].iter().map(|sent| ConversationItem::from(sent.item.clone())));
        self.copied = sent.len();
    }

    /// Returns the items of the request, and those that the answer has added.
    pub(super) fn into_request_and_added(mut self) -> (Vec<ConversationItem>, Vec<ConversationItem>) {
        let request = self.items.split_off(self.items.len() - self.from_request);
        (request, self.added)
    }
}
