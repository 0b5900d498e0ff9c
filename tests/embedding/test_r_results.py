"""What R prints: MLDS 0.5.1 and MLCM 0.4.3 (R 4.2.2) on the data that come with them."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skscreen import DifferenceScaling, read_answers

# AutumnLab of MLDS (Knoblauch and Maloney 2008): whether the second pair differs more, for all
# quadruples of ten levels in lexicographic order.
SECOND_PAIR = "".join(
    """
1011111011111111111111111111111111111111111111111111111111111011100101
1011000000000011111111111111111111111111111111111110111110111110110100
1111111111111111111111011011001001011111111111110110110111011011001100
""".split()
)
# BumpyGlossy of MLCM (Ho, Landy and Maloney 2008): how often the stimulus of the row was said to be
# glossier than that of the column, for five levels of bumpiness at each of five levels of gloss.
GLOSSIER = """
3000010000000000000000000 3300031000310003200031000 3330033300330003320033000
3333033300333313331033210 3333333321333113333133320 2000030000000000000110000
3200033000311003100030000 3300033310330003310033000 3333133230333103332033200
3333233333333323332033330 3000030000300000000000000 3200032000330003200031000
3330032300333003310033100 3330233320333303330033300 3332233331333333233133330
3000030000300003010010000 3100032000310013300032001 3310033200332002330033200
3332033311333303333033311 3333223333333323333333331 3000020000300002000030000
3200033000320003100033000 3331033310332003310033300 3332133330333303332033330
3333333333333333232233333
"""


@pytest.mark.proof
def test_the_scale_of_mlds():
    quadruples = np.array(list(combinations(range(10), 4)))
    answers = read_answers(quadruples, kind="quadruplets", chosen=list(SECOND_PAIR),
                           response={"0": 0, "1": 2}, asked="different")  # fmt: skip
    model = DifferenceScaling().fit(answers)
    scale = [0.0, 0.86272, 0.49076, 1.01227, 1.59274, 2.96491, 3.88669, 5.74630, 6.24175, 8.81777]
    assert_allclose(model.scale_ / model.noise_, scale, atol=2e-5)
    assert_allclose(model.noise_, 0.113407, atol=1e-6)
    assert_allclose(model.log_likelihood_, -50.37123, atol=1e-5)
    assert_allclose(model.deviance_, 100.7425, atol=1e-4)
    # Its test of runs, from 2,000 simulations, has p = 0.508.
    assert 0.4 < model.goodness_of_fit(300, random_state=0).p_value < 0.6


def test_the_models_of_mlcm():
    counts = np.array([list(row) for row in GLOSSIER.split()], int)
    first, second = np.nonzero(counts)
    X = np.stack([first // 5, first % 5, second // 5, second % 5], axis=1)
    answers = read_answers(X, [(0, 1), (2, 3)], kind="paired", weights=counts[first, second])
    models = {
        name: DifferenceScaling(model=name, attribute=1).fit(answers)
        for name in ("independent", "additive", "full")
    }
    additive, full = models["additive"], models["full"]
    assert_allclose(additive.scales_[0], [0.0, 0.13213, 0.18483, 0.50413, 0.63016], atol=2e-5)
    assert_allclose(additive.scales_[1], [0.0, 1.69268, 2.94685, 4.28144, 5.27530], atol=2e-5)
    assert_allclose(additive.standard_errors_[0][1:], [0.149, 0.149, 0.151, 0.153], atol=5e-4)
    assert_allclose(additive.standard_errors_[1][1:], [0.237, 0.289, 0.331, 0.360], atol=6e-4)
    assert_allclose(full.scale_[4], [1.72885, 3.21078, 4.82027, 6.07862, 7.25057], atol=1e-4)
    # R counts two equal stimuli, which say nothing, with the probability 1/2.
    equal = counts.trace() * np.log(0.5)
    likelihoods = [model.log_likelihood_ + equal for model in models.values()]
    assert_allclose(likelihoods, [-250.0577, -238.2402, -230.7665], atol=1e-4)
    assert_allclose(additive.likelihood_ratio_test(full), (14.95, 16, 0.5285), rtol=1e-3)
    smaller = models["independent"].likelihood_ratio_test(additive)
    assert_allclose(smaller, (23.635, 4, 9.452e-5), rtol=1e-3)
