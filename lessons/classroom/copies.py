"""``write`` under the name by which the experiment of lesson 22 imports it."""

from .journal import write  # noqa: F401
