"""
Dimensions that people can name
===============================

Which of three things does not belong? 12,000 simulated answers about 59 things depend on what the
things have in common: being an animal, being worn, being round. The fit gets the answers only, and
finds the eight dimensions again. Discs show how many of the starts find a dimension.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import ConceptEmbedding, read_answers
from skscreen.inspection import ConceptDisplay

have = {
    "animal": "dog cat horse cow sheep pig duck shark whale fish bee eagle",
    "food": "bread cheese apple orange carrot cake fish rice pizza soup egg",
    "vehicle": "car bus truck bicycle boat ferry train plane tractor",
    "water": "boat ferry shark whale fish duck anchor swimsuit bath",
    "worn": "shirt hat shoe glove scarf ring watch swimsuit glasses",
    "tool": "hammer saw wrench drill knife scissors axe tractor",
    "round": "orange ball coin ring wheel pizza watch globe egg",
    "plant": "tree flower grass moss carrot apple cactus leaf orange",
}
things = np.unique(" ".join(have.values()).split())
rng = np.random.default_rng(0)
strength = rng.uniform(1.2, 2.2, size=(len(things), len(have)))
truth = strength * np.array([np.isin(things, names.split()) for names in have.values()]).T

# The pair with the largest product is the most likely one to be kept together.
shown = np.array([rng.choice(len(things), 3, replace=False) for _ in range(12_000)])
first, second, third = truth[shown.T]
alike = [(second * third).sum(axis=1), (first * third).sum(axis=1), (first * second).sum(axis=1)]
odd = np.argmax(np.array(alike).T + rng.gumbel(size=shown.shape), axis=1)
answers = read_answers(things[shown], kind="oddoneout", chosen=odd, response="position")

model = ConceptEmbedding(30, random_state=0).fit(answers)
# Dimensions that few things have significantly are noise; VICE asks for more than five, too.
clear = np.flatnonzero(model.n_significant_ > 5)
display = ConceptDisplay.from_estimator(model, dimensions=clear, n_objects=9)
display.figure_.suptitle("12,000 answers give eight dimensions with names", fontweight="bold")
print(f"{len(clear)} of {len(model.support_)} dimensions are clear")
plt.show()
