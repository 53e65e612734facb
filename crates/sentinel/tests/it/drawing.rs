//! Seeded random choices: a number identifies a case.

/// Draws numbers (SplitMix64).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        // Neighbours would begin alike.
        Draw(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Less than a bound, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A place between two characters, or an end.
    pub(crate) fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        text.floor_char_boundary(at)
    }

    /// Cuts a text into pieces: many or few, long or short, empty ones too.
    pub(crate) fn pieces<'a>(&mut self, text: &'a str) -> Vec<&'a str> {
        let longest = self.of(&[2, 3, 6, 24, 100, 400]);
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(self.below(longest).min(rest.len()));
            let (piece, after) = rest.split_at(at);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}
