"""``python -m muster``."""

from __future__ import annotations

from muster_scheduling import main

if __name__ == "__main__":
    main()
