//! LiteLLM, the best-known gateway: Python, installed from PyPI with the packages of its proxy (650 MB).
//!
//! It is configured to answer `/v1/responses` through `/chat/completions` of the model's server, as it does for every
//! model whose server has nothing else. It calls no other server.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::pypi;

pub(crate) const NAME: &str = "litellm";
const WHAT: &str = "litellm[proxy]==1.108.4";
const UV: &str = "uv==0.13.7";

/// Otherwise it fetches prices, news and more from the network, and reports on itself.
const OFFLINE: [(&str, &str); 6] = [
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True"),
    ("LITELLM_LOCAL_AUTOROUTER_PRESETS", "True"),
    ("LITELLM_LOCAL_BLOG_POSTS", "True"),
    ("LITELLM_LOCAL_POLICY_TEMPLATES", "True"),
    ("LITELLM_TELEMETRY_DISABLED", "true"),
];

/// A process that listens, its address and its key. `folder` is for its settings.
pub(crate) fn start(upstream: SocketAddr, folder: &Path) -> Result<(Child, SocketAddr, String), String> {
    let installed = pypi::installed(NAME, WHAT, install)?;
    let address = pypi::free();
    // It does not start with a key that it takes for weak.
    let drawn = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let key = format!("sk-bench-{drawn:032x}");
    let settings = folder.join("litellm.yaml");
    std::fs::write(&settings, config(upstream)).unwrap();
    let process = Command::new(installed.join("bin/litellm"))
        .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--num_workers", "1"])
        .arg("--config")
        .arg(&settings)
        .current_dir(folder)
        .envs(OFFLINE)
        .env("LITELLM_MASTER_KEY", &key)
        .env("LITELLM_LOG", "ERROR")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    Ok((pypi::listening(process, address, Duration::from_secs(300))?, address, key))
}

/// It requires a recent `certifi`, the list of certificate authorities. It only uses loopback here, where none is
/// needed, so uv accepts any version.
fn install(folder: &Path) -> Result<(), String> {
    let any = folder.join("any-version.txt");
    std::fs::write(&any, "certifi\n").map_err(|error| format!("{}: {error}", any.display()))?;
    pypi::pip(folder, UV)?;
    pypi::run(
        Command::new(folder.join("bin/uv"))
            .args(["pip", "install", "--quiet", "--no-cache", "--native-tls", WHAT])
            .arg("--python")
            .arg(folder.join("bin/python"))
            .arg("--override")
            .arg(any),
    )
}

fn config(upstream: SocketAddr) -> String {
    format!(
        "model_list:
  - model_name: m
    litellm_params:
      model: openai/m
      api_base: http://{upstream}/v1
      api_key: none
      use_chat_completions_api: true
"
    )
}
