//! `stdout[]` and `stderr[]` of a result.
//!
//! In: chunks, as text or in base64. Out: the end of what they make up, printable.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{MapAccess, SeqAccess};

use crate::report::json::lenient::{Fields, Items, Object, With};
use crate::report::{MAX_OUTPUT_BYTES, Output};
use crate::text::{printable, tail};

/// How much is held while reading, in bytes: escape sequences are still in it.
const HELD: usize = 2 * MAX_OUTPUT_BYTES;

/// The chunks read so far.
#[derive(Default)]
pub(super) struct OutputItems {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Items for OutputItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        Ok(items.next_element_seed(Object(self))?.is_some())
    }
}

impl Fields for OutputItems {
    const NAMES: &'static [&'static str] = &["text", "buffer"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        if name == "text" {
            map.next_value_seed(With(|text: &str| self.append(text.as_bytes())))?;
        } else {
            map.next_value_seed(With(|buffer: &str| self.append_base64(buffer)))?;
        }
        Ok(())
    }
}

impl OutputItems {
    fn append(&mut self, chunk: &[u8]) {
        let kept = chunk.get(chunk.len().saturating_sub(HELD)..).unwrap_or(chunk);
        self.dropped += (chunk.len() - kept.len()) as u64;
        self.bytes.extend_from_slice(kept);
        if self.bytes.len() > 2 * HELD {
            let excess = self.bytes.len() - HELD;
            self.bytes.drain(..excess);
            self.dropped += excess as u64;
        }
    }

    /// Decodes the end of a base64 text, from a whole group of four.
    fn append_base64(&mut self, buffer: &str) {
        let skipped = buffer.len().saturating_sub(HELD / 3 * 4) / 4 * 4;
        if let Some(Ok(chunk)) = buffer.get(skipped..).map(|end| STANDARD.decode(end)) {
            self.dropped += (skipped / 4 * 3) as u64;
            self.append(&chunk);
        }
    }

    /// Gives the end of the output.
    pub(super) fn finish(self) -> Output {
        let mut bytes = self.bytes.as_slice();
        if self.dropped > 0 {
            let is_rest = |byte: &u8| matches!(byte, 0x80..=0xbf);
            bytes = bytes
                .get(bytes.iter().take(3).take_while(|byte| is_rest(byte)).count()..)
                .unwrap_or_default();
        }
        let text = String::from_utf8_lossy(bytes);
        let text = printable(&text);
        let kept = tail(&text, MAX_OUTPUT_BYTES);
        Output { text: kept.to_owned(), dropped_bytes: self.dropped + (text.len() - kept.len()) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_output_is_kept_and_the_rest_counted() {
        let text = |chunks: &[&str]| {
            let mut output = OutputItems::default();
            for chunk in chunks {
                output.append(chunk.as_bytes());
            }
            output.finish()
        };
        let whole = text(&["a\u{1b}[3", "1mb\r", "\nc"]);
        assert_eq!(
            whole,
            Output { text: "ab\nc".to_owned(), dropped_bytes: 0 },
            "sequences across chunks are stripped"
        );
        for (rule, chunks) in
            [("one long chunk", vec!["é".repeat(100_000)]), ("many chunks", vec!["é".repeat(10); 10_000])]
        {
            let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
            let output = text(&chunks);
            assert_eq!(output.text.len(), MAX_OUTPUT_BYTES, "{rule}");
            assert!(output.text.chars().all(|c| c == 'é'), "{rule}");
            assert_eq!(output.dropped_bytes, 200_000 - MAX_OUTPUT_BYTES as u64, "{rule}");
        }
    }

    #[test]
    fn a_buffer_is_decoded() {
        for (rule, bytes) in [("short", b"xyz\xff".to_vec()), ("long", b"0123456789".repeat(10_000))] {
            let mut output = OutputItems::default();
            output.append_base64(&STANDARD.encode(&bytes));
            let output = output.finish();
            let expected = String::from_utf8_lossy(&bytes).into_owned();
            assert!(expected.ends_with(&output.text) && !output.text.is_empty(), "{rule}");
            assert_eq!(output.text.len() as u64 + output.dropped_bytes, expected.len() as u64, "{rule}");
        }
    }
}
