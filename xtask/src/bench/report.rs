//! The table, for the terminal and as Markdown.

use std::fmt::Write as _;

use super::machine::Machine;
use super::measure::{Measured, Ratio, Series};
use super::rows::{Kind, Row};

/// All measurements.
pub(super) struct Report {
    command: String,
    method: String,
    pub(super) lines: Vec<Line>,
    /// Rows without a measurement, and why.
    pub(super) failures: Vec<String>,
}

/// A row with its result.
pub(super) struct Line {
    name: &'static str,
    what: &'static str,
    bar: String,
    measured: Measured,
}

impl Line {
    pub(super) fn of(row: &Row, measured: Measured) -> Self {
        let bar = match &row.kind {
            Kind::Ratio { at_most, .. } | Kind::Crates { at_most } | Kind::BuildCpu { at_most } => {
                format!("≤ {at_most} ×")
            }
            Kind::Below { figure, limit, .. } => format!("< {limit} {}", figure.unit()),
            Kind::Flat { .. } => "flat".to_owned(),
        };
        Self { name: row.name, what: row.what, bar, measured }
    }

    fn is_of_moments(&self) -> bool {
        self.bar == "flat"
    }

    fn ours(&self) -> String {
        let ours = &self.measured.ours;
        if self.is_of_moments() {
            let moments: Vec<_> = ours.values.iter().map(|mb| format!("{mb:.1}")).collect();
            return format!("{} {}", moments.join(" → "), ours.unit);
        }
        shown(ours)
    }

    fn theirs(&self) -> String {
        self.measured.theirs.as_ref().map_or_else(nothing, |(theirs, _)| shown(theirs))
    }

    fn ratio(&self) -> String {
        let ratio = self.measured.theirs.as_ref().map(|(_, Ratio(ratio))| format!("{ratio:.2} ×"));
        ratio.unwrap_or_else(nothing)
    }

    fn verdict(&self) -> &'static str {
        if self.measured.good { "ok" } else { "MISS" }
    }

    fn cells(&self) -> [String; 6] {
        let verdict = self.verdict().to_owned();
        [self.name.to_owned(), self.ours(), self.theirs(), self.ratio(), self.bar.clone(), verdict]
    }
}

fn nothing() -> String {
    "–".to_owned()
}

fn shown(series: &Series) -> String {
    let value = series.median();
    // At best, three digits are reliable.
    let digits = match value {
        _ if value.fract() == 0.0 => 0,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", series.unit)
}

impl Report {
    pub(super) fn new(command: String, method: String) -> Self {
        Self { command, method, lines: Vec::new(), failures: Vec::new() }
    }

    pub(super) fn for_terminal(&self) -> String {
        let head = ["", "candor", "against", "ratio", "bar", ""].map(str::to_owned);
        let rows: Vec<_> =
            std::iter::once(head).chain(self.lines.iter().map(Line::cells)).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut text = String::new();
        for row in &rows {
            let line: String =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let missed = self.lines.iter().filter(|line| !line.measured.good).count();
        let _ = writeln!(text, "\n{} rows, {missed} of them missed their bar", self.lines.len());
        for failure in &self.failures {
            let _ = writeln!(text, "\nFAILED {failure}");
        }
        text
    }

    pub(super) fn as_markdown(&self, before: &Machine, after: &Machine) -> String {
        let mut text = "# Candor, measured side by side\n\n".to_owned();
        let _ = writeln!(text, "`{}`\n\n{}\n", self.command, self.method);
        for (name, fact) in before.facts() {
            let _ = writeln!(text, "- {name}: {fact}");
        }
        let _ = writeln!(text, "- disturbance: {}\n", before.disturbance(after));
        text +=
            "| row | what | candor | against | ratio | bar | |\n|---|---|---|---|---|---|---|\n";
        for line in &self.lines {
            let [name, ours, theirs, ratio, bar, verdict] = line.cells();
            let theirs = match &line.measured.theirs {
                Some((series, _)) => format!("{}: {theirs}", series.label),
                None => theirs,
            };
            let cells = [&name, line.what, &ours, &theirs, &ratio, &bar, &verdict].join(" | ");
            let _ = writeln!(text, "| {cells} |");
        }
        for failure in &self.failures {
            let _ = writeln!(text, "\n**Failed** {failure}");
        }
        text += "\n## Every run\n";
        for line in &self.lines {
            let theirs = line.measured.theirs.iter().map(|(series, _)| series);
            let series = std::iter::once(&line.measured.ours).chain(theirs);
            for series in series.filter(|series| !series.printed.is_empty()) {
                let _ = writeln!(text, "\n{}, {}:\n", line.name, series.label);
                for printed in &series.printed {
                    let _ = writeln!(text, "    {printed}");
                }
            }
        }
        text
    }
}
