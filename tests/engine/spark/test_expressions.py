"""The list of expression classes is complete and reviewed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
import pytest

from engine.spark.expressions import ALLOWED_EXPRESSIONS, PACKAGE, REFUSED_EXPRESSIONS
from engine.spark.session import SparkDriver

JARS = Path(pyspark.__file__).parent / "jars"
FOREIGN_CODE = ("CallMethodViaReflection", "TryReflect", "ScalaUDF", "PythonUDF", "ApplyFunctionExpression")


def test_no_class_is_both_allowed_and_refused() -> None:
    assert not ALLOWED_EXPRESSIONS & REFUSED_EXPRESSIONS.keys()


@pytest.mark.parametrize("name", FOREIGN_CODE)
def test_foreign_code_is_refused(name: str) -> None:
    assert "code" in REFUSED_EXPRESSIONS[f"{PACKAGE}expressions.{name}"]


@pytest.mark.spark
def test_the_list_is_sparks(spark_driver: SparkDriver) -> None:
    """A new Spark brings new expressions: look at each, and say why it is refused if it is."""
    jvm = spark_driver.process.gateway.jvm
    evaluator = jvm.org.codehaus.janino.ScriptEvaluator()
    evaluator.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    text = jvm.Class.forName("java.lang.String")
    evaluator.setReturnType(text)
    array = spark_driver.process.gateway.new_array
    kinds, names, given = array(jvm.Class, 1), array(jvm.String, 1), array(jvm.Object, 1)
    kinds[0], names[0], given[0] = text, "names", "\n".join(_catalyst_classes())
    evaluator.setParameters(names, kinds)
    thrown = array(jvm.Class, 1)
    thrown[0] = jvm.Class.forName("java.lang.Exception")
    evaluator.setThrownExceptions(thrown)
    evaluator.cook(_CONCRETE_EXPRESSIONS)
    assert set(evaluator.evaluate(given).split()) == ALLOWED_EXPRESSIONS | REFUSED_EXPRESSIONS.keys()


# In Java, where thousands of classes take a second.
_CONCRETE_EXPRESSIONS = """
ClassLoader loader = Thread.currentThread().getContextClassLoader();
String[] each = names.split("\\n");
StringBuilder found = new StringBuilder();
for (int i = 0; i < each.length; i++) {
  Class type = Class.forName(each[i], false, loader);
  boolean isConcrete = !java.lang.reflect.Modifier.isAbstract(type.getModifiers());
  if (isConcrete && org.apache.spark.sql.catalyst.expressions.Expression.class.isAssignableFrom(type)) {
    found.append(each[i]).append(" ");
  }
}
return found.toString();
"""


def _catalyst_classes() -> list[str]:
    (jar,) = JARS.glob("spark-catalyst_*.jar")
    names = [name.replace("/", ".") for name in zipfile.ZipFile(jar).namelist() if name.endswith(".class")]
    return [name.removesuffix(".class") for name in names if name.startswith(PACKAGE) and "$$" not in name]
