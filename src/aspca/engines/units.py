"""What may stand beside a number without being part of it: currencies, percent, units; never what may be a code."""

from __future__ import annotations

import re

_CURRENCY_SIGNS = "$ € £ ¥ ₹ ₽ ₩ ₪ ₺ ₴ ₫ ฿ ¢ US$ R$ A$ C$ CA$ AU$ NZ$ HK$ NT$ S$ Rs Rs. kr kr. zł Kč Ft Fr. лв TL"
_CURRENCY_CODES = """
    AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KWD LKR MAD MXN
    MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
_UNITS = """
    % ‰ pct percent ppm ppb kg g mg µg μg ug lb lbs oz km m cm mm µm μm um nm mi ft in yd l ml mL dl cl hl gal
    s ms µs μs us ns sec secs min mins h hr hrs days day yr yrs years months weeks °C °F ° ºC ºF deg rad mV kV mA µA kW
    MW GW Wh kWh MWh GWh kJ MJ cal kcal Hz kHz MHz GHz Pa hPa kPa MPa bar mbar psi atm kN Nm rpm m/s km/h kmh mph kph kn
    kt m² m³ cm² cm³ km² ft² ha mol mmol dB dBm px kB KB MB GB TB KiB MiB GiB bit bits byte bytes Ω kΩ ohm lx lm mmHg
    mg/dL mg/l mg/L g/l g/L µg/m³ kg/m³ W/m² €/kWh €/m² pcs items units people persons rows times
"""  # both letters for micro are in use
# One capital letter is a unit only behind a blank: 12A may be a product.
_BEHIND_A_BLANK = frozenset(["A", "V", "W", "J", "N", "K", "C", "F", "L", "B", "T", "t", "d", "Ω"])
_CURRENCIES = frozenset((_CURRENCY_SIGNS + _CURRENCY_CODES).split())
_KNOWN = frozenset(_UNITS.split()) | _CURRENCIES
# Any other word must be one that is no date, no time of day, no name of a thousand and no way to count.
_WORD = re.compile(r"[^\W\d_]{3,16}")
_NO_UNITS = re.compile(
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|thousand|mln|million|mio|bln|billion|mrd|trillion|tsd|hundred",
    re.IGNORECASE,
)


def unit_of(prefix: str, suffix: str, blank: bool) -> str | None:
    """The unit of a number with these texts before and after it, empty where there are none; None if it is no unit.

    `blank`: whether one stands between the number and the suffix.
    """
    if prefix:
        both = not suffix or suffix in _CURRENCIES
        return f"{prefix} {suffix}".strip() if prefix in _CURRENCIES and both else None
    if not suffix or suffix in _KNOWN:
        return suffix
    if blank and (suffix in _BEHIND_A_BLANK or (_WORD.fullmatch(suffix) and not _NO_UNITS.fullmatch(suffix))):
        return suffix
    return None
