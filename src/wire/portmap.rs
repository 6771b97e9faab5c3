//! Portmap version 2 (RFC 1833 section 3): which port a program answers on, both sides.

use nfs3_types::portmap::{IPPROTO_TCP, mapping};

use super::xdr::{Malformed, Reader, put_fixed, put_u32};

/// The program's number.
pub const PROGRAM: u32 = nfs3_types::portmap::PROGRAM;
/// The version spoken here.
pub const VERSION: u32 = nfs3_types::portmap::VERSION;
/// The portmapper's own port.
pub const PORT: u16 = nfs3_types::portmap::PMAP_PORT;
/// PMAPPROC_GETPORT's number.
pub const GETPORT: u32 = 3;
/// PMAPPROC_DUMP's number.
pub const DUMP: u32 = 4;
/// Lists of more mappings than this are malformed.
const LIST_MAX: usize = 65_536;

/// A program and where it answers over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the RFC's fields
pub struct Mapping {
    pub program: u32,
    pub version: u32,
    /// 0 in a question and for "not registered".
    pub port: u16,
}

/// Appends GETPORT's argument: asks for the program over TCP.
pub fn encode_getport(program: u32, version: u32, out: &mut Vec<u8>) {
    put_fixed(out, &mapping { prog: program, vers: version, prot: IPPROTO_TCP, port: 0 });
}

/// Reads GETPORT's argument; none when it asks for another transport than TCP.
pub fn decode_getport(record: &[u8], at: usize) -> Result<Option<Mapping>, Malformed> {
    Reader::new(record, at).fixed::<mapping>().map(from_tcp)
}

fn from_tcp(mapping: mapping) -> Option<Mapping> {
    let port = u16::try_from(mapping.port).unwrap_or(0);
    (mapping.prot == IPPROTO_TCP).then_some(Mapping { program: mapping.prog, version: mapping.vers, port })
}

/// Appends GETPORT's result; 0 is "not registered".
pub fn encode_port(port: u16, out: &mut Vec<u8>) {
    put_u32(out, u32::from(port));
}

/// Reads GETPORT's result; none when the program is not registered.
pub fn decode_port(record: &[u8], at: usize) -> Result<Option<u16>, Malformed> {
    let port = u16::try_from(Reader::new(record, at).u32()?).map_err(|_| Malformed)?;
    Ok(Some(port).filter(|port| *port != 0))
}

/// Appends DUMP's result.
pub fn encode_mappings(mappings: &[Mapping], out: &mut Vec<u8>) {
    for m in mappings {
        put_u32(out, 1);
        put_fixed(out, &mapping { prog: m.program, vers: m.version, prot: IPPROTO_TCP, port: u32::from(m.port) });
    }
    put_u32(out, 0);
}

/// Reads DUMP's result; programs over other transports are left out.
pub fn decode_mappings(record: &[u8], at: usize) -> Result<Vec<Mapping>, Malformed> {
    let mut reader = Reader::new(record, at);
    let mut mappings = Vec::new();
    let mut read = 0;
    while reader.bool()? {
        read += 1;
        if read > LIST_MAX {
            return Err(Malformed);
        }
        mappings.extend(from_tcp(reader.fixed()?));
    }
    Ok(mappings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree() {
        let mut out = vec![1, 2, 3, 4];
        encode_getport(100_003, 3, &mut out);
        assert_eq!(decode_getport(&out, 4), Ok(Some(Mapping { program: 100_003, version: 3, port: 0 })));
        out[15] = 17; // UDP
        assert_eq!(decode_getport(&out, 4), Ok(None));
        let mut out = Vec::new();
        encode_port(2049, &mut out);
        assert_eq!(decode_port(&out, 0), Ok(Some(2049)));
        assert_eq!(decode_port(&[0; 4], 0), Ok(None));
        assert_eq!(decode_port(&[1, 0, 0, 0], 0), Err(Malformed));
        let mappings = [Mapping { program: 1, version: 2, port: 3 }, Mapping { program: 4, version: 5, port: 6 }];
        let mut out = Vec::new();
        encode_mappings(&mappings, &mut out);
        assert_eq!(decode_mappings(&out, 0), Ok(mappings.to_vec()));
        assert_eq!(decode_mappings(&out[..out.len() - 1], 0), Err(Malformed));
    }
}
