"""What Spark unpickles on the driver at the start of a stream imports nothing heavy."""

import subprocess
import sys

HEAVY = ("numba", "numpy", "pandas", "pyarrow")


def test_processor_imports_nothing_heavy():
    code = f"import sys, skyband_spark.frames.processor; print(*(name for name in {HEAVY} if name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
