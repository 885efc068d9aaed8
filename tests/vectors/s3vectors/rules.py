"""What the service refuses: names, sizes, types of metadata, values of vectors, filters."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
INDEX = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
MAX_BODY = 20_971_520
MAX_FILTERABLE = 2_048
MAX_METADATA = 40_960
MAX_METADATA_KEYS = 50
MAX_KEY_BYTES = 1_024
MAX_CONSTRAINTS = 100


class ServiceError(Exception):
    """An answer other than 200, with the service's code for it."""

    def __init__(self, status: int, code: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.path = path

    @property
    def body(self) -> dict[str, Any]:
        fields = {"fieldList": [{"path": self.path, "message": self.message}]} if self.path else {}
        return {"message": self.message, **fields}


def invalid(message: str, path: str = "") -> ServiceError:
    return ServiceError(400, "ValidationException", message, path)


def check_name(name: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(name):
        raise invalid(f"Invalid {what} name", what)


def check_key(key: str) -> None:
    if len(key.encode()) > MAX_KEY_BYTES:
        raise invalid("Record key length exceeds the maximum allowed", "key")


# --- vectors ----------------------------------------------------------------------------


def vector_of(values: list[Any], dimension: int, metric: str, key: str, path: str) -> npt.NDArray[np.float32]:
    where = f"Invalid record for key '{key}': "
    if len(values) != dimension:
        raise invalid(f"{where}vector must have length {dimension}, but has length {len(values)}", path)
    with np.errstate(over="ignore"):
        vector = np.array(values, np.float64).astype(np.float32)
    if not np.isfinite(vector).all():
        raise invalid(f"{where}vector contains NaNs or Infs", path)
    if metric == "cosine" and not np.any(vector):
        raise invalid(f"{where}cosine distance does not support vectors with zero norm", path)
    return vector


# --- metadata ---------------------------------------------------------------------------


def check_metadata(metadata: Any, non_filterable: set[str], key: str, path: str) -> None:
    where = f"Invalid record for key '{key}': "
    if not isinstance(metadata, dict):
        raise invalid(f"{where}Metadata must be an object", path)
    if len(metadata) > MAX_METADATA_KEYS:
        raise invalid(f"{where}Metadata object must have at most {MAX_METADATA_KEYS} keys", path)
    for value in metadata.values():
        _check_value(value, where, path)
    if size({k: v for k, v in metadata.items() if k not in non_filterable}) > MAX_FILTERABLE:
        raise invalid(f"{where}Filterable metadata must have at most {MAX_FILTERABLE} bytes", path)
    if size(metadata) > MAX_METADATA:
        raise invalid(f"{where}Metadata object must have at most {MAX_METADATA} bytes", path)


def _check_value(value: Any, where: str, path: str) -> None:
    if isinstance(value, list):
        if not value:
            raise invalid(f"{where}Empty arrays are not allowed in metadata", path)
        of_strings = all(isinstance(element, str) for element in value)
        if not of_strings and not all(is_number(element) for element in value):
            raise invalid(f"{where}Metadata array values must be strings or numbers", path)
    elif not isinstance(value, str | bool | int | float):
        raise invalid(f"{where}Metadata values must be strings, numbers, booleans, or arrays", path)


def size(metadata: dict[str, Any]) -> int:
    """The bytes of metadata by the measured rule."""
    return 4 + sum(8 + len(key.encode()) + _value_size(value) for key, value in metadata.items())


def _value_size(value: Any) -> int:
    match value:
        case bool():
            return 0
        case str():
            return len(value.encode())
        case list():
            return sum(4 + _value_size(element) for element in value)
        case _:
            return 4


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    return isinstance(value, str | bool | int | float)


# --- filters ----------------------------------------------------------------------------

_BAD = "Invalid filter"


def check_filter(condition: Any, non_filterable: set[str]) -> None:
    """Raise what the service raises for a filter it does not take, or that nothing of ours asks for."""
    if _check(condition, non_filterable) > MAX_CONSTRAINTS:
        raise invalid(f"{_BAD}: at most {MAX_CONSTRAINTS} constraints", "filter")


def _check(condition: Any, non_filterable: set[str]) -> int:
    """How many constraints a valid condition holds."""
    if not isinstance(condition, dict) or len(condition) != 1:
        raise invalid(_BAD, "filter")
    [(key, operand)] = condition.items()
    if key in ("$and", "$or"):
        if not isinstance(operand, list) or not operand:
            raise invalid(_BAD, "filter")
        return sum(_check(part, non_filterable) for part in operand)
    if key in non_filterable:
        raise invalid("Invalid use of non-filterable metadata in filter", "filter")
    if key.startswith("$") or not isinstance(operand, dict) or len(operand) != 1:
        raise invalid(_BAD, "filter")
    [(name, value)] = operand.items()
    if not _operand_fits(name, value):
        raise invalid(_BAD, "filter")
    return len(value) if isinstance(value, list) else 1


def _operand_fits(name: str, value: Any) -> bool:
    match name:
        case "$eq":
            return is_scalar(value)
        case "$gte" | "$lt":
            return is_number(value)
        case "$in":
            return isinstance(value, list) and bool(value) and all(is_scalar(element) for element in value)
        case _:
            return False


def fits(condition: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether a valid filter lets a record pass."""
    [(key, operand)] = condition.items()
    if key == "$and":
        return all(fits(part, metadata) for part in operand)
    if key == "$or":
        return any(fits(part, metadata) for part in operand)
    [(name, value)] = operand.items()
    actual = metadata.get(key)
    if name == "$eq":
        return any(_same(element, value) for element in (actual if isinstance(actual, list) else [actual]))
    if isinstance(actual, list):  # nothing is known of any other operator on a list
        return False
    if name == "$in":
        return any(_same(actual, element) for element in value)
    return is_number(actual) and bool(actual >= value if name == "$gte" else actual < value)


def _same(first: Any, second: Any) -> bool:
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)
