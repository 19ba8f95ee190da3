"""Numbers without a stream: SplitMix64's own, the same everywhere, and apart where their keys are."""

from tessbed.sim.hash_random import draw


def test_the_published_numbers() -> None:
    """Without keys a draw is SplitMix64's first number: those of the seeds 0 and 1234567, as published."""
    assert draw(0) == 0xE220_A839_7B1D_CDAF
    assert draw(1234567) == 6457827717110365317


def test_keys_make_numbers_apart() -> None:
    """Of one seed, other keys and another order of them give other numbers; of one tuple of keys, another seed does."""
    keys = [(), (0,), (1,), (0, 1), (1, 0), (0, 0), (-1,), (0, 0, 0)]
    numbers = [draw(7, *some) for some in keys]
    assert len({*numbers}) == len(keys)
    assert all(0 <= number < 2**64 for number in numbers)
    assert all(draw(8, *some) != number for some, number in zip(keys, numbers, strict=True))


def test_numbers_are_taken_modulo_two_to_the_64() -> None:
    """A seed and a key of any size and sign are as good as their 64 bits."""
    assert draw(7, 1, 2) == draw(7 + 2**64, 1, 2 - 2**64)
