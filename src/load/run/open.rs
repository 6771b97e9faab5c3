//! Which of a clone's files are open: no more than openfiles=, those that were used last.

/// Open files and what is under way on them.
#[derive(Debug)]
pub(super) struct OpenFiles {
    files: Vec<State>,
    most: usize,
    open: usize,
    /// Counts uses.
    clock: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    is_open: bool,
    in_flight: u32,
    used: u64,
}

impl OpenFiles {
    /// Of `files` files at most `most` are open; 0 counts as 1.
    pub(super) fn new(files: usize, most: usize) -> OpenFiles {
        OpenFiles { files: vec![State::default(); files], most: most.clamp(1, files.max(1)), open: 0, clock: 0 }
    }

    /// How many may be open.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open
    }

    /// All may be open: nothing has to be closed before the end.
    pub(super) fn holds_all(&self) -> bool {
        self.most >= self.files.len()
    }

    pub(super) fn is_open(&self, file: u32) -> bool {
        self.files[file as usize].is_open
    }

    /// The file to be closed before another is opened; None where there is room. Err: all are in use.
    pub(super) fn to_close(&self) -> Result<Option<u32>, ()> {
        if self.open < self.most {
            return Ok(None);
        }
        let idle = self.files.iter().enumerate().filter(|(_, file)| file.is_open && file.in_flight == 0);
        idle.min_by_key(|(_, file)| file.used).map(|(index, _)| Some(index as u32)).ok_or(())
    }

    pub(super) fn opened(&mut self, file: u32) {
        self.files[file as usize].is_open = true;
        self.open += 1;
    }

    pub(super) fn closed(&mut self, file: u32) {
        self.files[file as usize].is_open = false;
        self.open -= 1;
    }

    /// An I/O on `file` begins.
    #[inline]
    pub(super) fn begins(&mut self, file: u32) {
        self.clock += 1;
        let state = &mut self.files[file as usize];
        state.in_flight += 1;
        state.used = self.clock;
    }

    /// An I/O on `file` has ended.
    #[inline]
    pub(super) fn ends(&mut self, file: u32) {
        let state = &mut self.files[file as usize];
        state.in_flight = state.in_flight.saturating_sub(1);
    }

    /// The open files.
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.files.len() as u32).filter(|file| self.is_open(*file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_used_longest_ago_and_is_idle_is_closed() {
        let mut open = OpenFiles::new(3, 2);
        assert_eq!((open.to_close(), open.holds_all()), (Ok(None), false));
        [0, 1].into_iter().for_each(|file| {
            open.opened(file);
            open.begins(file);
        });
        assert_eq!(open.to_close(), Err(()), "both are in use");
        open.ends(1);
        assert_eq!(open.to_close(), Ok(Some(1)));
        open.ends(0);
        assert_eq!(open.to_close(), Ok(Some(0)));
        open.closed(0);
        assert_eq!((open.to_close(), open.count(), open.all()), (Ok(None), 1, vec![1]));
    }
}
