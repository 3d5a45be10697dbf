//! Globs for names.

/// A pattern for a whole name: `*` stands for any characters, `?` for one; there is no escape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Box<[char]>);

impl Glob {
    pub(super) fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Without recursion and in the product of both lengths at worst: names come from peers.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut p, mut n) = (0, 0);
        // Where the last star stood, and how much of the name it has taken.
        let mut star = None;
        while n < name.len() {
            match self.0.get(p) {
                Some('*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(&c) if c == '?' || c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((at, taken)) = star else { return false };
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
            }
        }
        self.0[p..].iter().all(|&c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (glob, name, matches) in [
            ("delete_*", "delete_file", true),
            ("delete_*", "delete_", true),
            ("delete_*", "undelete_file", false),
            ("*_file", "delete_file", true),
            ("*_file", "delete_files", false),
            ("*a*b*", "xaxxbx", true),
            ("*a*b*", "xbxxax", false),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("**", "abc", true),
            ("echo", "echo", true),
            ("echo", "Echo", false),
            ("a.c", "abc", false),
            ("*ab", "aab", true),
        ] {
            assert_eq!(Glob::new(glob).matches(name), matches, "{glob} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_explode() {
        let glob = Glob::new(&"a*".repeat(50));
        assert!(!glob.matches(&format!("{}b", "c".repeat(5_000))));
        assert!(Glob::new(&"*a".repeat(50)).matches(&"a".repeat(5_000)));
    }
}
