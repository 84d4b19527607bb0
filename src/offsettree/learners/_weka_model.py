"""One trained Weka classifier: tables go over to Java whole, and distributions come back whole."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.learners._columns import WekaColumns
from offsettree.learners._jvm import explained, java_class, start_java

COMPRESSION_LEVEL = 6


class WekaModel:
    """A trained classifier or regressor of Weka, and the columns of its training data.

    It never changes, so copies share it. It crosses into another process as Java's serialised bytes, which are not
    read before the first prediction there.
    """

    def __init__(self, columns: WekaColumns, classes: Sequence[str] | None) -> None:
        self.columns = columns
        self.classes = classes
        self._packed = b""
        self._java: tuple[Any, Any] | None = None
        # Some of Weka's models push rows through filters as they predict: one thread at a time.
        self._lock = threading.Lock()

    @classmethod
    def train(
        cls,
        learner: str,
        options: Sequence[str],
        columns: WekaColumns,
        classes: Sequence[str] | None,
        table: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> Self:
        """Train the Weka learner of that name; the last column of `table` is the target."""
        model = cls(columns, classes)
        with explained(f"training {learner}"):
            header = _make_header(columns, classes)
            classifier = java_class(f"weka.classifiers.trees.{learner}")()
            classifier.setOptions(list(options))
            classifier.buildClassifier(_to_instances(header, table, weight))
        model._java = classifier, header
        return model

    def distributions(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Weka's distribution for each row: a probability per class, or one number per row in regression."""
        with explained("prediction"), self._lock:
            classifier, header = self._unpacked()
            unknown = np.full((len(table), 1), np.nan)
            instances = _to_instances(header, np.hstack([table, unknown]), np.ones(len(table)))
            return np.array(memoryview(classifier.distributionsForInstances(instances)))

    def __str__(self) -> str:
        with explained("printing"), self._lock:
            return str(self._unpacked()[0].toString()).strip()

    def _unpacked(self) -> tuple[Any, Any]:
        if self._java is None:
            data = java_class("java.io.ByteArrayInputStream")(zlib.decompress(self._packed))
            classifier = java_class("weka.core.SerializationHelper").read(data)
            self._java = classifier, _make_header(self.columns, self.classes)
        return self._java

    def _pack(self) -> bytes:
        if not self._packed:
            with explained("saving"), self._lock:
                data = java_class("java.io.ByteArrayOutputStream")()
                java_class("weka.core.SerializationHelper").write(data, self._unpacked()[0])
                self._packed = zlib.compress(bytes(memoryview(data.toByteArray())), COMPRESSION_LEVEL)
        return self._packed

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "classes": self.classes, "packed": self._pack()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["columns"], state["classes"])  # type: ignore[misc]
        self._packed = state["packed"]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _make_header(columns: WekaColumns, classes: Sequence[str] | None) -> Any:
    """Describe the columns to Weka, the target last; no rows yet."""
    attribute, array_list = java_class("weka.core.Attribute"), java_class("java.util.ArrayList")
    target = "class"
    while target in columns.names:
        target += "_"
    attributes = array_list(len(columns.names) + 1)
    for name, levels in zip([*columns.names, target], [*columns.levels, classes], strict=True):
        attributes.add(attribute(name) if levels is None else attribute(name, array_list(list(levels))))
    header = java_class("weka.core.Instances")("offsettree", attributes, 0)
    header.setClassIndex(len(columns.names))
    return header


def _to_instances(header: Any, table: NDArray[np.float64], weight: NDArray[np.float64]) -> Any:
    """Make Weka's rows of a table in Java, at the pace of a Java loop."""
    jpype = start_java()
    instances = java_class("weka.core.Instances")(header, len(table))
    rows = jpype.JArray.of(np.ascontiguousarray(table, dtype=np.float64))
    weights = jpype.JArray.of(np.ascontiguousarray(weight, dtype=np.float64))
    add_row = java_class("java.lang.invoke.MethodHandles").insertArguments(_row_adder(), 0, [instances, weights, rows])
    loop_body = java_class("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(
        java_class("java.util.function.IntConsumer").class_, add_row
    )
    java_class("java.util.stream.IntStream").range(0, len(table)).forEach(loop_body)
    return instances


@cache
def _row_adder() -> Any:
    """Put together, of method handles, what would be a line of Java.

    ``(instances, weights, rows, i) -> instances.add(new DenseInstance(weights[i], rows[i]))``
    """
    jpype = start_java()
    handles, signature = java_class("java.lang.invoke.MethodHandles"), java_class("java.lang.invoke.MethodType")
    instances, instance = java_class("weka.core.Instances").class_, java_class("weka.core.Instance").class_
    dense = java_class("weka.core.DenseInstance").class_
    void, boolean, integer, double = (
        java_class(f"java.lang.{name}").TYPE for name in ("Void", "Boolean", "Integer", "Double")
    )
    vector, matrix = jpype.JArray(jpype.JDouble).class_, jpype.JArray(jpype.JDouble, 2).class_

    public = handles.publicLookup()
    add = public.findVirtual(instances, "add", signature.methodType(boolean, instance))
    make = public.findConstructor(dense, signature.methodType(void, double, [vector]))
    make = make.asType(signature.methodType(instance, double, [vector]))
    weight_of, row_of = handles.arrayElementGetter(vector), handles.arrayElementGetter(matrix)

    # (instances, weight, row) -> add; then (instances, weights, i, row); then (instances, weights, i, rows, i).
    add_made = handles.collectArguments(add, 1, make)
    add_at = handles.collectArguments(handles.collectArguments(add_made, 2, row_of), 1, weight_of)
    wanted = signature.methodType(boolean, instances, [vector, matrix, integer])
    order = jpype.JArray(jpype.JInt)([0, 1, 3, 2, 3])
    return handles.permuteArguments(add_at, wanted, order).asType(wanted.changeReturnType(void))
