"""Tables of machines, instruments and bodies."""

from __future__ import annotations

import numpy as np
import pandas as pd

from everyday.made import Made


def server_metrics() -> Made:
    rng = np.random.default_rng(1)
    n = 720
    hour = np.arange(n) / 60 % 24
    load = 20 + 15 * np.sin(hour * np.pi / 12) + rng.gamma(2, 3, n)
    system = 0.25 * load + rng.normal(0, 0.5, n)
    used = 20 + 0.3 * load + np.cumsum(rng.normal(0, 0.05, n))
    requests = 40 * load + rng.normal(0, 30, n)
    frame = pd.DataFrame(
        {
            "timestamp": pd.date_range("2026-03-01", periods=n, freq="min").strftime("%Y-%m-%dT%H:%M:%SZ"),
            "cpu_user (%)": load.round(1),
            "cpu_system (%)": system.round(1),
            "cpu_idle (%)": (100 - load.round(1) - system.round(1)).round(1),
            "mem used [GB]": used.round(2),
            "mem free [GB]": (64 - used + rng.normal(0, 0.05, n)).round(2),
            "requests/s": requests.round(0).astype(int),
            "net out (MB/s)": (0.02 * requests + rng.normal(0, 0.3, n)).round(2),
            "disk temp (°C)": (35 + rng.normal(0, 1.5, n)).round(0).astype(int),
        }
    )
    made = Made(frame)
    made.plant(200, "mem free [GB]", 12.5, "mem used [GB]")
    made.plant(450, "cpu_idle (%)", 99.0, "cpu_user (%)", "cpu_system (%)")
    made.plant(600, "net out (MB/s)", 95.0, "requests/s", "cpu_user (%)", "cpu_system (%)", "cpu_idle (%)")
    return made


def fleet_metrics() -> Made:
    rng = np.random.default_rng(2)
    n = 600
    cpu = rng.uniform(5, 95, n)
    frame = pd.DataFrame(
        {
            "host": [f"web-{i % 12:02d}" for i in range(n)],
            "region": rng.choice(["eu-west", "us-east", "ap-south"], n),
            "cpu": cpu.round(2),
            "power_w": (80 + 1.4 * cpu + rng.normal(0, 2, n)).round(1),
            "heat_btu_h": 0.0,
            "errors": rng.poisson(2, n),
        }
    )
    frame["heat_btu_h"] = (3.412 * frame["power_w"]).round(1)
    made = Made(frame)
    made.plant(77, "heat_btu_h", 250.0, "power_w", "cpu")
    made.plant(300, "power_w", 420.0, "heat_btu_h", "cpu")
    return made


def sensors() -> Made:
    rng = np.random.default_rng(4)
    n = 500
    level = 50 + 10 * np.sin(np.arange(n) / 30) + rng.normal(0, 0.3, n)
    frame = pd.DataFrame(
        {
            "seconds": np.arange(n) * 10,
            "level_a": level.round(3),
            "level_b": level.round(3),
            "level_mean": level.round(3),
            "firmware": 3,
            "setpoint": 50.0,
            "vibration": rng.gamma(2, 0.1, n).round(4),
        }
    )
    made = Made(frame)
    levels = ("level_a", "level_b", "level_mean")
    made.plant(100, "level_b", 12.0, *levels)
    made.plant(350, "setpoint", 55.0)
    return made


def laboratory() -> Made:
    rng = np.random.default_rng(5)
    n = 350
    haemoglobin = rng.normal(14, 1.4, n)
    direct = rng.gamma(3, 0.05, n).round(2)
    indirect = rng.gamma(4, 0.12, n).round(2)
    neutrophils, lymphocytes, monocytes = (
        rng.gamma(9, 0.45, n).round(2),
        rng.gamma(8, 0.25, n).round(2),
        rng.gamma(6, 0.08, n).round(2),
    )
    frame = pd.DataFrame(
        {
            "patient_id": rng.permutation(np.arange(10_000, 10_000 + n)),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["F", "M"], n),
            "Hb (g/dL)": haemoglobin.round(1),
            "Hct (%)": (3 * haemoglobin + rng.normal(0, 0.6, n)).round(1),
            "bilirubin direct": direct,
            "bilirubin indirect": indirect,
            "bilirubin total": (direct + indirect).round(2),
            "neutrophils": neutrophils,
            "lymphocytes": lymphocytes,
            "monocytes": monocytes,
            "WBC": (neutrophils + lymphocytes + monocytes).round(2),
        }
    )
    made = Made(frame)
    made.plant(30, "Hct (%)", 22.0, "Hb (g/dL)")
    made.plant(140, "bilirubin total", 2.9, "bilirubin direct", "bilirubin indirect")
    made.plant(260, "WBC", 1.1, "neutrophils", "lymphocytes", "monocytes")
    return made


def units() -> Made:
    rng = np.random.default_rng(10)
    n = 365
    celsius = 12 + 9 * np.sin(np.arange(n) * 2 * np.pi / 365) + rng.normal(0, 3, n)
    bar = rng.normal(1.013, 0.01, n)
    frame = pd.DataFrame(
        {
            "date": pd.date_range("2025-01-01", periods=n).strftime("%d/%m/%Y"),
            "temp_C": celsius.round(1),
            "temp_F": (1.8 * celsius + 32).round(1),
            "pressure_bar": bar.round(4),
            "pressure_psi": (14.5038 * bar).round(2),
            "wind_m_s": rng.weibull(2, n).round(1) * 4,
            "rain_mm": (rng.uniform(size=n) < 0.3) * rng.gamma(1, 4, n).round(1),
        }
    )
    made = Made(frame)
    made.plant(15, "temp_F", float(frame["temp_C"][15]), "temp_C")
    made.plant(180, "pressure_psi", 16.9, "pressure_bar")
    return made


def odd_names() -> Made:
    rng = np.random.default_rng(11)
    n = 300
    width, height = rng.uniform(10, 50, (2, n)).round(1)
    frame = pd.DataFrame(
        {
            "Länge, cm": width,
            'so-called "height"': height,
            "Halber Umfang = L + H": (width + height).round(1),
            "気温 (°C)": rng.normal(20, 2, n).round(1),
            " spaced  out ": rng.normal(0, 1, n).round(3),
            "=SUM(A1)": rng.integers(0, 9, n),
        }
    )
    made = Made(frame)
    box = ("Länge, cm", 'so-called "height"', "Halber Umfang = L + H")
    made.plant(10, "Halber Umfang = L + H", 11.0, *box)
    made.plant(299, 'so-called "height"', 88.0, *box)
    return made


def wide() -> Made:
    rng = np.random.default_rng(15)
    n, p = 1500, 60
    mixing = rng.normal(size=(8, p)) * (rng.uniform(size=(8, p)) < 0.4)
    values = rng.normal(size=(n, 8)) @ mixing + 0.1 * rng.normal(size=(n, p)) + rng.uniform(-50, 50, p)
    names = [f"probe {k + 1:02d} [mV]" for k in range(p)]
    made = Made(pd.DataFrame(values.round(3), columns=names))
    for row, column in ((40, 7), (700, 23), (1400, 59)):
        # Any rule that holds the probe may be the one that breaks.
        made.plant(row, names[column], made.frame[names[column]][row] + 5.0, *names)
    return made


def rooms() -> Made:
    rng = np.random.default_rng(17)
    n = 480
    inside = 21 + rng.normal(0, 1, n)
    humidity = rng.uniform(30, 60, n)
    frame = pd.DataFrame(
        {
            "device": [f"dev/{i % 4}" for i in range(n)],
            "t": inside.round(2),
            "humidity": humidity.round(1),
            # Near room temperature the dew point is all but linear.
            "dew_point": (inside - (100 - humidity) / 5).round(2),
            "battery_low": rng.uniform(size=n) < 0.05,
            "rssi": rng.normal(-60, 5, n).round(0),
        }
    )
    made = Made(frame)
    made.plant(12, "dew_point", 25.0, "t", "humidity")
    made.plant(400, "t", 35.0, "dew_point", "humidity")
    return made


def meters() -> Made:
    rng = np.random.default_rng(18)
    n = 900
    phases = rng.gamma(5, 0.8, (3, n)).round(3)
    frame = pd.DataFrame(
        {
            "ts": 1_760_000_000 + 900 * np.arange(n),
            "L1_kW": phases[0],
            "L2_kW": phases[1],
            "L3_kW": phases[2],
            "total_kW": phases.sum(axis=0).round(3),
            "energy_kWh": (phases.sum(axis=0) / 4).round(3),
            "voltage_V": rng.normal(230, 1.2, n).round(1),
        }
    )
    made = Made(frame)
    power = ("L1_kW", "L2_kW", "L3_kW", "total_kW", "energy_kWh")
    made.plant(111, "total_kW", 1.0, *power)
    made.plant(666, "L2_kW", 30.0, *power)
    made.plant(800, "voltage_V", 190.0)
    return made


def weather() -> Made:
    rng = np.random.default_rng(19)
    n = 400
    low = 5 + rng.normal(0, 4, n)
    span = rng.gamma(6, 1.5, n)
    frame = pd.DataFrame(
        {
            "": np.arange(n),
            "observed": pd.date_range("2024-11-01 06:30", periods=n, freq="D").strftime("%Y-%m-%d %H:%M:%S"),
            "station": "Hamburg-Fuhlsbüttel",
            "t_min": low.round(1),
            "t_max": (low + span).round(1),
            "t_mean": (low + span / 2 + rng.normal(0, 0.2, n)).round(1),
            "cloud (octas)": rng.integers(0, 9, n),
        }
    )
    made = Made(frame)
    made.plant(70, "t_mean", -14.0, "t_min", "t_max")
    made.plant(330, "t_max", 44.0, "t_min", "t_mean")
    return made
