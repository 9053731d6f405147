"""As ``linumpy.mosaic``."""
