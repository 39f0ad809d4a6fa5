//! SHA-256 as text: of policies, as reviewers compare them, of project paths, as names, of records of the audit log.

use sha2::{Digest, Sha256};

/// Gives the SHA-256 of bytes in hexadecimal: 64 small letters and digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut whole = Pieces::default();
    whole.add(bytes);
    whole.sha256()
}

/// Bytes of which the SHA-256 is wanted, and which come piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Pieces(Sha256);

impl Pieces {
    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Gives the SHA-256 of all of them, as [`sha256`] does.
    #[must_use]
    pub fn sha256(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// So much of a digest as tells two apart for a person.
pub fn shortened(digest: &str) -> String {
    format!("{}…", digest.get(..12).unwrap_or(digest))
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn digest_is_that_of_the_standard() {
        // FIPS 180-4, the message "abc".
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }
}
