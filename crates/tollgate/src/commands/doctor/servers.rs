//! What doctor says about the MCP servers of a vault. Starts none of them.

use super::{Finding, Health};
use crate::commands::servers::in_words;
use crate::place::Place;

pub(super) fn servers(place: &Place) -> Vec<Finding> {
    let known = place.settings.servers.iter();
    let found = known.map(|(name, settings)| match in_words(place, name, settings) {
        Ok((true, state, _)) => Finding::ok("servers", format!("{name}: {state}")),
        Ok((false, state, mend)) => {
            Finding::new(Health::Warn, "servers", format!("{name}: {state}")).mend(mend)
        }
        Err(stop) => Finding::failed("servers", stop),
    });
    found.collect()
}
