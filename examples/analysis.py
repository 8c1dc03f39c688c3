# A year of sales: what `make run` shows.
#
#   viv run examples/analysis.py --data examples/sales.csv --out charts
#
# `df` is the CSV, handed in by --data. The code prints a pivot table, draws three charts, and ends in
# an expression: like a notebook cell, its value is what the run shows last.
import matplotlib.pyplot as plt
import pandas as pd

COLOURS = ["#2f6f4f", "#7fb069", "#e6aa68", "#ca3c25"]

plt.rcParams.update({
    "figure.figsize": (8, 4.5), "figure.dpi": 120, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.3,
    "axes.prop_cycle": plt.cycler(color=COLOURS), "font.size": 10, "axes.titleweight": "bold",
})

df["month"] = pd.to_datetime(df["month"])
df["quarter"] = "Q" + df["month"].dt.quarter.astype(str)

by_quarter = df.pivot_table(index="region", columns="quarter", values="revenue", aggfunc="sum",
                            margins=True, margins_name="total")
print(f"Revenue 2024 by region and quarter ({len(df)} rows)\n")
print(by_quarter.to_string(float_format="{:>10,.0f}".format))
print()

# How the year went, region by region.
by_month = df.pivot_table(index="month", columns="region", values="revenue", aggfunc="sum")
figure, axes = plt.subplots()
for region in by_month:
    axes.plot(by_month.index, by_month[region], marker="o", markersize=4, label=region)
axes.set_title("Revenue per month")
axes.set_ylabel("revenue")
axes.legend(frameon=False, ncols=4, loc="upper left")
figure.autofmt_xdate()
figure.tight_layout()
figure.savefig(chart_path(0))

# What sold best.
by_product = df.groupby("product")["revenue"].sum().sort_values()
figure, axes = plt.subplots()
axes.barh(by_product.index, by_product.values, color=COLOURS[0])
axes.set_title("Revenue per product")
axes.set_xlabel("revenue")
axes.xaxis.set_major_formatter("{x:,.0f}")
figure.tight_layout()
figure.savefig(chart_path(1))

# Where it sold.
by_region = df.groupby("region")["revenue"].sum()
figure, axes = plt.subplots(figsize=(5.5, 4.5))
axes.pie(by_region, labels=by_region.index, autopct="%1.0f %%", startangle=90,
         wedgeprops={"linewidth": 1, "edgecolor": "white"})
axes.set_title("Share of revenue by region")
figure.tight_layout()
figure.savefig(chart_path(2))

top = by_product.sort_values(ascending=False).head(5)
pd.DataFrame({
    "revenue": top.map("{:,.0f}".format),
    "share": (top / by_product.sum()).map("{:.1%}".format),
    "best month": [df[df["product"] == name].groupby("month")["revenue"].sum().idxmax().strftime("%B")
                   for name in top.index],
})
