//! The ids of an answer and of its items.
//!
//! Clients put items of many answers into one list and look them up by id, so an id must not come again in another
//! answer. The unique part comes from outside.

/// Gives out the ids of one answer.
pub(super) struct Ids {
    unique: String,
    messages: u32,
    reasonings: u32,
    calls: u32,
}

impl Ids {
    pub(super) fn new(unique: &str) -> Ids {
        Ids { unique: unique.to_owned(), messages: 0, reasonings: 0, calls: 0 }
    }

    pub(super) fn message(&mut self) -> String {
        make("msg", &self.unique, &mut self.messages)
    }

    pub(super) fn reasoning(&mut self) -> String {
        make("rs", &self.unique, &mut self.reasonings)
    }

    pub(super) fn function_call(&mut self) -> String {
        make("fc", &self.unique, &mut self.calls)
    }

    pub(super) fn custom_call(&mut self) -> String {
        make("ctc", &self.unique, &mut self.calls)
    }
}

/// The id of a response.
pub fn response_id(unique: &str) -> String {
    ["resp_", unique].concat()
}

fn make(prefix: &str, unique: &str, count: &mut u32) -> String {
    *count += 1;
    let mut number = itoa::Buffer::new();
    let number = number.format(*count);
    // Three digits, or more if it must be.
    let zeros = &"00"[number.len().min(3) - 1..];
    [prefix, "_", unique, "_", zeros, number].concat()
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn ids_have_three_digits_or_more() {
        let mut ids = Ids::new("7f");
        let given: Vec<String> = (0..1001).map(|_| ids.message()).collect();
        let some = [0, 8, 9, 98, 99, 998, 999, 1000].map(|at| given[at].strip_prefix("msg_7f_").unwrap());
        assert_eq!(some, ["001", "009", "010", "099", "100", "999", "1000", "1001"]);
    }
}
