"""
A map of pictures, and how sure it is
=====================================

50 pictures of digits; each answer says which of two pictures is more like a third. The map puts
pictures that look alike near to each other. Ellipses contain 90 % of the bootstrap positions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets
from skscreen.inspection import EmbeddingDisplay

digits = load_digits(n_class=5)
chosen = np.concatenate([np.flatnonzero(digits.target == k)[:10] for k in range(5)])
answers = make_triplets(digits.data[chosen], 4000, random_state=0)

model = OrdinalEmbedding(n_components=2, random_state=0).fit(answers)
regions = model.bootstrap(40, random_state=0)
pictures = [255 - np.uint8(image * 15.9) for image in digits.images[chosen]]

display = EmbeddingDisplay.from_estimator(model, images=pictures, regions=regions, level=0.9)
display.figure_.suptitle("What looks alike is near", fontweight="bold")
print(f"The map agrees with {model.score(answers):.0%} of the answers")
plt.show()
