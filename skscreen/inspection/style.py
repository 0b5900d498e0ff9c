"""What the displays share: colours, and how matplotlib is found."""

from typing import Any

# Okabe and Ito's palette: distinct for colour-blind readers and in grey print.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "0.35"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"


def pyplot(display: object) -> Any:
    """Import pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib, which is not installed: "
            "pip install skscreen[plot]"
        ) from error
    return plt
