//! What is asked for by `fields=`: names, and the dtypes to deliver.

use dsrt_core::dtype::DType;
use dsrt_core::rows::Wanted;
use dsrt_core::{Error, Kind, Result};

/// A name, and the dtype to deliver; None for the stored one.
pub type Asked = (String, Option<String>);

/// The columns that are asked for; None for the usual ones.
pub fn wanted(asked: Option<Vec<Asked>>) -> Result<Option<Vec<Wanted>>> {
    asked.map(|asked| asked.into_iter().map(one).collect()).transpose()
}

fn one((name, dtype): Asked) -> Result<Wanted> {
    let dtype = dtype.map(|word| DType::parse(&word).ok_or_else(|| unknown(&name, &word))).transpose()?;
    Ok(Wanted { name: name.into(), dtype })
}

fn unknown(name: &str, word: &str) -> Error {
    let all: Vec<_> = DType::ALL.into_iter().map(DType::name).collect();
    let message = format!("fields= asks for {word:?}, which is no dtype; the dtypes are {}", all.join(", "));
    Error::new(Kind::Schema, message).in_field(&name.into())
}
