"""Command-line interface: the `conformance` group and its error handling. The commands are in `cli.commands`."""

from __future__ import annotations

import errno
import io
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module

import click

from conformance import ConformanceError, __version__

COMMAND_LOCATIONS = {
    "audit": "audit.audit_command",
    "backends": "backends.backends",
    "catalogue": "catalogue.catalogue",
    "check": "check.check",
    "compare": "compare.compare",
    "compare-models": "compare_models.compare_models_command",
    "compat": "compat.compat_command",
    "conventions": "conventions.conventions",
    "declare": "declare.declare",
    "diff": "diff.diff",
    "explore": "explore.explore",
    "export": "export.export_command",
    "freeze": "check.freeze",
    "history": "history.history_command",
    "judge": "judge.judge_command",
    "ledger": "ledger.ledger_group",
    "list": "show.list_command",
    "merge": "merge.merge_command",
    "rejudge": "rejudge.rejudge_command",
    "report": "report.report",
    "repro": "show.repro",
    "run": "run.run",
    "show": "show.show",
    "since": "since.since_command",
    "store": "store.store_command",
    "surfaces": "surfaces.surfaces",
    "translate": "translate.translate_command",
    "verified": "verified.verified_command",
    "watch": "watch.watch_command",
}
"""Module and attribute of each command, relative to `conformance.cli.commands`."""
INTERRUPTED_EXIT_STATUS = 130
PATH_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP)
"""System errors that any use of a wrong path can have: a name that is too long, and links that form a loop."""
MAX_ERROR_LINE_LENGTH = 1500
"""Maximum length of one line of an error message, in characters."""


def _print_version(context: click.Context, _option: click.Parameter, requested: bool) -> None:
    """Print the versions of the suite and of the catalogue, and exit."""
    if requested and not context.resilient_parsing:
        from conformance.catalogue import loading  # noqa: PLC0415 - a command that needs it imports it

        click.echo(f"conformance, version {__version__}, catalogue {loading.catalogue_version() or 'without a lock'}")
        context.exit()


class LazyCommands(Mapping[str, click.Command]):
    """Commands by name. The module of a command is imported on first access, which keeps the start of a run short."""

    def __getitem__(self, name: str) -> click.Command:
        module, attribute = COMMAND_LOCATIONS[name].split(".")
        found: click.Command = getattr(import_module(f"{__package__}.commands.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(COMMAND_LOCATIONS)

    def __len__(self) -> int:
        return len(COMMAND_LOCATIONS)


@click.group(
    commands=LazyCommands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions of the suite and of its catalogue, and exit.",
)
def cli() -> None:
    """Test whether neural-network frameworks agree on pooling, padding, convolution and resizing.

    Run cases on backends, compare every result with an exact reference, and report the differences.

    Example: conformance run --backend numpy && conformance report
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. An expected error is printed as one line; the exit status says which kind it was."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Unicode must not end the command with a UnicodeEncodeError.
            stream.reconfigure(errors="replace")
    try:
        with _handle_sigterm():
            # Not standalone: click would print its own errors, in another form than those of the suite.
            status = cli.main(args=arguments, prog_name="conformance", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as interrupt:
        if isinstance(interrupt.__cause__, EOFError):
            # click raises Abort for it too, but no command reads from a terminal: it is an error of the suite.
            raise interrupt.__cause__ from None
        click.echo("conformance: interrupted", err=True)
        # An interrupt during exec or eval of a text, as in the definition of a dataclass, marks the process in CPython:
        # it would end by SIGINT instead of this status. The evaluation of another text removes the mark.
        eval("None")  # noqa: S307 - a constant
        status = INTERRUPTED_EXIT_STATUS
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = error.exit_code
    except click.ClickException as error:
        click.echo(f"conformance: {_error_lines(error)}", err=True)
        status = error.exit_code
    except ConformanceError as error:
        for line in str(error).splitlines():
            click.echo(f"conformance: {_printable_line(line)}", err=True)
        status = error.exit_status
    except OSError as error:
        if error.errno not in PATH_ERRORS or error.filename is None:
            raise
        click.echo(f"conformance: {_printable_line(f'{error.filename}: {error.strerror}')}", err=True)
        status = ConformanceError.exit_status
    sys.exit(status)


@contextmanager
def _handle_sigterm() -> Iterator[None]:
    """Handle SIGTERM, which `timeout`, `kill` and job schedulers send, in the same way as Ctrl-C."""
    # Python allows signal handlers in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _error_lines(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return _printable_line(" ".join(error.format_message().split())) + hint


def _printable_line(line: str) -> str:
    """Return an error line with control characters escaped and its length limited; errors may quote foreign text."""
    from reports.analysis.summary import escape_control_characters  # noqa: PLC0415 - needed for errors only

    shown = escape_control_characters(line)
    return shown if len(shown) <= MAX_ERROR_LINE_LENGTH else f"{shown[:MAX_ERROR_LINE_LENGTH]}…"
