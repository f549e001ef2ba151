"""exit_code.py CODE COMMAND...: fails unless the command ends with that code."""

import subprocess
import sys

code = subprocess.call(sys.argv[2:])
if code != int(sys.argv[1]):
    sys.exit(f"exit code is {code}, expected {sys.argv[1]}")
