"""Random batches from a warm page cache: the gather, and the loop of a loader with its memory."""

from statistics import median

from benchmarks import reading, table
from benchmarks.peers import ALL
from benchmarks.store import sized
from benchmarks.suite import Figures, Found, Job, Results, Tried
from benchmarks.workload import Workload
from benchmarks.workloads import READ

CASES = READ
QUICK = ("images", "records", "tokens")
FEW = "images", "records", "records-512", "tokens-list", "blocks"
SMOKE = ("native", "tokens-zstd-dict")
PEERS = ALL
STORES = True
MOST_ROUNDS = 100

_WORK = {"gather": "gather, {batch} random samples", "loop": "loader, batches of {batch}, shuffled"}


def prepare(job: Job) -> Tried:
    """Store, check, and try the settings."""
    return reading.prepare(job, sized(CASES, job.case, job.smoke))


def measure(job: Job) -> Found:
    """Both."""
    return reading.measure(job, sized(CASES, job.case, job.smoke))


def report(results: Results, smoke: bool) -> list[str]:
    """A table a workload."""
    lines = [
        "## Reading",
        "",
        "Every system delivered the right bytes before it was timed. *x DSRT* is a system's median divided",
        "by DSRT's, and *x machine* by that of the row `machine`: above 1 it is faster. That row is plain C",
        "that copies or decodes the same records into buffers used again, asks memory for the first KiB of",
        "a record eight records ahead, and gathers on one thread; its loader is that on one or on all. It",
        "is a yardstick and no limit: a system that has more under way in memory can be above it, and one",
        "that gathers a batch on more threads. DSRT does: it shares a batch with 4 MiB to copy or 128 KiB",
        "to decode, or more, among up to all cores. loaderx does, too; the others gather as their own calls",
        "do, most of them on one thread. *Reading on one core* has all on one. *Median* and *p95* are of",
        "the time of a batch, of a loader from one to the next. Where it has batches ready, half of these",
        "times may be those of taking one from a queue, and the rate alone says how fast it is. *Own memory*",
        "is what the loader's processes hold of their own (Pss_Anon + Pss_Shmem) with their interpreters and",
        "imports, in steady state and at most; *added* is that in steady state without what the process held",
        "before the loader was there: what torch's import takes, who trains with torch has anyway. A loader",
        "that prepares batches ahead holds them. A batch of images or photographs has 37 MiB, and the C",
        "library maps every block above 32 MiB anew: new pages for every batch, which halve the gather of",
        "memmap and of whatever else returns new arrays of NumPy, and slow loaderx's. In smaller batches",
        "they are faster than here; DSRT and Arrow fill the memory of batches that were dropped.",
    ]
    for case, figures in results.items():
        lines += ["", *_section(sized(CASES, case, smoke), figures)]
    return lines


def _section(workload: Workload, figures: Figures) -> list[str]:
    each = workload.bytes / workload.samples / 2**20
    lines = [f"### {workload.heading}", ""]
    columns = (
        "samples/s",
        "MiB/s",
        "median, ms",
        "p95, ms",
        "spread",
        *table.RATIOS,
        "own memory, MiB",
        "added, MiB",
    )
    lines += table.head("work", "system", *columns)
    for work, title in _WORK.items():
        systems = figures.get(work, {})
        for place, peer in enumerate(table.systems(systems)):
            cells = ["" if place else title.format(batch=workload.batch), table.name(peer)]
            rates = systems[peer]
            if isinstance(rates, str):
                lines.append(table.row([*cells, rates, *[""] * 8]))
                continue
            cells += [table.count(rates), table.count(rates, each)]
            cells += [cell(peer) for cell in table.times(figures, work).values()]
            cells += [table.spread(rates), *table.ratios(systems, peer)]
            memory = [table.middle(figures, f"{work} {which}", peer) for which in ("steady", "peak")]
            lines.append(
                table.row([*cells, ", at most ".join(filter(None, memory)), _added(figures, work, peer)])
            )
    return lines


def _added(figures: Figures, work: str, peer: str) -> str:
    steady, before = (figures.get(f"{work} {which}", {}).get(peer, "") for which in ("steady", "before"))
    if isinstance(steady, str) or isinstance(before, str):
        return ""
    return f"{table.mark(steady)}{table.digits(median(steady) - median(before))}"
