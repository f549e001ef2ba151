"""interrupt.py MODEL: interrupts lumenc at many moments of a compilation.

Whatever the moment, the output folder is empty afterwards, or holds the whole
artifact where the compilation was faster than the signal.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

model = sys.argv[1]
whole = ["lumen.h", "model.h", "model.so"]

for number in (signal.SIGINT, signal.SIGTERM):
    interrupted = 0
    # The first one comes before any machine can be done.
    for delay in [0.01] + [0.1 * step for step in range(1, 16)]:
        shutil.rmtree("out", ignore_errors=True)
        os.mkdir("out")
        # A program started in the background inherits that SIGINT is ignored.
        process = subprocess.Popen(["lumenc", model, "-o", "out/model.so"],
                                   stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        time.sleep(delay)
        process.send_signal(number)
        status = process.wait(timeout=60)
        left = sorted(os.listdir("out"))
        # The signal may come when all is written and only the exit is left.
        complete = left == whole
        assert complete or (left == [] and status != 0), \
            f"{number.name} after {delay:.2f} s: status {status}, left {left}"
        interrupted += not complete
        if status == 0:
            break
    assert interrupted, f"{number.name} never came in time"
    print(f"{number.name}: interrupted {interrupted} times, nothing left behind")
