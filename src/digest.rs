//! SHA-256 as text: of policies, as reviewers compare them, and of project paths, as names.

use sha2::{Digest, Sha256};

/// Gives the SHA-256 of bytes in hexadecimal: 64 small letters and digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
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
