//! What a figure should be, and whether it is.

pub(crate) use Aim::{AtLeast, AtMost};

#[derive(Clone, Copy)]
pub(crate) enum Aim {
    AtMost(f64),
    AtLeast(f64),
}

impl Aim {
    pub(crate) fn judge(self, name: &str, is: f64) {
        let (met, word, aim) = match self {
            AtMost(aim) => (is <= aim, "at most", aim),
            AtLeast(aim) => (is >= aim, "at least", aim),
        };
        let met = if met { "met" } else { "MISSED" };
        println!("  aim: {name:<46} {is:>8.3}   {word} {aim:<6.3} {met}");
    }
}
