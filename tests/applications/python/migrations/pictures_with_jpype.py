"""numpy and ImageJ by JPype: filters, thresholds, particles, stacks and files. pictures_with_jpeer.py is the same by jpeer."""

import os
import sys
import tempfile
import threading
from pathlib import Path

import jpype
import jpype.imports
import numpy as np
from jpype.types import JArray, JByte, JClass, JDouble, JFloat, JInt, JShort

jpype.startJVM("-Xmx512m", "-Djava.awt.headless=true", classpath=os.environ["JARS"].split(":"))

from java.awt import EventQueue  # noqa: E402
from ij import IJ, ImagePlus, ImageStack  # noqa: E402
from ij.gui import OvalRoi, PolygonRoi, Roi  # noqa: E402
from ij.io import FileSaver  # noqa: E402
from ij.measure import Measurements, ResultsTable  # noqa: E402
from ij.plugin import ZProjector  # noqa: E402
from ij.plugin.filter import GaussianBlur, MaximumFinder, ParticleAnalyzer, RankFilters  # noqa: E402
from ij.process import AutoThresholder, ByteProcessor, ColorProcessor, FloatProcessor, ImageProcessor, ShortProcessor  # noqa: E402

HEIGHT, WIDTH = 96, 128
SPOTS = [(20, 20, 8), (20, 60, 5), (60, 30, 12), (70, 100, 10)]  # row, column, radius
rows, columns = np.mgrid[:HEIGHT, :WIDTH]
random = np.random.default_rng(3)


def make_picture():
    picture = np.full((HEIGHT, WIDTH), 30.0)
    for row, column, radius in SPOTS:
        picture[(rows - row) ** 2 + (columns - column) ** 2 <= radius**2] = 200
    return np.clip(picture + random.normal(0, 6, picture.shape), 0, 255).astype(np.uint8)


PICTURE = make_picture()


def to_processor(picture):
    """ImageJ keeps unsigned numbers in Java's signed arrays."""
    if picture.dtype == np.uint8:
        return ByteProcessor(WIDTH, HEIGHT, JArray(JByte)(picture.view(np.int8).ravel()), None)
    if picture.dtype == np.uint16:
        return ShortProcessor(WIDTH, HEIGHT, JArray(JShort)(picture.view(np.int16).ravel()), None)
    return FloatProcessor(WIDTH, HEIGHT, JArray(JFloat)(picture.astype(np.float32).ravel()))


def to_numpy(processor):
    pixels = np.array(processor.getPixels()[:])
    kind = {np.dtype(np.int8): np.uint8, np.dtype(np.int16): np.uint16}.get(pixels.dtype, pixels.dtype)
    return pixels.view(kind).reshape(processor.getHeight(), processor.getWidth())


def measure():
    processor = to_processor(PICTURE)
    assert np.array_equal(to_numpy(processor), PICTURE)
    assert processor.get(JInt(20), JInt(21)) == PICTURE[21, 20] > 127
    assert np.array_equal(np.array(processor.getHistogram()[:]), np.bincount(PICTURE.ravel(), minlength=256))
    statistics = processor.getStats()
    assert np.isclose(statistics.mean, PICTURE.mean()) and np.isclose(statistics.stdDev, PICTURE.std(ddof=1))
    processor.setRoi(Roi(10, 5, 40, 30))
    part = to_numpy(processor.crop())
    assert np.array_equal(part, PICTURE[5:35, 10:50])
    deep = (PICTURE.astype(np.uint16) * 257)
    assert deep.max() > 32767 and np.array_equal(to_numpy(to_processor(deep)), deep)
    processor.setRoi(OvalRoi(0, 0, 64, 64))
    inside = np.array(processor.getMask().getPixels()[:]).reshape(64, 64) != 0
    assert np.isclose(processor.getStats().mean, PICTURE[:64, :64][inside].mean())
    print("measured", f"{statistics.mean:.6f} {statistics.stdDev:.6f} {int(inside.sum())}")


def filter_picture():
    processor = to_processor(PICTURE.astype(float))
    processor.convolve(JArray(JFloat)([1 / 9] * 9), JInt(3), JInt(3))
    padded = np.pad(PICTURE.astype(float), 1, mode="edge")
    wanted = sum(padded[y:y + HEIGHT, x:x + WIDTH] for y in range(3) for x in range(3)) / 9
    assert np.allclose(to_numpy(processor), wanted, atol=1e-3)
    blurred = to_processor(PICTURE.astype(float))
    GaussianBlur().blurGaussian(blurred, JDouble(2), JDouble(2), JDouble(0.0002))
    smooth = to_numpy(blurred)
    assert abs(smooth.mean() - PICTURE.mean()) < 0.5 and smooth.std() < PICTURE.std()
    ranked = to_processor(PICTURE)
    RankFilters().rank(ranked, JDouble(1.0), RankFilters.MAX)
    assert (to_numpy(ranked) >= PICTURE).all()
    turned = to_processor(PICTURE).rotateRight()
    assert np.array_equal(to_numpy(turned), np.rot90(PICTURE, -1))
    print("filtered", f"{smooth.mean():.5f} {smooth.std():.5f} {int(to_numpy(ranked).sum())}")


def otsu(histogram):
    """The threshold that splits the histogram into two classes with the least variance inside them."""
    counts, levels = histogram.astype(float), np.arange(256)
    best, found = -1.0, 0
    for level in range(255):
        low, high = counts[:level + 1], counts[level + 1:]
        if low.sum() and high.sum():
            between = (low.sum() * high.sum()
                       * ((low * levels[:level + 1]).sum() / low.sum() - (high * levels[level + 1:]).sum() / high.sum()) ** 2)
            if between >= best * (1 - 1e-12):  # of equal thresholds the last
                best, found = between, level
    return found


def find_particles():
    histogram = np.bincount(PICTURE.ravel(), minlength=256)
    threshold = AutoThresholder().getThreshold(AutoThresholder.Method.Otsu, JArray(JInt)(histogram))
    assert threshold == otsu(histogram), (threshold, otsu(histogram))
    image = ImagePlus("spots", to_processor(PICTURE))
    image.getProcessor().setThreshold(threshold + 1, 255, ImageProcessor.NO_LUT_UPDATE)
    table = ResultsTable()
    wanted = Measurements.AREA | Measurements.CENTROID | Measurements.MEAN
    analyzer = ParticleAnalyzer(ParticleAnalyzer.SHOW_NONE, wanted, table, JDouble(10.0), JDouble(1e9))
    analyzer.setHideOutputImage(True)
    assert analyzer.analyze(image)
    found = sorted((float(y), float(x), float(area)) for area, x, y in
                   zip(table.getColumn(ResultsTable.AREA), table.getColumn(ResultsTable.X_CENTROID),
                       table.getColumn(ResultsTable.Y_CENTROID)))
    assert len(found) == len(SPOTS), found
    for (y, x, area), (row, column, radius) in zip(found, sorted(SPOTS)):
        exact = ((rows - row) ** 2 + (columns - column) ** 2 <= radius**2).sum()
        assert abs(y - row - 0.5) < 0.3 and abs(x - column - 0.5) < 0.3 and area == exact, (y, x, area, exact)
    print("particles", [str(each) for each in str(table.getColumnHeadings()).split()], [area for _, _, area in found])
    peaks = MaximumFinder().getMaxima(to_processor(PICTURE), JDouble(100.0), True)
    assert isinstance(peaks.npoints, int) and peaks.npoints == len(SPOTS), peaks.npoints


def use_stacks():
    volume = random.integers(0, 256, (7, HEIGHT, WIDTH), dtype=np.uint8)
    stack = ImageStack(WIDTH, HEIGHT)
    for number, layer in enumerate(volume):
        stack.addSlice(f"layer {number}", to_processor(layer))
    image = ImagePlus("volume", stack)
    assert [str(each) for each in list(stack.getSliceLabels())[:7]] == [f"layer {number}" for number in range(7)]
    for method, wanted in [(ZProjector.MAX_METHOD, volume.max(0)), (ZProjector.SUM_METHOD, volume.sum(0)),
                           (ZProjector.AVG_METHOD, np.floor(volume.mean(0) + 0.5))]:
        projector = ZProjector(image)
        projector.setMethod(method)
        projector.doProjection()
        assert np.allclose(to_numpy(projector.getProjection().getProcessor()), wanted)
    profile = stack.getVoxels(JInt(3), JInt(4), JInt(0), JInt(1), JInt(1), JInt(7), None)
    assert np.array_equal(np.array(profile[:]), volume[:, 4, 3])
    print("stack", image.getStackSize(), f"{float(np.sum(profile[:])):.0f}")


@jpype.JImplements("ij.ImageListener")
class Watch:
    def __init__(self):
        self.seen = []
        self.event = threading.Event()

    @jpype.JOverride
    def imageOpened(self, image):
        self.seen.append(("opened", str(image.getTitle())))

    @jpype.JOverride
    def imageClosed(self, image):
        self.seen.append(("closed", str(image.getTitle())))

    @jpype.JOverride
    def imageUpdated(self, image):
        self.seen.append(("updated", str(image.getTitle())))
        if self.seen[-1][1] == "spots.tif":
            self.event.set()


def save_and_watch():
    colours = np.stack([PICTURE, 255 - PICTURE, PICTURE // 2], axis=-1).astype(np.int32)
    packed = (colours[..., 0] << 16) | (colours[..., 1] << 8) | colours[..., 2] | -(1 << 24)
    coloured = ColorProcessor(WIDTH, HEIGHT, JArray(JInt)(packed.ravel()))
    assert np.array_equal(np.array(coloured.getChannel(JInt(2))[:]).view(np.uint8).reshape(HEIGHT, WIDTH), 255 - PICTURE)
    watch = Watch()
    ImagePlus.addImageListener(watch)
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder, "spots.tif"))
        assert FileSaver(ImagePlus("spots", to_processor(PICTURE))).saveAsTiff(place)
        opened = IJ.openImage(place)
        assert np.array_equal(to_numpy(opened.getProcessor()), PICTURE)
        opened.updateAndDraw()
        assert watch.event.wait(60), "the thread of AWT has not called"
        assert FileSaver(ImagePlus("c", coloured)).saveAsPng(str(Path(folder, "colours.png")))
        again = IJ.openImage(str(Path(folder, "colours.png"))).getProcessor()
        assert np.array_equal(np.array(again.getPixels()[:]), np.array(coloured.getPixels()[:]))
        assert IJ.openImage(str(Path(folder, "nothing.tif"))) is None
    ImagePlus.removeImageListener(watch)
    opened.updateAndDraw()
    reached = threading.Event()
    EventQueue.invokeAndWait(jpype.JProxy("java.lang.Runnable", dict={"run": reached.set}))
    assert reached.is_set() and watch.seen.count(("updated", "spots.tif")) == 1, watch.seen
    print("watched", sorted(watch.seen))


def draw():
    processor = ByteProcessor(JInt(40), JInt(40))
    processor.setColor(JInt(255))
    processor.fill(PolygonRoi(JArray(JFloat)([5, 30, 30, 5]), JArray(JFloat)([5, 5, 20, 20]), Roi.POLYGON))
    filled = np.array(processor.getPixels()[:]).view(np.uint8).reshape(40, 40)
    assert np.array_equal(np.argwhere(filled).min(0), [5, 5]) and np.count_nonzero(filled) == 25 * 15
    try:
        ByteProcessor(JInt(4), JInt(4), JArray(JByte)(3), None)
    except JClass("java.lang.IllegalArgumentException") as error:
        print("refused:", str(error.getMessage()))
    else:
        raise AssertionError("there are too few pixels")


for step in (measure, filter_picture, find_particles, use_stacks, save_and_watch, draw):
    step()
print("numpy and ImageJ: 6 parts")
sys.stdout.flush()
os._exit(0)  # the JVM would wait for the thread of AWT, which calls Python
