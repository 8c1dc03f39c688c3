# SPDX-License-Identifier: Apache-2.0
"""Binary search with the edge cases in which it usually goes wrong."""


def binary_search(items, target):
    """Index of the first item equal to `target`, or -1."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low if low < len(items) and items[low] == target else -1


CASES = [
    ("in the middle", [1, 3, 5, 7, 9, 11], 7, 3),
    ("first item", [1, 3, 5, 7, 9, 11], 1, 0),
    ("last item", [1, 3, 5, 7, 9, 11], 11, 5),
    ("missing inside", [1, 3, 5, 7, 9, 11], 6, -1),
    ("below all", [1, 3, 5], 0, -1),
    ("above all", [1, 3, 5], 9, -1),
    ("empty list", [], 1, -1),
    ("one item, found", [4], 4, 0),
    ("one item, missing", [4], 5, -1),
    ("duplicates: the first", [2, 2, 2, 2, 3], 2, 0),
    ("negative numbers", [-9, -4, -1, 0, 3], -4, 1),
    ("words", ["ant", "bee", "cat", "dog"], "cat", 2),
    ("a million items", range(0, 2_000_000, 2), 1_234_568, 617_284),
]

failed = 0
for name, items, target, wanted in CASES:
    index = binary_search(items, target)
    failed += index != wanted
    print(f"{'PASS' if index == wanted else 'FAIL'}  {name:<22} search {target!r:>9} -> {index}")

print("\nAll cases passed." if not failed else f"\n{failed} cases failed.")
