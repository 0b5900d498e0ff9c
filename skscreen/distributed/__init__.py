"""Estimators for data that are spread over the workers of a Dask cluster."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "skscreen.distributed needs Dask, which is not installed: pip install 'skscreen[dask]'."
    ) from error

from skscreen.distributed.linear import DistributedLinearSVC
from skscreen.distributed.linear_path import DistributedSVCPath, distributed_svc_path
from skscreen.distributed.metric import DistributedRTLM

__all__ = ["DistributedLinearSVC", "DistributedRTLM", "DistributedSVCPath", "distributed_svc_path"]
