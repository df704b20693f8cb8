"""numpy and commons-math by JPype: regression, curves, differential equations, clusters. curves_with_jpeer.py is the
same program by jpeer."""

import os

import jpype
import jpype.imports
import numpy as np
from jpype.types import JArray, JDouble, JInt

jpype.startJVM("-Xmx256m", classpath=os.environ["JARS"].split(":"))

from java.lang import Math, String  # noqa: E402
from org.apache.commons.math3.analysis.interpolation import SplineInterpolator  # noqa: E402
from org.apache.commons.math3.exception import MathIllegalArgumentException  # noqa: E402
from org.apache.commons.math3.fitting.leastsquares import (  # noqa: E402
    LeastSquaresBuilder, LevenbergMarquardtOptimizer, MultivariateJacobianFunction)
from org.apache.commons.math3.linear import Array2DRowRealMatrix, ArrayRealVector, SingularValueDecomposition  # noqa: E402
from org.apache.commons.math3.ml.clustering import KMeansPlusPlusClusterer  # noqa: E402
from org.apache.commons.math3.ml.distance import EuclideanDistance  # noqa: E402
from org.apache.commons.math3.ode.nonstiff import DormandPrince853Integrator  # noqa: E402
from org.apache.commons.math3.random import MersenneTwister  # noqa: E402
from org.apache.commons.math3.stat import Frequency  # noqa: E402
from org.apache.commons.math3.stat.descriptive import DescriptiveStatistics  # noqa: E402
from org.apache.commons.math3.stat.regression import OLSMultipleLinearRegression  # noqa: E402
from org.apache.commons.math3.transform import DftNormalization, FastFourierTransformer, TransformType  # noqa: E402
from org.apache.commons.math3.util import Pair  # noqa: E402

random = np.random.default_rng(7)
X = random.normal(size=(200, 3))
Y = X @ [1.5, -2.0, 0.25] + 4 + 0.1 * random.normal(size=200)


def show(name, *numbers):
    print(name, *(f"{float(each):.9g}" for each in numbers))


def regress():
    regression = OLSMultipleLinearRegression()
    regression.newSampleData(Y, JArray.of(X))
    found = np.array(regression.estimateRegressionParameters())
    wanted = np.linalg.lstsq(np.column_stack([np.ones(200), X]), Y, rcond=None)[0]
    assert np.allclose(found, wanted), found
    errors = np.array(regression.estimateRegressionParametersStandardErrors()[:])
    show("regression", *found, *errors, regression.calculateRSquared())


def decompose():
    matrix = Array2DRowRealMatrix(JArray.of(np.ascontiguousarray(X.T)))
    values = np.array(SingularValueDecomposition(matrix).getSingularValues())
    assert np.allclose(values, np.linalg.svd(X.T, compute_uv=False)), values
    back = np.array(matrix.multiply(matrix.transpose()).getData())
    assert back.shape == (3, 3) and np.allclose(back, X.T @ X)
    show("singular values", *values)


@jpype.JImplements(MultivariateJacobianFunction)
class Decay:
    """a * exp(-b * t) and its derivatives, by numpy."""

    def __init__(self, times):
        self.times = times
        self.calls = 0

    @jpype.JOverride
    def value(self, point):
        self.calls += 1
        a, b = np.array(point.toArray())
        falling = np.exp(-b * self.times)
        slopes = np.column_stack([falling, -a * self.times * falling])
        return Pair(ArrayRealVector(JArray.of(a * falling)), Array2DRowRealMatrix(JArray.of(slopes)))


def fit():
    times = np.linspace(0, 4, 50)
    model = Decay(times)
    problem = (LeastSquaresBuilder().start(JArray.of(np.array([1.0, 1.0]))).model(model)
               .target(JArray.of(3 * np.exp(-0.7 * times))).maxEvaluations(100).maxIterations(100).lazyEvaluation(False).build())
    optimum = LevenbergMarquardtOptimizer().optimize(problem)
    found = np.array(optimum.getPoint().toArray())
    assert np.allclose(found, [3, 0.7]), found
    assert model.calls == optimum.getEvaluations()
    show("fit", *found, model.calls)


@jpype.JImplements("org.apache.commons.math3.ode.FirstOrderDifferentialEquations")
class Pendulum:
    """Java passes an array that the function fills with the derivatives."""

    @jpype.JOverride
    def getDimension(self):
        return 2

    @jpype.JOverride
    def computeDerivatives(self, t, y, yDot):
        yDot[0] = y[1]
        yDot[1] = -Math.sin(y[0])


@jpype.JImplements("org.apache.commons.math3.ode.sampling.StepHandler")
class Steps:
    def __init__(self):
        self.times = []

    @jpype.JOverride
    def init(self, t0, y0, t):
        self.times.append(float(t0))

    @jpype.JOverride
    def handleStep(self, interpolator, isLast):
        self.times.append(float(interpolator.getCurrentTime()))


def swing_by_numpy(steps=10_000):
    """The classical Runge-Kutta method, in small steps."""
    def slope(y):
        return np.array([y[1], -np.sin(y[0])])

    y, h = np.array([0.5, 0.0]), 10 / steps
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
    return y


def swing():
    integrator = DormandPrince853Integrator(1e-8, 1.0, 1e-10, 1e-10)
    steps = Steps()
    integrator.addStepHandler(steps)
    y = JArray(JDouble)([0.5, 0.0])
    end = integrator.integrate(Pendulum(), 0.0, y, 10.0, y)
    y = np.array(y)
    assert end == 10.0 and np.allclose(y, swing_by_numpy(), atol=1e-8), y
    assert steps.times[0] == 0 and steps.times[-1] == 10 and steps.times == sorted(steps.times)
    show("pendulum", *y, len(steps.times))


def transform():
    wave = np.sin(np.arange(64) * 0.3)
    spectrum = FastFourierTransformer(DftNormalization.STANDARD).transform(JArray(JDouble)(wave), TransformType.FORWARD)
    found = np.array([complex(each.getReal(), each.getImaginary()) for each in spectrum])
    assert np.allclose(found, np.fft.fft(wave))
    show("spectrum", *abs(found[:4]))


@jpype.JImplements("org.apache.commons.math3.ml.clustering.Clusterable")
class Star:
    def __init__(self, name, place):
        self.name = name
        self.place = place

    @jpype.JOverride
    def getPoint(self):
        return JArray(JDouble)(self.place)


def cluster():
    from java.util import ArrayList

    stars = ArrayList()
    for number, (x, y) in enumerate([(0, 0), (0, 1), (1, 0), (9, 9), (9, 8), (-9, 9)]):
        stars.add(Star(f"s{number}", [x, y]))
    clusterer = KMeansPlusPlusClusterer(JInt(3), JInt(100), EuclideanDistance(), MersenneTwister(JInt(5)))
    groups = sorted(sorted(star.name for star in group.getPoints()) for group in clusterer.cluster(stars))
    assert groups == [["s0", "s1", "s2"], ["s3", "s4"], ["s5"]], groups
    print("clusters", groups)


def interpolate():
    x = np.linspace(0, 3, 31)
    spline = SplineInterpolator().interpolate(JArray.of(x[::2].copy()), JArray.of(np.sin(x[::2])))
    assert abs(spline.value(1.5) - np.sin(1.5)) < 1e-4
    show("spline", spline.value(1.5), spline.derivative().value(1.5))
    try:
        SplineInterpolator().interpolate(JArray.of(np.array([1.0, 1.0, 2.0])), JArray.of(np.zeros(3)))
    except MathIllegalArgumentException as error:
        print("refused", str(error.getMessage()))
    else:
        raise AssertionError("points must increase")


def describe():
    numbers = random.integers(0, 100, 1000)
    statistics = DescriptiveStatistics(JArray(JDouble)(numbers.astype(float)))
    assert np.isclose(statistics.getStandardDeviation(), numbers.std(ddof=1))
    frequency = Frequency()
    for each in numbers.tolist():
        frequency.addValue(JInt(each // 10))
    assert frequency.getCount(JInt(3)) == int(((numbers >= 30) & (numbers < 40)).sum())
    show("statistics", statistics.getMean(), statistics.getStandardDeviation(), statistics.getPercentile(90),
         frequency.getCumPct(JInt(4)))
    print("text", str(String.format("%.3f|%5d", JDouble(statistics.getMean()), JInt(frequency.getSumFreq()))))


for step in (regress, decompose, fit, swing, transform, cluster, interpolate, describe):
    step()
print("numpy and commons-math: 8 parts")
jpype.shutdownJVM()
