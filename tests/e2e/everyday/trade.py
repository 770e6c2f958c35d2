"""Tables of people and money."""

from __future__ import annotations

import numpy as np
import pandas as pd

from everyday.made import Made

FIRST_NAMES = ("Ada", "Ben", "Cem", "Dov", "Eva", "Fay", "Gil", "Hal", "Ida", "Jon", "Kim")


def invoices() -> Made:
    rng = np.random.default_rng(3)
    n = 400
    quantity = rng.integers(1, 20, n)
    price = rng.choice([4.99, 9.5, 12.0, 19.95, 49.0, 99.0], n)
    net = (quantity * price).round(2)
    vat = (0.19 * net).round(2)
    frame = pd.DataFrame(
        {
            "Invoice No": [f"INV-2026-{i:04d}" for i in range(n)],
            "Quantity": quantity,
            "Unit price": price,
            "Net": net,
            "VAT 19 %": vat,
            "Total": (net + vat).round(2),
        }
    )
    made = Made(frame)
    money = ("Net", "VAT 19 %", "Total")
    made.plant(50, "VAT 19 %", 0.0 if net[50] > 50 else 95.0, *money)
    made.plant(120, "Total", frame["Total"][120] + 100.0, *money)
    made.plant(333, "Net", frame["Net"][333] * 1.5 + 40, *money, "Quantity", "Unit price")
    return made


def ledger() -> Made:
    rng = np.random.default_rng(6)
    n = 450
    amount = rng.lognormal(4, 0.8, n).round(2)
    is_debit = rng.uniform(size=n) < 0.5
    debit, credit = np.where(is_debit, amount, 0.0), np.where(is_debit, 0.0, amount)
    closing = (10_000 + np.cumsum(credit - debit)).round(2)
    frame = pd.DataFrame(
        {
            "entry": np.arange(1, n + 1),
            "date": pd.date_range("2025-01-01", periods=n, freq="18h").strftime("%Y-%m-%d"),
            "account": rng.choice(["4000 Sales", "5000 Materials", "6000 Rent, utilities"], n),
            "opening balance": (closing - credit + debit).round(2),
            "debit": debit,
            "credit": credit,
            "closing balance": closing,
        }
    )
    made = Made(frame)
    balance = ("opening balance", "debit", "credit", "closing balance")
    made.plant(90, "closing balance", closing[90] + 500.0, *balance)
    made.plant(310, "debit", 900.0, *balance)
    return made


def market_shares() -> Made:
    rng = np.random.default_rng(7)
    n = 240
    parts = (100 * rng.dirichlet([8, 6, 4, 2], n)).round(1)
    frame = pd.DataFrame(parts, columns=["Alpha %", "Beta %", "Gamma %", "Other %"])
    frame["Other %"] = (100 - frame[["Alpha %", "Beta %", "Gamma %"]].sum(axis=1)).round(1)
    frame.insert(0, "week", pd.date_range("2021-01-04", periods=n, freq="W").strftime("%Y-W%V"))
    frame["revenue_kEUR"] = rng.normal(900, 60, n).round(0)
    made = Made(frame)
    shares = ("Alpha %", "Beta %", "Gamma %", "Other %")
    made.plant(60, "Gamma %", 61.0, *shares)
    made.plant(200, "Alpha %", 3.9, *shares)
    return made


def prices() -> Made:
    rng = np.random.default_rng(8)
    n = 300
    euro = rng.lognormal(3.5, 0.7, n).round(2)
    frame = pd.DataFrame(
        {
            "sku": [f"{a}{b:05d}" for a, b in zip(rng.choice(list("ABC"), n), rng.permutation(n), strict=True)],
            "price_eur": euro,
            "price_usd": (1.0845 * euro).round(2),
            "price_gbp": (0.8531 * euro).round(2),
            "stock": rng.poisson(40, n),
        }
    )
    made = Made(frame)
    made.plant(25, "price_gbp", frame["price_usd"][25] * 2, "price_eur", "price_usd")
    made.plant(222, "price_usd", frame["price_usd"][222] * 10, "price_eur", "price_gbp")
    return made


def dollars() -> Made:
    """Amounts with a currency sign and commas between thousands."""
    rng = np.random.default_rng(9)
    n = 260
    hours = rng.integers(1, 60, n)
    amount = 85.0 * hours
    frame = pd.DataFrame(
        {
            "project": rng.choice(["Harbour", "Bridge", "Tunnel"], n),
            "billed": [f"${value:,.2f}" for value in amount],
            "hours": hours,
            "days": (hours / 8).round(2),
            "cost": (60 * hours + rng.normal(0, 15, n)).round(2),
        }
    )
    made = Made(frame)
    made.plant(44, "days", 30.0, "hours", "cost", "billed")
    return made


def german() -> Made:
    rng = np.random.default_rng(12)
    n = 320
    net = rng.lognormal(5, 0.6, n).round(2)
    tax = (0.07 * net).round(2)
    frame = pd.DataFrame(
        {
            "Beleg": np.arange(70_001, 70_001 + n),
            "Netto": net,
            "Steuer": tax,
            "Brutto": (net + tax).round(2),
            "Menge": rng.integers(1, 9, n),
        }
    )
    made = Made(frame)
    made.plant(5, "Brutto", 1.0, "Netto", "Steuer")
    made.plant(150, "Steuer", 99.99, "Netto", "Brutto")
    return made


def german_dates() -> Made:
    made = german()
    made.frame.insert(1, "Datum", pd.date_range("2025-02-01", periods=len(made.frame)).strftime("%d.%m.%Y"))
    return made


def accounts() -> Made:
    rng = np.random.default_rng(13)
    n = 500
    posts = rng.poisson(30, n)
    replies = rng.poisson(50, n)
    active = rng.uniform(size=n) < 0.8
    frame = pd.DataFrame(
        {
            "is_active": active,
            "verified": rng.uniform(size=n) < 0.4,
            "posts": posts,
            "replies": replies,
            "messages": posts + replies,
            "likes": rng.poisson(120, n),
            "account_id": rng.permutation(np.arange(n)) + 5_000_000,
        }
    )
    made = Made(frame)
    made.plant(64, "messages", 20, "posts", "replies")
    made.plant(421, "posts", 99, "messages", "replies")
    return made


def orders() -> Made:
    rng = np.random.default_rng(14)
    n = 365
    web, shop, phone = rng.poisson(200, n), rng.poisson(80, n), rng.poisson(15, n)
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2025-01-01", periods=n).strftime("%Y-%m-%d"),
            "weekday": pd.date_range("2025-01-01", periods=n).day_name(),
            "web": web,
            "shop": shop,
            "phone": phone,
            "total": web + shop + phone,
            "returned": rng.poisson(0.05 * (web + shop + phone)),
        }
    )
    made = Made(frame)
    made.plant(31, "total", 500, "web", "shop", "phone")
    made.plant(200, "shop", 8, "web", "total", "phone")
    return made


def trips() -> Made:
    rng = np.random.default_rng(16)
    n = 600
    kilometres = rng.gamma(3, 4, n)
    fare = 3.2 + 1.9 * kilometres
    tip = rng.choice([0.0, 1.0, 2.0, 5.0], n)
    frame = pd.DataFrame(
        {
            "vendor": pd.Categorical(rng.choice(["blue", "green", "yellow"], n)),
            "payment": pd.Categorical(rng.choice(["card", "cash"], n)),
            "pickup": pd.date_range("2026-01-01", periods=n, freq="7min"),
            "distance_km": kilometres.round(2),
            "distance_mi": (kilometres / 1.609344).round(2),
            "fare": fare.round(2),
            "tip": tip,
            "total": (fare.round(2) + tip).round(2),
        }
    )
    made = Made(frame)
    money = ("fare", "tip", "total", "distance_km", "distance_mi")
    made.plant(100, "total", 400.0, *money)
    made.plant(500, "distance_mi", 0.1 + frame["distance_km"][500] * 2, *money)
    return made


def payroll() -> Made:
    rng = np.random.default_rng(20)
    n = 220
    base = rng.normal(4200, 700, n).round(-1)
    bonus = (rng.uniform(size=n) < 0.3) * rng.choice([250.0, 500.0, 1000.0], n)
    tax = (0.3 * (base + bonus)).round(2)
    social = (0.2 * base).round(2)
    frame = pd.DataFrame(
        {
            "employee": [f"{first} O'Neill-{k}, jr." for first in FIRST_NAMES for k in range(20)],
            "department": rng.choice(["R&D", "Sales", "HR"], n),
            "base": base,
            "bonus": bonus,
            "gross": base + bonus,
            "tax": tax,
            "social": social,
            "net": (base + bonus - tax - social).round(2),
        }
    )
    made = Made(frame)
    pay = ("base", "bonus", "gross", "tax", "social", "net")
    made.plant(17, "net", frame["gross"][17], *pay)
    made.plant(150, "gross", frame["gross"][150] + 3000, *pay)
    return made


def survey() -> Made:
    """A few cells are empty, as in any survey."""
    rng = np.random.default_rng(21)
    n = 280
    metres = rng.normal(1.72, 0.09, n)
    frame = pd.DataFrame(
        {
            "respondent": np.arange(1, n + 1),
            "smoker": rng.choice(["yes", "no"], n),
            "height_cm": (100 * metres).round(0),
            "height_in": (metres / 0.0254).round(1),
            "weight_kg": rng.normal(74, 11, n).round(1),
            "income": rng.lognormal(10.4, 0.4, n).round(-2),
        }
    )
    frame.loc[[20, 95, 201], "income"] = np.nan
    made = Made(frame)
    made.plant(150, "height_in", 40.0, "height_cm")
    return made
