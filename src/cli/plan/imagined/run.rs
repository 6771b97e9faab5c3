//! The jobs themselves on imagined mounts, as their programs would run them with the options they have by default.

use std::sync::Arc;

use crate::archive::{self as tar, Archive, Input};
use crate::base::Name;
use crate::cli::host::Host;
use crate::cli::location::Location;
use crate::cli::meter::{Meters, Role};
use crate::cli::open::Opener;
use crate::cli::owners::HostOwners;
use crate::cli::parrm::operands::{Parent, Rule};
use crate::cli::parrm::plan::{Group, Wanted, checked};
use crate::cli::partar::high::Mode;
use crate::cli::planned::Planned;
use crate::cli::session::BUDGET_BYTES;
use crate::cli::{parcp, parrm, partar};
use crate::crew::Crew;
use crate::jobs::copy::{self, What as Copied};
use crate::jobs::{Live, create, extract, remove};
use crate::mounts::ImaginedMount;
use crate::mounts::imagined::{Tree, top_name};
use crate::storage::{Mount, Shape, Tapped, Volume};

use super::archive::ImaginedArchive;
use super::line::TopWatch;
use super::{Imagined, Typed, What, archive_error};

/// Who runs the job: root, who may give files to others, as tar and cp do.
const HOST: Host = Host {
    uid: 0,
    umask: 0o022,
    stdin_is_terminal: false,
    stdout_is_terminal: false,
    stderr_is_terminal: false,
    pids: None,
};

/// One run of a job.
pub struct Run<'a> {
    imagined: &'a Imagined,
    opener: Opener,
    /// Of each side the watch of its tree's top.
    pub tops: Vec<Arc<TopWatch>>,
}

impl<'a> Run<'a> {
    /// A run whose mounts tell `planned` what they are asked.
    pub fn new(imagined: &'a Imagined, planned: &Planned) -> Run<'a> {
        Run { imagined, opener: Opener::new(Meters::default()).planned(Some(planned)), tops: Vec::new() }
    }

    /// Runs the job on all of `tree` and tells how many files it went through.
    pub fn job(&mut self, tree: Tree) -> Result<u64, String> {
        match self.imagined.what {
            What::Extract => self.extract(tree),
            What::Create => self.create(tree),
            What::Copy => self.copy(tree),
            What::Remove => self.remove(tree),
        }
    }

    /// A volume of one imagined mount target.
    fn volume(&mut self, mount: ImaginedMount, role: Option<Role>) -> Volume {
        let top = mount.clone().at_top().root();
        let watch = Arc::new(TopWatch::new(top));
        self.tops.push(watch.clone());
        self.opener.imagined(Arc::new(Tapped::new(Arc::new(mount), vec![watch])), role)
    }

    fn mount(&self, tree: Tree, fsid: u64, label: &str) -> ImaginedMount {
        let Imagined { latency, transfer_bytes_max, .. } = *self.imagined;
        ImaginedMount::new(tree, latency, fsid, label).with_transfers(transfer_bytes_max)
    }

    fn crew(&self, suggested: Shape) -> Result<Crew, String> {
        let Typed { parallel, window } = self.imagined.typed;
        let shape = Shape { lanes: parallel.unwrap_or(suggested.lanes), window: window.unwrap_or(suggested.window) };
        Crew::new(shape, BUDGET_BYTES).map_err(|error| error.to_string())
    }

    /// As `partar -xf tree.tar -C nfs://...`.
    fn extract(&mut self, tree: Tree) -> Result<u64, String> {
        let high = partar::program().means(&["-xf", "tree.tar", "-C", "nfs://imagined/"], &HOST)?;
        let Mode::Extract { options, .. } = &high.mode else { return Err("partar -x does not extract".into()) };
        let volume = self.volume(self.mount(Tree::NONE, 1, "imagined"), None);
        let crew = self.crew(volume.limits().shape)?;
        let source = ImaginedArchive::new(tree).map_err(archive_error)?;
        let mut archive = Archive::new(Input::Seekable(Arc::new(source)), tar::Options::default());
        let live = Live::default();
        let done = extract::extract(&volume, &mut archive, options, &HostOwners::default(), &crew, &live, &|_, _| ());
        ended(&crew, done.archive_error.or(done.stopped)).map(|()| done.files)
    }

    /// As `partar -cf tree.tar -C nfs://... tree`; the archive goes nowhere.
    fn create(&mut self, tree: Tree) -> Result<u64, String> {
        let high = partar::program().means(&["-cf", "tree.tar", "-C", "nfs://imagined/", "tree"], &HOST)?;
        let Mode::Create(creation) = &high.mode else { return Err("partar -c does not create".into()) };
        let volume = Arc::new(self.volume(self.mount(tree, 1, "imagined"), Some(Role::Source)));
        let crew = self.crew(volume.limits().shape)?;
        let operand = create::Operand {
            volume,
            way: vec![top_name()],
            name: top_name().as_bytes().to_vec(),
            fs_root: false,
            recursive: true,
            exclude: Arc::default(),
            follow: None,
        };
        let (mut sink, live) = (std::io::sink(), Live::default());
        let done = create::create(
            &mut std::iter::once(Ok(operand)),
            create::Output::Stream(&mut sink),
            None,
            &creation.options,
            &HostOwners::default(),
            &crew,
            &live,
            &|_| (),
        );
        ended(&crew, done.archive_error.or(done.stopped)).map(|()| done.files)
    }

    /// As `parcp -a nfs://.../tree nfs://.../tree`.
    fn copy(&mut self, tree: Tree) -> Result<u64, String> {
        let high = parcp::program().means(&["-a", "nfs://imagined/tree", "nfs://imagined-too/tree"], &HOST)?;
        let source = self.volume(self.mount(tree, 1, "imagined").at_top(), Some(Role::Source));
        let target = self.volume(self.mount(Tree::NONE, 2, "imagined (another)"), Some(Role::Destination));
        let shapes = [&source, &target].map(|volume| volume.limits().shape);
        // Two exports wait for each other's answers.
        let crew = self.crew(Shape { lanes: shapes[0].lanes + shapes[1].lanes, window: shapes[0].window })?;
        let side = |volume, way: Vec<Name>| copy::Side { volume, way, fs_root: false, shown: b"tree".to_vec() };
        let (from, to) = (side(&source, Vec::new()), side(&target, vec![top_name()]));
        let done = copy::copy(&from, &to, Copied::Tree, &high.options, &crew, &Live::default(), None);
        ended(&crew, done.stopped).map(|()| done.files)
    }

    /// As `parrm -rf nfs://.../tree`.
    fn remove(&mut self, tree: Tree) -> Result<u64, String> {
        let high = parrm::program().means(&["-rf", "nfs://imagined/tree"], &HOST)?;
        let volume = self.volume(self.mount(tree, 1, "imagined"), None);
        let crew = self.crew(volume.limits().shape)?;
        // As the program does, it looks at the operand before it removes.
        let Location::Nfs(url, _) = Location::parse("nfs://imagined/".as_ref()).map_err(|error| error.to_string())?
        else {
            return Err("nfs://imagined/ is no URL".into());
        };
        let wanted =
            Wanted { name: Some(top_name()), shown: b"tree".to_vec(), fs_root: false, slash: false, dir_fsid: None };
        let group = Group { parent: Parent::Nfs(url), mounts: Some(Vec::new()), nested: false, operands: vec![wanted] };
        let rule = Rule { contents: high.contents, same_device: high.same_device, force: high.options.force };
        let (operands, _) = checked(&volume, vec![(group, volume.root())], rule);
        let mut operands = operands.into_iter().map(Ok);
        let done = remove::remove(&volume, &mut operands, &high.options, &crew, &Live::default(), None);
        ended(&crew, done.stopped).map(|()| done.files)
    }
}

/// An error where the rehearsal was not clean: its figures would be those of something else.
fn ended(crew: &Crew, stopped: Option<String>) -> Result<(), String> {
    let failed = crew.report().failures().first().map(ToString::to_string);
    match failed.or(stopped) {
        Some(why) => Err(format!("the rehearsal on an imagined tree failed: {why}")),
        None => Ok(()),
    }
}
