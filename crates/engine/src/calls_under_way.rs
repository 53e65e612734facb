//! Counts the calls of an engine that are under way.

use std::sync::Arc;

/// The count. A call holds a [`CallMark`] from its begin to its end.
#[derive(Debug, Default)]
pub(crate) struct CallsUnderWay(Arc<()>);

/// One call. The count goes down when it is dropped.
#[derive(Debug)]
pub(crate) struct CallMark {
    _count: Arc<()>,
}

impl CallsUnderWay {
    pub(crate) fn begin(&self) -> CallMark {
        CallMark { _count: Arc::clone(&self.0) }
    }

    /// Whether one call at most is under way.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) <= 2
    }
}

#[cfg(test)]
mod tests {
    use super::CallsUnderWay;

    #[test]
    fn a_call_is_alone_until_another_begins_and_once_that_has_ended() {
        let calls = CallsUnderWay::default();
        let first = calls.begin();
        assert!(calls.is_alone());
        let second = calls.begin();
        assert!(!calls.is_alone());
        drop(first);
        assert!(calls.is_alone());
        drop(second);
        assert!(calls.is_alone());
    }
}
