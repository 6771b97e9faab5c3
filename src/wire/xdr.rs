//! XDR (RFC 4506) over slices: a reader that never allocates by a length it has not checked, and the few writers.

use nfs3_types::xdr_codec::{Pack, Unpack};
use thiserror::Error;

/// The bytes are not what the RFC says: cut off, a length beyond the record, an unknown discriminant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("malformed XDR")]
pub struct Malformed;

/// Reads XDR items off the front of a record.
#[derive(Clone, Debug)]
pub struct Reader<'r> {
    rest: &'r [u8],
    /// Bytes of the whole record, to tell the position.
    total: usize,
}

impl<'r> Reader<'r> {
    /// A reader of `record` from offset `at` on.
    pub fn new(record: &'r [u8], at: usize) -> Reader<'r> {
        Reader { rest: record.get(at..).unwrap_or_default(), total: record.len() }
    }

    /// The offset in the record of the next byte.
    pub fn at(&self) -> usize {
        self.total - self.rest.len()
    }

    /// The next `count` bytes, unpadded.
    pub fn bytes(&mut self, count: usize) -> Result<&'r [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*head)
    }

    /// An unsigned int.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// An unsigned hyper.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// A bool; anything but 0 and 1 is malformed.
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// A variable-length opaque or string, with its padding. The last item's padding may be missing, as some
    /// implementations leave it off; its content is not looked at.
    pub fn opaque(&mut self) -> Result<&'r [u8], Malformed> {
        let len = usize::try_from(self.u32()?).map_err(|_| Malformed)?;
        let body = self.bytes(len)?;
        self.rest = self.rest.get(padding(len)..).unwrap_or_default();
        Ok(body)
    }

    /// The length of an array whose items take at least `item_bytes` each: never more items than the rest could hold.
    pub fn array_len(&mut self, item_bytes: usize) -> Result<usize, Malformed> {
        let len = usize::try_from(self.u32()?).map_err(|_| Malformed)?;
        if len > self.rest.len() / item_bytes { Err(Malformed) } else { Ok(len) }
    }

    /// An item of fixed size, by its `nfs3_types` type. Not for types that hold an opaque or an array.
    pub fn fixed<T: Unpack>(&mut self) -> Result<T, Malformed> {
        T::unpack(&mut self.rest).map(|(value, _)| value).map_err(|_| Malformed)
    }
}

/// Zero bytes that follow `len` bytes of an opaque, 0 to 3.
pub fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// Appends an unsigned int.
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends an unsigned hyper.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a variable-length opaque with its padding.
pub fn put_opaque(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, len_u32(bytes.len()));
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0; 3][..padding(bytes.len())]);
}

/// Appends an item of fixed size, by its `nfs3_types` type.
pub fn put_fixed(out: &mut Vec<u8>, value: &impl Pack) {
    value.pack(out).expect("a Vec takes all that is written to it");
}

/// The length as XDR writes it. Everything encoded here is far below 4 GiB: names, handles, and payloads that were
/// cut to a mount's limits, which are 32-bit numbers themselves.
pub fn len_u32(len: usize) -> u32 {
    u32::try_from(len).expect("an XDR item is below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_before_use() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 1, 2], 0);
        assert_eq!(reader.clone().opaque(), Err(Malformed));
        assert_eq!(reader.array_len(4), Err(Malformed));
        assert_eq!(Reader::new(&[1], 7).u32(), Err(Malformed));
    }

    #[test]
    fn opaques_are_padded_and_their_last_padding_may_miss() {
        for len in 0..9 {
            let mut out = vec![9; 4];
            put_opaque(&mut out, &vec![7; len]);
            assert_eq!(out.len() % 4, 0);
            let mut reader = Reader::new(&out, 4);
            assert_eq!(reader.opaque(), Ok(&vec![7; len][..]));
            assert_eq!(reader.at(), out.len());
            assert_eq!(Reader::new(&out[..8 + len], 4).opaque(), Ok(&vec![7; len][..]));
        }
    }
}
