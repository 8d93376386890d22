"""Enforcement: consequence of an error for the request: it is refused, allowed with a warning, or allowed and recorded."""

import dataclasses
import enum


class Enforcement(enum.StrEnum):
    """Consequence of an error, strictest first.

    ``deny``: the request is refused.  ``warn``: it is allowed, with a warning for the user.  ``audit``: it is allowed; log,
    metrics and audit annotations have the error.
    """

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


_MILDNESS = {mode: index for index, mode in enumerate(Enforcement)}


@dataclasses.dataclass(frozen=True, slots=True)
class EnforcementPolicy:
    """Enforcement by rule and namespace.

    Attributes:
        default: mode of all rules and namespaces without a mode of their own.
        rules: modes by rule id.
        namespace: mode that the label of the request's namespace selects; None if it has no label.

    """

    default: Enforcement = Enforcement.DENY
    rules: tuple[tuple[str, Enforcement], ...] = ()
    namespace: Enforcement | None = None

    def with_namespace(self, mode: Enforcement) -> "EnforcementPolicy":
        """Return this policy for a namespace with a mode of its own."""
        return dataclasses.replace(self, namespace=mode)

    def mode(self, rule: str) -> Enforcement:
        """Return the mode of *rule*: the milder one of rule and namespace; the default if neither has a mode.

        The milder one is used because each mode that is not ``deny`` is a promise that requests are not refused.
        """
        modes = [mode for name, mode in self.rules if name == rule]
        if self.namespace is not None:
            modes.append(self.namespace)
        return max(modes, key=_MILDNESS.__getitem__, default=self.default)


DENY_ALL = EnforcementPolicy()


def with_modes(*paths: str) -> tuple[str, ...]:
    """Return *paths*, and each with each mode after it: the paths for namespaces whose label selects the mode."""
    return (*paths, *(f"{path}/{mode}" for path in paths for mode in Enforcement))
