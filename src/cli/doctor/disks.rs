//! The host's disks as /sys/block has them: which device is which, what lies on what, and the paths of a multipath device.

use std::collections::BTreeMap;

use super::root::Root;

/// Disks that are looked at, and what is made of them: sd and friends; not loop, ram, zram, floppies and CDs.
const KINDS: [&str; 6] = ["sd", "nvme", "vd", "xvd", "dm-", "md"];

/// Devices at most; a host with 32 volumes on 8 paths has some 300.
const DEVICES_MAX: usize = 4_096;

/// One block device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// `sda`, `dm-0`.
    pub name: String,
    /// `major:minor` of it and of its partitions.
    pub numbers: Vec<String>,
    /// The devices that it is made of.
    pub slaves: Vec<String>,
    /// A device mapper's name and kind: `mpatha`, `mpath-360060e...`.
    pub mapped: Option<(String, String)>,
    /// The world-wide name, by which two paths are one volume.
    pub wwid: Option<String>,
    /// It is plugged in by USB.
    pub is_usb: bool,
}

impl Disk {
    /// Is it several paths to one volume?
    pub fn is_multipath(&self) -> bool {
        self.mapped.as_ref().is_some_and(|(_, uuid)| uuid.starts_with("mpath-"))
    }

    /// Is it made of others, which have the queues: a device mapper's or an array?
    pub fn is_made(&self) -> bool {
        self.mapped.is_some() || self.name.starts_with("md")
    }

    /// The name that it has in /dev.
    pub fn device(&self) -> String {
        match &self.mapped {
            Some((name, _)) => format!("mapper/{name}"),
            None => self.name.clone(),
        }
    }

    /// Of NVMe the controller that the disk is of: `nvme0` of `nvme0n1`; `nvme1` of `nvme0c1n1`, a path of native multipath, whose first number
    /// is the subsystem's (the kernel's nvme_set_disk_name).
    pub fn controller(&self) -> Option<String> {
        let digits = self.name.strip_prefix("nvme")?;
        let digits = digits.split_once('c').map_or(digits, |(_, of_path)| of_path);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        Some(format!("nvme{}", &digits[..end]))
    }

    /// Does `device/state` of it tell whether the kernel gives it requests? Of a Xen disk it is the state of a connection (`Connected`).
    pub fn has_state(&self) -> bool {
        self.name.starts_with("sd") || self.name.starts_with("nvme")
    }

    /// A file of its directory in /sys.
    pub fn file(&self, file: &str) -> String {
        format!("/sys/block/{}/{file}", self.name)
    }
}

/// All of them, by name.
pub fn read(root: &Root) -> Option<BTreeMap<String, Disk>> {
    let Some(names) = root.names("/sys/block") else {
        root.miss("/sys/block", "No such directory", "block devices");
        return None;
    };
    let of_kind = |name: &String| KINDS.iter().any(|kind| name.starts_with(kind));
    let names = names.into_iter().filter_map(|name| name.into_string().ok()).filter(of_kind).take(DEVICES_MAX);
    Some(names.map(|name| (name.clone(), disk(root, name))).collect())
}

fn disk(root: &Root, name: String) -> Disk {
    let mut disk = Disk { name, ..Disk::default() };
    disk.numbers.extend(root.may_read(&disk.file("dev")));
    for part in root.names(&disk.file("")).unwrap_or_default() {
        let Some(part) = part.to_str().filter(|part| part.starts_with(&disk.name)) else { continue };
        disk.numbers.extend(root.may_read(&disk.file(&format!("{part}/dev"))));
    }
    // On a host it is a link to the place among the devices: ../devices/pci0000:00/0000:00:14.0/usb2/2-1/...
    let place = std::fs::read_link(root.path(disk.file("").trim_end_matches('/'))).unwrap_or_default();
    disk.is_usb = place.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"usb"));
    let slaves = root.names(&disk.file("slaves")).unwrap_or_default();
    disk.slaves = slaves.into_iter().filter_map(|name| name.into_string().ok()).collect();
    let mapped = root.may_read(&disk.file("dm/name")).zip(root.may_read(&disk.file("dm/uuid")));
    disk.mapped = mapped;
    disk.wwid = root.may_read(&disk.file("device/wwid")).filter(|wwid| !wwid.is_empty());
    disk
}

/// The disks that the device `number` lies on, itself included; none where it is no disk's.
pub fn beneath(disks: &BTreeMap<String, Disk>, number: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut next: Vec<String> =
        disks.values().filter(|disk| disk.numbers.iter().any(|n| n == number)).map(|disk| disk.name.clone()).collect();
    while let Some(name) = next.pop() {
        if !found.contains(&name) {
            // A slave may be a partition: its disk is what its name begins with.
            let of =
                |slave: &String| disks.keys().filter(|disk| slave.starts_with(*disk)).max_by_key(|d| d.len()).cloned();
            next.extend(disks.get(&name).into_iter().flat_map(|disk| &disk.slaves).filter_map(of));
            found.push(name);
        }
    }
    found
}

/// How a path of a multipath device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// Requests go through it.
    pub is_active: bool,
    /// How often it failed.
    pub failed: u64,
}

/// Of each multipath device by its name: its paths by `major:minor`.
pub type Paths = BTreeMap<String, BTreeMap<String, PathState>>;

/// What `dmsetup status --target multipath` prints, one line for each device:
/// `mpatha: 0 2097152 multipath 2 0 0 0 1 1 A 0 2 0 8:16 A 0 8:32 F 3` (the kernel's dm-mpath.c: each path is its number, A or F,
/// and how often it failed).
pub fn paths(status: &str) -> Paths {
    let mut all = Paths::new();
    for line in status.lines() {
        // A name may have a colon in it.
        let Some((name, rest)) = line.split_once(": ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.get(2) != Some(&"multipath") {
            continue;
        }
        let is_number = |word: &str| {
            word.split_once(':').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
        };
        let states = words.windows(3).filter(|three| is_number(three[0]) && matches!(three[1], "A" | "F"));
        let state = |three: &[&str]| {
            let state = PathState { is_active: three[1] == "A", failed: three[2].parse().unwrap_or(0) };
            (three[0].to_string(), state)
        };
        all.insert(name.to_string(), states.map(state).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_paths_is_read() {
        let status = "mpatha: 0 2097152 multipath 2 0 0 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:32 F 3 0 1 \n\
            vol:1: 0 9 multipath 2 0 0 0 1 1 A 0 1 2 8:48 F 1 0 \n\
            rootvg-lv: 0 83 linear \nmpathb: 0 9 multipath 2 0 0 0 0 0 \nnonsense\n: \n";
        let all = paths(status);
        let state = |is_active, failed| PathState { is_active, failed };
        let first = BTreeMap::from([("8:16".to_string(), state(true, 0)), ("8:32".to_string(), state(false, 3))]);
        let colon = BTreeMap::from([("8:48".to_string(), state(false, 1))]);
        let named = [("mpatha", first), ("mpathb", BTreeMap::new()), ("vol:1", colon)];
        assert_eq!(all, named.map(|(name, paths)| (name.to_string(), paths)).into());
    }

    #[test]
    fn the_controller_of_a_path_is_not_its_subsystem() {
        let of = |name: &str| Disk { name: name.into(), ..Disk::default() }.controller();
        let controllers = ["nvme0n1", "nvme12c3n1", "sda"].map(of);
        assert_eq!(controllers, [Some("nvme0".to_string()), Some("nvme3".to_string()), None]);
    }

    #[test]
    fn what_lies_beneath_is_found_through_partitions() {
        let disk = |name: &str, numbers: &[&str], slaves: &[&str]| {
            let strings = |of: &[&str]| of.iter().map(|s| s.to_string()).collect();
            let disk =
                Disk { name: name.into(), numbers: strings(numbers), slaves: strings(slaves), ..Disk::default() };
            (name.to_string(), disk)
        };
        let disks = BTreeMap::from([
            disk("sda", &["8:0", "8:1"], &[]),
            disk("sdb", &["8:16"], &[]),
            disk("dm-0", &["252:0"], &["dm-1"]),
            disk("dm-1", &["252:1"], &["sda1", "sdb", "dm-0", "gone"]),
            disk("md127", &["9:127"], &["sda1", "sdb"]),
        ]);
        assert_eq!(beneath(&disks, "9:127"), ["md127", "sdb", "sda"]);
        assert_eq!(beneath(&disks, "8:1"), ["sda"]);
        assert_eq!(beneath(&disks, "252:0"), ["dm-0", "dm-1", "sdb", "sda"]); // and a circle ends
        assert!(beneath(&disks, "0:52").is_empty());
    }
}
