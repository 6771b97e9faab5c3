//! `--mode`: changes of permissions, octal or symbolic as chmod takes them.

use thiserror::Error;

/// All twelve bits.
const ALL: u32 = 0o7777;
/// Set user and group id: kept on directories by what does not mention them, as GNU's chmod and tar do.
pub(super) const SET_IDS: u32 = 0o6000;
pub(super) const SET_GROUP_ID: u32 = 0o2000;
/// Changes of one text at most.
const CHANGES_MAX: usize = 1000;

/// It is no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("Invalid mode given on option")]
pub struct BadMode;

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    changes: Vec<Change>,
    umask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Bits,
    /// `X`: also execution, of directories and of what somebody can execute.
    BitsAndSearch,
    /// `u`, `g` or `o`: what these have.
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    op: u8,
    what: Value,
    bits: u32,
    /// Whose; 0: all but what the umask takes.
    affected: u32,
    /// Which bits were named.
    mentioned: u32,
}

impl ModeChange {
    /// Reads `0644`, `u+rwX,go-w`; `umask` is of what says nothing of whose.
    pub fn parse(text: &str, umask: u32) -> Result<ModeChange, BadMode> {
        let mut rest = text.as_bytes();
        if rest.first().is_some_and(|b| matches!(b, b'0'..=b'7')) {
            let bits = octal(&mut rest)?;
            let mentioned = if text.len() < 5 { (bits & SET_IDS) | 0o1777 } else { ALL };
            let change = Change { op: b'=', what: Value::Bits, bits, affected: ALL, mentioned };
            return if rest.is_empty() { Ok(ModeChange { changes: vec![change], umask }) } else { Err(BadMode) };
        }
        let mut changes = Vec::new();
        loop {
            let mut affected = 0;
            while let [whose, behind @ ..] = rest {
                affected |= match whose {
                    b'u' => 0o4700,
                    b'g' => 0o2070,
                    b'o' => 0o1007,
                    b'a' => ALL,
                    _ => break,
                };
                rest = behind;
            }
            loop {
                changes.push(change(&mut rest, affected)?);
                if !matches!(rest.first(), Some(b'=' | b'+' | b'-')) || changes.len() > CHANGES_MAX {
                    break;
                }
            }
            match rest {
                [] => return Ok(ModeChange { changes, umask }),
                [b',', behind @ ..] if changes.len() <= CHANGES_MAX => rest = behind,
                _ => return Err(BadMode),
            }
        }
    }

    /// The twelve bits that `mode` becomes.
    pub fn apply(&self, mode: u32, is_dir: bool) -> u32 {
        let mut mode = mode & ALL;
        for change in &self.changes {
            let omitted = if is_dir { SET_IDS & !change.mentioned } else { 0 };
            let spread = |bits: u32, mode: u32| {
                let value = bits & mode;
                let each = |mask: u32| if value & mask != 0 { mask } else { 0 };
                value | each(0o444) | each(0o222) | each(0o111)
            };
            let value = match change.what {
                Value::Bits => change.bits,
                Value::Copy => spread(change.bits, mode),
                Value::BitsAndSearch if is_dir || mode & 0o111 != 0 => change.bits | 0o111,
                Value::BitsAndSearch => change.bits,
            };
            let value = value & if change.affected != 0 { change.affected } else { !self.umask } & !omitted & ALL;
            mode = match change.op {
                b'+' => mode | value,
                b'-' => mode & !value,
                _ => (mode & (if change.affected != 0 { !change.affected } else { 0 } | omitted)) | value,
            };
        }
        mode
    }
}

/// Octal digits, at most 07777.
fn octal(rest: &mut &[u8]) -> Result<u32, BadMode> {
    let mut value = 0;
    while let [digit @ b'0'..=b'7', behind @ ..] = *rest {
        value = value * 8 + u32::from(digit - b'0');
        if value > ALL {
            return Err(BadMode);
        }
        *rest = behind;
    }
    Ok(value)
}

/// One operator and what is behind it.
fn change(rest: &mut &[u8], affected: u32) -> Result<Change, BadMode> {
    let [op @ (b'=' | b'+' | b'-'), behind @ ..] = *rest else { return Err(BadMode) };
    *rest = behind;
    let (mut bits, mut what) = (0, Value::Bits);
    match rest.first() {
        Some(b'0'..=b'7') => {
            let bits = octal(rest)?;
            if affected != 0 || !matches!(rest.first(), None | Some(b',')) {
                return Err(BadMode);
            }
            return Ok(Change { op: *op, what, bits, affected: ALL, mentioned: ALL });
        }
        Some(whose @ (b'u' | b'g' | b'o')) => {
            what = Value::Copy;
            bits = match whose {
                b'u' => 0o700,
                b'g' => 0o070,
                _ => 0o007,
            };
            *rest = &rest[1..];
        }
        _ => {
            while let [letter, behind @ ..] = *rest {
                match letter {
                    b'r' => bits |= 0o444,
                    b'w' => bits |= 0o222,
                    b'x' => bits |= 0o111,
                    b'X' => what = Value::BitsAndSearch,
                    b's' => bits |= SET_IDS,
                    b't' => bits |= 0o1000,
                    _ => break,
                }
                *rest = behind;
            }
        }
    }
    let mentioned = if affected != 0 { affected & bits } else { bits };
    Ok(Change { op: *op, what, bits, affected, mentioned })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GNU tar 1.34 put into archives under the umask 022: of files of modes 0640 and 04751, and of directories of 02750 and 0700.
    #[test]
    fn modes_change_as_gnu_tar_changes_them() {
        for (text, expected) in [
            ("644", [0o644, 0o644, 0o2644, 0o644]),
            ("0644", [0o644, 0o644, 0o2644, 0o644]),
            ("4755", [0o4755, 0o4755, 0o6755, 0o4755]),
            ("00755", [0o755, 0o755, 0o755, 0o755]),
            ("755", [0o755, 0o755, 0o2755, 0o755]),
            ("u+rwX,go-w", [0o640, 0o4751, 0o2750, 0o700]),
            ("a+X", [0o640, 0o4751, 0o2751, 0o711]),
            ("+w", [0o640, 0o4751, 0o2750, 0o700]),
            ("-w", [0o440, 0o4551, 0o2550, 0o500]),
            ("=", [0o0, 0o0, 0o2000, 0o0]),
            ("u=g", [0o440, 0o551, 0o2550, 0o0]),
            ("g=u", [0o660, 0o4771, 0o2770, 0o770]),
            ("o=", [0o640, 0o4750, 0o2750, 0o700]),
            ("+t", [0o1640, 0o5751, 0o3750, 0o1700]),
            ("+s", [0o6640, 0o6751, 0o6750, 0o6700]),
            ("u+s", [0o4640, 0o4751, 0o6750, 0o4700]),
            ("g=rx", [0o650, 0o4751, 0o2750, 0o750]),
            ("go=u-w", [0o644, 0o4755, 0o2755, 0o755]),
            ("a=rX", [0o444, 0o555, 0o2555, 0o555]),
            ("+x", [0o751, 0o4751, 0o2751, 0o711]),
            ("=rw", [0o644, 0o644, 0o2644, 0o644]),
            ("-x", [0o640, 0o4640, 0o2640, 0o600]),
            ("+644", [0o644, 0o4755, 0o2754, 0o744]),
            ("=0640", [0o640, 0o640, 0o640, 0o640]),
            ("-022", [0o640, 0o4751, 0o2750, 0o700]),
            ("u+X-w", [0o440, 0o4551, 0o2550, 0o500]),
            ("g+s", [0o2640, 0o6751, 0o2750, 0o2700]),
            ("o+t", [0o1640, 0o5751, 0o3750, 0o1700]),
            ("-s", [0o640, 0o751, 0o750, 0o700]),
            ("ug=s", [0o6000, 0o6001, 0o6000, 0o6000]),
        ] {
            let change = ModeChange::parse(text, 0o022).unwrap();
            let files = [0o640, 0o4751].map(|mode| change.apply(mode, false));
            let dirs = [0o2750, 0o700].map(|mode| change.apply(mode, true));
            let shown = |modes: &[u32]| modes.iter().map(|mode| format!("{mode:o}")).collect::<Vec<_>>();
            assert_eq!(shown(&[files, dirs].concat()), shown(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_mode_is_refused() {
        for text in ["u=rwx,g=rx,o", "8", "u", "", "u+q", "u+7", "77777", "+7,+8"] {
            assert_eq!(ModeChange::parse(text, 0o022), Err(BadMode), "{text}");
        }
        assert_eq!(ModeChange::parse(&"+r".repeat(2000), 0), Err(BadMode));
    }
}
