//! What parcp prints at the end: the lines of what was copied, for `-v` and `--stats`.

use crate::base::units::{bytes_shown, grouped};

use super::run::Copied;

/// What the lines are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct About {
    /// Nothing was done: it is what would be.
    pub would: bool,
    /// Trees were compared.
    pub compares: bool,
}

/// The first lines of the summary.
pub fn lines(done: &Copied, seconds: f64, about: About) -> String {
    let About { would, compares } = about;
    let per_s = |n: u64| grouped((n as f64 / seconds.max(1e-9)) as u64);
    let counts = [
        (done.dirs, "directories"),
        (done.symlinks, "symbolic links"),
        (done.hard_links, "hard links"),
        (done.specials, "special files"),
    ];
    let mut parts = vec![format!("{} files", grouped(done.files))];
    parts.extend(counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", grouped(n))));
    let bytes = if compares { done.verified_bytes } else { done.bytes };
    let (parts, size, objects) = (parts.join(", "), bytes_shown(bytes), grouped(done.objects));
    let mut first = match (would, compares) {
        (true, true) => format!("would compare {objects} objects, {size}"),
        (false, true) => format!("compared {objects} objects, {size}"),
        (true, false) => format!("would copy {parts}, {size} of {objects} objects"),
        (false, false) => format!("copied {parts}, {size} of {objects} objects"),
    };
    if !would {
        let rate = bytes_shown((bytes as f64 / seconds.max(1e-9)) as u64);
        first += &format!(" in {seconds:.2} s: {} objects, {rate} a second", per_s(done.objects));
    }
    let rest = [
        (done.unchanged, "equal"),
        (done.attributes, "given attributes only"),
        (done.kept, "left as they were"),
        (done.left_out, "left out"),
        (done.deleted, if would { "to be deleted" } else { "deleted" }),
        (done.delete_held_back, "not deleted"),
        (done.differences, "differences"),
        (done.read_again, "read again because they changed"),
        (done.vanished, "vanished"),
    ];
    let rest: Vec<String> =
        rest.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", grouped(n))).collect();
    if rest.is_empty() { first } else { format!("{first}\n{}", rest.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nothing_are_left_out() {
        let done = Copied { objects: 1_200, files: 1_000, bytes: 5_000, ..Copied::default() };
        let [did, would] = [false, true].map(|would| About { would, compares: false });
        assert_eq!(
            lines(&done, 2.0, did),
            "copied 1,000 files, 5.00 kB of 1,200 objects in 2.00 s: 600 objects, 2.50 kB a second"
        );
        let done = Copied { dirs: 3, unchanged: 7, deleted: 1, ..done };
        assert_eq!(
            lines(&done, 2.0, would),
            "would copy 1,000 files, 3 directories, 5.00 kB of 1,200 objects\n7 equal; 1 to be deleted"
        );
        let done = Copied { objects: 7, unchanged: 6, differences: 1, verified_bytes: 4_000, ..Copied::default() };
        let [did, would] = [did, would].map(|about| lines(&done, 2.0, About { compares: true, ..about }));
        assert_eq!(did, "compared 7 objects, 4.00 kB in 2.00 s: 3 objects, 2.00 kB a second\n6 equal; 1 differences");
        assert_eq!(would, "would compare 7 objects, 4.00 kB\n6 equal; 1 differences");
    }
}
