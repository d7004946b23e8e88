"""One case: operators, inputs, parameters, and what makes a case invalid."""
