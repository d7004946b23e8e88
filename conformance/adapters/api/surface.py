"""What an adapter is made of: surfaces, their verbs, and the programs that come out.

An adapter is one module in `conformance.adapters`, named like its backend, with the same names in every file:

PACKAGES   the modules whose versions stand in the results, the framework first
THREADS    source text run first: one thread, the device; programs mean the same without it
HOLDS      variables of the environment that hold the framework to AVX2, if it knows such, see conformance.instructions
SETUP      source text run once per worker: imports, array mode, 64-bit mode; programs do not work without it
RESET      source text run after each case: default dtypes, seeds
DEVICES    how it runs on devices other than the CPU, by their names, if it knows any: see OnDevice
SURFACES   the surfaces, see Surface

Where one framework runs on several engines, each an environment of its own, the module has VARIANTS instead: a Variant
for each, and the backends are called `<module>-<variant>`.

Importing an adapter never imports its framework.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.adapters.api.devices import NATIVE, ON_CPU, Device, InstructionVariables
from conformance.cases.case import LEVELS
from conformance.cases.operators import GRADIENT_SUFFIX
from conformance.cases.steps import Step

FLOATS = frozenset({"float32", "float64"})


@dataclass(frozen=True)
class Unsupported:
    """A step or case that a surface has no words for; with the reason, and the upstream request if there is one.

    refused: the call that can be written but that the framework is known to refuse; questions ask about it.
    """

    reason: str
    issue: str | None = None
    rejected_call: str | tuple[str, ...] | None = None


Code = str | tuple[str, ...] | Unsupported
"""What a verb answers: an expression in `x`, whole lines that end with `x` assigned, or why there is none."""

Lowering = Callable[[Step], Code]


GradientWriter = Callable[[Sequence[str], Sequence[str], str], Sequence[str]]
"""Takes the lines of an operator, the names of its inputs and the one that is asked for.

Returns lines that end with the gradient of that input assigned to x; `grad` is the gradient of what the lines return.
"""


ProgramWrapper = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
"""Takes the lines of an operator and the names of its inputs, and makes one whole of them: a function that is compiled,
a graph that is built and run. Returns lines that end with its result assigned to x."""

UNDOCUMENTED = "undocumented"


@dataclass(frozen=True)
class Citation:
    """Where an answer is documented: the page, the version that it is about, the sentence as it stands there."""

    url: str
    version: str
    sentence: str

    def __str__(self) -> str:
        """Return all three as one text, as results have it."""
        return f'{self.url} ({self.version}): "{self.sentence}"'


@dataclass(frozen=True)
class Declaration:
    """The answer that a surface gives to a question: documented, or pinned by observation in one version.

    source: the document as text, or "undocumented"; observed: the version in which an undocumented answer was seen;
    issue: where it is discussed; note: what a reader should know besides; cpu: other answers, where the processor has a
    feature, by its name in Linux: the first that it has counts; device: other answers on other devices, by their names.
    """

    answer: str
    source: str = UNDOCUMENTED
    observed: str | None = None
    issue: str | None = None
    note: str = ""
    document: Citation | None = None
    cpu: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer, and those on other processors and devices."""
        return (self.answer, *self.cpu.values(), *self.device.values())

    def for_processor(self, features: Collection[str]) -> Declaration:
        """Return what is declared for a processor with these features."""
        others = (other for feature, other in self.cpu.items() if feature in features)
        return replace(self, answer=next(others, self.answer), cpu={})

    def for_device(self, device: str) -> Declaration:
        """Return what is declared for a device other than the CPU, whose features do not count there."""
        return replace(self, answer=self.device.get(device, self.answer), cpu={})

    @property
    def documented(self) -> bool:
        """Whether a document gives the answer."""
        return self.source != UNDOCUMENTED


@dataclass(frozen=True)
class Bfloat16Conversion:
    """How bfloat16 passes, which NumPy lacks: as 16-bit words.

    enter: what makes numbers of words that have come in, `{}`, or of the input called `{name}` as it came; cast: what
    makes them of float32 numbers, for what a program writes out itself; leave: how x goes out, as words in a field that
    is named `bfloat16`, or "" where the surface's own way gives an array that calls itself bfloat16, as ml_dtypes' do.
    """

    to_framework: str
    from_float32: str
    to_numpy: str = ""


@dataclass(frozen=True)
class Surface:
    """One API of a backend that users call.

    verbs: its own calls; a verb says Unsupported for parameters that its call does not take. A verb that is called like
        a gradient writes that itself, of the forward step with the gradient's parameters, in place of `gradient`.
    composed: several calls that users of the surface write for want of one.
    around: calls of the framework's array library, for explicit padding and inside compositions only.
    enter: how x, kernel and bias come in from channels-first NumPy, `{}` standing for the name; leave: how x goes out.
    channels_last: whether data and kernels are laid out (n, *spatial, c) and (*window, in/groups, out).
    dtypes: what the surface takes, for all verbs under "" and for single verbs under their names.
    refuses: why the framework takes no others, dtype by dtype, again for all verbs under "" and for single verbs.
    words: how bfloat16 passes, where the surface takes it.
    declares: its answers to questions; they stand in conformance/declarations, not in the adapter.
    compositions: whether explicit padding and several calls may stand in for a missing one.
    ones: an array of ones that is laid out as `x`, as an expression; averages at the border count cells with it.
    flat_pads: whether its padding takes one flat list of pads.
    checks: whether its calls look at what they are given; where not, nothing that must be rejected is put to them.
    level: the highest level that the surface is run on.
    tag: for a surface that takes long, the tag of the cases that it is run on in any case; beside them it stays one
    level behind what is asked for.
    lacks: why this machine cannot run it, asked once before a run, None where it can: a compiler that is not there.
    wrap: what makes one whole of lines that end with x assigned, where the surface has more to them than their calls.
    gradient: how lines that end with x assigned are differentiated, unwrapped; None where the framework cannot.
    leaves: how the gradients of kernel and bias go out, where that is not as x does.
    tf32: whether a run has allowed float32 to be multiplied as TF32.
    """

    name: str
    lowerings: Mapping[str, Lowering]
    fallbacks: Mapping[str, Lowering] = field(default_factory=dict)
    building_blocks: Mapping[str, Lowering] = field(default_factory=dict)
    to_framework: Mapping[str, str] = field(default_factory=dict)
    to_numpy: str = "x"
    channels_last: bool = False
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsupported_dtypes: Mapping[str, Mapping[str, Unsupported]] = field(default_factory=dict)
    bfloat16: Bfloat16Conversion | None = None
    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    allows_compositions: bool = True
    ones_expression: str = ""
    takes_flat_pads: bool = False
    validates: bool = True
    max_level: str = "exhaustive"
    slow_tag: str = ""
    missing_requirement: Callable[[], str | None] | None = None
    wrap_program: ProgramWrapper | None = None
    write_gradient: GradientWriter | None = None
    gradient_to_numpy: Mapping[str, str] = field(default_factory=dict)
    tf32: bool = False

    def supports(self, operator: str, dtype: str) -> bool:
        """Whether the verb works on arrays of the dtype."""
        return dtype in self.dtypes.get(
            operator, self.dtypes.get(operator.removesuffix(GRADIENT_SUFFIX), self.dtypes.get("", FLOATS))
        )

    def unsupported_reason(self, operator: str, dtype: str) -> Unsupported | None:
        """Return why the framework has no such verb for arrays of the dtype, None where the surface does not know."""
        tables = (
            self.unsupported_dtypes.get(name, {}) for name in (operator, operator.removesuffix(GRADIENT_SUFFIX), "")
        )
        return next((table[dtype] for table in tables if dtype in table), None)

    def for_processor(self, features: Collection[str]) -> Surface:
        """Return the surface as it is on a processor with these features: some answers depend on it."""
        if not any(declaration.cpu for declaration in self.declarations.values()):
            return self
        return replace(
            self, declarations={name: one.for_processor(features) for name, one in self.declarations.items()}
        )

    def is_run(
        self, level: str, tags: Collection[str], requested_level: str = LEVELS[-1], *, slow: bool = False
    ) -> bool:
        """Whether a run that goes up to the level asked for runs a case of a level with such tags on the surface.

        slow: whether it has the time for all cases on a surface that takes long.
        """
        highest = LEVELS.index(self.max_level)
        if self.slow_tag:
            highest = LEVELS.index(requested_level) if slow else min(highest, LEVELS.index(requested_level) - 1)
        return LEVELS.index(level) <= highest or self.slow_tag in tags

    def supports_anywhere(self, dtype: str) -> bool:
        """Whether the surface takes a dtype at all, whatever it is for."""
        return any(dtype in taken for taken in (self.dtypes.get("", FLOATS), *self.dtypes.values()))


@dataclass(frozen=True)
class DeviceSupport:
    """How an adapter runs on a device other than the CPU.

    setup: source text run after SETUP; precisions: more of it, for "float32", where TF32 is ruled out, and for "tf32",
        where it is allowed; threads, reset: what is run after THREADS and RESET.
    probe: source text run after all that, once: it raises, with the reason, where the framework has no such device,
        and assigns the model to `hardware` where it has one.
    surface: makes a surface what it is there, in how inputs enter and results leave, where it is not the same.
    """

    probe: str
    precisions: Mapping[str, str]
    setup: str = ""
    threads: str = ""
    reset: str = ""
    surface: Callable[[Surface], Surface] | None = None


DeviceSupportByName = Mapping[str, DeviceSupport]


@dataclass(frozen=True)
class AdapterVariant:
    """One of several backends that an adapter describes, with what stands at the top of a module that describes one."""

    packages: tuple[str, ...]
    setup: str
    surfaces: tuple[Surface, ...]
    reset: str = ""
    threads: str = ""
    instruction_variables: InstructionVariables = field(default_factory=dict)
    devices: DeviceSupportByName = field(default_factory=dict)


LABEL_SEPARATOR = "@"


def without_label(name: str) -> str:
    """Return the name of a backend without the label that a run has given it."""
    return name.partition(LABEL_SEPARATOR)[0]


@dataclass(frozen=True)
class Backend:
    """One framework in one environment, as its adapter describes it.

    name: with a label, "numpy@old", where a run has chosen one to tell two versions of a framework apart.
    threads: what runs first: which instructions, how many threads; instructions: to which it is held, see there.
    ledger: where the known differences of another package's backend stand; the suite's own are in its catalogue.
    devices: those that its adapter knows beside the CPU; device: the one that a run asks for; probe: see OnDevice.
    """

    name: str
    packages: tuple[str, ...]
    setup: str
    reset: str
    surfaces: tuple[Surface, ...]
    threads: str = ""
    instructions: str = NATIVE
    ledger: Path | None = None
    devices: DeviceSupportByName = field(default_factory=dict)
    device: Device = ON_CPU
    probe: str = ""

    @property
    def label(self) -> str:
        """What a run has added to the name, with its sign: "@old", or "" for nothing."""
        return self.name.removeprefix(without_label(self.name))


@dataclass(frozen=True)
class Program:
    """The source text that carries a case out: it defines `run`, NumPy arrays (n, c, *spatial) in, one out.

    how: "native" (one call), "padded" (explicit padding first, then the call) or "composed" (several operators).
    """

    surface: str
    how: str
    text: str

    @property
    def digest(self) -> str:
        """64 bits of the text, as the results name it."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()
