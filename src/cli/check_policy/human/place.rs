//! Places as a person reads them: files by the shortest name that only one layer has.
//!
//! In: the layers, which are shown with their whole paths, and origins. Out: short text.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    policy::{
        origin::Origin,
        source::{LayerSource, LayerSummary},
    },
    text::visible::visible,
};

/// The short names of the policy files.
pub(super) struct Places {
    names: BTreeMap<Arc<Path>, PathBuf>,
}

impl Places {
    /// Finds a short name for each file.
    pub(super) fn of(layers: &[LayerSummary]) -> Self {
        let files: Vec<&Arc<Path>> = layers
            .iter()
            .filter_map(|layer| match &layer.source {
                LayerSource::File { path, .. } => Some(path),
                LayerSource::Environment | LayerSource::Builtin => None,
            })
            .collect();
        let short = |path: &Path| {
            let others = || files.iter().filter(|other| other.as_ref() != path);
            let ends: Vec<PathBuf> = path
                .ancestors()
                .skip(1)
                .filter_map(|above| path.strip_prefix(above).ok().map(PathBuf::from))
                .collect();
            ends.into_iter().find(|end| !others().any(|other| other.ends_with(end)))
        };
        let named = |path: &&Arc<Path>| (Arc::clone(path), short(path).unwrap_or_else(|| path.to_path_buf()));
        Self { names: files.iter().map(named).collect() }
    }

    /// Where something stands; nothing for a default.
    pub(super) fn short(&self, origin: &Origin) -> String {
        match origin {
            Origin::File { path, span } => {
                let name = self.names.get(path).map_or(path.as_ref(), PathBuf::as_path);
                let name = visible(&name.to_string_lossy());
                span.map_or_else(
                    || name.clone(),
                    |span| format!("{name}:{}:{}", span.start.line, span.start.column),
                )
            }
            Origin::Variable { .. } => origin.to_string(),
            Origin::Builtin => String::new(),
        }
    }

    /// Where so many things stand that begin with this one.
    pub(super) fn of_several(&self, first: &Origin, count: usize) -> String {
        match first {
            Origin::Variable { name, .. } if count > 1 => visible(name),
            Origin::Variable { .. } | Origin::File { .. } | Origin::Builtin => self.short(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Places;
    use crate::policy::{
        origin::Origin,
        source::{LayerSource, LayerSummary, Role, Scope},
    };

    #[test]
    fn a_file_has_the_shortest_name_that_is_its_own() {
        let layer = |path: &str| LayerSummary {
            role: Role::Limit,
            source: LayerSource::File { path: Path::new(path).into(), facts: None, scope: Scope::System },
        };
        let paths = ["/home/a/.config/w/policy.toml", "/etc/w/policy.toml", "/etc/w/policy.d/team.toml"];
        let layers = paths.map(layer);
        let places = Places::of(&layers);
        let short = paths.map(|path| places.short(&Origin::file(Path::new(path))));
        assert_eq!(short, [".config/w/policy.toml", "etc/w/policy.toml", "team.toml"]);
        assert_eq!(places.short(&Origin::Builtin), "");
        assert_eq!(places.of_several(&Origin::variable_item("PW_ALLOWED_DIRS", 1), 2), "PW_ALLOWED_DIRS");
        assert_eq!(
            places.of_several(&Origin::variable_item("PW_ALLOWED_DIRS", 1), 1),
            "PW_ALLOWED_DIRS item 1"
        );
    }
}
