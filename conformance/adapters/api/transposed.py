"""Transposed convolutions that a call cannot express alone: cropping by a slice, groups and dilation by other calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conformance.adapters.api.source_text import pairs_for_all_axes, pairs_of, slices, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step

ConvolutionWriter = Callable[[Step, str, str], Code]
"""Writes a convolution without bias, from the step and the names of its input and its kernel."""


@dataclass(frozen=True)
class OutputCrop:
    """Cropping of one axis.

    padding: argument of the call; cells removed from both ends.
    output_padding: argument of the call; cells added at the end.
    slice_before, slice_after: cells that a slice of the result removes.
    """

    padding: int
    output_padding: int
    slice_before: int
    slice_after: int

    @classmethod
    def split(cls, before: int, after: int, limit: int) -> OutputCrop:
        """Return the arguments and the slice that remove these cells; the output padding must be less than `limit`."""
        if 0 <= before - after < limit:
            # No slice is needed: the call removes `before` cells from both ends and adds `before - after` at the end.
            return cls(before, before - after, 0, 0)
        both = max(min(before, after), 0)
        return cls(both, max(-after, 0), before - both, max(after - both, 0))

    @property
    def needs_slice(self) -> bool:
        """Whether the call alone does not crop enough."""
        return bool(self.slice_before or self.slice_after)


def output_crops(step: Step, limits: Sequence[int]) -> list[OutputCrop]:
    """Return the cropping of each axis. limits: the output padding of each axis must be less."""
    pairs = zip(step.padding, step.parameters["output_padding"], limits, strict=True)
    return [OutputCrop.split(before, after - added, limit) for (before, after), added, limit in pairs]


def output_slice(crops: Sequence[OutputCrop]) -> str:
    """Return the slice of a channels-first result as text, "" if the call crops enough."""
    if not any(crop.needs_slice for crop in crops):
        return ""
    bounds = [f"{crop.slice_before or ''}:{-crop.slice_after or ''}" for crop in crops]
    return slices(bounds, channels_last=False)


def single_group(step: Step) -> Step:
    """Return the step of one group, without bias."""
    groups = step.parameters["groups"]
    kernel = (step.kernel[0] // groups, *step.kernel[1:])
    shape = (step.shape[0], step.shape[1] // groups, *step.shape[2:])
    return replace(step.with_parameters(groups=1), shape=shape, kernel=kernel, bias=False)


def with_dilated_kernel(step: Step) -> Step:
    """Return the undilated step whose kernel has zeros between its cells."""
    extents = tuple((window - 1) * dilation + 1 for window, dilation in zip(step.window, step.dilation, strict=True))
    return replace(step.with_parameters(dilation=(1,) * step.rank), kernel=(*step.kernel[:2], *extents))


def uncropped_group(step: Step, write_call: ConvolutionWriter) -> Step:
    """Return the step of one group without cropping; its kernel has zeros if the call does not support dilation."""
    group = single_group(step.with_parameters(padding=((0, 0),) * step.rank, output_padding=(0,) * step.rank))
    unsupported = step.dilated and isinstance(write_call(group, "x", "kernel"), Unsupported)
    return with_dilated_kernel(group) if unsupported else group


@dataclass(frozen=True)
class ChannelsLastComposition:
    """Calls of a channels-last framework that compose what its convolutions lack.

    scatter: function of indices, values and a shape that writes values into zeros.
    split: expression with `{name}` and `{groups}` that splits the channels of an array.
    concatenate: expression with `{parts}` that joins a list of arrays along the channels.
    pad: function of `x` and a pair for each axis that appends zeros.
    biased: expression of `x` with the bias added.
    """

    scatter: str
    split: str
    concatenate: str
    pad: str
    biased: str

    def per_group(self, group: Step, groups: int, write_call: ConvolutionWriter) -> Code:
        """Return one convolution for each group of channels, concatenated along the channels."""
        if groups == 1:
            return write_call(group, "x", "kernel")
        text = write_call(group, "part", "weights")
        if isinstance(text, Unsupported):
            return text
        pairs = ", ".join(self.split.format(name=name, groups=groups) for name in ("x", "kernel"))
        return self.concatenate.format(parts=f"[{text} for part, weights in zip({pairs})]")

    def transposed_lines(
        self, step: Step, write_call: ConvolutionWriter, prepare: Callable[[Step], tuple[str, ...]] = lambda _group: ()
    ) -> tuple[str, ...] | Unsupported:
        """Return an uncropped transposed convolution, then the slicing of the output, then the bias addition.

        prepare: returns lines that must precede the call, such as those that build a layer.
        """
        group = uncropped_group(step, write_call)
        text = self.per_group(group, step.parameters["groups"], write_call)
        if isinstance(text, Unsupported):
            return text
        dilation = (self._dilated_kernel_line(step),) if group.dilation != step.dilation else ()
        bias = (f"x = {self.biased}",) * step.bias  # after the slicing: appended zeros get the bias, too
        return (*dilation, *prepare(group), f"x = {text}", *self._crop_lines(step, group.output[2:]), *bias)

    def _crop_lines(self, step: Step, full_size: tuple[int, ...]) -> tuple[str, ...]:
        """Return lines that slice the output from the full one, and append zeros where it is longer."""
        bounds, pads = [], []
        for (before, _), size, full in zip(step.padding, step.output[2:], full_size, strict=True):
            stop = before + size
            bounds.append(f"{max(before, 0) or ''}:{'' if stop >= full else stop}")
            pads.append((0, max(stop - full, 0)))
        crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
        pads_text = pairs_of(pairs_for_all_axes(tuple(pads), channels_last=True))
        return (*crop, f"x = {self.pad}(x, {pads_text})") if any(map(any, pads)) else crop

    def _dilated_kernel_line(self, step: Step) -> str:
        """Return the line that writes zeros between the cells of the kernel."""
        extents = with_dilated_kernel(step).window
        ranges = ", ".join(f"0:{extent}:{dilation}" for extent, dilation in zip(extents, step.dilation, strict=True))
        # np.mgrid[a:b:c] has no axis for the index; the comma makes the index a tuple, as for several axes.
        places = f"np.moveaxis(np.mgrid[{ranges}{',' if step.rank == 1 else ''}], 0, -1)"
        return f"kernel = {self.scatter}({places}, kernel, {tuple_of([*extents, step.kernel[1], step.kernel[0]])})"
