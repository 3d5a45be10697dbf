//! Credentials that open nothing, put together here so that no scanner takes this file for a leak.

/// A token as a code host issues it.
pub(super) fn token() -> String {
    ["gh", "p_", "DemoDemoDemoDemoDemo0123456789"].concat()
}

/// A key as a cloud issues it.
pub(super) fn key() -> String {
    ["AK", "IA", "DEMODEMODEMO2026"].concat()
}
