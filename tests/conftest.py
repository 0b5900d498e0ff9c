import sys
from pathlib import Path

# pytest's importlib mode leaves sys.path alone; the tests share `rtlm_reference`.
sys.path.append(str(Path(__file__).parent))
