"""How results are told: a calm table for people, the same figures as JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

Cell = float | int | str
Row = dict[str, Cell]


@dataclass
class Report:
    """One scenario's rows, each by its name, and what a reader should know beside them."""

    title: str
    rows: dict[str, Row] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the table."""
        columns = list(dict.fromkeys(name for row in self.rows.values() for name in row))
        lines = [["", *columns]]
        lines += [
            [name, *(_shown(row.get(column, "")) for column in columns)] for name, row in self.rows.items()
        ]
        widths = [max(len(line[n]) for line in lines) for n in range(len(columns) + 1)]
        table = [
            "  ".join(_set(cell, width, n) for n, (cell, width) in enumerate(zip(line, widths, strict=True)))
            for line in lines
        ]
        return "\n".join([self.title, "", *(line.rstrip() for line in table), *self._notes()])

    def _notes(self) -> list[str]:
        return ["", *self.notes] if self.notes else []


def middle(values: Sequence[float]) -> float:
    """Return the median, and 0 of nothing."""
    return median(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return what `share` of the values stay under, and 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def medians(rows: Sequence[Row]) -> Row:
    """Return each column's median over these rows; a column that has no number is left empty."""
    return {column: _median([row[column] for row in rows if row[column] != ""]) for column in rows[0]}


def ms(seconds: float) -> float:
    """Return milliseconds, as precise as they are worth telling."""
    return round(1000 * seconds, 2)


def _median(cells: Sequence[Cell]) -> Cell:
    if not cells:
        return ""
    found = middle([float(cell) for cell in cells])
    return round(found) if all(isinstance(cell, int) for cell in cells) else round(found, 3)


def _shown(cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def _set(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)
