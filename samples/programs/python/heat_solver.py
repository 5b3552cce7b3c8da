"""The heat equation on a square plate, as a class with fields and methods that step it."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass
class Material:
    """What the plate is made of."""

    diffusivity: float = 1.0
    spacing: float = 1.0


@dataclass
class Heat:
    """A plate of n times n points, kept at zero along its border."""

    n: int
    material: Material = field(default_factory=Material)
    u: npt.NDArray[np.float64] = field(init=False)
    new: npt.NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.u = np.zeros((self.n, self.n))
        self.new = np.zeros((self.n, self.n))

    @property
    def ratio(self) -> float:
        """The largest ratio of the time step that is stable, with some room."""
        return 0.2 * self.material.diffusivity / self.material.spacing**2

    def warm(self) -> None:
        """Put a warm square into the middle."""
        for i in range(self.n // 4, 3 * self.n // 4):
            for j in range(self.n // 4, 3 * self.n // 4):
                self.u[i, j] = 1.0

    def step(self) -> None:
        """Advance by one time step, into a second field."""
        r = self.ratio
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                around = self.u[i - 1, j] + self.u[i + 1, j] + self.u[i, j - 1] + self.u[i, j + 1]
                self.new[i, j] = self.u[i, j] + r * (around - 4.0 * self.u[i, j])
        self.u, self.new = self.new, self.u

    def step_at_once(self) -> None:
        """Advance by one time step, with slices."""
        u, r = self.u, self.ratio
        inner = u[1:-1, 1:-1]
        inner += r * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner)

    def relax(self) -> None:
        """Move every point towards the mean of its neighbours, in place: half of these are new."""
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                self.u[i, j] = 0.25 * (
                    self.u[i - 1, j] + self.u[i + 1, j] + self.u[i, j - 1] + self.u[i, j + 1]
                )

    def total(self) -> float:
        """Return the heat in the plate."""
        total = 0.0
        for i in range(self.n):
            for j in range(self.n):
                total += self.u[i, j]
        return total

    def hottest(self) -> float:
        """Return the highest temperature."""
        highest = self.u[0, 0]
        for row in range(self.n):
            for column in range(self.n):
                if self.u[row, column] > highest:
                    highest = self.u[row, column]
        return highest


def main() -> None:
    """Step two plates in two ways, and relax one."""
    one, other = Heat(24), Heat(24)
    one.warm()
    other.warm()
    print("before", f"{one.total():.9e}")
    for _ in range(40):
        one.step()
        other.step_at_once()
    print("after", f"{one.total():.9e}")
    print("hottest", f"{one.hottest():.9e}")
    print("difference", f"{np.max(np.abs(one.u - other.u)):.3e}")
    one.relax()
    print("checksum", f"{one.total():.9e}")


if __name__ == "__main__":
    main()
