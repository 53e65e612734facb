//! The resources that the suites read, beside those of the product.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate};
use serde_json::{Value, json};

use super::tools::{PNG, read};

pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, kind: &str| {
        Resource::new(uri, uri).with_description("Read by the conformance suites").with_mime_type(kind)
    };
    vec![resource("test://static-text", "text/plain"), resource("test://static-binary", "image/png")]
}

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new("test://template/{id}/data", "test template").with_mime_type("application/json")
}

/// Returns `None` for other resources.
pub(super) fn find(uri: &str) -> Option<Result<ReadResourceResult, ErrorData>> {
    let content = match uri {
        "test://static-text" => {
            json!({ "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        "test://static-binary" => json!({ "mimeType": "image/png", "blob": PNG }),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "mimeType": "application/json", "text": data.to_string() })
        }
    };
    Some(read(json!({ "resultType": "complete", "contents": [with_uri(content, uri)] })))
}

fn with_uri(mut content: Value, uri: &str) -> Value {
    if let Some(content) = content.as_object_mut() {
        content.insert("uri".to_owned(), json!(uri));
    }
    content
}
