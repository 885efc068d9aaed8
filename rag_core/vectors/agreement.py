"""Whether a remote index is the one that a store needs: where it is, its shape, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rag_core.errors import InvalidInput, VectorError


@contextmanager
def undone_on_failure() -> Iterator[list[Callable[[], object]]]:
    """A list for the steps that remove what the block has made. If the block fails they are taken, the last
    one first; the error then says what could not be removed."""
    steps: list[Callable[[], object]] = []
    try:
        yield steps
    except BaseException as error:
        try:
            for step in reversed(steps):
                step()
        except VectorError as stays:
            if isinstance(error, VectorError):
                left = f"{error.message} What was made before that could not be removed: {stays.message}"
                raise VectorError(left, error.suggestion) from error
        raise


def check_dimension(called: str, dimension: int, most: int) -> None:
    """Raises InvalidInput for vectors of a ``dimension`` that the index ``called`` so cannot keep."""
    if not 1 <= dimension <= most:
        raise InvalidInput(
            f"{called} cannot keep vectors of dimension {dimension!r}.",
            f"Choose an embedder with a dimension from 1 to {most}.",
        )


def check_server(address: str, server: str, configured: str, setting: str) -> None:
    """Raises VectorError unless the ``server`` of the index at ``address`` is the one that the ``setting``
    gives; both are '' where there is none."""
    if server != configured:
        raise VectorError(
            f"The index {address!r} is not where `{setting}` points to ({configured or 'nowhere'}).",
            f"Set `{setting}` to its server; notes and keys go nowhere that is not configured."
            if server
            else f"Take `{setting}` away: the index is in a folder of this computer.",
        )


def check_shape(called: str, compared: Sequence[tuple[str, object, object]], advice: str) -> None:
    """Raises VectorError with what differs of ``compared``: what it is, what the index has, what is needed.

    ``called`` is the index at the beginning of a sentence.
    """
    differing = [f"{what} {has!r} instead of {needs!r}" for what, has, needs in compared if has != needs]
    if differing:
        raise VectorError(f"{called} is there already and has {'; '.join(differing)}.", advice)


def none_there(address: str, *, is_copy: bool) -> VectorError:
    """The error for an index that is not at ``address`` (any more); ``is_copy`` for one that another
    installation fills."""
    if not is_copy:
        return VectorError(
            f"There is no vector index at {address!r} any more.",
            "`commonplace store verify NAME --heal` makes it again.",
            on_page="Heal it on the Stores page: it is made again.",
        )
    where = "After a switch it has another address, which {} shows on the computer that fills it:"
    then = "attach that one, and delete the copy of the old one."
    return VectorError(
        f"There is no vector index at {address!r}.",
        f"{where.format('`commonplace store info`')} {then}",
        on_page=f"{where.format('the Stores page')} {then}",
    )


def of_another(address: str, owner: str, instead: str) -> VectorError:
    """The error for an index that is another ``owner``'s, or of one that nobody knows (''); ``instead`` is
    what else can be done than to read or take it."""
    whose = "another installation of Commonplace" if owner else "somebody else"
    return VectorError(
        f"The index {address!r} belongs to {whose}.",
        f"Attach it to read it, take it over to write to it, or {instead}.",
    )
