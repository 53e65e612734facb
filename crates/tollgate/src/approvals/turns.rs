//! Clients in turn: one that asks much does not keep the others waiting.

use std::collections::HashMap;

use envelope::ClientId;

/// Remembers whose question was shown when.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    last: HashMap<ClientId, u64>,
    now: u64,
}

impl Turns {
    /// The first of what waits for the client whose turn it is: the one that has waited longest for a turn.
    pub(crate) fn next<'a, T>(&mut self, waiting: impl Iterator<Item = (&'a ClientId, T)>) -> Option<T> {
        let turn = |client: &ClientId| self.last.get(client).copied().unwrap_or(0);
        // The first of equal ones, so that a client's questions come in their order.
        let (client, chosen) = waiting.min_by_key(|(client, _)| turn(client))?;
        self.now += 1;
        self.last.insert(client.clone(), self.now);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use envelope::ClientId;

    use super::Turns;

    #[test]
    fn clients_take_turns_and_each_has_its_questions_in_order() {
        let [a, b, c] = ["a", "b", "c"].map(|name| ClientId::parse(name).unwrap());
        let mut waiting = vec![(&a, 1), (&a, 2), (&a, 3), (&b, 4), (&c, 5), (&b, 6)];
        let mut turns = Turns::default();
        let mut shown = Vec::new();
        while let Some(next) = turns.next(waiting.iter().copied()) {
            waiting.retain(|(_, number)| *number != next);
            shown.push(next);
        }
        assert_eq!(shown, [1, 4, 5, 2, 6, 3]);
        assert_eq!(turns.next(std::iter::empty::<(&ClientId, u8)>()), None);
    }
}
