"""What results of the analysis have in common: their records, and the data frame of them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """A result of the analysis."""

    def records(self) -> Iterable[Mapping[str, Any]]:
        """Its figures, row by row; shares and rates as fractions."""
        raise NotImplementedError

    def to_pandas(self) -> "pd.DataFrame":
        """Its figures as a data frame."""
        import pandas as pd

        return pd.DataFrame(list(self.records()))
