//! Arguments of an app-server. They switch off everything of codex except a model that reads a history and answers.
//!
//! Only codex knows the names of its MCP servers; [`AppServer`](super::app_server::AppServer) asks for them. One thing
//! cannot be switched off: an `AGENTS.md` in codex's home goes to the model with every turn. It is logged.
//!
//! The settings are arguments and not a file, so that the settings and the login in codex's home are not changed. A
//! release ignores keys that it does not know.

use super::model_catalog;
use super::settings::CodexSettings;

/// Tools, prompts, skills, updates and reports.
const DISABLED_SETTINGS: [(&str, &str); 20] = [
    ("approval_policy", "\"never\""),
    ("sandbox_mode", "\"read-only\""),
    ("web_search", "\"disabled\""),
    ("check_for_update_on_startup", "false"),
    ("include_apps_instructions", "false"),
    ("include_collaboration_mode_instructions", "false"),
    ("include_environment_context", "false"),
    ("include_permissions_instructions", "false"),
    ("project_doc_max_bytes", "0"),
    ("suppress_unstable_features_warning", "true"),
    ("tools.update_plan.enabled", "false"),
    ("tools.experimental_request_user_input.enabled", "false"),
    ("skills.include_instructions", "false"),
    ("skills.bundled.enabled", "false"),
    ("agents.enabled", "false"),
    ("history.persistence", "\"none\""),
    ("feedback.enabled", "false"),
    ("analytics.enabled", "false"),
    ("notify", "[]"),
    ("developer_instructions", "\"\""),
];

/// Limits of the history. By default codex cuts tool outputs at about 10 KB and replaces a long history by a summary.
const HISTORY_LIMITS: [(&str, &str); 2] =
    [("tool_output_token_limit", "1000000000"), ("model_auto_compact_token_limit", "1000000000000")];

/// Features that are switched off. Plugins send requests when the process starts. Endless connection retries would look
/// like a slow model.
const DISABLED_FEATURES: [&str; 31] = [
    "agent_message_board",
    "apps",
    "browser_use",
    "browser_use_external",
    "browser_use_full_cdp_access",
    "code_mode_host",
    "computer_use",
    "enable_request_compression",
    "fast_mode",
    "goals",
    "guardian_approval",
    "hooks",
    "image_generation",
    "in_app_browser",
    "memories",
    "multi_agent",
    "plugin_discovery_prefetch",
    "plugin_sharing",
    "plugins",
    "remote_plugin",
    "shell_snapshot",
    "shell_tool",
    "skill_mcp_dependency_install",
    "skill_search",
    "sleep_tool",
    "tool_call_mcp_elicitation",
    "tool_suggest",
    "unbounded_connection_retries",
    "unified_exec",
    "view_image",
    "workspace_dependencies",
];

/// The arguments of one app-server.
pub(super) fn arguments(settings: &CodexSettings, models: Option<&str>) -> Vec<String> {
    let off = DISABLED_SETTINGS.iter().chain(&HISTORY_LIMITS).map(|(key, value)| format!("{key}={value}"));
    let features = DISABLED_FEATURES.iter().map(|feature| format!("features.{feature}=false"));
    let models = models.map(model_catalog::setting);
    // A thread cannot choose another provider than the process has.
    let provider =
        settings.provider.as_deref().map(|provider| format!("model_provider={}", quoted(provider)));
    let own = settings.config.iter().map(|(key, value)| format!("{key}={value}"));
    let mut arguments = settings.arguments.clone();
    arguments.push("app-server".to_owned());
    for setting in off.chain(features).chain(models).chain(provider).chain(own) {
        arguments.extend(["-c".to_owned(), setting]);
    }
    arguments
}

/// A basic string of TOML; JSON writes them alike.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use expect_test::expect;

    use super::arguments;
    use crate::codex::CodexSettings;

    #[test]
    fn what_the_owner_configures_stands_last() {
        let mut settings = CodexSettings::new(PathBuf::from("/srv/empty"));
        settings.arguments = vec!["--quiet".to_owned()];
        settings.provider = Some("local \"x\"".to_owned());
        settings.config = vec![("model_context_window".to_owned(), "1000".to_owned())];
        let all = arguments(&settings, Some("/srv/models.json"));
        let shown = [&all[..4], &all[all.len() - 6..]].concat().join(" ");
        expect![[r#"--quiet app-server -c approval_policy="never" -c model_catalog_json="/srv/models.json" -c model_provider="local \"x\"" -c model_context_window=1000"#]]
            .assert_eq(&shown);
    }
}
