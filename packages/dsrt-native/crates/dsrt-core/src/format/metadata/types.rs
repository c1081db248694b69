//! Column types and the Arrow types that stand for them.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::dtype::ColumnType;

/// The column type that an Arrow type stands for on disk, if it is one of those.
pub fn column_type(arrow: &DataType) -> Option<ColumnType> {
    ColumnType::all().find(|kind| kind.arrow() == *arrow)
}

/// The Arrow schema of a table with those columns.
pub fn arrow_schema(columns: &[(Arc<str>, ColumnType)]) -> SchemaRef {
    let field = |(name, kind): &(Arc<str>, ColumnType)| Field::new(&**name, kind.arrow(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::TimeUnit;

    #[test]
    fn every_column_type_has_an_arrow_type_of_its_own() {
        for kind in ColumnType::all() {
            assert_eq!(column_type(&kind.arrow()), Some(kind));
        }
        for other in [DataType::Utf8, DataType::Float16, DataType::Timestamp(TimeUnit::Second, None)] {
            assert_eq!(column_type(&other), None);
        }
    }
}
