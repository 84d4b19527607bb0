"""The results that the paper reports."""

from __future__ import annotations

__all__ = ["BANDITRON_RCV1", "TABLE_1", "TABLE_1_COLUMNS"]

TABLE_1_COLUMNS = (
    "weighting",
    "single M5P",
    "single REPTree",
    "separate M5P",
    "separate REPTree",
    "offset tree",
)

# Test error rates of Table 1, in the order of the columns above.
TABLE_1: dict[str, tuple[float, ...]] = {
    "ecoli": (0.3120, 0.5663, 0.3376, 0.3752, 0.3811, 0.2311),
    "flare": (0.1565, 0.1570, 0.1685, 0.1570, 0.1592, 0.1506),
    "glass": (0.5938, 0.6662, 0.5846, 0.5800, 0.6077, 0.5000),
    "letter": (0.3546, 0.6974, 0.5491, 0.4456, 0.5352, 0.3790),
    "lymph": (0.2953, 0.5267, 0.4622, 0.3422, 0.3400, 0.3114),
    "optdigits": (0.1682, 0.5426, 0.4108, 0.1948, 0.2956, 0.1649),
    "page-blocks": (0.0407, 0.0590, 0.0451, 0.0571, 0.0465, 0.0488),
    "pendigits": (0.1029, 0.2492, 0.1840, 0.1408, 0.1774, 0.0976),
    "satimage": (0.1703, 0.2027, 0.1968, 0.1787, 0.1878, 0.1853),
    "soybean": (0.6533, 0.8824, 0.7327, 0.7688, 0.7473, 0.5971),
    "vehicle": (0.3719, 0.6142, 0.5665, 0.3886, 0.4114, 0.3743),
    "vowel": (0.6403, 0.9034, 0.8919, 0.7440, 0.8198, 0.6501),
    "yeast": (0.5406, 0.6626, 0.5679, 0.5406, 0.5697, 0.4904),
}

# Error rates of section 7.2, after one pass over the four topics of RCV1 (673,768 rows).
BANDITRON_RCV1 = {"Banditron": 0.163, "agnostic": 0.186, "realizable": 0.1072}
