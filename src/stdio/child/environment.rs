//! What of our environment a child gets.

use std::ffi::{OsStr, OsString};

/// What programs need to find themselves and others. Anything else may be a secret of ours.
#[cfg(not(windows))]
const ALLOWED: &[&str] = &[
    "PATH", "HOME", "LANG", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR",
];
#[cfg(windows)]
const ALLOWED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "PROGRAMFILES",
    "PROCESSOR_ARCHITECTURE",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "TEMP",
    "TMP",
    "LANG",
];

/// The variables that are passed on.
pub(super) fn inherited(also: &[OsString]) -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_allowed(name) || also.contains(name))
}

fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    // Names on Windows have no case.
    let name = if cfg!(windows) {
        name.to_ascii_uppercase()
    } else {
        name.to_owned()
    };
    ALLOWED.contains(&&*name) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_here() {
        for name in ["PATH", "LC_ALL", "LANG"] {
            assert!(is_allowed(OsStr::new(name)), "{name}");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "LD_PRELOAD",
            "PATHX",
            "",
        ] {
            assert!(!is_allowed(OsStr::new(name)), "{name}");
        }
    }
}
