"""Makes the wheel for pip (PEP 517). It needs only the standard library, so an installation downloads nothing."""

import base64
import hashlib
import os
import zipfile

NAME, VERSION = "redlock_agent", "0.1.0"
ABOUT = "Metadata-Version: 2.1\nName: redlock-agent\nVersion: %s\nSummary: Locks on a quorum of Redis masters, by a redlock agent\nRequires-Python: >=3.9\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    here = os.path.dirname(os.path.abspath(__file__))
    info, files = f"{NAME}-{VERSION}.dist-info/", {}
    for name in "__init__.py", "py.typed":
        with open(os.path.join(here, NAME, name), "rb") as f:
            files[f"{NAME}/{name}"] = f.read()
    files[info + "METADATA"] = (ABOUT % VERSION).encode()
    files[info + "WHEEL"] = b"Wheel-Version: 1.0\nGenerator: redlock\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text)}\n"
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    wheel = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files.items():
            z.writestr(name, text)
    return wheel
