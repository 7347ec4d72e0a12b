"""Flip labels of the Wine data, and see which value finds them: ``python benchmarks/demo.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.preprocessing import StandardScaler

import ordinal_shapley as osv
from ordinal_shapley.plots import plot_detection

FLIPPED = 0.1
COLUMNS = ["value", "ci_low", "ci_high", "given_label", "predicted_label", "flipped"]
MODELS = {
    "partial ordinal, by CTMC": osv.PartialOrdinalShapley(sampler="ctmc", random_state=0),
    "ordinal": osv.OrdinalShapley(random_state=0),
    "classic": osv.ClassicShapley(random_state=0),
}


def main(folder: Path) -> None:
    """Print how many flipped labels each value finds; write values, a picture and a report."""
    console = Console()
    wine = osv.datasets.load_wine()
    X = StandardScaler().set_output(transform="pandas").fit_transform(wine.frame)
    noise = osv.corrupt_labels(wine.y, fraction=FLIPPED, random_state=0)
    n, rows = len(noise.rows), len(X)
    console.print(f"Wine: {rows} rows, 3 classes. We flipped {n} labels; which values point to them?\n")
    table = Table(
        "value", f"flipped among the {n} lowest", "model fits", "seconds", box=None, header_style="dim"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    detections = {}
    for name, model in MODELS.items():
        with console.status(f"{name} value ..."):
            valuation = model.fit(X, noise.labels).valuation_
        detections[name] = osv.detect_noisy_labels(valuation, noise)
        found = detections[name].found_at(FLIPPED) * n
        table.add_row(name, f"{found:.0f}", f"{valuation.n_evaluations:,}", f"{valuation.seconds:.0f}")
    console.print(table)
    frame = valuation.to_frame().assign(flipped=[row in noise.rows for row in range(rows)])
    lowest = frame.sort_values("value").head(8)[COLUMNS]
    console.print("\nThe lowest classic values:\n")
    console.print(lowest.rename_axis("row").round(4).to_string(), highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "wine.csv", index_label="row")
    plot_detection(detections).figure.savefig(folder / "wine.png", dpi=120)
    valuation.to_html(folder / "wine.html", X=X, y=noise.labels, title="Wine with flipped labels")
    files = ("wine.csv", "wine.png", "wine.html")
    console.print("\nWritten:", *(str(folder / name) for name in files), sep="\n  ", highlight=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
