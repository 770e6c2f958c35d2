"""The command `aspca`: from arguments to an exit code, with one sentence for whatever goes wrong.

Exit codes: 0 fine, 1 failure, 2 wrong usage, 3 anomalies found (if `--fail-on-anomaly` asks for it), 130 interrupted.
A reader of stdout that has seen enough (`| head`) is no failure; a closed or full stdout is one, after all files were
written. Nobody reads a stderr that is closed, full or gone, so that changes nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from aspca.address_space import LEAST, address_space, refuse_small_address_space
from aspca.cli.terminal import print_note
from aspca.escaping import for_terminal
from aspca.writers.standard import discard_output, hide_secrets, open_standard_streams, print_error_line

FINE, FAILURE, USAGE, ANOMALIES, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    _prepare()
    given = sys.argv[1:] if arguments is None else arguments
    hide_secrets(given)
    try:
        from aspca.cli.app import COMMANDS, app_for, wrong_usage
    except ModuleNotFoundError as error:
        return _failed(f"The command needs {error.name}, which is not installed: pip install 'aspca[cli]'.")
    try:
        if given and given[0] in COMMANDS:
            refuse_small_address_space(LEAST)
        code = app_for(given)(args=arguments, prog_name="aspca", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # typer makes an exit of a pipe that was closed.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            if _received:
                return _ended(_received[0])
            raise
        # The reader (`| head`) has seen enough.
        discard_output(sys.stdout)
        return FINE
    except wrong_usage as error:
        where = error.ctx.command_path if error.ctx is not None else "aspca"
        return _failed(f"{error.format_message().rstrip('.')}; see {where} --help.", USAGE)
    except Exception as error:
        # A library in the middle of its work may have made an error of its own of a signal.
        if _received:
            return _ended(_received[0])
        if "ASPCA_TRACEBACK" in os.environ:
            raise
        if isinstance(error, OSError):
            discard_output(sys.stdout)
        sentence, code = _sentence(error)
        return (not isinstance(error, MemoryError) and _refused(error, given)) or _failed(sentence, code)
    if code == INTERRUPTED:
        return _ended(signal.SIGINT)
    return code if isinstance(code, int) else FINE


def _prepare() -> None:
    """Streams that can print any name, warnings as sentences, and a termination that cleans up as Ctrl-C does."""
    open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    if not sys.warnoptions:
        warnings.showwarning = lambda message, *_: print_error_line(f"aspca: {_one_line(str(message))}")
    _received.clear()
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    for name, handler in usual.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is handler:
            # Only the main thread may; elsewhere somebody else looks after signals.
            with contextlib.suppress(ValueError):
                signal.signal(number, _receive)


# The signals that came, in order.
_received: list[int] = []


def _receive(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(INTERRUPTED)


def _ended(number: int) -> int:
    what = "Interrupted" if number == signal.SIGINT else "Terminated"
    return _failed(f"{what}; nothing was left half written.", INTERRUPTED)


def _sentence(error: Exception) -> tuple[str, int]:
    """What to say about an exception, and the exit code."""
    if isinstance(error, MemoryError):
        # Nothing more is loaded for it.
        return _no_memory(error), FAILURE
    from aspca.tables.errors import RequestError
    from aspca.writers.replaced_file import OutputError

    match error:
        case RequestError() | OutputError():
            return str(error), USAGE
        case ModuleNotFoundError(name=str(name)):
            return f"This needs {name}: pip install 'aspca[cli]'.", FAILURE
        case FileNotFoundError(filename=None, strerror=str()):
            return "The folder that the command was started in is gone; change to another.", FAILURE
        case OSError(filename=path, strerror=str(reason)) if reason:
            # Files are named; what has no name is what is printed.
            return f"{'Standard output cannot be written' if path is None else path}: {reason}.", FAILURE
        case ValueError() | ModuleNotFoundError():
            return str(error), FAILURE
        case ImportError():
            return _no_memory(error), FAILURE
        case OSError() if str(error):
            return str(error), FAILURE
    name = type(error).__name__
    advice = "set ASPCA_TRACEBACK=1 to see where, and please report it"
    return f"A fault of aspca, not yours ({name}: {error}); {advice}.", FAILURE


def _no_memory(error: Exception) -> str:
    if "ulimit -v" in str(error):
        return str(error)
    few = "There is not enough memory for this;"
    if address_space() < math.inf:
        return f"{few} raise the limit on address space (ulimit -v), or give fewer columns."
    if isinstance(error, MemoryError):
        return f"{few} give fewer columns (--ignore) or a machine with more."
    return f"A library cannot be loaded ({error}); install it anew."


def _refused(error: Exception, arguments: Sequence[str]) -> int | None:
    """Says all that a table or a request needs, and the command that gives it; None where no command would help."""
    from aspca.cli.pasting import correct_command
    from aspca.tables.errors import JobError, TableError

    if not isinstance(error, JobError):
        return None
    sentences, instead = (error.sentences, error.instead) if isinstance(error, TableError) else ((str(error),), ())
    cured = bool(error.remedy or instead)
    if not cured and len(sentences) == 1:
        return None
    for sentence in sentences:
        _failed(sentence)
    if cured:
        print_error_line(f"To go on, paste:\n{correct_command(arguments, error.remedy, instead)}")
    return USAGE


def _failed(sentence: str, code: int = FAILURE) -> int:
    print_note(f"aspca: {_one_line(sentence)}", "  ")
    return code


def _one_line(text: str) -> str:
    """Names of files and columns are other people's text: nothing in it may act on a terminal."""
    return for_terminal(" ".join(text.split()))
