# django_caches.py: a cache of Django's for each node, named in NAMES, in database 1.
from django.conf import settings

from expect import PORTS

NAMES = [f"n{i}" for i in range(1, len(PORTS) + 1)]
settings.configure(
    CACHES={
        name: {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{port}/1",
            "OPTIONS": {"SOCKET_TIMEOUT": 60},
        }
        for name, port in zip(["default", *NAMES], [PORTS[0], *PORTS])
    }
)

from django.core.cache import caches  # needs the settings; the tests import it from here
