"""What Yoshida, Takeuchi and Karasuyama (2019) report, for `paper.py` to stand beside.

Safe triplet screening for distance metric learning, Neural Computation 31, 2432-2491. CPU seconds
are those of figure 9 and tables 3 and 4; only ratios of them are compared, as machines differ. The
totals of figure 9 are in `rtlm_path.PAPER`.
"""

# Data sets with their neighbours, and the arms of a path.
SETS = {"segment": 20, "satimage": 15, "phishing": 7, "iris": None, "wine": None}
RUNS = {
    "none": {"screening": False},
    "GB": {"bound": "gb"},
    "PGB": {"bound": "pgb"},
    "DGB": {"bound": "dgb"},
    "RRPB": {"bound": "rrpb"},
    "RRPB+PGB": {"bound": ("rrpb", "pgb")},
    "gap (default)": {},
    "gap, ranges": {"ranges": True},
    "RRPB+PGB, linear": {"bound": ("rrpb", "pgb"), "rule": "linear"},
}
# CPU seconds of Yoshida et al. (2019), figure 9, in the order of RUNS without the last three.
PAPER = {
    "segment": (1327.8, 1220.0, 235.6, 300.9, 206.3, 188.1),
    "satimage": (1970.9, 1727.2, 653.5, 799.7, 651.2, 569.6),
    "phishing": (5584.7, 3139.1, 1300.3, 1748.3, 1397.6, 1247.4),
    "iris": (110.9, 71.5, 31.6, 23.7, 20.0, 20.8),
    "wine": (564.1, 545.3, 129.3, 153.3, 104.7, 105.1),
}


# The screening part of the totals of figure 9, in the order GB, PGB, DGB, RRPB, RRPB+PGB.
SCREENING_SECONDS = {
    "iris": (14.4, 12.8, 0.5, 0.5, 0.9),
    "wine": (59.6, 35.9, 1.1, 1.1, 6.5),
    "segment": (122.6, 59.4, 1.2, 1.2, 11.2),
    "satimage": (197.3, 131.0, 1.5, 1.5, 39.7),
    "phishing": (263.4, 143.9, 0.9, 0.8, 60.7),
}

# First and last lambda of the paths (table 2), for subsamples of 90 % of the samples.
LAMBDAS = {
    "iris": (1.3e7, 2.3e1),
    "wine": (2.0e7, 5.1e1),
    "segment": (2.5e6, 4.2e0),
    "satimage": (1.0e7, 8.8e0),
    "phishing": (5.0e3, 2.0e-1),
    "usps": (1.0e7, 1.9e3),
    "madelon": (2.0e14, 4.7e11),
    "colon_cancer": (5.0e7, 7.0e3),
}

# Tables 3 and 4: ratio 0.99, the active set alone, with RRPB, with RRPB+PGB.
ACTIVE_SECONDS = {
    "phishing": (7989.5, 2126.2, 2133.2),
    "a9a": (758.7, 70.1, 72.1),
    "mnist": (3788.1, 871.1, 897.9),
    "cifar10_pca200": (11085.7, 1431.3, 1279.7),
}
DIAGONAL_SECONDS = {
    "usps": (2485.5, 326.7, 336.6),
    "madelon": (7005.8, 593.4, 562.4),
    "colon_cancer": (3149.8, 632.2, 628.2),
}

# Best number of neighbours in the triplets for a k-NN classifier, and the best that takes as long
# without screening, on phishing.
BEST_NEIGHBOURS = {10: (6, 4), 20: (12, 8), 30: (15, 9)}

# Training samples where a data set has a test part behind them that the paper leaves out.
TRAINING_ROWS = {"satimage": 4435, "usps": 7291, "madelon": 2000, "a9a": 32561, "mnist": 60000}

# Numbers of principal components, in the place of the paper's autoencoders of the same sizes.
REDUCED = {"a9a": 16, "mnist": 32}
