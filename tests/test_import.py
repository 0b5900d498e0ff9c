"""An import changes nothing outside of the package."""

import subprocess
import sys

import pytest

CODE = '''
import logging, os, random, sys, warnings
import numpy as np
import pandas, scipy, sklearn
from sklearn import metrics, model_selection
from sklearn.utils.discovery import all_estimators, all_functions


def state():
    """What other code can see: tables of scikit-learn, settings of the libraries and of Python."""
    functions = dict(all_functions()) | vars(metrics) | vars(model_selection)
    constraints = {
        name: repr({parameter: [*map(str, kinds)] if isinstance(kinds, list) else kinds
                    for parameter, kinds in getattr(thing, attribute).items()})
        for things, attribute in ((dict(all_estimators()), "_parameter_constraints"),
                                  (functions, "_skl_parameter_constraints"))
        for name, thing in things.items() if hasattr(thing, attribute)
    }
    seed = np.random.get_state()
    return {
        "scorers": metrics.get_scorer_names(), "constraints": constraints,
        "configuration": sklearn.get_config(), "errors": np.geterr(),
        "print": np.get_printoptions(),
        "warnings": list(warnings.filters), "environment": dict(os.environ), "path": list(sys.path),
        "loggers": (logging.root.level, list(logging.root.handlers)),
        "seeds": (random.getstate(), seed[1].tolist(), seed[2:]),
    }


before = state()
assert len(before["constraints"]) > 200
import skscreen, skscreen.datasets, skscreen.inspection, skscreen.metrics
import skscreen.model_selection, skscreen.preprocessing
after = state()
print([name for name in before if before[name] != after[name]])
'''


@pytest.mark.proof
def test_an_import_changes_nothing_outside_of_the_package():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
