"""What ``--json`` prints of games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.cli.json_documents import records, run_summary, sampler_settings

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.exact.values import ExactValues
    from ordinal_shapley.verification.comparison import Verification


def exact(result: ExactValues, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return exact values, in the order of the file.

    Parameters
    ----------
    result : ExactValues
        The result.
    name : str
        The game's file.
    asked : dict
        The options given.
    """
    players = records(result.to_frame().rename_axis("player"))
    if result.position_profile is not None:
        for player, profile in zip(players, result.position_profile, strict=True):
            player["by_position"] = profile
    return {
        "data": {"name": name, "players": len(result)},
        "settings": asked,
        "run": {"evaluations": result.n_evaluations, "seconds": result.seconds},
        "sum": result.values.sum(),
        "players": players,
    }


def verification(
    result: Verification, frame: pd.DataFrame, name: str, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return estimates beside exact values, in the order of the file.

    Parameters
    ----------
    result : Verification
        The result.
    frame : pandas.DataFrame
        The table that goes into the CSV.
    name : str
        The game's file.
    asked : dict
        The options given.
    """
    z = result.z[~np.isnan(result.z)]
    return {
        "data": {"name": name, "players": len(result)},
        "settings": asked | sampler_settings(result.valuation.sampler),
        "run": run_summary(result.valuation) | {"exact_evaluations": result.exact_values.n_evaluations},
        "summary": {
            "level": result.level,
            "intervals": int(np.sum(~np.isnan(result.stderr))),
            "holding_exact": int(np.sum(result.holds_exact)),
            "coverage": result.coverage,
            "coverage_of_exact": result.coverage_of_exact,
            "largest_bias": np.abs(result.bias).max(),
            "largest_z": np.abs(z).max() if z.size else None,
            "rank_correlation": result.rank_correlation,
            "note": result.note,
        },
        "players": records(frame),
    }
