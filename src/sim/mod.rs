//! A simulated NFSv3 mount target: serves any `Mount` over TCP, at the price, ceilings and latency of a real target, with
//! faults at will.
//!
//! All 22 procedures, MOUNT version 3 and portmap version 2 are answered on one port. Requests are carried out when they
//! arrive and answered when a target of the given ceiling and latency would have answered. Left out: permissions (every
//! caller may do everything; new objects belong to the caller), locking (NLM), UDP, RPCSEC_GSS; attributes after an
//! operation are sent where the mount gave them, which makes some clients ask for them.

mod faults;
mod handles;
mod outbox;
mod replay;
mod report;
mod service;
mod target;
mod window;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use crate::base::PriceList;
use crate::base::price::Ceiling;
use crate::storage::{Mount, Tally};
use crate::wire::portmap;

pub use faults::{BadFault, Fault, Kind, When};
pub use report::{ProcReport, Report, TargetReport};
use service::Service;
use target::{Parts, Target};

/// Called at a restart of the server, by whoever owns the mount: what was not committed is to be lost there, and the write
/// verifier to change.
pub type RestartHook = Arc<dyn Fn() + Send + Sync>;

/// How a server is to be.
#[derive(Clone)]
pub struct Config {
    /// How many mount targets serve the mount; at least as many as there are addresses.
    pub targets: usize,
    /// Where they listen, in order; 127.0.0.1 with any free port for those that have none.
    pub addresses: Vec<SocketAddr>,
    /// What each target gives.
    pub ceiling: Ceiling,
    /// What a target charges.
    pub price: PriceList,
    /// Requests that each target's duplicate request cache remembers; 0 for none.
    pub replay_max: usize,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Answer portmap on port 111 of each target's address too; that it cannot be bound is then an error.
    pub portmap: bool,
    /// Objects remembered for a mount without handles of its own; beyond, the least recently used become stale.
    pub handles_max: usize,
    /// Connections to each target; further ones are closed at once.
    pub connections_max: usize,
    /// New objects belong to whom the mount gives them, not to the caller: for a directory served without privilege.
    pub squash: bool,
    /// Called at a restart.
    pub on_restart: Option<RestartHook>,
}

impl Default for Config {
    /// One target as OCI gives it, without faults, on a free port of the loopback.
    fn default() -> Config {
        Config {
            targets: 1,
            addresses: Vec::new(),
            ceiling: Ceiling::oci(),
            price: PriceList::oci(),
            replay_max: 4096,
            faults: Vec::new(),
            portmap: false,
            handles_max: 1 << 20,
            connections_max: 1024,
            squash: false,
            on_restart: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("targets", &self.targets)
            .field("addresses", &self.addresses)
            .field("ceiling", &self.ceiling)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

/// A running server. Dropping it ends its threads and connections, as `stop` does.
pub struct Server {
    targets: Vec<Arc<Target>>,
    threads: Vec<JoinHandle<()>>,
    service: Arc<Service>,
    restart: Arc<dyn Fn() + Send + Sync>,
}

impl Server {
    /// Binds the addresses and starts to serve `mount`.
    pub fn start(mount: Arc<dyn Mount>, config: Config) -> io::Result<Server> {
        let faults = faults::Faults::new(&config.faults);
        let service = Arc::new(Service::new(mount, faults, config.handles_max, config.squash));
        let all: Arc<Mutex<Vec<Weak<Target>>>> = Arc::default();
        let (hook, known) = (config.on_restart.clone(), Arc::clone(&all));
        let served = Arc::clone(&service);
        let restart: Arc<dyn Fn() + Send + Sync> = Arc::new(move || target::restart(&served, &known, hook.as_deref()));
        let mut server = Server { targets: Vec::new(), threads: Vec::new(), service, restart };
        let listeners = bind(&config)?;
        for (index, listeners) in listeners.into_iter().enumerate() {
            let restart = Arc::clone(&server.restart);
            let (target, threads) = Target::start(Parts {
                index,
                listeners,
                service: Arc::clone(&server.service),
                ceiling: config.ceiling,
                price: config.price.clone(),
                replay_max: config.replay_max,
                connections_max: config.connections_max,
                restart: Box::new(move || restart()),
            })?;
            all.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&target));
            server.targets.push(target);
            server.threads.extend(threads);
        }
        Ok(server)
    }

    /// All targets as one location: `nfs://127.0.0.1:2049,127.0.0.1:2050/`.
    pub fn url(&self) -> String {
        let hosts: Vec<String> = self.addresses().into_iter().map(|a| target::reachable(a).to_string()).collect();
        format!("nfs://{}/", hosts.join(","))
    }

    /// Where the targets listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.targets.iter().map(|target| target.address).collect()
    }

    /// For each target the procedures carried out; those answered from the duplicate request cache are not among them.
    pub fn served(&self) -> Vec<Tally> {
        self.targets.iter().map(|target| target.ledger.tally()).collect()
    }

    /// For each target the answers given again from its duplicate request cache.
    pub fn replayed(&self) -> Vec<u64> {
        self.targets.iter().map(|target| target.replayed()).collect()
    }

    /// Counts, rates and latencies of each target, and the faults that struck.
    pub fn report(&self) -> Report {
        Report {
            targets: self.targets.iter().map(|target| target.report()).collect(),
            faults: self.service.faults.injected().into_iter().collect(),
        }
    }

    /// Has a target (counted from 0) go away for good: its listener and connections close. Nothing when there is no such.
    pub fn stop_target(&self, index: usize) {
        if let Some(target) = self.targets.get(index) {
            target.stop();
        }
    }

    /// Restarts the server: uncommitted data is lost through the hook, duplicate request caches are emptied, all connections
    /// are reset. The targets go on listening.
    pub fn restart(&self) {
        (self.restart)();
    }

    /// Ends all threads and connections.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.targets.iter().for_each(|target| target.stop());
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to end.
            let _ = thread.join();
        }
    }
}

/// The listeners of each target; the first is the target's own.
fn bind(config: &Config) -> io::Result<Vec<Vec<TcpListener>>> {
    let anywhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let count = config.targets.max(config.addresses.len());
    let mut with_portmap: Vec<IpAddr> = Vec::new();
    let mut all = Vec::with_capacity(count);
    for index in 0..count {
        let address = config.addresses.get(index).copied().unwrap_or(anywhere);
        let mut listeners = vec![listen(address)?];
        // Of several targets at one address the first is the one that its portmapper tells of.
        if config.portmap && !with_portmap.contains(&address.ip()) {
            with_portmap.push(address.ip());
            listeners.push(listen(SocketAddr::new(address.ip(), portmap::PORT))?);
        }
        all.push(listeners);
    }
    Ok(all)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot listen at {address}: {error}")))
}
