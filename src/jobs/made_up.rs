//! Files that are made up while they are read ([`Mount::is_made_up`]): read to their end before anything is said of their size.

use crate::base::Status;
use crate::storage::{Call, Mount, Node, Op, Route};

use super::port::Port;

/// Read of one at most: it is held in memory. A kernel's list of symbols has some 15 MiB.
const BYTES_MAX: usize = 32 << 20;

/// Why one is left that has more.
pub(super) const TOO_LARGE: &str = "does not say how much it holds, and holds more than 32 MiB";

/// What it holds; none where that is too much.
pub(super) fn read(port: Port<'_>, route: Route, node: &Node) -> Result<Option<Vec<u8>>, Status> {
    let count = port.volume.limits().read_max;
    let mut data = Vec::new();
    loop {
        let call = port.one(route, Call::read(node, data.len() as u64, count, Vec::new()));
        let status = call.status();
        let Op::Read { mut buf, out, .. } = call.op else { return Err(Status::ServerFault) };
        match out {
            Ok(false) if buf.is_empty() => return Err(Status::Io),
            Ok(end) => {
                data.append(&mut buf);
                if data.len() > BYTES_MAX {
                    return Ok(None);
                }
                if end {
                    return Ok(Some(data));
                }
            }
            Err(_) => return Err(status.err().unwrap_or(Status::Io)),
        }
    }
}
