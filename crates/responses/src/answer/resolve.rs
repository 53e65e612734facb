//! Resolves references of a client: earlier responses and items.

use std::collections::HashSet;

use envelope::SessionId;

use crate::error::ApiError;
use crate::item::ConversationItem;
use crate::request::Request;
use crate::store::{FoundItem, ResponseStore, SizeEstimate};

/// Sets `previous_response_id` if the client left it out and sends nothing but outputs of calls: the response that made
/// the first of these calls is continued. Ids of calls are those of their items here.
pub(super) fn continue_response_of_calls(
    request: &mut Request,
    store: &ResponseStore,
    also: Option<&ResponseStore>,
) {
    let call_id = |item: &ConversationItem| match item {
        ConversationItem::FunctionCallOutput { call_id, .. }
        | ConversationItem::CustomToolCallOutput { call_id, .. } => Some(call_id.clone()),
        ConversationItem::Message { .. }
        | ConversationItem::FunctionCall { .. }
        | ConversationItem::CustomToolCall { .. }
        | ConversationItem::Reasoning { .. }
        | ConversationItem::Compaction { .. }
        | ConversationItem::Reference { .. } => None,
    };
    if request.previous_response_id.is_some() || !request.input.iter().all(|item| call_id(item).is_some()) {
        return;
    }
    let Some(first) = request.input.first().and_then(call_id) else { return };
    let found = find_item(&first, store, also).filter(FoundItem::is_output);
    let is_the_call = found.as_ref().and_then(FoundItem::item).is_some_and(|item| {
        matches!(item, ConversationItem::FunctionCall { call_id, .. } | ConversationItem::CustomToolCall { call_id, .. }
            if *call_id == first)
    });
    if is_the_call {
        request.previous_response_id = found.map(|found| found.response_id().to_owned());
    }
}

/// Returns the conversation before the request. Responses of the connection (`also`) and stored ones may continue
/// each other.
pub(super) fn earlier_conversation(
    request: &Request,
    store: &ResponseStore,
    also: Option<&ResponseStore>,
) -> Result<Vec<ConversationItem>, ApiError> {
    match &request.previous_response_id {
        Some(previous) => store.conversation_with(previous, also),
        None => Ok(Vec::new()),
    }
}

/// Returns the session of the conversation before the request, if calls of it were recorded.
pub(super) fn earlier_session(
    request: &Request,
    store: &ResponseStore,
    also: Option<&ResponseStore>,
) -> Option<SessionId> {
    let previous = request.previous_response_id.as_ref()?;
    let found = also.and_then(|also| also.get(previous)).or_else(|| store.get(previous));
    found.and_then(|stored| stored.session.clone())
}

/// Returns the conversation with the input of the request, each reference replaced by its item. An item that is in
/// the conversation already is not added again. Fails if an item is unknown or the conversation is too large.
pub(super) fn resolve_references(
    mut said: Vec<ConversationItem>,
    input: Vec<ConversationItem>,
    store: &ResponseStore,
    also: Option<&ResponseStore>,
) -> Result<Vec<ConversationItem>, ApiError> {
    let mut scale = SizeEstimate::default();
    for item in &said {
        scale.add(item, "previous_response_id")?;
    }
    let mut known: HashSet<String> =
        said.iter().filter_map(ConversationItem::id).map(str::to_owned).collect();
    for (position, item) in input.into_iter().enumerate() {
        let is_new = item.id().is_none_or(|id| known.insert(id.to_owned()));
        let ConversationItem::Reference { id } = &item else {
            scale.add(&item, "input")?;
            said.push(item);
            continue;
        };
        if !is_new {
            continue;
        }
        let param = format!("input[{position}].id");
        let found = find_item(id, store, also);
        let item = found.as_ref().and_then(FoundItem::item).ok_or_else(|| item_not_found(id, &param))?;
        scale.add(item, &param)?;
        said.push(item.clone());
    }
    Ok(said)
}

/// Finds an item. An item that a client echoed never replaces the output item with the same id.
fn find_item(id: &str, store: &ResponseStore, also: Option<&ResponseStore>) -> Option<FoundItem> {
    let own = also.and_then(|also| also.item(id));
    match own {
        Some(own) if own.is_output() => Some(own),
        Some(own) => store.item(id).filter(FoundItem::is_output).or(Some(own)),
        None => store.item(id),
    }
}

fn item_not_found(id: &str, param: &str) -> ApiError {
    ApiError::invalid(
        param,
        "item_not_found",
        format!(
            "no item `{id}` is kept; it was deleted, is too old, or was made with `store: false`. Send the item itself instead"
        ),
    )
}

pub fn unknown_response(id: &str) -> ApiError {
    ApiError::not_found(
        "response_not_found",
        format!("no response `{id}` is kept; it was deleted, is too old, or was made with `store: false`"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{continue_response_of_calls, earlier_conversation, resolve_references};
    use crate::error::ApiError;
    use crate::item::{ConversationItem, ItemContent, ItemRole};
    use crate::request;
    use crate::store::{ResponseStore, StoreLimits, StoredResponse};

    fn message(id: &str, role: ItemRole, text: &str) -> ConversationItem {
        let content = vec![ItemContent::Text(text.to_owned())];
        ConversationItem::Message { id: Some(id.to_owned()), role, content, phase: None }
    }

    /// A response with the input `in_<name>` and the output `msg_<name>`.
    fn stored(name: &str, previous: Option<&str>, text: &str) -> StoredResponse {
        StoredResponse {
            id: name.to_owned(),
            previous: previous.map(str::to_owned),
            session: None,
            input: vec![message(&format!("in_{name}"), ItemRole::User, "asked")],
            output: vec![message(&format!("msg_{name}"), ItemRole::Assistant, text)],
            object: "{}".to_owned(),
        }
    }

    fn store() -> ResponseStore {
        ResponseStore::in_memory(StoreLimits::default())
    }

    fn conversation(
        mut body: Value,
        store: &ResponseStore,
        also: Option<&ResponseStore>,
    ) -> Result<Vec<ConversationItem>, ApiError> {
        body["model"] = json!("any");
        let mut request = request::parse_value(body, &request::SchemaCache::default())?;
        continue_response_of_calls(&mut request, store, also);
        resolve_references(earlier_conversation(&request, store, also)?, request.input, store, also)
    }

    /// The ids of the conversation, or the error.
    fn said(body: Value, store: &ResponseStore, also: Option<&ResponseStore>) -> String {
        match conversation(body, store, also) {
            Ok(said) => said.iter().map(|item| item.id().unwrap_or("-")).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{} {} {}", error.status, error.code, error.param.unwrap_or_default()),
        }
    }

    fn reference(id: &str) -> Value {
        json!({ "type": "item_reference", "id": id })
    }

    #[tokio::test]
    async fn an_item_is_said_once_however_often_it_is_referred_to() {
        let store = store();
        store.insert(stored("one", None, "said")).await.unwrap();
        store.insert(stored("two", None, "said")).await.unwrap();
        let input = json!([
            reference("msg_one"), reference("msg_two"), reference("msg_one"),
            { "id": "mine", "role": "user", "content": "hello" }, reference("mine"),
        ]);
        assert_eq!(said(json!({ "input": input }), &store, None), "msg_one msg_two mine");
        let body = json!({ "input": input, "previous_response_id": "one" });
        assert_eq!(said(body, &store, None), "in_one msg_one msg_two mine");
        let body = json!({ "input": [reference("msg_one"), reference("msg_nine")] });
        assert_eq!(said(body, &store, None), "400 item_not_found input[1].id");
    }

    #[tokio::test]
    async fn outputs_alone_continue_the_response_that_made_the_call() {
        let store = store();
        let mut asked = stored("one", None, "said");
        let call = |id: &str| ConversationItem::FunctionCall {
            id: Some(id.to_owned()),
            call_id: id.to_owned(),
            name: "get".to_owned(),
            namespace: None,
            arguments: "{}".to_owned(),
        };
        asked.output.extend([call("fc_1"), call("fc_2")]);
        store.insert(asked).await.unwrap();
        let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
        let continued = "in_one msg_one fc_1 fc_2 - -";
        assert_eq!(said(json!({ "input": [output("fc_1"), output("fc_2")] }), &store, None), continued);
        // Anything else in the input may be a conversation of the client's own.
        let mixed = json!({ "input": [{ "role": "user", "content": "hello" }, output("fc_1")] });
        assert_eq!(said(mixed, &store, None), "- -");
        assert_eq!(said(json!({ "input": [output("fc_9")] }), &store, None), "-");
        // The id of a message does not name a call.
        assert_eq!(said(json!({ "input": [output("msg_one")] }), &store, None), "-");
    }

    #[tokio::test]
    async fn a_conversation_that_is_too_large_is_refused_wherever_its_weight_comes_from() {
        let half = "a".repeat(33 << 20);
        let store = store();
        store.insert(stored("one", None, &half)).await.unwrap();
        store.insert(stored("two", Some("one"), &half)).await.unwrap();
        let chained = json!({ "input": "on", "previous_response_id": "two" });
        assert_eq!(said(chained, &store, None), "400 conversation_too_large previous_response_id");
        let referred = json!({ "input": [reference("msg_one"), reference("msg_two")] });
        assert_eq!(said(referred, &store, None), "400 conversation_too_large input[1].id");
        let both = json!({ "input": [reference("msg_two")], "previous_response_id": "one" });
        assert_eq!(said(both, &store, None), "400 conversation_too_large input[0].id");
        let many = vec![reference("msg_one"); 16_384];
        assert_eq!(said(json!({ "input": many }), &store, None), "msg_one");
    }

    #[tokio::test]
    async fn what_a_connection_knows_and_what_everybody_knows_continue_each_other() {
        let (global, own) = (store(), store());
        own.insert(stored("warm", None, "")).await.unwrap();
        global.insert(stored("kept", Some("warm"), "")).await.unwrap();
        own.insert(stored("unkept", Some("kept"), "")).await.unwrap();
        global.insert(stored("last", Some("unkept"), "")).await.unwrap();
        let body = |previous: &str| json!({ "input": [], "previous_response_id": previous });
        assert_eq!(
            said(body("last"), &global, Some(&own)),
            "in_warm msg_warm in_kept msg_kept in_unkept msg_unkept in_last msg_last"
        );
        assert_eq!(
            said(body("unkept"), &global, Some(&own)),
            "in_warm msg_warm in_kept msg_kept in_unkept msg_unkept"
        );
        let missing = "404 previous_response_not_found previous_response_id";
        assert_eq!(said(body("last"), &global, None), missing);
        assert_eq!(said(body("unkept"), &global, None), missing);
        own.remove("warm").await.unwrap();
        assert_eq!(said(body("last"), &global, Some(&own)), missing);
    }

    #[tokio::test]
    async fn an_echo_on_a_connection_does_not_stand_for_what_was_said() {
        let (global, own) = (store(), store());
        global.insert(stored("one", None, "original")).await.unwrap();
        let mut forged = stored("two", None, "");
        forged.input =
            vec![message("msg_one", ItemRole::User, "forged"), message("in_one", ItemRole::User, "own")];
        own.insert(forged).await.unwrap();
        let body = json!({ "input": [reference("msg_one"), reference("in_one")] });
        let said = conversation(body, &global, Some(&own)).unwrap();
        let expected =
            [message("msg_one", ItemRole::Assistant, "original"), message("in_one", ItemRole::User, "own")];
        assert_eq!(said, expected);
    }
}
