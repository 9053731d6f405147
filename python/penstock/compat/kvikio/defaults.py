"""As ``penstock.defaults``."""

from penstock.defaults import (
    CompatMode,
    compat_mode,
    compat_mode_reset,
    get,
    get_num_threads,
    is_compat_mode_preferred,
    reset_num_threads,
    set,
    task_size,
)

__all__ = [
    "CompatMode",
    "compat_mode",
    "compat_mode_reset",
    "get",
    "get_num_threads",
    "is_compat_mode_preferred",
    "reset_num_threads",
    "set",
    "task_size",
]
