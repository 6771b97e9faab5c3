//! Which names this run has met before, in a fixed number of bytes: members, for `resume`, and directories that were finished early. It
//! may take a new name for one met before, never the other way round (a Bloom filter of two bits a name).

/// Bits of the filter: 16 MiB. At 10 million names two of a hundred are taken for met before.
const BITS: u64 = 1 << 27;

/// Names met, by the hashes of their places.
#[derive(Default)]
pub(super) struct Seen(Vec<u64>);

/// Where in the filter a name's bits are: words and masks.
fn places(hash: u64) -> [(usize, u64); 2] {
    [hash % BITS, (hash >> 32) % BITS].map(|bit| ((bit / 64) as usize, 1 << (bit % 64)))
}

impl Seen {
    /// May the name have been noted?
    pub fn has(&self, hash: u64) -> bool {
        !self.0.is_empty() && places(hash).iter().all(|&(word, mask)| self.0[word] & mask != 0)
    }

    /// Notes the name; true if it may have been met before.
    pub fn note(&mut self, hash: u64) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; (BITS / 64) as usize];
        }
        let met = self.has(hash);
        for (word, mask) in places(hash) {
            self.0[word] |= mask;
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_new_once() {
        let mut seen = Seen::default();
        assert!(!seen.has(7) && !seen.note(7) && !seen.has(u64::MAX) && !seen.note(u64::MAX));
        assert!(seen.has(7) && seen.has(u64::MAX) && !seen.has(8) && seen.note(7) && seen.note(u64::MAX));
    }
}
