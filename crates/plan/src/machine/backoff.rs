//! The delay before another attempt.

use envelope::{CallId, Hash};

/// Returns the delay. It doubles with every attempt, plus up to a quarter of jitter so that many failed calls
/// do not return at the same moment.
///
/// The jitter is derived from the failed call's id, so a replay waits exactly as long.
pub(super) fn delay_ms(backoff_ms: u64, attempt: u32, failed: &CallId, max_ms: u64) -> u64 {
    let doublings = attempt.saturating_sub(1).min(63);
    let base = backoff_ms.saturating_mul(1 << doublings);
    let spread = base / 4;
    let jitter = if spread == 0 { 0 } else { jitter(failed) % (spread + 1) };
    base.saturating_add(jitter).min(max_ms)
}

fn jitter(id: &CallId) -> u64 {
    let hash = Hash::of(id.as_str().as_bytes());
    hash.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use envelope::CallId;
    use proptest::prelude::{any, prop_assert, proptest};

    use super::delay_ms;

    fn id(text: &str) -> CallId {
        CallId::parse(text).unwrap()
    }

    #[test]
    fn the_wait_doubles_and_is_repeatable() {
        let waits: Vec<u64> = (1..=5).map(|attempt| delay_ms(100, attempt, &id("c"), 10_000)).collect();
        assert_eq!(
            waits,
            (1..=5).map(|attempt| delay_ms(100, attempt, &id("c"), 10_000)).collect::<Vec<_>>()
        );
        for (attempt, wait) in (0..).zip(waits) {
            let base = 100 << attempt;
            assert!((base..=base + base / 4).contains(&wait), "attempt {attempt}: {wait}");
        }
    }

    #[test]
    fn different_calls_do_not_come_back_at_the_same_moment() {
        let waits = (0..100).map(|n| delay_ms(1_000, 1, &id(&format!("call{n}")), 10_000));
        assert!(waits.collect::<std::collections::BTreeSet<_>>().len() > 50);
    }

    proptest! {
        // Conformance: envelope 7.3
        #[test]
        fn the_policy_limit_always_holds(backoff in any::<u64>(), attempt in any::<u32>(), max in any::<u64>()) {
            prop_assert!(delay_ms(backoff, attempt, &id("c"), max) <= max);
        }
    }
}
