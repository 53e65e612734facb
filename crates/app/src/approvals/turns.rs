//! Turns of clients, so that one with many questions does not keep the others waiting.

use std::collections::HashMap;

use envelope::ClientId;

/// Order in which clients had their questions shown.
#[derive(Debug, Default)]
pub struct ClientTurns {
    last: HashMap<ClientId, u64>,
    now: u64,
}

impl ClientTurns {
    /// Returns the first waiting item of the client whose last turn is longest ago.
    pub fn next<'a, T>(&mut self, waiting: impl Iterator<Item = (&'a ClientId, T)>) -> Option<T> {
        let turn = |client: &ClientId| self.last.get(client).copied().unwrap_or(0);
        // `min_by_key` returns the first of equal ones, so a client's questions keep their order.
        let (client, chosen) = waiting.min_by_key(|(client, _)| turn(client))?;
        self.now += 1;
        self.last.insert(client.clone(), self.now);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use envelope::ClientId;

    use super::ClientTurns;

    #[test]
    fn clients_take_turns_and_each_has_its_questions_in_order() {
        let [a, b, c] = ["a", "b", "c"].map(|name| ClientId::parse(name).unwrap());
        let mut waiting = vec![(&a, 1), (&a, 2), (&a, 3), (&b, 4), (&c, 5), (&b, 6)];
        let mut turns = ClientTurns::default();
        let mut shown = Vec::new();
        while let Some(next) = turns.next(waiting.iter().copied()) {
            waiting.retain(|(_, number)| *number != next);
            shown.push(next);
        }
        assert_eq!(shown, [1, 4, 5, 2, 6, 3]);
        assert_eq!(turns.next(std::iter::empty::<(&ClientId, u8)>()), None);
    }
}
