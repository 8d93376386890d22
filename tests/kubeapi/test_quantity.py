"""Quantities: the same results as resource.Quantity of Kubernetes 1.37.1."""

import fractions

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.quantity import LARGEST, exact, is_quantity, milli_value, value


@pytest.mark.parametrize(
    ("written", "units", "thousandths"),
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        ("+2", 2, 2000),
        ("-3", -3, -3000),
        ("007", 7, 7000),
        ("5.", 5, 5000),
        (".5", 1, 500),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("2k", 2000, 2_000_000),
        ("3M", 3_000_000, 3_000_000_000),
        ("4G", 4_000_000_000, 4_000_000_000_000),
        ("5T", 5_000_000_000_000, 5_000_000_000_000_000),
        ("6P", 6_000_000_000_000_000, 6_000_000_000_000_000_000),
        ("1Ki", 1024, 1_024_000),
        ("2Mi", 2_097_152, 2_097_152_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        ("3Ti", 3_298_534_883_328, 3_298_534_883_328_000),
        ("4Pi", 4_503_599_627_370_496, 4_503_599_627_370_496_000),
        ("1.1Ki", 1127, 1_126_400),
        ("0.000001Mi", 2, 1049),
        ("12e6", 12_000_000, 12_000_000_000),
        ("1E3", 1000, 1_000_000),
        ("1e+2", 100, 100_000),
        ("2e-3", 1, 2),
        ("123456789.123456789", 123_456_790, 123_456_789_124),
        (" 1Gi\n", 1_073_741_824, 1_073_741_824_000),
        (2, 2, 2000),
        (0.5, 1, 500),
        (1e-7, 1, 1),
    ],
)
def test_a_quantity_is_exact(written, units, thousandths):
    assert (units, thousandths) == (value(written), milli_value(written))


@pytest.mark.parametrize(
    ("written", "units", "thousandths"),
    [
        ("1n", 1, 1),
        ("999u", 1, 1),
        ("0.0000000001", 1, 1),
        ("1.0000000001", 2, 1001),
        ("1e-400", 1, 1),
        ("1e-999999999999999999", 1, 1),
        ("-1u", -1, -1),
        ("-1500m", -2, -1500),
        ("1." + "0" * 100 + "1", 2, 1001),
        ("0." + "0" * 5000 + "1Ki", 1, 1),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_is_too_fine_rounds_away_from_zero(written, units, thousandths):
    assert (units, thousandths) == (value(written), milli_value(written))


@pytest.mark.parametrize(
    ("written", "units"),
    [
        ("7E", 7 * 10**18),
        ("5Ei", 5 * 2**60),
        ("9223372036854775807", LARGEST),
        ("8Ei", LARGEST),
        ("1e400", LARGEST),
        ("-1e400", -LARGEST),
        ("1e999999999999999999", LARGEST),
        ("9" * 10_000, LARGEST),
        (10**5000, LARGEST),
        (-(10**5000), -LARGEST),
        (1e300, LARGEST),
    ],
    ids=lambda each: f"{each:.3g}" if isinstance(each, float) else "digits" if isinstance(each, int) else each[:20],
)
def test_what_64_bits_do_not_hold_counts_as_the_largest(written, units):
    assert units == value(written)
    assert LARGEST == abs(milli_value(written))


@pytest.mark.parametrize(
    "written",
    [
        *("", "abc", "1K", "1ki", "1g", "1i", "1e", "1e2.5", "1.1.1", "--1", "1 Gi", "1Gi5", "0x10", "1,5", "NaN", "1_000", "\u0661"),
        *("m", ".", "1e99999999999999999999", True, False, float("nan"), float("inf")),
    ],
)
def test_what_is_no_quantity_is_reported(written):
    with pytest.raises(ValueError, match="is not a quantity: must be a number with an optional unit"):
        value(written)
    with pytest.raises(ValueError, match="is not a quantity"):
        milli_value(written)


def test_true_is_no_quantity_though_one_was_read_before():
    assert 1 == value(1)
    with pytest.raises(ValueError, match=r'^"True" is not a quantity'):
        value(True)


def test_a_long_text_is_reported_in_short():
    with pytest.raises(ValueError, match=f'^"{"x" * 60}…" is not a quantity'):
        value("x" * 1000)


_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "e3": 3, "E-2": -2}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30}


@given(st.integers(0, 10**6), st.integers(0, 10**9 - 1), st.sampled_from([*_POWERS, *_BINARY]))
def test_a_quantity_is_its_fraction_rounded_up(whole, part, suffix):
    exact = fractions.Fraction(f"{whole}.{part:09d}")
    exact *= fractions.Fraction(10) ** _POWERS[suffix] if suffix in _POWERS else 2 ** _BINARY[suffix]
    nano = -(-exact * 10**9 // 1)

    assert -(-nano // 10**9) == value(f"{whole}.{part:09d}{suffix}")
    assert -(-nano // 10**6) == milli_value(f"{whole}.{part:09d}{suffix}")


@given(st.text("0123456789.+-eEkKMGTPinum \t\n\v\f\r\x85\xa0\u2003x", max_size=8) | st.text(max_size=4))
def test_a_text_is_a_quantity_if_it_has_an_amount(text):
    try:
        exact(text)
    except ValueError:
        has_amount = False
    else:
        has_amount = True

    assert has_amount == bool(is_quantity(text))
