//! From the choice of an engine to the engine, once for each clone; and to the place of its files.
//!
//! Promises: whoever drives an engine is compiled for its type, so that nothing is asked again for each I/O.
//! Leaves out: the nfs engine, which needs a volume.

use super::super::settings::EngineChoice;
use super::aio::Aio;
use super::kernel::KernelPlace;
use super::metadata::{Metadata, Operation};
use super::mmap::Mmap;
use super::null::{Null, NullPlace};
use super::posixaio::PosixAio;
use super::psync::{Psync, Pvsync, Pvsync2, Seeking, Waiting};
use super::uring::Uring;
use super::{Engine, Place};

/// What is done with an engine of whatever type.
pub trait WithEngine<R> {
    /// Does it; the engine goes with it.
    fn run<E: Engine>(self, engine: E) -> R;
}

/// Makes the chosen engine for `files` files, on the thread that drives it, and runs with it. The text says why there is none.
pub fn with_engine<R>(choice: &EngineChoice, files: u32, run: impl WithEngine<R>) -> Result<R, String> {
    let depth = choice.in_flight;
    if let Some(operation) = Operation::named(choice.name) {
        return Ok(run.run(Metadata::new(operation, files)));
    }
    Ok(match choice.name {
        "psync" => run.run(Waiting::new(Psync, files)),
        "sync" => run.run(Waiting::new(Seeking::new(false), files)),
        "vsync" => run.run(Waiting::new(Seeking::new(true), files)),
        "pvsync" => run.run(Waiting::new(Pvsync, files)),
        "pvsync2" => run.run(Waiting::new(Pvsync2::new(choice.uring.hipri, choice.uring.uncached), files)),
        "libaio" => run.run(Aio::new(depth, files)?),
        "io_uring" => run.run(Uring::new(depth, choice.uring, files)?),
        "posixaio" => run.run(PosixAio::new(depth, files)?),
        "mmap" => run.run(Mmap::new(files)),
        "null" => run.run(Null::new(depth)),
        name => return Err(format!("ioengine={name} is none of the kernel's")),
    })
}

/// Where the files of a kernel's engine are.
pub fn place(choice: &EngineChoice) -> &'static dyn Place {
    if choice.name == "null" { &NullPlace } else { &KernelPlace }
}
