//! Objects: their entries in one list, sorted by key, because a tree's nodes cost many times what small objects hold.

use super::Value;

/// The entries of an object in the order of the code points of their keys, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object(Vec<Entry>);

type Entry = (Box<str>, Value);

impl Object {
    /// Of entries in any order. The first key that is there twice is handed back.
    pub(super) fn sorted(mut entries: Vec<Entry>) -> Result<Self, Box<str>> {
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let twice = entries.windows(2).position(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
        match twice {
            Some(place) => Err(entries.swap_remove(place).0),
            None => Ok(Self(entries)),
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(self.place(key).ok()?).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.place(key).ok()?;
        self.0.get_mut(place).map(|(_, value)| value)
    }

    /// Gives a key a value, also where it has one.
    pub fn insert(&mut self, key: Box<str>, value: Value) {
        match self.place(&key) {
            Ok(place) => {
                if let Some((_, old)) = self.0.get_mut(place) {
                    *old = value;
                }
            }
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// Takes a key out, with its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| (**other).cmp(key))
    }
}

/// Where a key comes several times, the last of its values counts.
impl FromIterator<Entry> for Object {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let mut object = Self::default();
        entries.into_iter().for_each(|(key, value)| object.insert(key, value));
        object
    }
}
