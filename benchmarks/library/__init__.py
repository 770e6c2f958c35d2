"""What the benchmarks share: data with a known truth, peers behind one interface, measures, timing, one printer.

    from library.planted import planted         # sparse integer rules in wild units, one feature moved
    from library.sums import sums               # totals that share parts, every feature in one
    from library.shapes import shapes           # independent columns, heavy tails, factor models: no tight rule
    from library.servers import File            # operators' named causes
    from library.tennessee import load          # the chemical plant and its faults
    from library.problems import ...            # matrices of any size for the solver
    from library.rivals import RIVALS, ours     # detectors; library.convex: the solver's peers through CVXPY
    from library.measures import ...            # what is measured of a detector
    from library.report import Report, Goal     # Markdown tables, goals beside figures, --json
    from library.loose import Loose             # sequences that are orthogonal, accurate or rounded only so far
    from library.kdd_codings import Records     # KDD99 under any integer coding; library.paper_rows: what is printed
    from library.everyday import everyday       # ledgers, surveys, invoices; library.messy: as messy files
    from library.timing import ...              # fastest and median runs
    from library.arguments import ...           # ASPCA's parameters on a command line

Importing it holds BLAS to one thread, so that times mean the same on every machine.
"""

from threadpoolctl import threadpool_limits

threadpool_limits(limits=1)
