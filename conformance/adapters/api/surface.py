"""The interface that adapters implement: surfaces, lowerings and programs.

An adapter is a package in `conformance.adapters` with the name of its backend. It defines these names:

PACKAGES   modules whose versions are recorded in the results, the framework first
DISTRIBUTIONS  optional: names for pip of those modules in PACKAGES that have another one
SETUP      source text that runs once per worker: imports, array mode; programs need it
RESET      source text that runs after each case: default dtypes, seeds
SURFACES   the surfaces, see Surface
THREADS    optional: source text that runs first, for example to set one thread; programs do not need it
THREAD_SETTINGS  optional: the settings of one thread in THREADS and SETUP, and for each its text for `{}` threads
INSTRUCTION_VARIABLES  optional: environment variables that limit the framework's instructions, see InstructionVariables
DEVICES    optional: for each device other than the CPU a DeviceSupport
WORKER     optional: the WorkerCommand of a worker in another language, which gets SETUP and runs the programs

If one framework runs on several engines, each in a separate environment, the module defines VARIANTS instead: an
AdapterVariant for each engine. The backends are then named `<module>-<variant>`.

A module `releases` of the package is optional. Its function release_surfaces(version) returns the surfaces for an older
release of the framework, and an optional function release_setup(version) the text of SETUP.

Importing an adapter never imports its framework.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapters.api.declarations import Declaration
from conformance.adapters.api.dynamic import Sizes
from conformance.cases.arrays import Array
from conformance.cases.case import Case
from conformance.cases.operators import GRADIENT_SUFFIX
from conformance.cases.steps import Step
from reports.results.vocabulary import How, Level

FLOATS = frozenset({"float32", "float64"})
LEVELS: tuple[str, ...] = tuple(Level)


@dataclass(frozen=True)
class Unsupported:
    """A step or case that a surface cannot express, with the reason.

    issue: URL of the upstream feature request or bug, if there is one.
    rejected_call: a call that can be written but that the framework is known to reject. Convention cases run it.
    """

    reason: str
    issue: str | None = None
    rejected_call: str | tuple[str, ...] | None = None


class UnsupportedStep(Exception):
    """Raised while a lowering writes its lines, if a part such as the padding is unsupported."""

    def __init__(self, unsupported: Unsupported) -> None:
        super().__init__(unsupported.reason)
        self.unsupported = unsupported


Code = str | tuple[str, ...] | Unsupported
"""Result of a lowering: an expression in `x`, lines of which the last assigns `x`, or Unsupported with the reason."""

Lowering = Callable[[Step], Code]
"""Translates one step into source text of a surface."""

ChainLowering = Callable[[Step, Step], Code]
"""Translates two steps in a row into one call. If both have a kernel, that of the first step is `first_kernel`."""

GradientWriter = Callable[[Sequence[str], Sequence[str], str], Sequence[str]]
"""Takes the lines of an operator, the names of its inputs and the name of one input.

Returns lines that assign the gradient of this input to `x`. `grad` is the gradient of the operator's result.
"""

ProgramWrapper = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
"""Takes the lines of an operator and the names of its inputs, and puts the lines into one unit: a compiled function,
or a graph that is built and run. Returns lines that assign the result to `x`."""

ModeSelector = Callable[[Case], str]
"""Returns the statements that set the mode of the process that a case needs, "" for the mode after SETUP."""


@dataclass(frozen=True)
class Bfloat16Conversion:
    """Expressions that convert bfloat16 arrays. NumPy has no bfloat16, so they are passed as 16-bit words.

    to_framework: converts words to bfloat16. `{}` is the array after Surface.to_framework, `{name}` the name of the
        input, which is still a NumPy array.
    from_float32: converts float32 to bfloat16, for arrays that a program writes out.
    to_numpy: converts `x` to words in a field named `bfloat16`. "" if Surface.to_numpy already gives an array whose
        dtype is named bfloat16, like those of ml_dtypes.
    """

    to_framework: str
    from_float32: str
    to_numpy: str = ""


@dataclass(frozen=True)
class Language:
    """How a surface writes programs in another language than Python.

    name: of the language, in Markdown. The lines of its lowerings assign their result to `x`.
    program: takes the names of the inputs, and the lines of a program, of which the last starts with `return`. Returns
        the text that is sent to the worker.
    array: writes a constant array; None if programs have no constants.
    """

    name: str
    program: Callable[[Sequence[str], Sequence[str]], str]
    array: Callable[[Array], str] | None = None


@dataclass(frozen=True)
class MixedPrecision:
    """How a surface computes a call in mixed precision.

    write: takes the lines of the call and the name of the 16-bit dtype, and returns the lines in mixed precision.
    to_numpy: converts `x`, a result of any floating-point dtype. "" if Surface.to_numpy converts it.
    """

    write: Callable[[Sequence[str], str], Sequence[str]]
    to_numpy: str = ""


COMPLETE_OPERATORS = (
    "resize", "grid_sample", "affine_grid", "unfold", "fold", "depth_to_space", "space_to_depth", "lrn", "deform_conv",
    "dilation2d", "quantize", "dequantize", "quantized_avg_pool", "quantized_conv", "conv_integer",
)  # fmt: skip
"""Operators that surfaces of level smoke run at level standard, see Surface.operator_levels.

Their compiler or exporter takes seconds, so that they have no complete run of level standard."""
COMPLETE_LEVELS: Mapping[str, Level] = dict.fromkeys(COMPLETE_OPERATORS, Level.STANDARD)


@dataclass(frozen=True)
class Surface:
    """One API of a backend that users call.

    lowerings: for each operator, a function that writes the surface's own call. It returns Unsupported for parameters
        that the call does not accept. A lowering with the name of a gradient operator writes the gradient itself, from
        the forward step with the gradient's parameters, instead of `write_gradient`.
    fallbacks: for each operator, a function that writes several calls, as users do if there is no single call.
    words: for each operator, a function that writes a call with a word of the framework, such as padding by name, where
        `lowerings` write numbers. It returns Unsupported if no word has the meaning of the parameters.
    chain_words: for two operators in a row, a function that writes one call of the framework for both.
    drawn: for an operator, a function that writes calls which draw the regions at random: twice with the same seed. The
        result is both results, joined along the batch.
    mixed_precision: how its calls compute in mixed precision; None if it has no mixed precision.
    building_blocks: calls of the framework's array library, used only for explicit padding and inside compositions.
    to_framework: for each input, an expression that converts a channels-first NumPy array; `{}` is the name.
    to_numpy: an expression that converts the result `x` to NumPy.
    numpy_inputs: for each input, as `to_framework`, an expression whose result is still a NumPy array. None if the
        calls take no NumPy arrays in place of the framework's own.
    channels_last: whether the layouts of data and kernels are (n, *spatial, c) and (*window, in/groups, out).
    dtypes: supported dtypes, by operator; the key "" applies to all operators.
    unsupported_dtypes: why other dtypes are not supported, by operator and dtype; "" applies to all operators.
    bfloat16: how bfloat16 arrays are converted, if the surface supports this dtype.
    declarations: its answers to conventions. They are read from `<backend>.yaml`, not set by the adapter.
    allows_compositions: whether explicit padding and several calls may replace a missing call.
    ones_expression: an array of ones in the layout of `x`. Averages at the border count cells with it.
    takes_flat_pads: whether its padding accepts one flat list of pads.
    validates: whether its calls check their arguments. If not, cases that must be rejected are not run.
    unchecked_operators: operators whose calls do not check their arguments, as for `validates`.
    answers_conventions: whether it runs the cases of conventions.
    max_level: the highest level that the surface runs.
    operator_levels: the highest level of operators for which it is another one. Their gradients have the same level.
    slow_tag: for a slow surface, the tag of cases that it always runs. Other cases run one level below the requested
        level.
    only_tagged: whether it runs only cases with its slow tag, unless a run includes all cases of slow surfaces.
    missing_requirement: returns why this machine cannot run the surface (for example, no compiler), or None. Called
        once before a run.
    wrap_program: puts the lines of a program into one unit, if the surface needs it.
    with_sizes: for a surface that compiles a program for inputs of several sizes: returns the surface for a case. Its
        programs call the compiled function with arrays of the other sizes first.
    select_mode: selects the mode of the process for a case, if the framework has one that depends on dtypes.
    write_gradient: differentiates the lines of a program, before wrapping; None if the framework cannot.
    gradient_to_numpy: for kernel and bias, how their gradients are converted, if not with `to_numpy`.
    is_converted: whether its programs are files of models that a converter writes, so that users change the model
        which is converted.
    tf32: whether the run allows TF32 in multiplications of float32.
    language: the language of its programs, if it is not Python.
    route: for a route through an exporter, the surfaces that end after one of its parts.
    """

    name: str
    lowerings: Mapping[str, Lowering]
    fallbacks: Mapping[str, Lowering] = field(default_factory=dict)
    words: Mapping[str, Lowering] = field(default_factory=dict)
    chain_words: Mapping[tuple[str, ...], ChainLowering] = field(default_factory=dict)
    drawn: Mapping[str, Lowering] = field(default_factory=dict)
    mixed_precision: MixedPrecision | None = None
    building_blocks: Mapping[str, Lowering] = field(default_factory=dict)
    to_framework: Mapping[str, str] = field(default_factory=dict)
    to_numpy: str = "x"
    numpy_inputs: Mapping[str, str] | None = None
    channels_last: bool = False
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsupported_dtypes: Mapping[str, Mapping[str, Unsupported]] = field(default_factory=dict)
    bfloat16: Bfloat16Conversion | None = None
    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    allows_compositions: bool = True
    ones_expression: str = ""
    takes_flat_pads: bool = False
    validates: bool = True
    unchecked_operators: frozenset[str] = frozenset()
    answers_conventions: bool = True
    max_level: Level = Level.EXHAUSTIVE
    operator_levels: Mapping[str, Level] = field(default_factory=dict)
    slow_tag: str = ""
    only_tagged: bool = False
    missing_requirement: Callable[[], str | None] | None = None
    wrap_program: ProgramWrapper | None = None
    with_sizes: Callable[[Surface, Sizes], Surface] | None = None
    select_mode: ModeSelector | None = None
    write_gradient: GradientWriter | None = None
    gradient_to_numpy: Mapping[str, str] = field(default_factory=dict)
    is_converted: bool = False
    tf32: bool = False
    language: Language | None = None
    route: RouteStages | None = None

    def supports(self, operator: str, dtype: str) -> bool:
        """Whether the surface supports the operator for the dtype."""
        # A gradient without an entry has the dtypes of its operator.
        return dtype in self.dtypes.get(
            operator, self.dtypes.get(operator.removesuffix(GRADIENT_SUFFIX), self.dtypes.get("", FLOATS))
        )

    def unsupported_reason(self, operator: str, dtype: str) -> Unsupported | None:
        """Return why the framework does not support the operator for the dtype, None if the surface gives no reason."""
        # From the most specific to the most general entry.
        tables = (
            self.unsupported_dtypes.get(name, {}) for name in (operator, operator.removesuffix(GRADIENT_SUFFIX), "")
        )
        return next((table[dtype] for table in tables if dtype in table), None)

    def declaration_for(self, convention_id: str, case_id: str) -> Declaration | None:
        """Return the declared answer to a convention in one of its cases; None if there is none."""
        declaration = self.declarations.get(convention_id)
        return declaration.for_case(case_id) if declaration else None

    def for_processor(self, features: Collection[str]) -> Surface:
        """Return the surface with its declarations for a processor with these features."""
        if not any(one.cpu or one.by_case_and_cpu for one in self.declarations.values()):
            return self
        return replace(
            self, declarations={name: one.for_processor(features) for name, one in self.declarations.items()}
        )

    def is_run(
        self,
        level: str,
        tags: Collection[str],
        requested_level: str = Level.EXHAUSTIVE,
        *,
        operator: str = "",
        slow: bool = False,
    ) -> bool:
        """Whether a run up to the requested level runs a case with this level and these tags on the surface.

        operator: that of the case. slow: whether the run includes all cases of slow surfaces.
        """
        highest = LEVELS.index(self.operator_levels.get(operator.removesuffix(GRADIENT_SUFFIX), self.max_level))
        if self.slow_tag:
            requested = LEVELS.index(requested_level)
            # By default, a slow surface runs one level less than the others, to limit its share of the run time.
            highest = requested if slow else min(highest, requested - 1)
        in_level = LEVELS.index(level) <= highest and (slow or not self.only_tagged)
        return in_level or self.slow_tag in tags

    def supports_anywhere(self, dtype: str) -> bool:
        """Whether the surface supports a dtype for at least one operator."""
        return any(dtype in dtypes for dtypes in (self.dtypes.get("", FLOATS), *self.dtypes.values()))


@dataclass(frozen=True)
class Recipe:
    """What to write in place of a call that an exporter or a runtime changes or refuses.

    reason: what happens to the call. applies: whether it happens to the call of a step. lowering: writes calls with the
    same result; None if the call is left out, so that the fallbacks and rewrites of unsupported calls are used.
    """

    reason: str
    applies: Callable[[Step], bool]
    lowering: Lowering | None = None


@dataclass(frozen=True)
class RouteStages:
    """Surfaces with the programs of a route up to one part. A run compares their results to find what changes a result.

    source_name, runtime_name: surfaces whose ledger entries apply to what the source and the runtime change.
    source: runs the source without the exporter. export: only exports, and returns x. evaluator: exports, and runs the
    model with another implementation than the runtime.
    is_independent: whether the evaluator shares no code with the runtime, so that an equal wrong result is that of
    the exporter. recipes: by operator, what to write so that the result remains the same.
    batch: how several programs of the route run as one; None if each runs alone.
    """

    source_name: str
    runtime_name: str
    source: Surface
    export: Surface
    evaluator: Surface | None = None
    is_independent: bool = True
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    batch: RouteBatch | None = None


@dataclass(frozen=True)
class RouteBatch:
    """How several programs of a route run as one, with one exported model that has all their inputs and outputs.

    part: a surface whose programs return a model and a tuple of its inputs, before the export.
    lines: export `models`, a list of models, with `inputs`, a list of their inputs, run the exported model, and assign
    `results`, an array of NumPy for each model. to_numpy: converts `x`, one of these arrays, to channels first.
    max_programs: the largest number of programs in a model. evaluation: as lines, but run the model with another
    implementation than the runtime; empty if there is none.
    """

    part: Surface
    lines: Sequence[str]
    to_numpy: str = "x"
    max_programs: int = 40
    evaluation: Sequence[str] = ()


@dataclass(frozen=True)
class Program:
    """The source text that computes a case. It defines `run`, from NumPy arrays (n, c, *spatial) to one such array.

    mode: statements that set the mode of the process. Programs with different modes never run in one process.
    """

    surface: str
    how: How
    text: str
    mode: str = ""

    @property
    def digest(self) -> str:
        """64-bit hash of the text, as in results files. Programs with the same text and different modes differ."""
        text = f"{self.mode}\0{self.text}" if self.mode else self.text
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
