"""What the displays share: colours, and how matplotlib is found."""

from typing import Any

# Okabe and Ito's palette: distinct for colour-blind readers and in grey print.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "0.35"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
# Of classes, in their order.
CLASS_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, "black")
CLASS_MARKERS = "osD^vP*X"


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


def legend_above(ax: Any, ncols: int = 2) -> None:
    """Put the legend over the axes, where it cannot hide data whatever the path looks like."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=ncols,
        frameon=False,
        fontsize="small",
        borderaxespad=0.2,
        handlelength=1.8,
    )
