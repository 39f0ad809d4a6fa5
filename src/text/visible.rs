//! Text that a person reviews, with everything visible in it.
//!
//! In: any string. Out: the same with control characters and invisible ones as escapes, so that a policy file can't
//! steer the terminal of the person who reviews it. Text for an agent is left to `crate::text::printable`; which characters
//! are hidden is one decision for both.

use crate::text::push_unhidden;

/// Gives `text` with all characters escaped that a terminal would act on or hide.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        push_visible(&mut shown, character);
    }
    shown
}

/// Appends one character, escaped where a terminal would act on it or hide it.
pub fn push_visible(shown: &mut String, character: char) {
    if character.is_control() {
        shown.extend(character.escape_unicode());
    } else {
        push_unhidden(shown, character);
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let rows = [
            ("plain text stays", "e2e/ö.toml", "e2e/ö.toml"),
            ("escape sequences", "a\u{1b}[31m", "a\\u{1b}[31m"),
            ("line breaks and tabs", "a\n\tb", "a\\u{a}\\u{9}b"),
            ("C1 controls", "a\u{9b}", "a\\u{9b}"),
            ("a name that looks like another", "sh\u{200d}op\u{200b}", "sh\\u{200d}op\\u{200b}"),
            ("an emoji of two", "👩\u{200d}💻", "👩\u{200d}💻"),
            ("right-to-left override", "a\u{202e}b", "a\\u{202e}b"),
        ];
        for (name, text, expected) in rows {
            assert_eq!(visible(text), expected, "{name}");
        }
    }
}
