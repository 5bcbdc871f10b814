"""Methods that a user gives as a class or a function, before they are called."""

import inspect

from causaldq.errors import ConfigError
from causaldq.methods.base import Method
from causaldq.methods.resolve import MethodLike, name_of


def callable_method(method: MethodLike) -> MethodLike:
    """The method, refused if it cannot be called with the problem alone.

    Names, and what is no method at all, are looked at by `causaldq.methods.resolve`.
    """
    if isinstance(method, str) or not callable(method):
        return method
    name = name_of(method)
    if inspect.isclass(method):
        if not issubclass(method, Method):
            raise ConfigError(f"{name} is no method; give a subclass of causaldq.Method")
        if lacking := sorted(method.__abstractmethods__):
            raise ConfigError(f"{name} lacks {', '.join(lacking)}; see causaldq.Method")
    try:
        inspect.signature(method).bind("problem")
    except TypeError as error:
        raise ConfigError(
            f"{name} cannot be called with the problem alone ({error}); give a function of it"
        ) from None
    except ValueError:
        pass  # it has no signature to look at
    return method
