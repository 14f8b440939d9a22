"""Records as a table: a DataFrame where there is pandas, else the list of records itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def as_table(records: Sequence[dict[str, Any]], columns: Sequence[str]) -> Any:
    """Give records as a table.

    Args:
        records: One dict for each row.
        columns: The names of the columns, in order.

    Returns:
        A `pandas.DataFrame`, or where pandas is not installed a list of dicts.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - only whoever looks at a table needs it
    except ImportError:
        return [{name: record.get(name) for name in columns} for record in records]
    return pd.DataFrame(list(records), columns=list(columns), dtype=object)
