"""The six bounds and three rules of Yoshida et al. (2019), behind `rules.PaperScreening`."""
