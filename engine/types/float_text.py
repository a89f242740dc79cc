"""Floating-point numbers as Java prints them, in what Spark shows and in partition values."""

from __future__ import annotations

from decimal import Decimal


def java_float(text: str) -> str:
    """Of a number that is not plain: under 0.001, from ten million on, or not finite. `text` is what Python or Arrow
    print, with the fewest digits that say which number it is; Java has one digit, a point and an exponent.
    """
    number = Decimal(text)
    if not number.is_finite():
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    sign, digits, exponent = number.normalize().as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{fraction}E{len(digits) - 1 + int(exponent)}"
