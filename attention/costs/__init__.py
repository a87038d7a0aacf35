"""What attention costs: formulas, operations counted, and memory measured.

    cost_of("dense", L=32_768).score_bytes        4_294_967_296, one matrix, one head
    cost_of("additive", L=1, S=50, E=96).multiplications

formulas.py      the cost of each variant, from the formula in its row
counted.py       the definition of each variant, run with arrays that count operations
trials.py        each variant run once: operations counted, memory measured
table.py         formulas beside counts and measurements: ``python -m attention ledger``
variants_map.py  what each variant changes and can: ``python -m attention variants``
"""

from ..variants.table import VARIANTS
from .formulas import Cost, cost_of

__all__ = ["cost_of", "Cost", "VARIANTS"]
