"""Black and Scholes: prices of European options, in closed form and by random walks."""

import math
from math import erf, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

OPTIONS, PATHS, DAYS = 200, 400, 20


def normal(x: float) -> float:
    """Return the distribution function of the normal distribution."""
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


def price_options(
    spot: NDArray[np.float64],
    strike: NDArray[np.float64],
    years: NDArray[np.float64],
    rate: float,
    volatility: float,
    call: NDArray[np.float64],
    put: NDArray[np.float64],
) -> None:
    """Write the prices of a call and a put for every option."""
    for i in range(len(spot)):
        root = volatility * sqrt(years[i])
        d1 = (log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root
        d2 = d1 - root
        discounted = strike[i] * exp(-rate * years[i])
        call[i] = spot[i] * normal(d1) - discounted * normal(d2)
        put[i] = discounted * normal(-d2) - spot[i] * normal(-d1)


def parity(spot, strike, years, rate, call, put):
    """Return how far prices are from the parity of calls and puts."""
    gap = call - put - spot + strike * np.exp(-rate * years)
    return np.max(np.abs(gap))


def walks(paths: int, days: int, rate: float, volatility: float) -> NDArray[np.float64]:
    """Return the prices of a share over days: every day needs the one before, paths are independent."""
    random = np.random.default_rng(7)
    shocks = random.standard_normal((paths, days))
    prices = np.ones((paths, days + 1))
    dt = 1.0 / days
    drift = (rate - 0.5 * volatility**2) * dt
    for day in range(days):
        for path in range(paths):
            growth = math.exp(drift + volatility * math.sqrt(dt) * shocks[path, day])
            prices[path, day + 1] = prices[path, day] * growth
    return prices


def mean_payoff(prices: NDArray[np.float64], strike: float) -> float:
    """Return the mean of what a call pays at the end."""
    total = 0.0
    for path in range(prices.shape[0]):
        total += max(prices[path, -1] - strike, 0.0)
    return total / prices.shape[0]


def main() -> None:
    """Price a book of options."""
    i = np.arange(OPTIONS)
    spot = 50.0 + i % 37
    strike = 40.0 + i * 7 % 53
    years = 0.25 + i % 8 / 4.0
    call, put = np.empty(OPTIONS), np.empty(OPTIONS)
    price_options(spot, strike, years, 0.02, 0.3, call, put)
    prices = walks(PATHS, DAYS, 0.02, 0.3)
    print("gap", f"{parity(spot, strike, years, 0.02, call, put):.3e}")
    print("payoff", f"{mean_payoff(prices, 1.0):.9e}")
    print("checksum", f"{float(np.sum((call + 2.0 * put) * (i % 7 + 1))):.9e}")


if __name__ == "__main__":
    main()
