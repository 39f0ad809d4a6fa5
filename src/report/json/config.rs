//! `config` and `stats` of a report.
//!
//! In: their JSON. Out: the few of their values that a report keeps. All else of a config is dropped unread: its `use`
//! options hold secrets.

use serde::de::{MapAccess, SeqAccess};

use crate::report::json::lenient::{Array, Fields, Integer, Items, Object, Path, Text, count, milliseconds};
use crate::report::location::ReportedPath;
use crate::report::{MAX_NAME_BYTES, Report, ReportedProject, Shard};

/// The most projects kept of a config.
const MAX_PROJECTS: usize = 1000;

/// The config as it is read into a report.
pub(in crate::report) struct ConfigFields<'r> {
    /// The report.
    pub(in crate::report) report: &'r mut Report,
    /// Whether any field of a Playwright config was there.
    pub(in crate::report) found: bool,
}

impl Fields for ConfigFields<'_> {
    const NAMES: &'static [&'static str] = &["configFile", "rootDir", "version", "projects", "shard"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        self.found = true;
        match name {
            "configFile" => self.report.config_file = map.next_value_seed(Path)?.map(ReportedPath::new),
            "rootDir" => self.report.root_dir = map.next_value_seed(Path)?.map(ReportedPath::new),
            "version" => self.report.version = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "projects" => map.next_value_seed(Array(&mut ProjectItems(&mut self.report.projects)))?,
            _ => {
                let mut shard = ShardFields::default();
                map.next_value_seed(Object(&mut shard))?;
                let part = Shard { current: count(shard.current), total: count(shard.total) };
                self.report.shard = (part.total > 0).then_some(part);
            }
        }
        Ok(())
    }
}

/// A shard as it is read.
#[derive(Default)]
struct ShardFields {
    current: Option<i64>,
    total: Option<i64>,
}

impl Fields for ShardFields {
    const NAMES: &'static [&'static str] = &["current", "total"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        let number = map.next_value_seed(Integer)?;
        if name == "current" {
            self.current = number;
        } else {
            self.total = number;
        }
        Ok(())
    }
}

/// The projects of a config.
struct ProjectItems<'r>(&'r mut Vec<ReportedProject>);

/// A project as it is read.
#[derive(Default)]
struct ProjectFields {
    name: Option<String>,
    output_dir: Option<String>,
    test_dir: Option<String>,
}

impl Items for ProjectItems<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut read = ProjectFields::default();
        let found = items.next_element_seed(Object(&mut read))?.is_some();
        if found && self.0.len() < MAX_PROJECTS {
            self.0.push(ReportedProject {
                name: read.name.unwrap_or_default(),
                output_dir: read.output_dir.map(ReportedPath::new),
                test_dir: read.test_dir.map(ReportedPath::new),
            });
        }
        Ok(found)
    }
}

impl Fields for ProjectFields {
    const NAMES: &'static [&'static str] = &["name", "outputDir", "testDir"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => self.name = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "outputDir" => self.output_dir = map.next_value_seed(Path)?,
            _ => self.test_dir = map.next_value_seed(Path)?,
        }
        Ok(())
    }
}

/// The stats as they are read into a report; its counts are left out: the tests are counted.
pub(in crate::report) struct StatsFields<'r> {
    /// The report.
    pub(in crate::report) report: &'r mut Report,
    /// Whether any field of Playwright's stats was there.
    pub(in crate::report) found: bool,
}

impl Fields for StatsFields<'_> {
    const NAMES: &'static [&'static str] = &["startTime", "duration"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        self.found = true;
        if name == "startTime" {
            self.report.start_time = map.next_value_seed(Text(MAX_NAME_BYTES))?;
        } else {
            self.report.duration_ms = map.next_value_seed(Integer)?.map(|number| milliseconds(Some(number)));
        }
        Ok(())
    }
}
