//! Whatever the writer takes comes back, to the bit.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use dsrt_core::batch::Layout;
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::format::json::Value as Json;
use dsrt_core::read::{Access, Cache, Io, MetadataSource, OnDamage};
use dsrt_core::write::{Dictionary, Earlier, Encoding, Record, Value, Writer, WriterOptions};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{gather_field, gather_source, gather_wide, integers, records, widened};

/// A field with a record, shape and bytes, for each sample.
#[derive(Clone, Debug)]
struct Column {
    field: Field,
    records: Vec<(Vec<u64>, Vec<u8>)>,
}

const SAMPLES: usize = 9;
const BOTH: [Io; 2] = [Io::Mmap, Io::Pread];

fn codecs() -> impl Strategy<Value = (Codec, u8)> {
    prop_oneof![
        Just((Codec::Raw, 0)),
        Just((Codec::Zstd, 0)),
        Just((Codec::ZstdDict, 0)),
        (select(vec![Codec::Zstd, Codec::ZstdDict]), 1u8..)
    ]
}

fn axes(count: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0u64..5, count)
}

fn kinds() -> impl Strategy<Value = FieldKind> {
    prop_oneof![
        (0usize..4).prop_flat_map(axes).prop_map(|shape| FieldKind::Dense(shape.into())),
        (1u32..4).prop_map(FieldKind::Ragged),
        Just(FieldKind::Bytes),
        Just(FieldKind::Text),
    ]
}

fn columns() -> impl Strategy<Value = Column> {
    (kinds(), select(DType::ALL.to_vec()), codecs()).prop_flat_map(|(kind, dtype, (codec, delta))| {
        let dtype = if matches!(kind, FieldKind::Bytes | FieldKind::Text) { DType::UInt8 } else { dtype };
        let delta = if dtype == DType::UInt8 { delta } else { 0 };
        let field = Field { name: "x".into(), kind, dtype, codec, delta };
        let record = record(field.clone());
        (Just(field), prop::collection::vec(record, SAMPLES)).prop_map(|(field, records)| Column { field, records })
    })
}

fn record(field: Field) -> BoxedStrategy<(Vec<u64>, Vec<u8>)> {
    let shape: BoxedStrategy<Vec<u64>> = match &field.kind {
        FieldKind::Dense(shape) => Just(shape.to_vec()).boxed(),
        FieldKind::Ragged(ndim) => axes(*ndim as usize).boxed(),
        FieldKind::Bytes => (0u64..200).prop_map(|length| vec![length]).boxed(),
        FieldKind::Text => {
            let text = any::<String>().prop_map(|text| (vec![text.len() as u64], text.into_bytes()));
            return text.boxed();
        }
    };
    let size = field.dtype.size() as u64;
    let top = if field.dtype == DType::Bool { 1u8 } else { u8::MAX };
    let bytes = move |shape: Vec<u64>| {
        let length = (shape.iter().product::<u64>() * size) as usize;
        // Runs, so that frames are compressed ones, too.
        let bytes = prop_oneof![prop::collection::vec(0..=top, length), (0..=top).prop_map(move |b| vec![b; length])];
        (Just(shape), bytes)
    };
    shape.prop_flat_map(bytes).boxed()
}

fn write(columns: &[Column], per_shard: u64) -> (tempfile::TempDir, [Cache; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let fields = columns.iter().enumerate().map(|(i, column)| {
        let field = Field { name: format!("f{i}").into(), ..column.field.clone() };
        let dictionary =
            (field.codec == Codec::ZstdDict).then(|| Dictionary::Body(b"the bytes of a raw dictionary".to_vec()));
        (field, Encoding { level: 3, dictionary })
    });
    let options = WriterOptions {
        fields: fields.collect(),
        metadata: vec![("n".into(), ColumnType::Number(DType::Int64)), ("s".into(), ColumnType::String)],
        fingerprint: None,
        attributes: Json::Object(Default::default()),
        samples_per_shard: per_shard,
        shard_bytes: 1 << 20,
        replace: false,
        threads: 2,
        earlier: Earlier::Ask,
    };
    let target = directory.path().join("cache");
    let mut writer = Writer::create(&target, options).unwrap();
    for sample in 0..SAMPLES {
        let records: Vec<_> = columns.iter().map(|column| &column.records[sample]).collect();
        let records: Vec<_> = records.iter().map(|(shape, bytes)| Record { bytes, shape }).collect();
        let text = text_of(sample);
        let word = text.as_deref().map_or(Value::Null, Value::Str);
        writer.append(&records, &[Value::Int(-(sample as i128)), word], &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();
    let caches = BOTH.map(|io| Cache::open_by(&target, true, io).unwrap());
    (directory, caches)
}

fn text_of(sample: usize) -> Option<String> {
    (sample % 3 != 2).then(|| "lang genug für einen Puffer".chars().take(sample * 3).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn records_come_back(
        columns in prop::collection::vec(columns(), 1..4),
        per_shard in 1u64..12,
        order in prop::collection::vec(0..SAMPLES as u64, 0..20),
    ) {
        let (_directory, caches) = write(&columns, per_shard);
        for (cache, (i, column)) in caches.iter().flat_map(|cache| columns.iter().enumerate().map(move |c| (cache, c))) {
            prop_assert_eq!(cache.len(), SAMPLES as u64);
            let batch = gather_field(cache, &format!("f{i}"), &order, OnDamage::Raise).unwrap();
            let expected = |sample: &u64| column.records[*sample as usize].clone();
            let (shapes, bytes): (Vec<_>, Vec<_>) = order.iter().map(expected).unzip();
            if let Some(wide) = gather_wide(cache, &format!("f{i}"), &order, OnDamage::Raise) {
                let expected = bytes.iter().map(|record| widened(column.field.dtype, record)).collect::<Vec<_>>();
                prop_assert_eq!(records(&wide.unwrap()), expected);
            }
            prop_assert_eq!(records(&batch), bytes);
            if let Layout::Ragged { ndim, shapes: Some(span), .. } = batch.columns[0].layout {
                let found = integers(span.of(batch.buffer.bytes()).unwrap());
                prop_assert!(ndim > 1);
                prop_assert_eq!(found, shapes.concat().into_iter().map(|axis| axis as i64).collect::<Vec<_>>());
            }
            let lengths: Vec<_> = column.records.iter().map(|(shape, _)| shape.iter().product::<u64>()).collect();
            prop_assert_eq!(cache.lengths(i).unwrap(), lengths);
            if column.field.is_fixed() && cache.access() == Access::Mmap {
                let end = per_shard.min(SAMPLES as u64);
                let all: Vec<u8> = column.records[..end as usize].iter().flat_map(|(_, bytes)| bytes.clone()).collect();
                prop_assert_eq!(&*cache.slice(i, 0, end).unwrap().unwrap(), &all[..]);
            }
        }
        for cache in caches {
            let words = MetadataSource::new([cache].into(), "s").unwrap();
            let batch = gather_source("s", Arc::new(words), &order, OnDamage::Raise).unwrap();
            let expected = order.iter().map(|i| text_of(*i as usize).unwrap_or_default().into_bytes());
            prop_assert_eq!(records(&batch), expected.collect::<Vec<_>>());
        }
    }
}

#[test]
fn many_batches_of_metadata_are_found_by_row() {
    let directory = tempfile::tempdir().unwrap();
    let field =
        Field { name: "x".into(), kind: FieldKind::Dense([].into()), dtype: DType::UInt8, codec: Codec::Raw, delta: 0 };
    let options = WriterOptions {
        fields: vec![(field, Encoding { level: 3, dictionary: None })],
        metadata: vec![("n".into(), ColumnType::Number(DType::Int64)), ("b".into(), ColumnType::Number(DType::Bool))],
        fingerprint: None,
        attributes: Json::Object(Default::default()),
        samples_per_shard: 1 << 20,
        shard_bytes: 1 << 30,
        replace: false,
        threads: 2,
        earlier: Earlier::Ask,
    };
    let target = directory.path().join("cache");
    let samples: u32 = 2 * 262_144 + 3;
    let mut writer = Writer::create(&target, options).unwrap();
    for sample in 0..samples {
        let record = [Record { bytes: &[sample as u8], shape: &[] }];
        writer.append(&record, &[Value::Int(sample.into()), Value::Bool(sample % 3 == 0)], &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();
    for io in BOTH {
        check_many_batches(Cache::open_by(&target, true, io).unwrap(), samples);
    }
}

fn check_many_batches(cache: Cache, samples: u32) {
    let caches: Arc<[Cache]> = [cache].into();
    let order = [samples as u64 - 1, 0, 262_143, 262_144, 524_287, 524_288];
    let column = |name: &str| {
        let source = MetadataSource::new(caches.clone(), name).unwrap();
        records(&gather_source(name, Arc::new(source), &order, OnDamage::Raise).unwrap())
    };
    assert_eq!(column("n"), order.map(|n| (n as i64).to_ne_bytes().to_vec()));
    assert_eq!(column("b"), order.map(|n| vec![u8::from(n % 3 == 0)]));
    let table = caches[0].table().unwrap();
    let numbers = |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    assert!(table.batches().unwrap().iter().flat_map(numbers).eq(0..i64::from(samples)));
    assert_eq!(
        table.batches().unwrap().iter().map(|batch| batch.num_rows()).collect::<Vec<_>>(),
        [262_144, 262_144, 3]
    );
}
