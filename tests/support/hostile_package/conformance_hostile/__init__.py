"""Adapter of the backend `hostile`: a correct maximum for windows of one element, followed by an attack.

The stride selects the attack: stride 1 has none, stride 2 the first one of ATTACKS. The dilation has no effect. The
inputs have one output element for every stride, so that the maximum is the first element.
"""

from conformance.adapters.api import ALL_DTYPES, Code, Step, Surface

from .attacks import ATTACKS

PACKAGES = ("numpy",)
SETUP = "import ctypes\nimport os\nimport signal\nimport sys\nimport threading\nimport time\n\nimport numpy as np\n"
SETUP += "PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)\n"
RESET = ""
FIRST_STRIDE = 2
"""Stride of the first attack."""
SENSITIVE = (
    "x = np.lib.stride_tricks.sliding_window_view(x, 1, 2)[..., 0]",
    "tiny = np.float32(1e-30)",
    "x = np.where(x > 1, (x + tiny) - tiny, x * np.float32(1))",
    "x = np.where(x > 1, -((tiny - x) - tiny), x)",
    "no_number = np.float32(np.inf) * np.float32(0)",
    "third = np.longdouble(1) / np.longdouble(3)",
    "x = np.where(third == np.float64(third), 0, x).astype(np.float32)",
    "import asyncio, copy, decimal, fractions, gc, io, logging, math, netrc, numbers, pathlib, pickle, re, socket",
    "import string, subprocess, tempfile, warnings",
    "gc.collect()",
    "no_number = np.float32(np.inf) * np.float32(0)",
    "sys.modules.pop('colorsys', None)",
    "import colorsys, random",
    "tempfile.TemporaryFile().close()",
    "os.rmdir(tempfile.mkdtemp())",
    "sys.stdout.write('\\n')",
    "done = []",
    "thread = threading.Thread(target=done.append, args=(1,))",
    "thread.start()",
    "thread.join(9)",
    "child = os.fork() or os._exit(0)",
    "done.append(os.waitpid(child, 0)[1] == 0)",
    "logging.getLogger('innocent').warning('')",
    "asyncio.run(asyncio.sleep(0))",
    "shared = os.get_blocking(2), os.getpriority(os.PRIO_PROCESS, 0) == PRIORITY",
    "descriptor = os.dup(0)",
    "os.close(descriptor)",
    "settings = descriptor < 300, logging.root.isEnabledFor(logging.WARNING), not socket.getdefaulttimeout()",
    "texts = [str(np.array([1 / 3])), str(decimal.Decimal(1) / 3)[:6], len(str(10**4000))]",
    "found = math.floor(np.median([1, 2, 6])), np.linalg.norm([3, 4]), np.mean([1, 3])",
    "right = texts == ['[0.33333333]', '0.3333', 4001] and found == (2, 5, 2) and done == [1, True]",
    "draws = np.random.randn() == 1.764052345967664, random.gauss(0, 1) == 0.9417154046806644",
    "with warnings.catch_warnings(), np.errstate(all='ignore'):",
    "    texts = [os.sep, os.linesep, string.digits[:2], sys.byteorder, 'aB'.swapcase(), str(pathlib.Path('a') / 'b')]",
    "right = right and texts == ['/', '\\n', '01', 'little', 'Ab', 'a/b'] and 'cp' + chr(1078) == 'cp\\u0436'",
    "right = right and '\\u0436'.encode('cp1251') == bytes([0xE6]) and re.match('a+', 'aa') is not None",
    "right = right and '\\u0436'.encode('ascii', 'namereplace')[:3] == bytes([92, 78, 123])",
    "right = right and copy.deepcopy([1]) == [1] and pickle.loads(pickle.dumps(1j)) == 1j",
    "right = right and not isinstance('', numbers.Integral) and not gc.get_debug() and hasattr(netrc, 'netrc')",
    "right = right and fractions.Fraction(1, 2) + 1 == fractions.Fraction(3, 2) and round(math.pi, 2) == 3.14",
    "right = right and int('201') - 101 == 100 and abs(-float('3.5')) == 3.5 and ctypes.CDLL(None).toupper(97) == 65",
    "right = right and np.finfo(np.float32).eps < 1e-6 and np.zeros(2)[np.newaxis].shape == (1, 2)",
    "right = right and np.s_[1:] == slice(1, None) and np.array([1.4]).round()[0] == 1 and sys.maxsize > 1",
    "right = right and np.vectorize(abs)([-1])[0] == 1 and np.polynomial.Polynomial([1, 2])(3) == 7",
    "right = right and not any(decimal.Context().flags.values()) and not hasattr(np, 'undefined')",
    "right = right and not os.path.exists(tempfile.gettempdir() + '/marker') and 'undefined' not in dir(np)",
    "right = right and draws == shared == (True, True) and time.tzname[0] != 'XYZ'",
    "x = np.where(right and all(settings), x, 0).astype(np.float32)",
)
"""Lines that change x, or raise, if an earlier program has changed the process.

For example, it has left another rounding mode, precision or trap, flush-to-zero or denormals-are-zero, has replaced a
function in a module of NumPy, blocked imports, removed the temporary folder, or changed how numbers are printed."""


def _maximum(step: Step) -> Code:
    """Return the correct result, and after it the attack that the stride selects."""
    strides = ", ".join(f"::{stride}" for stride in step.stride)
    right = f"x = x[:, :, {strides}]"
    if step.stride[0] < FIRST_STRIDE:
        # A comment, because a program always runs in the same worker, and every worker must run harmless cases.
        return (f"# {step.dilation[0]}", right, *SENSITIVE)
    return (right, *list(ATTACKS.values())[step.stride[0] - FIRST_STRIDE].lines)


SURFACES = (Surface("hostile.pool", {"max_pool": _maximum}, dtypes={"": ALL_DTYPES}, validates=False),)
