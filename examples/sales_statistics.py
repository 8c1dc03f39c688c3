# SPDX-License-Identifier: Apache-2.0
"""Statistics of a year of monthly sales, with numpy."""
import numpy as np

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
sales = np.array([12500, 13800, 15200, 14100, 16800, 18200, 17500, 19100, 20300, 18900, 22400, 25600])

growth = np.diff(sales) / sales[:-1] * 100
quarters = sales.reshape(4, 3).sum(axis=1)
slope, start = np.polyfit(np.arange(12), sales, 1)

print("Monthly sales statistics")
print("=" * 32)
print(f"Total:              {sales.sum():>12,.2f}")
print(f"Mean:               {sales.mean():>12,.2f}")
print(f"Median:             {np.median(sales):>12,.2f}")
print(f"Standard deviation: {sales.std(ddof=1):>12,.2f}")
print(f"Best month:         {MONTHS[sales.argmax()]:>12} ({sales.max():,})")
print(f"Worst month:        {MONTHS[sales.argmin()]:>12} ({sales.min():,})")
print(f"Trend per month:    {slope:>+12,.2f}")

print("\nGrowth over the month before")
for month, percent in zip(MONTHS[1:], growth):
    print(f"  {month}: {percent:+6.2f} % {'▲' if percent > 0 else '▼'}")

print("\nQuarters")
for number, total in enumerate(quarters, 1):
    print(f"  Q{number}: {total:>9,}  {'█' * round(total / quarters.max() * 20)}")

above = [month for month, value in zip(MONTHS, sales) if value > sales.mean()]
print(f"\nAbove the mean: {', '.join(above)}")
