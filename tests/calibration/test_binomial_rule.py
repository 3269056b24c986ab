from calibration.binomial_rule import SURE, breaks, fewest_that_break, tail


def test_tail_is_the_binomial_tail():
    assert tail(0, 10, 0.05) == 1.0
    assert abs(tail(1, 10, 0.05) - (1 - 0.95**10)) < 1e-12


def test_the_rule_changes_its_mind_once():
    for n in (20, 100, 1000):
        k = fewest_that_break(n, alpha=0.05)
        assert breaks(k, n, alpha=0.05)
        assert not breaks(k - 1, n, alpha=0.05)
        assert tail(k, n, 0.05) < SURE <= tail(k - 1, n, 0.05)


def test_a_rate_of_alpha_passes_and_a_rate_of_twice_alpha_fails():
    assert not breaks(50, 1000, alpha=0.05)
    assert breaks(100, 1000, alpha=0.05)
