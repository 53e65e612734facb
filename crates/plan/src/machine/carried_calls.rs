//! Calls that an earlier run of the same plan has made: a run that continues it uses their outputs and does not make
//! them again.

use std::collections::{BTreeMap, BTreeSet};

use envelope::StepId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that succeeded in an earlier run of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedCall {
    pub step_id: StepId,
    /// Position of its item, if the step has a foreach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Its output, if another part of the plan reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The work that the call could not do, as its result says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

/// The output of a call that succeeded, for the machine.
#[derive(Debug, Clone)]
pub(super) struct CallOutput {
    pub(super) data: Option<Value>,
    pub(super) incomplete: Option<String>,
}

/// Carried calls by step and item.
#[derive(Debug, Clone, Default)]
pub struct CarriedCalls {
    single: BTreeMap<StepId, CallOutput>,
    items: BTreeMap<StepId, BTreeMap<u64, CallOutput>>,
}

impl CarriedCalls {
    /// Returns the calls for the machine. The first of two entries for the same item counts.
    pub fn new(calls: impl IntoIterator<Item = CarriedCall>) -> CarriedCalls {
        let mut carried = CarriedCalls::default();
        for CarriedCall { step_id, index, data, incomplete } in calls {
            let output = CallOutput { data, incomplete };
            match index {
                None => carried.single.entry(step_id).or_insert(output),
                Some(index) => carried.items.entry(step_id).or_default().entry(index).or_insert(output),
            };
        }
        carried
    }

    /// Returns the number of calls of one step that are carried.
    pub fn count(&self, step: &StepId) -> u64 {
        let items = self.items.get(step).map_or(0, BTreeMap::len);
        let single = usize::from(self.single.contains_key(step));
        u64::try_from(items + single).unwrap_or(u64::MAX)
    }

    /// Returns the number of all calls that are carried.
    pub fn total(&self) -> u64 {
        let steps: BTreeSet<&StepId> = self.single.keys().chain(self.items.keys()).collect();
        steps.into_iter().map(|step| self.count(step)).sum()
    }

    /// Returns the output of a carried call; `None` if the call is not carried.
    pub(super) fn output(&self, step: &StepId, index: Option<u64>) -> Option<&CallOutput> {
        match index {
            None => self.single.get(step),
            Some(index) => self.items.get(step)?.get(&index),
        }
    }
}
