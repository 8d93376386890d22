"""Device selectors in the Common Expression Language, as k8s.io/dynamic-resource-allocation/cel 1.37.1.

It imports only ``model.device_comparisons`` of ``scheduler_core``.

``selector`` is the interface; ``match_conditions`` is another, for webhooks.  An expression is parsed, checked, planned as closures, and evaluated for a device.  Lowest layer first:

values          values, their equality and order; errors are values
static_types    types of expressions
expressions     nodes of a parsed expression
syntax          the parser, which is that of cel-expr-python
declarations    the variable ``device``, and the functions that can be called
operators       operators, and functions of no one type
conversions, times, strings, text_format, regexes, lists  functions of CEL and its extensions
quantities, versions, network, urls, formats              functions and types of Kubernetes
calls           dispatch of a call to the implementation of an overload
costs           costs of calls as cel-go counts them, and the limit for an evaluation
checker         types of all nodes; errors in the words of the API server
validation      rules about literals
scope           variables of an evaluation
attributes      chains of selections from a variable or value
folds           comprehensions
short_circuits  operators that do not evaluate all operands
plan            a checked expression as closures
reads           parts of a device that an expression reads
comparisons     comparisons with literals that an expression consists of
selector        a selector, compiled and evaluated
match_conditions  those of webhooks, evaluated for a request of which some fields are known
"""
