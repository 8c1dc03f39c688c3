# SPDX-License-Identifier: Apache-2.0
"""Integers of a request's data, exact even in a column with missing values.

pandas turns a column of integers and missing values into floats, which changes integers above 2^53.
If one would change, the column gets pandas' nullable integers (Int64, UInt64), or Python's own if those are
too small. All other columns stay as pandas reads them, including those that have a number with a fraction.
"""

import sys

from .jsonsafe import EXACT_MAX

_KINDS = (("Int64", -1 << 63, 1 << 63), ("UInt64", 0, 1 << 64))


def _is_number(value):
    """Whether the value is not missing."""
    return value is not None and value == value


def _column(values, index, pandas):
    """The exact column of `values`; None if pandas' floats hold the same, or if not all values are integers."""
    present = [value for value in values if _is_number(value)]
    if any(type(value) is not int for value in present) or all(int(float(value)) == value for value in present):
        return None
    for kind, low, high in _KINDS:
        if low <= min(present) and max(present) < high:
            return pandas.Series([value if _is_number(value) else None for value in values], index, kind)
    return pandas.Series([value if _is_number(value) else None for value in values], index, object)


def suspects(frame):
    """The positions of float columns that may be integers, some of them missing and some changed."""
    numpy = sys.modules["numpy"]
    for i, dtype in enumerate(frame.dtypes.tolist()):
        if dtype == "float64":
            values = frame.iloc[:, i].to_numpy()
            present = values[~numpy.isnan(values)]
            if len(present) < len(values) and (numpy.abs(present) >= EXACT_MAX).any() \
                    and numpy.isfinite(present).all() and (present == numpy.floor(present)).all():
                yield i


def mend(frame, values_of, pandas):
    """`frame` with exact integers; `values_of(i)` are the request's values of the i-th column."""
    for i in list(suspects(frame)):
        column = _column(values_of(i), frame.index, pandas)
        if column is not None:
            frame.isetitem(i, column)
    return frame


# ---- a column in several batches ----

def _is_changed(batch):
    """Whether a float cannot hold one of the batch's integers exactly."""
    numpy = sys.modules["numpy"]
    if str(batch.dtype) in ("Int64", "UInt64"):
        return True
    if batch.dtype.kind not in "iu" or not len(batch) or -EXACT_MAX <= batch.min() <= batch.max() <= EXACT_MAX:
        return False
    values = batch.to_numpy()
    with numpy.errstate(invalid="ignore"):
        return bool((values.astype("float64").astype(values.dtype) != values).any())


def _nullable(batch, kind, low, high, pandas):
    """The batch as nullable integers; ValueError if it holds anything else."""
    numpy = sys.modules["numpy"]
    if batch.isna().all():
        return pandas.Series(None, batch.index, kind)
    if batch.dtype == "float64":
        values = batch.to_numpy()
        values = values[~numpy.isnan(values)]
        if not (numpy.abs(values) <= EXACT_MAX).all() or (values != numpy.floor(values)).any():
            raise ValueError("floats")
    elif batch.dtype.kind not in "iu":
        raise ValueError("others")
    if not low <= int(batch.min()) <= int(batch.max()) < high:
        raise ValueError("out of range")
    return batch.astype(kind)


def join(batches, length, pandas, **how):
    """The batches of one column as one series, of the type that the column would have if it was read whole; `length` is
    the number of rows of the table, `how` goes to pandas.concat."""
    has_gap = sum(map(len, batches)) < length or any(batch.dtype == object or batch.isna().any() for batch in batches)
    if (has_gap or any(batch.dtype == "float64" for batch in batches)) and any(map(_is_changed, batches)):
        for kind in _KINDS:
            try:
                return pandas.concat([_nullable(batch, *kind, pandas) for batch in batches], **how)
            except ValueError:
                pass
        plain = object if any(batch.dtype == object and not batch.isna().all() for batch in batches) else "float64"
        batches = [batch.astype(object).where(batch.notna(), None).astype(plain)
                   if str(batch.dtype) in ("Int64", "UInt64") else batch for batch in batches]
    # A batch of nulls only has no type of its own; the whole column decides.
    return pandas.concat(batches, **how).infer_objects()
