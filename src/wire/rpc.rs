//! ONC RPC version 2 (RFC 5531): headers of calls and replies, AUTH_NONE and AUTH_SYS. Read by hand, so that a value the
//! XDR crate does not know (an auth_stat above 7, RPCSEC_GSS) is told apart from a malformed record.

use thiserror::Error;

use super::record::mark;
use super::xdr::{Malformed, Reader, len_u32, padding, put_opaque, put_u32};

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;
/// AUTH_SYS carries at most 16 supplementary groups (RFC 5531 appendix A).
const GIDS_MAX: usize = 16;
/// Machine names are at most 255 bytes (RFC 5531 appendix A).
const MACHINE_BYTES_MAX: usize = 255;
/// Credentials and verifiers have at most 400 bytes (RFC 5531 section 8.2).
const AUTH_BYTES_MAX: usize = 400;

/// auth_stat: the credentials are not understood.
pub const AUTH_BADCRED: u32 = 1;
/// auth_stat: the credentials are refused for being too weak.
pub const AUTH_TOOWEAK: u32 = 5;

/// AUTH_SYS: who calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credential {
    /// The caller's user.
    pub uid: u32,
    /// The caller's group.
    pub gid: u32,
    /// Supplementary groups; the first 16 are sent.
    pub gids: Vec<u32>,
    /// The caller's host; the first 255 bytes are sent.
    pub machine: String,
}

/// Why a server did not carry out a call; procedure errors are not among these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RpcError {
    /// The credentials were refused, with this auth_stat.
    #[error("credentials refused (auth_stat {0})")]
    Denied(u32),
    /// The server speaks other versions of RPC.
    #[error("RPC versions {low} to {high} only")]
    #[allow(missing_docs)]
    RpcMismatch { low: u32, high: u32 },
    /// No such program at this port.
    #[error("program not available")]
    ProgUnavail,
    /// The program has other versions.
    #[error("program versions {low} to {high} only")]
    #[allow(missing_docs)]
    ProgMismatch { low: u32, high: u32 },
    /// The program has no such procedure.
    #[error("procedure not available")]
    ProcUnavail,
    /// The server could not read the arguments.
    #[error("arguments not understood")]
    GarbageArgs,
    /// The server failed for reasons of its own.
    #[error("server out of resources")]
    SystemErr,
    /// The reply has a state that the RFC does not know.
    #[error("malformed reply")]
    Malformed,
}

fn put_credential(out: &mut Vec<u8>, credential: Option<&Credential>) {
    let Some(credential) = credential else {
        put_u32(out, AUTH_NONE);
        return put_u32(out, 0);
    };
    put_u32(out, AUTH_SYS);
    let machine = &credential.machine.as_bytes()[..credential.machine.len().min(MACHINE_BYTES_MAX)];
    let gids = &credential.gids[..credential.gids.len().min(GIDS_MAX)];
    let body = 4 + 4 + machine.len() + padding(machine.len()) + 4 + 4 + 4 + 4 * gids.len();
    put_u32(out, len_u32(body));
    put_u32(out, 0); // stamp: arbitrary
    put_opaque(out, machine);
    put_u32(out, credential.uid);
    put_u32(out, credential.gid);
    put_u32(out, len_u32(gids.len()));
    gids.iter().for_each(|gid| put_u32(out, *gid));
}

/// Appends a record mark, patched by [`end_record`], and a call's header; returns the record's start in `out`.
pub fn begin_call(
    out: &mut Vec<u8>,
    xid: u32,
    program: u32,
    version: u32,
    procedure: u32,
    credential: Option<&Credential>,
) -> usize {
    let start = out.len();
    for word in [0, xid, CALL, RPC_VERSION, program, version, procedure] {
        put_u32(out, word);
    }
    put_credential(out, credential);
    put_u32(out, AUTH_NONE);
    put_u32(out, 0);
    start
}

/// Patches the mark of the record that began at `start`; `payload` bytes follow it outside of `out`, padding included.
pub fn end_record(out: &mut [u8], start: usize, payload: usize) {
    let len = out.len() - start - 4 + payload;
    out[start..start + 4].copy_from_slice(&mark(len, true));
}

/// Reads a reply's header: its xid, and the offset of the results in the record or why there are none.
pub fn parse_reply(record: &[u8]) -> Result<(u32, Result<usize, RpcError>), Malformed> {
    let mut reader = Reader::new(record, 0);
    let xid = reader.u32()?;
    if reader.u32()? != REPLY {
        return Err(Malformed);
    }
    Ok((xid, parse_outcome(&mut reader).unwrap_or(Err(RpcError::Malformed))))
}

fn parse_outcome(reader: &mut Reader<'_>) -> Result<Result<usize, RpcError>, Malformed> {
    const ACCEPTED: u32 = 0;
    const DENIED: u32 = 1;
    let error = match reader.u32()? {
        ACCEPTED => {
            let _flavor = reader.u32()?;
            let _verifier = reader.opaque()?;
            match reader.u32()? {
                0 => return Ok(Ok(reader.at())),
                1 => RpcError::ProgUnavail,
                2 => RpcError::ProgMismatch { low: reader.u32()?, high: reader.u32()? },
                3 => RpcError::ProcUnavail,
                4 => RpcError::GarbageArgs,
                5 => RpcError::SystemErr,
                _ => RpcError::Malformed,
            }
        }
        DENIED => match reader.u32()? {
            0 => RpcError::RpcMismatch { low: reader.u32()?, high: reader.u32()? },
            1 => RpcError::Denied(reader.u32()?),
            _ => RpcError::Malformed,
        },
        _ => RpcError::Malformed,
    };
    Ok(Err(error))
}

/// A call's header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the RFC's fields
pub struct CallHead {
    pub xid: u32,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    /// None for AUTH_NONE.
    pub credential: Option<Credential>,
    /// Offset of the arguments in the record.
    pub args: usize,
}

/// A record that is no call that can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// Not a call: nothing can be answered, the connection is to be closed.
    Malformed,
    /// Answer this call with this error.
    Answer(u32, RpcError),
}

impl From<Malformed> for Reject {
    fn from(_: Malformed) -> Reject {
        Reject::Malformed
    }
}

/// Reads a call's header. Flavours other than AUTH_NONE and AUTH_SYS are answered with AUTH_BADCRED.
pub fn parse_call(record: &[u8]) -> Result<CallHead, Reject> {
    let mut reader = Reader::new(record, 0);
    let xid = reader.u32()?;
    if reader.u32()? != CALL {
        return Err(Reject::Malformed);
    }
    if reader.u32()? != RPC_VERSION {
        return Err(Reject::Answer(xid, RpcError::RpcMismatch { low: RPC_VERSION, high: RPC_VERSION }));
    }
    let (program, version, procedure) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let (flavor, body) = (reader.u32()?, reader.opaque()?);
    let (_, verifier) = (reader.u32()?, reader.opaque()?);
    if body.len() > AUTH_BYTES_MAX || verifier.len() > AUTH_BYTES_MAX {
        return Err(Reject::Malformed);
    }
    let credential = match flavor {
        AUTH_NONE => None,
        AUTH_SYS => Some(parse_auth_sys(body).map_err(|_| Reject::Answer(xid, RpcError::Denied(AUTH_BADCRED)))?),
        _ => return Err(Reject::Answer(xid, RpcError::Denied(AUTH_BADCRED))),
    };
    Ok(CallHead { xid, program, version, procedure, credential, args: reader.at() })
}

fn parse_auth_sys(body: &[u8]) -> Result<Credential, Malformed> {
    let mut reader = Reader::new(body, 0);
    let _stamp = reader.u32()?;
    let machine = String::from_utf8_lossy(reader.opaque()?).into_owned();
    let (uid, gid) = (reader.u32()?, reader.u32()?);
    let gids = (0..reader.array_len(4)?).map(|_| reader.u32()).collect::<Result<_, _>>()?;
    Ok(Credential { uid, gid, gids, machine })
}

/// Appends a record mark, patched by [`end_record`], and the header of a reply with results; returns its start in `out`.
pub fn begin_reply(out: &mut Vec<u8>, xid: u32) -> usize {
    let start = out.len();
    for word in [0, xid, REPLY, 0, AUTH_NONE, 0, 0] {
        put_u32(out, word);
    }
    start
}

/// Appends a whole reply without results that says why; `Malformed` is sent as GARBAGE_ARGS.
pub fn put_refusal(out: &mut Vec<u8>, xid: u32, error: RpcError) {
    let start = out.len();
    [0, xid, REPLY].into_iter().for_each(|word| put_u32(out, word));
    let words: &[u32] = match error {
        RpcError::RpcMismatch { low, high } => &[1, 0, low, high],
        RpcError::Denied(stat) => &[1, 1, stat],
        RpcError::ProgUnavail => &[0, AUTH_NONE, 0, 1],
        RpcError::ProgMismatch { low, high } => &[0, AUTH_NONE, 0, 2, low, high],
        RpcError::ProcUnavail => &[0, AUTH_NONE, 0, 3],
        RpcError::GarbageArgs | RpcError::Malformed => &[0, AUTH_NONE, 0, 4],
        RpcError::SystemErr => &[0, AUTH_NONE, 0, 5],
    };
    words.iter().for_each(|word| put_u32(out, *word));
    end_record(out, start, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn credential() -> impl Strategy<Value = Option<Credential>> {
        let one = (any::<u32>(), any::<u32>(), prop::collection::vec(any::<u32>(), 0..20), "[a-z.]{0,40}");
        prop::option::of(one.prop_map(|(uid, gid, gids, machine)| Credential { uid, gid, gids, machine }))
    }

    proptest! {
        #[test]
        fn calls_round_trip(xid: u32, program: u32, version: u32, procedure: u32, credential in credential()) {
            let mut out = vec![1, 2, 3];
            let start = begin_call(&mut out, xid, program, version, procedure, credential.as_ref());
            let args = out.len() - start - 4;
            out.extend_from_slice(&[7; 8]);
            end_record(&mut out, start, 4);
            prop_assert_eq!(&out[3..7], &mark(out.len() - 7 + 4, true));
            let credential = credential.map(|mut c| { c.gids.truncate(16); c });
            let head = CallHead { xid, program, version, procedure, credential, args };
            prop_assert_eq!(parse_call(&out[7..]), Ok(head));
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_call(&bytes);
            let _ = parse_reply(&bytes);
            let mut reply = vec![0, 0, 0, 9, 0, 0, 0, 1];
            reply.extend(bytes);
            prop_assert!(parse_reply(&reply).is_ok());
        }
    }

    #[test]
    fn replies_round_trip() {
        let mut out = Vec::new();
        let start = begin_reply(&mut out, 77);
        end_record(&mut out, start, 0);
        assert_eq!(parse_reply(&out[4..]), Ok((77, Ok(24))));
        for error in [
            RpcError::Denied(13),
            RpcError::RpcMismatch { low: 2, high: 2 },
            RpcError::ProgUnavail,
            RpcError::ProgMismatch { low: 3, high: 4 },
            RpcError::ProcUnavail,
            RpcError::GarbageArgs,
            RpcError::SystemErr,
        ] {
            let mut out = Vec::new();
            put_refusal(&mut out, 5, error);
            assert_eq!(parse_reply(&out[4..]), Ok((5, Err(error))));
        }
    }

    #[test]
    fn other_flavours_and_versions_are_answered() {
        let mut out = Vec::new();
        begin_call(&mut out, 9, 100_003, 3, 0, None);
        let mut gss = out[4..].to_vec();
        gss[27] = 6;
        assert_eq!(parse_call(&gss), Err(Reject::Answer(9, RpcError::Denied(AUTH_BADCRED))));
        let mut version = out[4..].to_vec();
        version[11] = 4;
        let mismatch = RpcError::RpcMismatch { low: 2, high: 2 };
        assert_eq!(parse_call(&version), Err(Reject::Answer(9, mismatch)));
        assert_eq!(parse_call(&out[4..20]), Err(Reject::Malformed));
    }
}
