//! The demo's archive: many small files whose bytes do not compress, the same for the same number of files. Held in a
//! temporary file that has no name any more, so that nothing is left behind however the demo ends.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use crate::base::hash::mix;

/// Files in one directory: far below the 10,000 from which directories get slow.
const FILES_PER_DIR: u64 = 100;
const FILE_BYTES_MIN: u64 = 1 << 10;
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Noise that the files are cut from, each at its own offset.
const NOISE_BYTES: u64 = 1 << 20;

/// An archive of small files.
pub struct Patch {
    pub file: Arc<File>,
    pub len: u64,
    pub files: u64,
    pub dirs: u64,
    /// Of the files' data.
    pub bytes: u64,
}

impl Patch {
    /// Makes an archive of `files` files.
    pub fn make(files: u64) -> io::Result<Patch> {
        let path = std::env::temp_dir().join(format!("parfs-demo-{}.tar", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        let dirs = files.div_ceil(FILES_PER_DIR);
        let noise = noise();
        let mut archive = tar::Builder::new(BufWriter::with_capacity(1 << 20, file));
        let mut bytes = 0;
        for dir in 0..dirs {
            archive.append(&header(&format!("patch/d{dir:04}/"), tar::EntryType::Directory, 0o755, 0)?, io::empty())?;
            for n in dir * FILES_PER_DIR..files.min((dir + 1) * FILES_PER_DIR) {
                let data = data_of(&noise, n);
                bytes += data.len() as u64;
                let path = format!("patch/d{dir:04}/f{n:06}");
                archive.append(&header(&path, tar::EntryType::Regular, 0o644, data.len() as u64)?, data)?;
            }
        }
        let mut out = archive.into_inner()?;
        out.flush()?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let len = file.metadata()?.len();
        Ok(Patch { file: Arc::new(file), len, files, dirs, bytes })
    }
}

fn header(path: &str, kind: tar::EntryType, mode: u32, size: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1_700_000_000);
    header.set_size(size);
    header.set_cksum();
    Ok(header)
}

fn noise() -> Vec<u8> {
    (0..(NOISE_BYTES + FILE_BYTES_MAX) / 8).flat_map(|i| mix(i).to_le_bytes()).collect()
}

fn data_of(noise: &[u8], n: u64) -> &[u8] {
    let random = mix(n ^ 0x5eed);
    let len = FILE_BYTES_MIN + random % (FILE_BYTES_MAX - FILE_BYTES_MIN + 1);
    let from = (random >> 20) % NOISE_BYTES;
    &noise[from as usize..(from + len) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_archive_is_what_it_says_and_always_the_same() {
        let (a, b) = (Patch::make(250).unwrap(), Patch::make(250).unwrap());
        let read = |patch: &Patch| {
            let mut bytes = vec![0; patch.len as usize];
            patch.file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        let bytes = read(&a);
        assert!(bytes == read(&b));
        let mut archive = tar::Archive::new(&bytes[..]);
        let (mut files, mut dirs, mut data) = (0, 0, 0);
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            match entry.header().entry_type() {
                tar::EntryType::Directory => dirs += 1,
                _ => {
                    files += 1;
                    data += entry.size();
                    assert!((FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&entry.size()));
                }
            }
        }
        assert_eq!((files, dirs, data), (250, 3, a.bytes));
    }
}
