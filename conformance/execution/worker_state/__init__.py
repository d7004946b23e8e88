"""State of a worker process that a program can change, and its restoration after each program.

The package needs Python 3.8, the standard library and NumPy, and imports no other file of the project: worker.py loads
it in the interpreter that has the framework installed. Its imports are relative, because its name is another one there.

Most state is restored without a report. Changed floating-point state is restored and reported, because it changes the
numbers of later computations in the same process. If something cannot be restored, or if a thread of the program is
still running, the worker exits after its reply and the suite starts a new one.
"""
