"""A pytest plugin that runs scikit-learn's own tests with our estimators in the place of its own.

cd tests
python -m pytest -p sklearn_swap --pyargs sklearn.svm.tests.test_svm sklearn.svm.tests.test_sparse
"""

import sklearn.svm

from skscreen import ScreenedLinearSVC, ScreenedSVC

sklearn.svm.SVC, sklearn.svm.LinearSVC = ScreenedSVC, ScreenedLinearSVC
