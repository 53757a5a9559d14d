"""A module that cannot be imported, for the tests of the bridge."""

import no_such_package  # noqa: F401
