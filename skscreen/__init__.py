"""scikit-learn estimators that learn large-margin models exactly, with a certificate."""

from skscreen.answers.answers import Answers, concat_answers
from skscreen.answers.read import read_answers
from skscreen.concepts.cv import ConceptEmbeddingCV
from skscreen.concepts.estimator import ConceptEmbedding
from skscreen.core.projection import project_box_equality
from skscreen.embedding.difference_scaling import DifferenceScaling
from skscreen.embedding.estimator import OrdinalEmbedding
from skscreen.embedding.tools.dimension import embedding_dimension_test
from skscreen.embedding.tools.queries import next_queries
from skscreen.fitting.store import Store
from skscreen.metric_learning.cv import ScreenedRTLMCV
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.path import rtlm_path
from skscreen.metric_learning.screened.api import screen_triplets
from skscreen.metric_learning.tuples import (
    RTLMPairsClassifier,
    RTLMQuadrupletsClassifier,
    RTLMTripletsClassifier,
)
from skscreen.pragam.estimator import PragamSVC
from skscreen.sequence.crf import ChainCRF
from skscreen.sequence.kernel_chain import KernelChainClassifier
from skscreen.sequence.max_margin import MaxMarginChain
from skscreen.sequence.transformer import SequenceTransformer
from skscreen.svm.certified.api import svc_certified_C, svr_certified_C
from skscreen.svm.cv import ScreenedSVCCV, ScreenedSVRCV
from skscreen.svm.export import to_sklearn
from skscreen.svm.linear_svc import ScreenedLinearSVC
from skscreen.svm.linear_svr import ScreenedLinearSVR
from skscreen.svm.nu.one_class import ScreenedOneClassSVM
from skscreen.svm.nu.path import nu_svc_path, nu_svr_path, one_class_path
from skscreen.svm.nu.svc import ScreenedNuSVC
from skscreen.svm.nu.svr import ScreenedNuSVR
from skscreen.svm.path import svc_path, svr_path
from skscreen.svm.screened.api import screen_samples
from skscreen.svm.svc import ScreenedSVC
from skscreen.svm.svr import ScreenedSVR

__all__ = [
    "Answers",
    "ChainCRF",
    "ConceptEmbedding",
    "ConceptEmbeddingCV",
    "DifferenceScaling",
    "KernelChainClassifier",
    "MaxMarginChain",
    "OrdinalEmbedding",
    "PragamSVC",
    "RTLMPairsClassifier",
    "RTLMQuadrupletsClassifier",
    "RTLMTripletsClassifier",
    "ScreenedLinearSVC",
    "ScreenedLinearSVR",
    "ScreenedNuSVC",
    "ScreenedNuSVR",
    "ScreenedOneClassSVM",
    "ScreenedRTLM",
    "ScreenedRTLMCV",
    "ScreenedSVC",
    "ScreenedSVCCV",
    "ScreenedSVR",
    "ScreenedSVRCV",
    "SequenceTransformer",
    "Store",
    "concat_answers",
    "embedding_dimension_test",
    "next_queries",
    "nu_svc_path",
    "nu_svr_path",
    "one_class_path",
    "project_box_equality",
    "read_answers",
    "rtlm_path",
    "screen_samples",
    "screen_triplets",
    "svc_certified_C",
    "svc_path",
    "svr_certified_C",
    "svr_path",
    "to_sklearn",
]
__version__ = "0.4.0"
