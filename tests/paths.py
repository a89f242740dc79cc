"""Where tables of other engines lie: `GATEWAY_TESTDATA`, or `shared/testdata` beside the checkout.

They are no part of the repository. Tests that need them have the marker `foreign`; without the folder they are left
out, and the run says so in one line (`tests/conftest.py`).
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = Path(os.environ.get("GATEWAY_TESTDATA", ROOT.parent / "shared" / "testdata"))
DAT = TESTDATA / "delta" / "dat"
GOLDEN = TESTDATA / "delta" / "golden"
HAS_TESTDATA = TESTDATA.is_dir()
