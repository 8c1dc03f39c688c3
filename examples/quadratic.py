# SPDX-License-Identifier: Apache-2.0
"""Solves a·x² + b·x + c = 0, complex and degenerate cases included."""
import cmath
import math


def solve(a, b, c):
    """The roots, as a tuple: none, one or two. None when every x is a root."""
    if a == 0:
        if b == 0:
            return None if c == 0 else ()
        return (-c / b,)
    discriminant = b * b - 4 * a * c
    if discriminant == 0:
        return (-b / (2 * a),)
    if discriminant > 0:
        # The root of larger size first, the other by Vieta: no digits lost where b² is far above 4ac.
        larger = (-b - math.copysign(math.sqrt(discriminant), b)) / (2 * a)
        return tuple(sorted((larger, c / (a * larger))))
    root = cmath.sqrt(discriminant)
    return ((-b + root) / (2 * a), (-b - root) / (2 * a))


def show(value):
    if isinstance(value, complex):
        sign = "+" if value.imag >= 0 else "−"
        return f"{show(value.real)} {sign} {abs(value.imag):.4g}i"
    return f"{value + 0:.10g}".replace("-", "−")


for a, b, c in [(1, -3, 2), (1, -2, 1), (1, 2, 5), (2, 4, -6), (1, 0, 1), (0, 2, -8), (0, 0, 3), (0, 0, 0), (1, -1e8, 1)]:
    roots = solve(a, b, c)
    print(f"{a:g}x² {'+' if b >= 0 else '−'} {abs(b):g}x {'+' if c >= 0 else '−'} {abs(c):g} = 0")
    if roots is None:
        print("   every x is a solution")
    elif not roots:
        print("   no solution")
    elif len(roots) == 1:
        print(f"   x = {show(roots[0])}")
    else:
        for subscript, root in zip("₁₂", roots):
            print(f"   x{subscript} = {show(root)}")
