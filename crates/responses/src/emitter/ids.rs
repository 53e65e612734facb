//! The ids of an answer and of its items.
//!
//! Clients collect items of many answers in one list and look them up by id, so an id must never occur in another answer.
//! The unique part comes from outside.

/// Generates the ids of one answer.
pub(super) struct AnswerIds {
    unique: String,
    messages: u32,
    reasonings: u32,
    calls: u32,
}

impl AnswerIds {
    pub(super) fn new(unique: &str) -> AnswerIds {
        AnswerIds { unique: unique.to_owned(), messages: 0, reasonings: 0, calls: 0 }
    }

    pub(super) fn message(&mut self) -> String {
        next_id("msg", &self.unique, &mut self.messages)
    }

    pub(super) fn reasoning(&mut self) -> String {
        next_id("rs", &self.unique, &mut self.reasonings)
    }

    pub(super) fn function_call(&mut self) -> String {
        next_id("fc", &self.unique, &mut self.calls)
    }

    pub(super) fn custom_call(&mut self) -> String {
        next_id("ctc", &self.unique, &mut self.calls)
    }
}

/// Returns the id of a response.
pub fn response_id(unique: &str) -> String {
    format!("resp_{unique}")
}

fn next_id(prefix: &str, unique: &str, count: &mut u32) -> String {
    *count += 1;
    format!("{prefix}_{unique}_{count:03}")
}

#[cfg(test)]
mod tests {
    use super::AnswerIds;

    #[test]
    fn ids_have_three_digits_or_more() {
        let mut ids = AnswerIds::new("7f");
        let given: Vec<String> = (0..1001).map(|_| ids.message()).collect();
        let some = [0, 8, 9, 98, 99, 998, 999, 1000].map(|at| given[at].strip_prefix("msg_7f_").unwrap());
        assert_eq!(some, ["001", "009", "010", "099", "100", "999", "1000", "1001"]);
    }
}
