"""The command line: every command stands in a module of its own, `cli_<what>.py`."""

from __future__ import annotations

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
    "backends": "backends.backends",
    "catalogue": "catalogue.catalogue",
    "check": "check.check",
    "conventions": "conventions.conventions",
    "diff": "diff.diff",
    "explore": "explore.explore",
    "export": "export.export_command",
    "freeze": "check.freeze",
    "ledger": "ledger.ledger_group",
    "list": "show.list_command",
    "merge": "merge.merge_command",
    "rejudge": "rejudge.rejudge_command",
    "report": "report.report",
    "repro": "show.repro",
    "run": "run.run",
    "show": "show.show",
    "store": "store.store_command",
    "surfaces": "surfaces.surfaces",
    "translate": "translate.translate_command",
    "verified": "verified.verified_command",
    "watch": "watch.watch_command",
}
"""Where each command stands."""
INTERRUPTED_EXIT_STATUS = 130
MAX_ERROR_LINE_LENGTH = 1500
"""Letters of one line of an error."""


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Say which suite and which catalogue this is, and leave."""
    if wanted and not context.resilient_parsing:
        from conformance.catalogue import loading  # noqa: PLC0415 - a command that needs it imports it

        click.echo(f"conformance, version {__version__}, catalogue {loading.catalogue_version() or 'without a lock'}")
        context.exit()


class LazyCommands(Mapping[str, click.Command]):
    """The commands by their names. The module of each is imported when somebody asks for it: a run need not wait."""

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
    help="Say the version of the suite and that of its catalogue, and leave.",
)
def cli() -> None:
    """Do the neural-network frameworks agree on their window operators? Run the cases, judge, and show who differs.

    Example: conformance run --backend numpy && conformance report
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whatever goes wrong is one line, and the exit status says what kind it was."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode is no reason to stop
    try:
        with _handle_sigterm():
            status = cli.main(args=arguments, prog_name="conformance", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("conformance: interrupted", err=True)
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
    sys.exit(status)


@contextmanager
def _handle_sigterm() -> Iterator[None]:
    """Have SIGTERM, which `timeout`, `kill` and schedulers of jobs send, end a command as Ctrl-C does."""
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
    """Return a line that quotes who knows what: signs that a terminal obeys spelt out, and no longer than bearable."""
    from reports.analysis.summary import escape_control_characters  # noqa: PLC0415 - where all goes well it is not needed

    shown = escape_control_characters(line)
    return shown if len(shown) <= MAX_ERROR_LINE_LENGTH else f"{shown[:MAX_ERROR_LINE_LENGTH]}…"


if __name__ == "__main__":
    main()
