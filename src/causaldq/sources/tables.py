"""Tidy tables as Parquet, for whoever wants the data a result rests on."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from causaldq.files import write_atomically


def write_table(path: Path, table: pd.DataFrame, units: Mapping[str, str]) -> None:
    """Keep a tidy table; columns with a unit carry it in their field's metadata."""
    import pyarrow
    from pyarrow import parquet

    whole = pyarrow.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_metadata({"unit": units[field.name]}) if field.name in units else field
        for field in whole.schema
    ]
    described = whole.cast(pyarrow.schema(fields, whole.schema.metadata))
    write_atomically(path, lambda temporary: parquet.write_table(described, temporary))
