"""Python functions as commons-math's UnivariateFunction and MultivariateFunction."""

import math
import os

import jpeer

with jpeer.launch(classpath=os.environ["JARS"]) as java:
    analysis = java.org.apache.commons.math3.analysis
    root = analysis.solvers.BrentSolver().solve(100, lambda x: math.cos(x) - x, 0.0, 1.0)
    assert abs(math.cos(root) - root) < 1e-6, root

    area = analysis.integration.SimpsonIntegrator().integrate(10_000, math.sin, 0.0, math.pi)
    assert abs(area - 2) < 1e-5, area

    evaluations = []

    def noted(x):
        evaluations.append(x)
        return x * x

    derivative = analysis.differentiation.FiniteDifferencesDifferentiator(5, 0.01)
    slope = derivative.differentiate(jpeer.cast("org.apache.commons.math3.analysis.UnivariateFunction", noted))
    point = java.org.apache.commons.math3.analysis.differentiation.DerivativeStructure(1, 1, 0, 3.0)
    assert abs(slope.value(point).getPartialDerivative(1) - 6) < 1e-6
    assert len(evaluations) == 5, evaluations

    try:
        analysis.solvers.BrentSolver().solve(100, lambda x: x * x + 1, 0.0, 1.0)
    except java.org.apache.commons.math3.exception.NoBracketingException as error:
        print("as wanted:", error)
    else:
        raise AssertionError("there is no root")

    def broken(x):
        raise ZeroDivisionError("inside the function")

    try:
        analysis.solvers.BrentSolver().solve(100, broken, 0.0, 1.0)
    except ZeroDivisionError as error:
        print("as wanted, through Java:", error)
    print(f"{root=:.6f} {area=:.6f}")
