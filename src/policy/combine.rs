//! How layers work together: one rule of combination for each kind of key.
//!
//! In: what each layer says. Out: lists and values of which adding a layer never allows more, whatever the order of
//! the limiting layers. Which key has which rule is left to `compile`.

use std::path::PathBuf;

use crate::policy::origin::{Origin, Sourced};

/// What one layer allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerList<P> {
    /// Where the list stands.
    pub key: Origin,
    /// Its entries; none allows nothing.
    pub entries: Vec<Sourced<P>>,
}

impl<P> LayerList<P> {
    /// Gives the first entry that `matches`.
    pub fn admitting(&self, matches: impl Fn(&P) -> bool) -> Option<&Sourced<P>> {
        self.entries.iter().find(|entry| matches(&entry.value))
    }
}

/// What every layer that sets a key allows. There always is one list, so that no list never means everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList<P> {
    first: LayerList<P>,
    further: Vec<LayerList<P>>,
}

impl<P> AllowList<P> {
    /// Starts with the list of the granting layer.
    pub(in crate::policy) const fn new(first: LayerList<P>) -> Self {
        Self { first, further: Vec::new() }
    }

    /// Takes away what another layer does not allow.
    pub(in crate::policy) fn narrow(&mut self, list: LayerList<P>) {
        self.further.push(list);
    }

    /// Asks every layer, and gives the first entry of each that `matches`.
    ///
    /// # Errors
    /// The place of the first list that has no such entry.
    pub fn admits(&self, matches: impl Fn(&P) -> bool) -> Result<Vec<&Sourced<P>>, &Origin> {
        self.lists().map(|list| list.admitting(&matches).ok_or(&list.key)).collect()
    }

    /// The entries that some entry of every list covers, each once: what they match is allowed.
    pub fn common(&self, covers: impl Fn(&P, &P) -> bool) -> Vec<&Sourced<P>> {
        let mut common: Vec<&Sourced<P>> = Vec::new();
        for entry in self.lists().flat_map(|list| &list.entries) {
            let admitted = self.admits(|wide| covers(wide, &entry.value)).is_ok();
            let alike = |known: &&Sourced<P>| {
                covers(&known.value, &entry.value) && covers(&entry.value, &known.value)
            };
            if admitted && !common.iter().any(alike) {
                common.push(entry);
            }
        }
        common
    }

    /// Of each list the entries that may meet an entry of every other list, if [`Self::common`] does not say all:
    /// where two meet and neither covers the other, what they allow has to match in every list.
    pub fn meeting(
        &self,
        covers: impl Fn(&P, &P) -> bool,
        may_overlap: impl Fn(&P, &P) -> bool,
    ) -> Vec<Vec<&P>> {
        let lists: Vec<_> = self.lists().collect();
        let others = |of: usize| lists.iter().enumerate().filter(move |(index, _)| *index != of);
        let crosses =
            |one: &P, other: &P| may_overlap(one, other) && !covers(one, other) && !covers(other, one);
        let crossing = lists.iter().enumerate().any(|(index, list)| {
            let mut further = others(index).flat_map(|(_, other)| &other.entries);
            further.any(|other| list.entries.iter().any(|entry| crosses(&entry.value, &other.value)))
        });
        if !crossing {
            return Vec::new();
        }
        let meets_all = |index: usize, entry: &P| {
            others(index).all(|(_, other)| other.admitting(|other| may_overlap(entry, other)).is_some())
        };
        let meeting: Vec<Vec<&P>> = lists
            .iter()
            .enumerate()
            .map(|(index, list)| {
                let values = list.entries.iter().map(|entry| &entry.value);
                values.filter(|entry| meets_all(index, entry)).collect()
            })
            .collect();
        // A list of which nothing is left says that nothing is allowed.
        if meeting.iter().any(Vec::is_empty) { Vec::new() } else { meeting }
    }

    /// The lists of the layers, that of the granting layer first.
    pub fn lists(&self) -> impl Iterator<Item = &LayerList<P>> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Gives the entries that no entry of another layer's list has anything in common with, each with that list's
    /// place: they allow nothing.
    pub fn taken_away(&self, may_overlap: impl Fn(&P, &P) -> bool) -> Vec<(&Sourced<P>, &Origin)> {
        let within = |entry: &Sourced<P>, list: &LayerList<P>| {
            list.admitting(|other| may_overlap(&entry.value, other)).is_some()
        };
        let entries = self.lists().flat_map(|list| &list.entries);
        entries
            .filter_map(|entry| self.lists().find(|list| !within(entry, list)).map(|list| (entry, &list.key)))
            .collect()
    }

    /// The list of the granting layer.
    pub const fn granted(&self) -> &LayerList<P> {
        &self.first
    }
}

/// Directory trees, of which those hold that lie in a tree of every layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtrees {
    written: AllowList<PathBuf>,
    common: Vec<Sourced<PathBuf>>,
}

impl Subtrees {
    /// Finds the trees that lie in a tree of every layer.
    pub(in crate::policy) fn new(written: AllowList<PathBuf>) -> Self {
        let common = written.common(|tree, entry| entry.starts_with(tree)).into_iter().cloned().collect();
        Self { written, common }
    }

    /// The trees that hold, each once.
    pub fn common(&self) -> &[Sourced<PathBuf>] {
        &self.common
    }

    /// What each layer wrote.
    pub const fn written(&self) -> &AllowList<PathBuf> {
        &self.written
    }
}

/// What any layer takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyList<P> {
    entries: Vec<Sourced<P>>,
}

impl<P> DenyList<P> {
    /// Makes the union of all layers.
    pub(in crate::policy) const fn new(entries: Vec<Sourced<P>>) -> Self {
        Self { entries }
    }

    /// Gives the first entry that `matches`.
    pub fn denies(&self, matches: impl Fn(&P) -> bool) -> Option<&Sourced<P>> {
        self.entries.iter().find(|entry| matches(&entry.value))
    }

    /// All entries.
    pub fn entries(&self) -> &[Sourced<P>] {
        &self.entries
    }
}

/// Gives the smallest, which is the strictest; of equal ones the first, so that the granting layer is named.
pub(in crate::policy) fn strictest<T: Ord>(
    values: impl IntoIterator<Item = Sourced<T>>,
) -> Option<Sourced<T>> {
    values.into_iter().reduce(|strictest, next| if next.value < strictest.value { next } else { strictest })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{AllowList, DenyList, LayerList, Subtrees, strictest};
    use crate::policy::origin::{Origin, Sourced};

    fn list<P: Clone>(name: &str, entries: &[P]) -> LayerList<P> {
        let entries = entries.iter().enumerate();
        let entries =
            entries.map(|(index, entry)| Sourced::new(entry.clone(), Origin::variable_item(name, index + 1)));
        LayerList { key: Origin::variable(name), entries: entries.collect() }
    }

    fn allow<P: Clone>(lists: &[(&str, &[P])]) -> AllowList<P> {
        let mut lists = lists.iter().map(|(name, entries)| list(name, entries));
        let mut allow = AllowList::new(lists.next().unwrap());
        lists.for_each(|list| allow.narrow(list));
        allow
    }

    #[test]
    fn every_layer_must_allow() {
        let list = allow(&[("A", &[1, 2, 3]), ("B", &[2, 3])]);
        let admitting: Vec<_> =
            list.admits(|n| *n == 3).unwrap().iter().map(|it| it.origin.to_string()).collect();
        assert_eq!(admitting, ["A item 3", "B item 2"]);
        assert_eq!(list.admits(|n| *n == 1).unwrap_err().to_string(), "B");
        assert_eq!(list.admits(|n| *n == 9).unwrap_err().to_string(), "A");
    }

    #[test]
    fn entry_without_a_counterpart_is_told_with_the_list_that_lacks_it() {
        let list = allow(&[("A", &[1, 2, 3][..]), ("B", &[2, 3, 4]), ("C", &[3])]);
        let taken = list.taken_away(|one, two| one == two);
        let told: Vec<_> = taken.iter().map(|(entry, by)| format!("{} {by}", entry.origin)).collect();
        assert_eq!(told, ["A item 1 B", "A item 2 C", "B item 1 C", "B item 3 A"]);
    }

    #[test]
    fn empty_list_allows_nothing() {
        assert!(allow(&[("A", &[] as &[u8])]).admits(|_| true).is_err());
        assert!(allow(&[("A", &[1_u8][..]), ("B", &[][..])]).admits(|_| true).is_err());
    }

    #[test]
    fn any_layer_may_deny() {
        let list = DenyList::new(vec![Sourced::builtin(1), Sourced::builtin(2)]);
        assert!(list.denies(|n| *n == 2).is_some());
        assert!(list.denies(|n| *n == 3).is_none());
    }

    #[test]
    fn strictest_is_the_smallest_and_of_equals_the_first() {
        let value = |number: u8, name| Sourced::new(number, Origin::variable(name));
        let found = strictest([value(3, "A"), value(1, "B"), value(1, "C")]).unwrap();
        assert_eq!(found, value(1, "B"));
    }

    #[test]
    fn what_no_single_entry_tells_is_told_list_by_list() {
        // Divisors: a number covers its multiples, and meets every number.
        let covers = |one: &u32, other: &u32| other.is_multiple_of(*one);
        let meeting = |list: &AllowList<u32>, most| -> Vec<Vec<u32>> {
            let lists = list.meeting(covers, |one, other| one * other <= most);
            lists.into_iter().map(|list| list.into_iter().copied().collect()).collect()
        };
        let nested = allow(&[("A", &[2, 3]), ("B", &[4, 9])]);
        assert_eq!(nested.common(covers).iter().map(|entry| entry.value).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(meeting(&nested, 11), [[0; 0]; 0], "4 lies within 2, and 3 meets neither");
        assert_eq!(meeting(&nested, 12), [vec![2, 3], vec![4]], "3 and 4 meet in 12");
        let three = allow(&[("A", &[2, 50]), ("B", &[3]), ("C", &[1])]);
        assert_eq!(meeting(&three, 6), [vec![2], vec![3], vec![1]], "what meets nothing is left out");
    }

    #[test]
    fn subtrees_are_common_when_every_layer_has_one_above() {
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        let rows = [
            ("the same", &[&["a"][..], &["a"]][..], vec!["a"]),
            ("the narrower", &[&["a"], &["a/b", "c"]], vec!["a/b"]),
            ("from both sides", &[&["a", "b/x"], &["a/x", "b"]], vec!["b/x", "a/x"]),
            ("names that start alike", &[&["a"], &["ab"]], vec![]),
            ("nothing", &[&["a"], &[]], vec![]),
        ];
        for (name, layers, expected) in rows {
            let lists: Vec<_> = layers.iter().map(|layer| paths(layer)).collect();
            let list = allow(&lists.iter().map(|list| ("L", list.as_slice())).collect::<Vec<_>>());
            let trees = Subtrees::new(list);
            let common: Vec<_> = trees.common().iter().map(|tree| tree.value.clone()).collect();
            assert_eq!(common, paths(&expected), "{name}");
        }
    }
}
