"""As ``linumpy.geometry``."""
