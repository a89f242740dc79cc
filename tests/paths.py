"""Location of other engines' tables: `GATEWAY_TESTDATA`, or `shared/testdata` next to the checkout.

They are not part of the repository. Tests that need them have the marker `foreign`; without the folder they are
deselected, and the run reports it in one line (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = Path(os.environ.get("GATEWAY_TESTDATA", ROOT.parent / "shared" / "testdata"))
DAT = TESTDATA / "delta" / "dat"
GOLDEN = TESTDATA / "delta" / "golden"
HAS_TESTDATA = TESTDATA.is_dir()
# Unpacked Debian packages for slapd: slapd, libargon2-1, libltdl7, libodbc2, libwrap0.
SLAPD_ROOT = Path(os.environ.get("SLAPD_ROOT", "/"))
CONSOLE = ROOT / "gateway" / "http" / "console"
# The browser that drives the console.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HAS_CONSOLE = CHROMIUM is not None and (CONSOLE / "dist" / "index.html").exists()
HAS_NODE_MODULES = (CONSOLE / "node_modules").is_dir()
SLAPD = shutil.which("slapd", path=f"{os.environ.get('PATH', '')}:{SLAPD_ROOT}/usr/sbin:/usr/sbin")
MINIO = shutil.which("minio", path=f"{ROOT / '.minio'}:{os.environ.get('PATH', '')}")
HELM = shutil.which("helm", path=f"{ROOT / '.helm'}:{os.environ.get('PATH', '')}")
PSQL = shutil.which("psql")
# The ODBC driver of PostgreSQL's project.
PSQLODBC = next(iter(sorted(Path("/usr/lib").glob("*/odbc/psqlodbcw.so"))), None)
HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SYSTEMD_ANALYZE = shutil.which("systemd-analyze")
PROMTOOL = shutil.which("promtool")


def _may_mount() -> bool:
    """Returns whether a file system in memory can be mounted: root may, in most containers not."""
    with TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


MAY_MOUNT = _may_mount()
