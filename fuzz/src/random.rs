//! A stream of numbers that follows from a seed (splitmix64).

/// See the module.
pub struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u32) -> Random {
        Random(u64::from(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, 0 if that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Whether something happens that happens `times` out of a hundred.
    pub(crate) fn chance(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    /// One of `choices`, which are not empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
