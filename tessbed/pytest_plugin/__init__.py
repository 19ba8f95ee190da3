"""pytest plugin: scenario files as tests, one for each job and backend, and the fixture `ev74`.

    [tool.pytest.ini_options]
    tessbed_scenarios = ["scenarios/*.toml"]

Without `--tessbed`, `--tessbed-update` and that setting it does nothing; what runs scenarios is imported on first use.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tessbed.interface.ev74 import Ev74

SETTING = "tessbed_scenarios"
MARKER = "the device of the fixture `ev74`, as tessbed.Ev74 takes it"
ARGUMENTS = "paths of scenario files, relative to the root directory; * and ** stand for any names"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the setting."""
    group = parser.getgroup("tessbed", "scenarios of tessbed")
    group.addoption("--tessbed", action="store_true", help="Collect scenario files: every .toml that has [[jobs]].")
    group.addoption(
        "--tessbed-update",
        action="store_true",
        help="Write the hashes and ticks of correct jobs into `expect` of their files, and fail for neither.",
    )
    parser.addini(SETTING, f"Scenario files to collect: {ARGUMENTS}.", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register what collects scenarios, where somebody asks for it."""
    config.addinivalue_line(
        "markers", "ev74(device, **fields): the device of the fixture `ev74`, as tessbed.Ev74 takes it"
    )
    asked = config.getoption("tessbed"), config.getoption("tessbed_update"), config.getini(SETTING)
    if any(asked):
        from tessbed.pytest_plugin.collection import ScenarioCollection

        config.pluginmanager.register(ScenarioCollection(config), "tessbed scenarios")


@pytest.fixture(name="ev74")
def simulated_ev74(request: pytest.FixtureRequest) -> "Ev74":
    """A fresh `tessbed.Ev74`; the marker `ev74(device, **fields)` says of which device."""
    from tessbed.interface.ev74 import Ev74

    marker = request.node.get_closest_marker("ev74")
    return Ev74(*marker.args, **marker.kwargs) if marker else Ev74()
