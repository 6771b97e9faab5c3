//! Columns for people: the table at the end of a run, and the demo's comparison.

/// Rows of cells; the first column is flush left, the others right.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table under these headings.
    pub fn new(headings: &[&str]) -> Table {
        Table { rows: vec![headings.iter().map(|h| h.to_string()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell_width = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|i| self.rows.iter().filter_map(|r| r.get(i)).map(cell_width).max().unwrap_or(0))
            .collect();
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for (i, cell) in row.iter().enumerate() {
                let blanks = " ".repeat(widths[i] - cell_width(cell));
                match i {
                    0 => line.extend([cell.as_str(), &blanks]),
                    _ => line.extend(["  ", &blanks, cell]),
                }
            }
            line.trim_end().to_string()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_is_left_and_the_others_right() {
        let mut table = Table::new(&["name", "n"]);
        table.row(vec!["a".into(), "1,000".into()]);
        table.row(vec!["longer".into()]);
        assert_eq!(table.lines(), ["name        n", "a       1,000", "longer"]);
    }
}
