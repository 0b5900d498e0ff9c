"""Prefetching of rows that are read in random order.

Which row comes next is known in advance, but not to the processor, which would wait for memory at
the start of each. The instruction that asks for data early has no name in Python; that of LLVM is
`llvm.prefetch` (llvmlite comes with numba).
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from skscreen.core.compiling import njit

# Bytes fetched by one instruction; a longer cache line is fetched more than once.
_LINE = 64
# Number of entries of a row to prefetch; the processor prefetches the rest by itself.
_MOST = 512


@intrinsic
def prefetch(context, array, place):
    """Ask for array[place] and its neighbours, from compiled code; a place outside is harmless."""

    def generate(context, builder, signature, arguments):
        flat = context.make_array(signature.args[0])(context, builder, arguments[0])
        address, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
        ask = builder.module.declare_intrinsic("llvm.prefetch", (address,), kind)
        entry = builder.bitcast(builder.gep(flat.data, [arguments[1]]), address)
        # For reading, into all caches, as data.
        builder.call(ask, [entry, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@njit(inline="always")
def prefetch_row(data, columns, starts, d, i):
    """Ask for the first entries of row i (`row_loops` says what the arrays are)."""
    first, last = i * d, (i + 1) * d
    if starts.size > 0:
        first, last = starts[i], starts[i + 1]
    last = min(last, first + _MOST)
    if starts.size > 0:
        for place in range(first, last, _LINE // columns.itemsize):
            prefetch(columns, place)
    for place in range(first, last, _LINE // data.itemsize):
        prefetch(data, place)
