//! Element types: of payload fields, and of what a batch can hold beside them.

use arrow_schema::{DataType, TimeUnit as ArrowUnit};

/// The element type of a payload field, spelt as `ml_dtypes` and torch spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// IEEE binary16.
    Float16,
    /// IEEE binary32.
    Float32,
    /// IEEE binary64.
    Float64,
    /// The upper half of a binary32.
    BFloat16,
    /// 8 bits: 4 of exponent, 3 of mantissa, no infinities.
    Float8E4M3Fn,
    /// 8 bits: 5 of exponent, 2 of mantissa.
    Float8E5M2,
    /// Two binary32: real, imaginary.
    Complex64,
    /// Two binary64: real, imaginary.
    Complex128,
}

impl DType {
    /// Every element type, in the order of the specification.
    pub const ALL: [Self; 17] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::UInt8,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::BFloat16,
        Self::Float8E4M3Fn,
        Self::Float8E5M2,
        Self::Complex64,
        Self::Complex128,
    ];

    /// The name used in manifests and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::BFloat16 => "bfloat16",
            Self::Float8E4M3Fn => "float8_e4m3fn",
            Self::Float8E5M2 => "float8_e5m2",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// The element type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 | Self::Float8E4M3Fn | Self::Float8E5M2 => 1,
            Self::Int16 | Self::UInt16 | Self::Float16 | Self::BFloat16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }
}

/// The unit of a timestamp or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 10^-3 s.
    Milli,
    /// 10^-6 s.
    Micro,
    /// 10^-9 s.
    Nano,
}

impl TimeUnit {
    /// `ms`, `us` or `ns`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Milli => "ms",
            Self::Micro => "us",
            Self::Nano => "ns",
        }
    }
}

/// The type of a metadata or extra column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// bool, an integer, float32 or float64.
    Number(DType),
    /// UTF-8 text.
    String,
    /// Bytes.
    Binary,
    /// Days since 1970-01-01, int32.
    Date,
    /// int64 units since 1970-01-01T00:00, with or without the zone UTC.
    Timestamp(TimeUnit, bool),
    /// int64 units.
    Duration(TimeUnit),
}

impl ColumnType {
    /// The word for this type: `int32`, `string`, `binary`, `date`, `timestamp[us]`, `timestamp[us, UTC]`, `duration[ms]`.
    pub fn name(self) -> String {
        match self {
            Self::Number(dtype) => dtype.name().into(),
            Self::String => "string".into(),
            Self::Binary => "binary".into(),
            Self::Date => "date".into(),
            Self::Timestamp(unit, false) => format!("timestamp[{}]", unit.name()),
            Self::Timestamp(unit, true) => format!("timestamp[{}, UTC]", unit.name()),
            Self::Duration(unit) => format!("duration[{}]", unit.name()),
        }
    }

    /// What its values are stored as; none for strings, which have no width.
    pub const fn stored(self) -> Option<DType> {
        match self {
            Self::Number(dtype) => Some(dtype),
            Self::Date => Some(DType::Int32),
            Self::Timestamp(..) | Self::Duration(_) => Some(DType::Int64),
            Self::String | Self::Binary => None,
        }
    }

    /// What an array of its values in a batch holds; none for strings, which are no array.
    pub const fn element(self) -> Option<Element> {
        match self {
            Self::Number(dtype) => Some(Element::Plain(dtype)),
            Self::Date => Some(Element::Date),
            Self::Timestamp(unit, _) => Some(Element::Timestamp(unit)),
            Self::Duration(unit) => Some(Element::Duration(unit)),
            Self::String | Self::Binary => None,
        }
    }

    /// The Arrow type of its columns, as the format stores them.
    pub fn arrow(self) -> DataType {
        let unit = |unit| match unit {
            TimeUnit::Milli => ArrowUnit::Millisecond,
            TimeUnit::Micro => ArrowUnit::Microsecond,
            TimeUnit::Nano => ArrowUnit::Nanosecond,
        };
        match self {
            Self::String => DataType::Utf8View,
            Self::Binary => DataType::BinaryView,
            Self::Date => DataType::Date32,
            Self::Timestamp(of, utc) => DataType::Timestamp(unit(of), utc.then(|| "UTC".into())),
            Self::Duration(of) => DataType::Duration(unit(of)),
            Self::Number(dtype) => match dtype {
                DType::Bool => DataType::Boolean,
                DType::Int8 => DataType::Int8,
                DType::Int16 => DataType::Int16,
                DType::Int32 => DataType::Int32,
                DType::Int64 => DataType::Int64,
                DType::UInt8 => DataType::UInt8,
                DType::UInt16 => DataType::UInt16,
                DType::UInt32 => DataType::UInt32,
                DType::UInt64 => DataType::UInt64,
                DType::Float32 => DataType::Float32,
                _ => DataType::Float64,
            },
        }
    }

    /// Every column type, in the order of the specification.
    pub fn all() -> impl Iterator<Item = Self> {
        use DType as D;
        let numbers = [
            D::Bool,
            D::Int8,
            D::Int16,
            D::Int32,
            D::Int64,
            D::UInt8,
            D::UInt16,
            D::UInt32,
            D::UInt64,
            D::Float32,
            D::Float64,
        ];
        let units = [TimeUnit::Milli, TimeUnit::Micro, TimeUnit::Nano];
        numbers
            .into_iter()
            .map(Self::Number)
            .chain([Self::String, Self::Binary, Self::Date])
            .chain(units.into_iter().flat_map(|u| [Self::Timestamp(u, false), Self::Timestamp(u, true)]))
            .chain(units.into_iter().map(Self::Duration))
    }

    /// The column type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }
}

/// What the elements of a dense array in a batch are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// An element type that payload fields have, too.
    Plain(DType),
    /// int64 days since 1970.
    Date,
    /// int64 units since 1970.
    Timestamp(TimeUnit),
    /// int64 units.
    Duration(TimeUnit),
}

impl Element {
    /// The type of the numbers that stand for them.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Plain(dtype) => dtype,
            Self::Date | Self::Timestamp(_) | Self::Duration(_) => DType::Int64,
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        self.dtype().size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
        }
        for kind in ColumnType::all() {
            assert_eq!(ColumnType::parse(&kind.name()), Some(kind));
        }
        assert_eq!(ColumnType::parse("timestamp[us, UTC]"), Some(ColumnType::Timestamp(TimeUnit::Micro, true)));
        assert_eq!(ColumnType::parse("float16"), None);
    }
}
