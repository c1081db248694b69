//! Which names caches, fields and metadata columns may have.

/// Names that Windows keeps for devices, with or without a digit.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const PORTS: [&str; 2] = ["com", "lpt"];

/// The metadata column that holds the weights stored with a cache.
pub const WEIGHT: &str = "weight";

/// Names of columns that every table of samples has.
const IDENTITY: [&str; 2] = ["cache_id", "sample_id"];

/// The most bytes of a column's name.
const MAX_COLUMN: usize = 255;

/// Whether a cache may have this name: it is a file name everywhere.
pub fn is_cache_name(name: &str) -> bool {
    let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    let mut bytes = name.as_bytes().iter();
    bytes.next().is_some_and(word) && bytes.all(|c| word(c) || *c == b'-') && name.len() <= 63 && !is_device(name)
}

/// Whether a payload field may have this name.
pub fn is_field_name(name: &str) -> bool {
    is_cache_name(name) && !name.starts_with('_') && !IDENTITY.contains(&name) && name != WEIGHT
}

/// Whether a metadata or extra column may have this name. That it is no field's must be checked beside this.
pub fn is_column_name(name: &str) -> bool {
    let length = 1..=MAX_COLUMN;
    length.contains(&name.len()) && !name.starts_with('_') && !name.contains('\0') && !IDENTITY.contains(&name)
}

/// As much of a text as is worth showing: what a damaged file holds for a name can have millions of letters.
pub fn short(text: &str) -> &str {
    let end = text.char_indices().nth(80).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn is_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    DEVICES.contains(&lower.as_str())
        || PORTS
            .iter()
            .any(|port| lower.strip_prefix(port).is_some_and(|digit| matches!(digit.as_bytes(), [b'0'..=b'9'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_names_are_file_names_everywhere() {
        for good in ["a", "_x", "0", "pets-train_2", "com", "com10", "conx", &"a".repeat(63)] {
            assert!(is_cache_name(good), "{good}");
        }
        for bad in ["", "-a", "a.b", "a b", "é", "CON", "Com0", "lpt9", "a/b", "a\n", &"a".repeat(64)] {
            assert!(!is_cache_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn field_names_leave_room_for_the_built_in_columns() {
        assert!(is_field_name("Weight") && is_field_name("x"));
        for bad in ["_x", "cache_id", "sample_id", "weight", "nul"] {
            assert!(!is_field_name(bad), "{bad}");
        }
    }

    #[test]
    fn eighty_letters_of_a_name_are_shown() {
        assert_eq!(
            (short("x"), short(&"é".repeat(80)), short(&"é".repeat(81))),
            ("x", &*"é".repeat(80), &*"é".repeat(80))
        );
    }

    #[test]
    fn column_names_are_any_text_but_a_few() {
        assert!(is_column_name("größe in cm") && is_column_name("weight") && is_column_name(&"x".repeat(255)));
        for bad in ["", "_x", "a\0", "cache_id", "sample_id", &"é".repeat(128)] {
            assert!(!is_column_name(bad), "{bad}");
        }
    }
}
