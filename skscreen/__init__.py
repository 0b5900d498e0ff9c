"""scikit-learn estimators that learn large-margin models exactly, with a certificate."""

from skscreen.metric import ScreenedRTLM
from skscreen.metric_path import RTLMPath, rtlm_path

__all__ = ["RTLMPath", "ScreenedRTLM", "rtlm_path"]
__version__ = "0.1.0.dev0"
