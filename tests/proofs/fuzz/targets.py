"""All fuzz targets, and which public names each of them covers."""

import importlib

from tests.proofs.fuzz import (
    answers,
    concepts,
    embedding_tools,
    metric_learning,
    nu,
    others,
    regression,
    sequences,
    svm,
)
from tests.proofs.fuzz.inputs import Inputs

TARGETS = {
    **svm.TARGETS, **metric_learning.TARGETS, **others.TARGETS, **answers.TARGETS,
    **concepts.TARGETS,
    **embedding_tools.TARGETS, **sequences.TARGETS, **regression.TARGETS,
    **nu.TARGETS,
}  # fmt: skip
# Where a target's name is not that of the one thing it calls.
COVERS = {
    "ScreenedRTLM from comparisons": {"ScreenedRTLM"},
    "tuples": {"RTLMPairsClassifier", "RTLMTripletsClassifier", "RTLMQuadrupletsClassifier"},
    "svc_path with L1 penalty": {"svc_path"},
    "metrics": {
        "triplet_error", "procrustes_distance", "noise_ceiling",
        *(function.__name__ for function in others.measures_of_retrieval()),
    },
    "ConceptEmbedding": {"ConceptEmbedding", "ConceptDisplay"},
    "embedding_dimension_test": {
        "embedding_dimension_test", "DimensionTestDisplay",
    },
    "read_answers": {"read_answers", "concat_answers", "Answers"},
    "make_triplets": {"make_triplets", "load_eurodist"},
    "preprocessing": {
        "paired_from_levels", "triplets_from_matrix", "triplets_from_oddoneout",
        "triplets_from_piles", "triplets_from_ranking", "triplets_from_ratings",
        "triplets_from_tensor",
    },
    "MaxMarginChain": {"MaxMarginChain"},
    "DistributedLinearSVC": {
        "DistributedLinearSVC", "distributed_svc_path", "DistributedSVCPath",
    },
    "sequence scores": {"sequence_accuracy", "span_f1", "span_report"},
    "displays": {
        "PathDisplay", "ScreeningDisplay", "CertifiedPathDisplay", "EmbeddingDisplay",
        "LearnedSpaceDisplay", "SearchDisplay", "TransitionDisplay",
    },
}  # fmt: skip
MODULES = ("", ".datasets", ".distributed", ".inspection", ".metrics",
           ".model_selection", ".preprocessing")  # fmt: skip


def public_names() -> set[str]:
    """Return the names of all that is public."""
    found = set()
    for name in MODULES:
        module = importlib.import_module("skscreen" + name)
        own = getattr(module, "__all__", None)
        if own is None:
            own = [key for key, value in vars(module).items()
                   if not key.startswith("_") and getattr(value, "__module__", "") ==
                   module.__name__]  # fmt: skip
        found |= set(own)
    return found


def covered_names() -> set[str]:
    """Return the public names that have a target."""
    return set().union(*(COVERS.get(name, {name}) for name in TARGETS))


def once(name: str, data) -> Inputs:
    """Draw the arguments of one call and make it; a `Finding` is raised with what was drawn."""
    inputs = Inputs(data)
    try:
        TARGETS[name](inputs)
    except BaseException as error:
        error.add_note(f"spoiled {sorted(inputs.spoiled)}; {inputs.notes}")
        raise
    return inputs
