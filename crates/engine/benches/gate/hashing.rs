//! The hash of arguments against the crates that implement RFC 8785.

use sha2::{Digest, Sha256};

use crate::rig::best_of;

pub(crate) fn measure() {
    let receipt = serde_json::json!({
        "callId": "7f3c2a4e-1b5d-5c6f-8a9b-0c1d2e3f4a5b", "tool": "vault.createFile", "attempt": 1,
        "args": { "path": "Projects/Tollgate/Meeting notes 2026-11-15.md", "content": "# Meeting\n\n".to_owned() + &"A line of ordinary prose with \"quotes\" and an umlaut: größer. ".repeat(8),
                  "frontmatter": { "tags": ["meeting", "project"], "rating": 4.5, "done": false, "count": 12 } },
        "limits": { "maxConcurrency": 8, "maxAttempts": 5, "callTimeoutMs": 600_000 }
    });
    let bytes = serde_json::to_vec(&receipt).unwrap().len();
    let ours = best_of(400, 100, |turns| {
        for _ in 0..turns {
            std::hint::black_box(envelope::canonical_hash(std::hint::black_box(&receipt)));
        }
    });
    let jcs = best_of(400, 100, |turns| {
        for _ in 0..turns {
            std::hint::black_box(Sha256::digest(serde_jcs::to_vec(std::hint::black_box(&receipt)).unwrap()));
        }
    });
    let canon = best_of(400, 100, |turns| {
        for _ in 0..turns {
            std::hint::black_box(Sha256::digest(json_canon::to_vec(std::hint::black_box(&receipt)).unwrap()));
        }
    });
    let same = serde_jcs::to_vec(&receipt).unwrap() == envelope::canonical_bytes(&receipt);
    println!("arguments hash, {bytes} bytes of JSON (same canonical bytes as serde_jcs: {same})");
    println!(
        "  ours {ours:.0} ns | serde_jcs + sha256 {jcs:.0} ns = {:.1}x | json-canon + sha256 {canon:.0} ns = {:.1}x",
        jcs / ours,
        canon / ours
    );
}
