//! Laying a re-serialised payload over its original, so that only what differs as a value is replaced.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    id::same_number,
    scan::{ScanError, Scanner, Span},
    text::unescape,
};

/// The original with the answer's values where they differ; `None` when they do not. Both must be valid JSON
/// without duplicate keys, and not too deep to recurse into.
pub(crate) fn overlay(original: &str, answer: &str) -> Option<String> {
    let mut edits = Vec::new();
    compare(original, Span::new(0, original.len()), answer, &mut edits);
    if edits.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(original.len().max(answer.len()));
    let mut copied = 0;
    for Edit { range, with } in edits {
        out.push_str(&original[copied..range.start]);
        out.push_str(&with);
        copied = range.end;
    }
    out.push_str(&original[copied..]);
    Some(out)
}

/// In the order of the original text.
struct Edit {
    range: Range<usize>,
    with: String,
}

type Member<'a> = (Cow<'a, [u8]>, Span, Span);

fn compare(original: &str, at: Span, answer: &str, edits: &mut Vec<Edit>) {
    let old = &original[at.range()];
    let both = (old.as_bytes()[0], answer.as_bytes()[0]);
    match both {
        (b'{', b'{') => objects(original, at, answer, edits),
        (b'[', b'[') => {
            let (before, after) = (items(original, at), items(answer, Span::new(0, answer.len())));
            if before.len() == after.len() {
                for (before, after) in before.iter().zip(&after) {
                    compare(original, *before, &answer[after.range()], edits);
                }
            } else {
                edits.push(Edit {
                    range: at.range(),
                    with: resized(original, &before, answer, &after),
                });
            }
        }
        _ if same_scalar(old, answer) => {}
        _ => edits.push(Edit {
            range: at.range(),
            with: answer.into(),
        }),
    }
}

/// A list that grew or shrank is written anew; items that are still at their place keep their bytes.
fn resized(original: &str, before: &[Span], answer: &str, after: &[Span]) -> String {
    let items: Vec<_> = after
        .iter()
        .enumerate()
        .map(|(index, after)| {
            let new = &answer[after.range()];
            match before.get(index).map(|before| &original[before.range()]) {
                Some(old) => overlay(old, new).unwrap_or_else(|| old.into()),
                None => new.into(),
            }
        })
        .collect();
    format!("[{}]", items.join(","))
}

fn objects(original: &str, at: Span, answer: &str, edits: &mut Vec<Edit>) {
    let before = members(original, at);
    let after = members(answer, Span::new(0, answer.len()));
    let old_keys: HashSet<&[u8]> = before.iter().map(|(key, ..)| &**key).collect();
    let new_values: HashMap<&[u8], Span> = after.iter().map(|(key, _, value)| (&**key, *value)).collect();
    let removed = before.iter().any(|(key, ..)| !new_values.contains_key(&**key));
    let added: Vec<_> = after
        .iter()
        .filter(|(key, ..)| !old_keys.contains(&**key))
        .collect();
    if removed {
        // The commas of what goes and what comes would meet; the members that stay keep their own bytes.
        let mut kept: Vec<String> = Vec::new();
        for (key, token, old) in &before {
            if let Some(new) = new_values.get(&**key) {
                let (old, new) = (&original[old.range()], &answer[new.range()]);
                let value = overlay(old, new).unwrap_or_else(|| old.into());
                kept.push(format!("{}:{value}", &original[token.range()]));
            }
        }
        kept.extend(added.iter().map(|member| written(answer, member)));
        edits.push(Edit {
            range: at.range(),
            with: format!("{{{}}}", kept.join(",")),
        });
        return;
    }
    for (key, _, old) in &before {
        if let Some(new) = new_values.get(&**key) {
            compare(original, *old, &answer[new.range()], edits);
        }
    }
    if !added.is_empty() {
        let new: Vec<_> = added.iter().map(|member| written(answer, member)).collect();
        let (place, comma) = match before.last() {
            Some((_, _, last)) => (last.end as usize, ","),
            None => (at.start as usize + 1, ""),
        };
        edits.push(Edit {
            range: place..place,
            with: format!("{comma}{}", new.join(",")),
        });
    }
}

fn written(answer: &str, (_, token, value): &Member<'_>) -> String {
    format!("{}:{}", &answer[token.range()], &answer[value.range()])
}

fn same_scalar(old: &str, new: &str) -> bool {
    match (old.as_bytes()[0], new.as_bytes()[0]) {
        (b'"', b'"') => unescape(inside(old)) == unescape(inside(new)),
        (b'-' | b'0'..=b'9', b'-' | b'0'..=b'9') => {
            // A peer whose numbers are doubles cannot hand back more than a double.
            same_number(old, new)
                || matches!((old.parse::<f64>(), new.parse::<f64>()), (Ok(old), Ok(new)) if old == new)
        }
        _ => old == new,
    }
}

fn inside(string: &str) -> &[u8] {
    &string.as_bytes()[1..string.len() - 1]
}

fn members(text: &str, at: Span) -> Vec<Member<'_>> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    // Valid JSON: the walk cannot fail.
    let _ = Scanner::at(bytes, at.start as usize).object(|scanner, key| {
        members.push((unescape(key.inner(bytes)), key.span, scanner.value()?));
        Ok::<_, ScanError>(())
    });
    members
}

fn items(text: &str, at: Span) -> Vec<Span> {
    let mut items = Vec::new();
    let _ = Scanner::at(text.as_bytes(), at.start as usize).array(|scanner, _| {
        items.push(scanner.value()?);
        Ok::<_, ScanError>(())
    });
    items
}

#[cfg(test)]
mod tests {
    use super::overlay;

    #[test]
    fn a_reserialised_payload_changes_nothing() {
        let original = r#"{ "b":1.10, "a":"\u0041\/x", "n":9007199254740993, "l":[1e2,{"z":-0.0}] }"#;
        let answer = r#"{"a":"A/x","b":1.1,"l":[100,{"z":0}],"n":9007199254740992}"#;
        assert_eq!(overlay(original, answer), None);
    }

    #[test]
    fn only_what_differs_is_replaced() {
        let original = r#"{ "b":1.10, "a":"key \u0041", "l":[ 1e2, "x"] }"#;
        assert_eq!(
            overlay(original, r#"{"a":"***","b":1.1,"l":[100,"y"]}"#).as_deref(),
            Some(r#"{ "b":1.10, "a":"***", "l":[ 1e2, "y"] }"#)
        );
    }

    #[test]
    fn members_and_items_come_and_go() {
        let original = r#"{ "a": 1.0, "b": 2.0 }"#;
        assert_eq!(
            overlay(original, r#"{"a":1,"b":2,"c":3}"#).as_deref(),
            Some(r#"{ "a": 1.0, "b": 2.0,"c":3 }"#)
        );
        assert_eq!(overlay(original, r#"{"b":2}"#).as_deref(), Some(r#"{"b":2.0}"#));
        assert_eq!(overlay(original, r#"{"c":3}"#).as_deref(), Some(r#"{"c":3}"#));
        assert_eq!(overlay("[1.0, 2.0]", "[1]").as_deref(), Some("[1.0]"));
        assert_eq!(overlay("[1.0]", "[1,5]").as_deref(), Some("[1.0,5]"));
        assert_eq!(overlay("{}", r#"{"a":1}"#).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(overlay(r#"{"a":1}"#, "null").as_deref(), Some("null"));
    }
}
