"""Where the shared test data lies: `GATEWAY_TESTDATA`, or `shared/testdata` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = Path(os.environ.get("GATEWAY_TESTDATA", ROOT.parent / "shared" / "testdata"))
DAT = TESTDATA / "delta" / "dat"
GOLDEN = TESTDATA / "delta" / "golden"
