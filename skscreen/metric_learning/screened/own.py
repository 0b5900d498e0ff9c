"""What the metric of a fit proves about its own triplets."""

from skscreen.fitting.training_data import TrainingDataMixin, remembered
from skscreen.metric_learning.screened.result import TripletScreening


class OwnScreening(TrainingDataMixin):
    """Base of metric learners whose metric decides triplets of its own problem."""

    @property
    def screened_(self) -> TripletScreening:
        """Decisions that the metric proves at its own lambda, see `screen_triplets`.

        Computed when it is first asked for, from the training samples as they are then.
        """

        def compute(X, y, triplets) -> TripletScreening:
            # Estimators are what `screen_triplets` is made of.
            from skscreen.metric_learning.screened.api import screen_triplets

            return screen_triplets(
                X, y, triplets=triplets, lam=self.lam_, reference=self, bound="gap",
                relative_lam=False,
            )  # fmt: skip

        return remembered(self, compute)
