"""Tables as the benchmarks print them."""


def table(header: str, rows) -> None:
    """Print a table in Markdown."""
    cells = [header.split(","), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    cells.insert(1, ["-" * (widths[0]), *("-" * (width - 1) + ":" for width in widths[1:])])
    for line in cells:
        first = line[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        print("| " + " | ".join((first, *rest)) + " |")
    print(flush=True)
