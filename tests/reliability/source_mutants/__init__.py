"""Parts of mutation testing (``tests.reliability.mutants``).

sites           places in a file that an operator changes
measured_tests  which tests execute a line
trial           runs of tests with a changed file
explained       survivors that are no hole in the tests; ``survivors.txt`` has the others
"""
