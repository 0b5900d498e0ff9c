"""Selection in compiled loops."""

from skscreen.core.compiling import njit


@njit(nogil=True)
def select(values, k):
    """Return the value of rank k, from 0; changes the order of the values (Hoare's selection).

    np.partition does the same, but takes nine seconds to compile.
    """
    first, last = 0, values.size - 1
    while first < last:
        a, b, c = values[first], values[(first + last) // 2], values[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        # Now values up to j are <= pivot, from i on >= pivot, and what is between equals it.
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            return pivot
    return values[k]
