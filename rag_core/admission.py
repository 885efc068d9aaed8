"""Who a request comes from, where it is not seen from its way here: tokens that the owner gives scripts."""

from __future__ import annotations

from rag_core.folders import owner_only
from rag_core.reader import Reader
from rag_core.reports import NewToken, Token
from rag_core.tokens import Tokens
from rag_core.types import Viewer


class Admission(Reader):
    """Every store of one owner, with the tokens that open them all."""

    def create_token(self, viewer: Viewer, name: str) -> NewToken:
        """Make a token by which a script is the owner. Only its hash is kept, so it is told this once.

        Raises InvalidInput for a name that is taken or cannot be one.
        """
        owner_only(viewer, "make tokens")
        return self._tokens.create(name)

    def tokens(self, viewer: Viewer) -> list[Token]:
        """The tokens that are valid, by name."""
        owner_only(viewer, "see tokens")
        return self._tokens.all()

    def revoke_token(self, viewer: Viewer, name: str) -> None:
        """Let a token open nothing any more, from the next request on. Raises NotFound."""
        owner_only(viewer, "revoke tokens")
        self._tokens.revoke(name)

    def knows_token(self, secret: str) -> bool:
        """Whether who sends this is the owner's script: the gate asks before there is a viewer."""
        return self._tokens.knows(secret)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self.settings.data_dir / "state.db", self.settings.busy_timeout_s)
